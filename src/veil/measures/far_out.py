"""Far-out values: the people a release exposes first are those unlike everybody else.

A value breach counts an error in units of the whole column, which is a hard test for a
value far from the crowd. A guess of 900 for an income of 1,000 tells all there is to tell
when the median is 30, so a far-out value is scored with tolerance·|x − median| instead.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_pair, as_table, number, per_column
from veil.measures.breach import exposure, within
from veil.measures.measure import Measure
from veil.measures.units import column_units

_EPS = float(np.finfo(np.float64).eps)


def far_out_rate(
    truth: npt.ArrayLike,
    guess: npt.ArrayLike,
    tolerance: float,
    units: npt.ArrayLike | None = None,
    beyond: float = 3.0,
    centre: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Measure:
    """Share of the far-out values that the guess gives away.

    Far out: |x − median_j| > beyond·s_j. Given away: |x̂ − x| ≤ tolerance·|x − median_j|.
    NaN guesses are no breach; missing values are never far out. ``units`` (s_j) and
    ``centre`` (median_j) are those of ``truth`` when left out; pass those of the whole table
    when scoring a part of it. Wilson interval over the records that have a far-out value;
    the value and both ends are NaN when no value is far out.

    >>> far_out_rate([0.0, 1.0, 2.0, 3.0, 4.0, 100.0], [9.0, 9.0, 9.0, 9.0, 9.0, 92.0], 0.1)
    1 [0.2065, 1] higher is exposed
    """
    x, guessed = as_pair(truth, guess, infinite=True)
    tolerance = number(tolerance, "tolerance", least=0.0)
    distance, far = far_out(x, units, beyond, centre)
    with np.errstate(over="ignore"):
        hit = within(np.abs(guessed - x), tolerance * distance, np.abs(guessed) + np.abs(x))
    return exposure(hit, far, confidence)


def far_out_baseline(
    truth: npt.ArrayLike,
    tolerance: float,
    units: npt.ArrayLike | None = None,
    beyond: float = 3.0,
    centre: npt.ArrayLike | None = None,
) -> Measure:
    """:func:`far_out_rate` of the best constant guess per column.

    Each far-out value accepts the guesses in [x − t, x + t], t = tolerance·|x − median|; the
    best constant lies in most of these intervals. A largest set of intervals with a common
    point has one at some left end, so counting at every left end is exact, O(N log N). The
    table is taken as it is: the interval of the measure has no width.

    >>> far_out_baseline([0.0, 1.0, 2.0, 3.0, 4.0, 100.0], 0.1)
    1 [1, 1] higher is exposed
    """
    x = as_table(truth, "truth")
    tolerance = number(tolerance, "tolerance", least=0.0)
    s = column_units(x, units)
    medians = column_medians(x, centre)
    distance, far = far_out(x, s, beyond, medians)
    constants = np.array([most_stabbed(x[far[:, j], j], tolerance * distance[far[:, j], j]) for j in range(x.shape[1])])
    rate = far_out_rate(x, np.broadcast_to(constants, x.shape), tolerance, s, beyond, medians)
    return Measure(float(rate), higher_is="exposed")


def far_out(x: Array, units: npt.ArrayLike | None, beyond: float, centre: npt.ArrayLike | None) -> tuple[Array, Mask]:
    """Distance of every value from its column's median, and whether it is far out: further than rounding could bring.

    A value at exactly ``beyond`` units is not.
    """
    beyond = number(beyond, "beyond", least=0.0)
    medians = column_medians(x, centre)
    distance = np.abs(x - medians)
    near = within(distance, beyond * column_units(x, units), np.abs(x) + np.abs(medians))
    return distance, ~near & ~np.isnan(distance)


def column_medians(x: Array, centre: npt.ArrayLike | None) -> Array:
    """The medians given, or those of the columns; 0 for a column without any value."""
    if centre is not None:
        return per_column(centre, "centre", x.shape[1])
    medians = np.zeros(x.shape[1])
    for column, values in enumerate(x.T):
        present = values[~np.isnan(values)]
        if present.size:
            medians[column] = np.median(present)
    return medians


def most_stabbed(values: Array, reach: Array) -> float:
    """A point in most of the intervals values ± reach; NaN when there is none."""
    if values.size == 0:
        return float("nan")
    # Half of what `within` forgives: intervals that only touch must still share a point.
    slack = np.minimum(2.0 * _EPS * np.abs(values), 5e-4 * reach)
    left = np.sort(values - reach - slack)
    right = np.sort(values + reach + slack)
    ended = np.searchsorted(right, left, side="left")
    best = int(np.argmax(np.searchsorted(left, left, side="right") - ended))
    # Away from the ends rounding is harmless: no interval stabbed here ends before the next right end.
    return float(left[best] + (right[ended[best]] - left[best]) / 2.0)
