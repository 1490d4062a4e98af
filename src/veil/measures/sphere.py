"""What a length tells about a record: the lengths that a box allows, and the breach they bound (Liu 2007, 5.3).

A projection keeps lengths on average, E‖y‖² = ‖x‖², and says nothing about directions. An attacker who knows
only the range of each attribute (A17) therefore guesses a point of the sphere of radius ‖y‖, and errs by at most
ε‖x‖ with the probability of a cap, :func:`veil.measures.sphere_breach_probability`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, number, renamed, whole
from veil.errors import InputError
from veil.measures.geometry import _cap
from veil.measures.intervals import Interval


def norm_range(lower: npt.ArrayLike, upper: npt.ArrayLike) -> Interval:
    """Least and greatest length of a vector with ``lower ≤ x ≤ upper`` in each attribute.

    The paper's l = Σ lower² and u = Σ upper² hold for non-negative ranges only; a range that straddles 0
    contributes 0 to the least and its farther end to the greatest length (errata L-p).

    >>> norm_range([-3, 1], [2, 2])
    Interval(low=1.0, high=3.605551275463989)
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if low.shape != high.shape or low.ndim != 1 or not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InputError("lower, upper: must be one finite number per attribute each; pass two vectors of one length")
    if count := int((low > high).sum()):
        raise InputError(f"lower, upper: lower is above upper in {count} attribute(s); swap them")
    squares = np.stack([low**2, high**2])
    least = np.where((low <= 0) & (high >= 0), 0.0, squares.min(axis=0))
    return Interval(math.sqrt(float(least.sum())), math.sqrt(float(squares.max(axis=0).sum())))


@renamed("epsilon", "tolerance")
def breach_bound(
    radius: npt.ArrayLike, tolerance: float, dimension: int, lengths: tuple[npt.ArrayLike, npt.ArrayLike]
) -> Array:
    """Highest breach probability of a uniform guess on spheres of these radii, over all records of allowed length.

    ``tolerance`` is the papers' ε, the error as a share of ‖x‖ that counts as a breach; ``lengths`` are the least and
    the greatest length of a record, one pair for all or one per radius.

    For a record of length ‖x‖ the cap has cos a = (‖x‖²(1 − ε²) + r²)/(2r‖x‖). It is widest, sin a = ε, at
    ‖x‖ = r/√(1 − ε²) and not at ‖x‖ = r as the paper has it (errata L-q), and narrows towards both sides, so
    the worst allowed record has the length in ``lengths`` nearest to that.

    >>> breach_bound([1.0, 5.0], 0.6, 6, (0.0, 2.0)).round(5)
    array([0.01537, 0.     ])
    """
    r = np.asarray(radius, dtype=np.float64)
    eps = number(tolerance, "tolerance", least=0.0)
    p = whole(dimension, "dimension", least=1)
    shortest, longest = (np.asarray(end, dtype=np.float64) for end in lengths)
    worst = r / math.sqrt(1.0 - eps * eps) if eps < 1.0 else np.full_like(r, np.inf)
    norm = np.clip(worst, shortest, longest)
    reached = (norm > 0.0) & (r > 0.0)
    # At r = 0 or ‖x‖ = 0 the guess is the origin, or the record is: the error is ‖x‖ or r.
    still = np.where(np.abs(r - norm) <= eps * norm, 1.0, 0.0)
    safe = np.where(reached, 2.0 * r * norm, 1.0)
    cosine = np.where(reached, (norm**2 * (1.0 - eps * eps) + r**2) / safe, 2.0)
    inside = np.clip(cosine, -1.0, 1.0)
    share = np.where(cosine > 1.0, 0.0, _cap(inside, (1.0 - inside) * (1.0 + inside), p))
    return np.asarray(np.where(reached, share, still))
