"""The standard unit of a column, in which errors are counted so that units and origin do not matter.

It is the standard deviation, or IQR/1.349 where the column is heavy-tailed: a few huge values would otherwise make
every guess look near. 1.349 is the IQR of a standard normal, so the two agree for a normal column.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_table, per_column

NORMAL_IQR: Final = 1.349


def heavy_tailed(deviation: float, interquartile_range: float, *, margin: float = 1.0) -> bool:
    """Whether IQR > 0 and the standard deviation is more than 2·IQR/1.349 (over ``margin``, if one is allowed for).

    >>> heavy_tailed(1.0, 1.349), heavy_tailed(3.0, 1.349), heavy_tailed(3.0, 0.0)
    (False, True, False)
    """
    return 0.0 < 2.0 * interquartile_range / NORMAL_IQR < margin * deviation


def standard_unit(deviation: float, interquartile_range: float) -> float:
    """The standard deviation; IQR/1.349 for a heavy-tailed column.

    >>> standard_unit(1.5, 1.349), standard_unit(3.0, 1.349)
    (1.5, 1.0)
    """
    return interquartile_range / NORMAL_IQR if heavy_tailed(deviation, interquartile_range) else deviation


def standard_units(truth: npt.ArrayLike) -> Array:
    """The unit s_j in which errors of each column are counted: :func:`standard_unit` of its present values.

    The standard deviation is the population's (ddof 0). A constant column, or one without any value, has s = 0.

    >>> standard_units([[1.0, 7.0], [3.0, 7.0]])
    array([1., 0.])
    """
    table = as_table(truth, "truth")
    units = np.zeros(table.shape[1])
    for column, values in enumerate(table.T):
        present = values[~np.isnan(values)]
        # Equality is tested on the values: the mean of equal numbers need not equal them in floats.
        if present.size == 0 or present.min() == present.max():
            continue
        # A power of two brings the column near 1 without rounding, so that squares stay in range.
        power = -int(np.frexp(np.abs(present).max())[1])
        present = np.ldexp(present, power)
        lower, upper = np.percentile(present, (25.0, 75.0))
        units[column] = np.ldexp(standard_unit(float(present.std()), float(upper - lower)), -power)
    return units


def scored_columns(units: Array) -> Mask:
    """The columns that breaches are counted in: those that vary, or all where none does.

    Everybody who knows that a column is constant knows its value: it is not scored beside others.

    >>> scored_columns(np.array([1.0, 0.0])), scored_columns(np.array([0.0, 0.0]))
    (array([ True, False]), array([ True,  True]))
    """
    varies = units > 0.0
    return varies if varies.any() else np.ones(len(units), dtype=np.bool_)


def column_units(truth: Array, units: npt.ArrayLike | None) -> Array:
    """The units given, checked, or those of ``truth``."""
    if units is None:
        return standard_units(truth)
    return per_column(units, "units", truth.shape[1], least=0.0)
