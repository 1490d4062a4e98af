"""What rotating a pair of columns does to each of them (P5; Ketel, after Oliveira and Zaïane 2004).

*Model.* ``a' = a·cosθ + b·sinθ``, ``b' = −a·sinθ + b·cosθ`` (clockwise, θ in radians). With variances v_a, v_b and
covariance c of the pair, s = sin(θ/2) and h = cos(θ/2)::

    Var(a − a') = 4s²(v_a·s² − 2c·s·h + v_b·h²)
    Var(b − b') = 4s²(v_b·s² + 2c·s·h + v_a·h²)

*Security range*: the angles at which both reach their thresholds. *Threat.* The thresholds bound the error of the
attacker who takes the released value for the private one (A1), nothing more: whoever finds the angle has both
columns back, and the range is public when the method's parameters are.

The loss and the privacy that Ketel plots are :func:`privacy_loss` and :func:`conditional_privacy` of
:func:`rotated_correlation`, which also holds for correlated columns (errata K); ``rotated_variance`` is beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.errors import InputError
from veil.measures.intervals import Interval
from veil.measures.spectrum import as_covariance

Form = tuple[float, float, float]
TURN = 2.0 * math.pi
_POINT = 1e-9  # radians; a shorter interval is a single angle up to rounding


def rotated_variance(theta: float, r: float = 0.0) -> float:
    """Variance of X·cosθ + Y·sinθ, X and Y of unit variance and correlation r: 1 + r·sin2θ.

    Ketel's "the statistical properties are preserved" is the case r = 0 (errata K).

    >>> f"{rotated_variance(13.7, 0.394):.3f} {rotated_variance(13.7, -0.394):.3f}"
    '1.302 0.698'
    """
    angle, shared = number(theta, "theta"), number(r, "r", least=-1.0, most=1.0)
    return 1.0 + shared * math.sin(2.0 * angle)


class DifferenceVariances(NamedTuple):
    """Var(a − a') and Var(b − b') of a rotated pair."""

    first: float
    second: float


def difference_variances(va: float, vb: float, cov: float, theta: float) -> DifferenceVariances:
    """Var(a − a') and Var(b − b') of a pair rotated by ``theta``.

    >>> difference_variances(1.0, 1.0, 0.0, math.pi)
    DifferenceVariances(first=4.0, second=4.0)
    """
    first, second = _pair(va, vb, cov)
    angle = number(theta, "theta")
    return DifferenceVariances(_difference(first, angle), _difference(second, angle))


def security_range(va: float, vb: float, cov: float, rho1: float, rho2: float) -> list[Interval]:
    """The angles in [0, 2π] with Var(a − a') ≥ ``rho1`` and Var(b − b') ≥ ``rho2``, as disjoint intervals in order.

    Exact to rounding: between its extremes, which are roots of a quartic, each variance is monotone, so every end
    of an interval is bracketed and found to the last bits. Thresholds of 0 give the whole circle; thresholds out
    of reach give no interval. Nor does one that is reached at a single angle only: that angle would be no secret.

    >>> [(round(a, 4), round(b, 4)) for a, b in security_range(1.0, 1.0, 0.0, 2.0, 2.0)]
    [(1.5708, 4.7124)]
    >>> security_range(1.0, 1.0, 0.0, 5.0, 0.0)
    []
    """
    thresholds = number(rho1, "rho1", least=0.0), number(rho2, "rho2", least=0.0)
    conditions = list(zip(_pair(va, vb, cov), thresholds, strict=True))
    cuts = {0.0, TURN}
    for form, threshold in conditions:
        stops = sorted({0.0, TURN, *_extremes(form)})
        cuts.update(stops)
        cuts.update(_crossings(form, threshold, stops))
    ranges: list[Interval] = []
    for low, high in pairwise(sorted(cuts)):
        middle = (low + high) / 2.0
        if any(_difference(form, middle) < threshold for form, threshold in conditions):
            continue
        if ranges and low - ranges[-1].high <= _POINT:
            ranges[-1] = Interval(ranges[-1].low, high)
        else:
            ranges.append(Interval(low, high))
    return [each for each in ranges if each.high - each.low > _POINT]


def range_length(intervals: Sequence[tuple[float, float]]) -> float:
    """Total length of disjoint intervals, in radians: what is left to guess of the angle."""
    return math.fsum(high - low for low, high in intervals)


class RotationPair(NamedTuple):
    """A pair of columns to rotate together, with the angles that are secure for it."""

    first: int
    second: int
    intervals: list[Interval]


def choose_rotation_pairs(covariance: npt.ArrayLike, rho1: float, rho2: float) -> list[RotationPair]:
    """Pairs of columns whose security ranges are long, and the ranges (D5).

    Greedy: the pair of longest range first, then the longest among the columns left; an odd column goes last with the
    column that leaves it most room, as it is before any rotation. Long ranges make the angles harder to guess and no
    attack harder: four known records undo any choice (A9).

    >>> [pair[:2] for pair in choose_rotation_pairs(np.eye(4), 0.3, 0.3)]
    [(0, 1), (2, 3)]
    """
    matrix = as_covariance(covariance, "covariance", "covariance")
    if len(matrix) < 2:
        raise InputError("covariance: has 1 column; rotating takes pairs")

    def ranged(i: int, j: int) -> RotationPair:
        return RotationPair(i, j, security_range(matrix[i, i], matrix[j, j], matrix[i, j], rho1, rho2))

    left, pairs = set(range(len(matrix))), list[RotationPair]()
    ranked = sorted(
        (ranged(i, j) for i, j in combinations(range(len(matrix)), 2)), key=lambda p: -range_length(p.intervals)
    )
    for pair in ranked:
        if {pair.first, pair.second} <= left:
            pairs.append(pair)
            left -= {pair.first, pair.second}
    pairs += [
        max((ranged(i, j) for j in range(len(matrix)) if j != i), key=lambda p: range_length(p.intervals)) for i in left
    ]
    short = [pair for pair in pairs if not pair.intervals]
    if short:
        raise InputError(
            f"rho1 and rho2 ({rho1:g}, {rho2:g}) leave no angle for {len(short)} of {len(pairs)} pairs; lower them"
        )
    return pairs


def point_in(intervals: Sequence[tuple[float, float]], u: float) -> float:
    """The point at share ``u`` of the way through disjoint intervals; uniform on them when u is uniform on [0, 1).

    >>> point_in([(0.0, 1.0), (3.0, 4.0)], 0.75)
    3.5
    """
    share = number(u, "u", least=0.0, most=1.0)
    if not intervals:
        raise InputError("intervals: holds none; lower the thresholds rho1 and rho2")
    rest = share * range_length(intervals)
    for low, high in intervals:
        if rest < high - low:
            return low + rest
        rest -= high - low
    return intervals[-1][1]


def _pair(va: float, vb: float, cov: float) -> tuple[Form, Form]:
    """Both differences in one form: the second is the first with the variances exchanged and c negated."""
    first, second = number(va, "va", least=0.0), number(vb, "vb", least=0.0)
    limit = math.sqrt(first) * math.sqrt(second)
    shared = number(cov, "cov")
    if abs(shared) > limit + 1e-9 * max(first, second):  # rounding may leave a constant column a covariance
        raise InputError("cov: is larger than the variances allow; pass va, vb and cov of one pair of columns")
    shared = min(limit, max(-limit, shared))
    return (first, second, shared), (second, first, -shared)


def _difference(form: Form, theta: float) -> float:
    own, other, shared = form
    s, h = math.sin(theta / 2.0), math.cos(theta / 2.0)
    return 4.0 * s * s * max(0.0, own * s * s - 2.0 * shared * s * h + other * h * h)


def _extremes(form: Form) -> list[float]:
    """Angles that include all zeros of the derivative, from the roots in z = e^{iθ} of its quartic.

    With A = −2c − 2iv_a and B = 2c + i(v_a − v_b) the derivative is Re(Az + Bz²). A root off the unit circle is
    no extreme, but one more cut does no harm.
    """
    own, other, shared = form
    first, second = complex(-2.0 * shared, -2.0 * own), complex(2.0 * shared, own - other)
    quartic = np.array([second, first, 0.0, first.conjugate(), second.conjugate()])
    largest = float(np.abs(quartic).max())
    if largest < np.finfo(np.float64).tiny:  # zero, or no number that arithmetic could use
        return []
    quartic /= largest
    quartic[np.abs(quartic) < 1e-15] = 0.0  # a leading coefficient of rounding errors alone is none
    return [float(angle % TURN) for angle in np.angle(np.roots(quartic))]


def _crossings(form: Form, threshold: float, stops: Sequence[float]) -> list[float]:
    """Where the variance crosses the threshold, at most once between neighbouring stops."""
    from scipy.optimize import brentq

    def excess(theta: float) -> float:
        return _difference(form, theta) - threshold

    return [
        float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15, maxiter=200))
        for low, high in pairwise(stops)
        if (excess(low) < 0.0) != (excess(high) < 0.0)
    ]
