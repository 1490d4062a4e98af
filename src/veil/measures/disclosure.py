"""Complete disclosure (M10): an interval that holds the private value and is narrow enough to give it away.

The owner says how narrow that is: τ_j, in the units of column j.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import Mask, as_table, per_column
from veil.errors import InputError
from veil.measures.breach import exposure, within
from veil.measures.measure import Measure


def completely_disclosed(truth: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, tau: npt.ArrayLike) -> Mask:
    """Which values (N × d) are disclosed; the rules are those of :func:`complete_disclosure_share`."""
    x = as_table(truth, "truth")
    low, high = as_table(lower, "lower", infinite=True), as_table(upper, "upper", infinite=True)
    for name, ends in (("lower", low), ("upper", high)):
        if ends.shape != x.shape:
            raise InputError(f"{name}: has shape {ends.shape} where truth has {x.shape}; pass tables of one shape")
    if count := int((low > high).sum()):
        raise InputError(f"lower: exceeds upper in {count} of {x.size} intervals; pass the lower ends first")
    reach = per_column(tau, "tau", x.shape[1], least=0.0)
    inside = (low <= x) & (x <= high)
    with np.errstate(invalid="ignore"):
        size = np.abs(x) + np.maximum(np.abs(low), np.abs(high))
        return np.asarray(inside & within(np.maximum(x - low, high - x), reach, size))


def complete_disclosure_share(
    truth: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    tau: npt.ArrayLike,
    confidence: float = 0.95,
) -> Measure:
    """Share of values with ``x ∈ [lower, upper] ⊂ [x − τ_j, x + τ_j]`` (M10; PKDD 2006 tutorial).

    An interval that misses the value discloses nothing, however narrow; one that holds it discloses
    when neither end is further from it than τ_j.

    Parameters
    ----------
    truth, lower, upper
        N × d tables in the same units. NaN in an end: the attack says nothing, no disclosure. NaN in
        ``truth``: not scored.
    tau
        One number, or one per column, in the units of the column.
    confidence
        Of the Wilson interval, over records.

    >>> complete_disclosure_share([[1.0], [2.0], [3.0]], [[0.5], [0.0], [3.1]], [[1.5], [4.0], [3.2]], tau=1.0)
    0.3333 [0.06149, 0.7923] higher is exposed
    """
    mask = completely_disclosed(truth, lower, upper, tau)
    return exposure(mask, ~np.isnan(as_table(truth, "truth")), confidence)
