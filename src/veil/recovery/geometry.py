"""R7: inner products and distances of private records from a projection's release, with intervals.

*Model.* ``u = R x`` (P8), entries of R independent with mean 0, variance 1/k and kurtosis κ; or ``u = R x mod 2``
(P9). *Known*: the released records and the manifest. Everything is in the units that were projected.

|u − v|² estimates |x − y|², and u·v estimates x·y, without bias (Liu 2007, Lemmas 5.1.4–5.1.5). The analyst knows
neither |z|² nor, for the sparse kinds, Σz⁴, on which the spread depends (see :mod:`veil.measures.projection`):

* *Gaussian*: k|u − v|²/|z|² is chi-square with k degrees of freedom. The interval of a distance is exact.
* *Other kinds*: Var|u − v|² = c|z|⁴/k with c = 2 + (κ − 3)Σz⁴/|z|⁴. The interval takes a chi-square law with 2k/c
  degrees of freedom, which has that variance, and for c its upper bound: Σz⁴ lies between |z|⁴/d and |z|⁴. With
  ``fourth="spread"`` c is that of a difference spread over all d columns like normal values, Σz⁴ = 3|z|⁴/(d + 2):
  narrower, and wrong where few columns differ.
* *Inner products*: u·v = (|u + v|² − |u − v|²)/4. With both records scaled to one length, which leaves u·v as it
  is, the two squares are uncorrelated; their limits are combined by square-and-add (Zou and Donner 2008). Not
  exact, but within a percent of 95 % from k = 5 on, where the normal interval has 81 %.

For kinds other than the Gaussian the level is that of a matching law, not exact: it holds for differences spread over
the columns, and can fall far below where two or three columns differ and k is small (measured: .72 at d = 25, k = 5).

An interval is about one pair and the draw of R. One R serves all pairs of a release, so that intervals of many
pairs hold or fail together (errata L-ab).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
from scipy import special

from veil.arguments import choice, number, whole
from veil.data.blocks import Vector
from veil.errors import InputError
from veil.measures.projection import KINDS, ProjectionKind, projection_kurtosis

Fourth = Literal["bound", "spread"]


@dataclass(frozen=True)
class PairEstimate:
    """An estimate per pair of records; numbers for one pair, arrays of length n for n of them.

    ``low`` and ``high`` are the ends of the interval; ``high`` is infinite where the release sets no limit.
    """

    value: float | Vector
    standard_error: float | Vector
    low: float | Vector
    high: float | Vector


def distance_interval(
    u: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    kind: ProjectionKind = "gaussian",
    d: int | None = None,
    noise: float = 0.0,
    fourth: Fourth = "bound",
    confidence: float = 0.95,
) -> PairEstimate:
    """The *squared* distance of two private records, or of n pairs of them (the ends' roots are for the distance).

    Parameters
    ----------
    u, v
        Released records: k numbers each, or n × k.
    kind
        The law of the secret matrix, as the manifest says it.
    d
        The dimension that was reduced; needed for the "sparse" kind, and sharpens "achlioptas1".
    noise
        Standard deviation of the normal noise that was added to each released value.
    fourth : {"bound", "spread"}
        What to take for Σz⁴, which matters for the "sparse" kind; see the module.
    confidence
        Level of the interval.

    Notes
    -----
    Sparse kinds can release one record for two different ones. A squared distance of 0 then gives an infinite
    ``high``, unless k rows in which nothing shows are less likely than 1 − confidence.

    >>> estimate = distance_interval([3.0, 0.0, 0.0, 4.0], [0.0, 0.0, 0.0, 0.0])
    >>> f"{estimate.value:.0f} [{estimate.low:.2f}, {estimate.high:.1f}]"
    '25 [8.97, 206.4]'
    """
    first, second = _released(u, v)
    k = first.shape[-1]
    excess = _excess(kind, d)
    factor = _factor(excess, d, fourth)
    tail = _tail(confidence)
    added = 2.0 * k * number(noise, "noise", least=0.0, most=1e150, rule="a standard deviation of at least 0") ** 2
    square = ((first - second) ** 2).sum(axis=-1)
    low, high = _limits(square, k, factor, tail)
    if kind != "gaussian":
        unseen = (
            max(0.5, 1.0 - 1.0 / (3.0 + excess)) ** k
        )  # a row shows nothing: one column and a zero, or two that cancel
        high = np.where((square == 0.0) & (unseen > 1.0 - confidence) & (added == 0.0), np.inf, high)
    freedom = 2.0 * k / factor
    error = square * math.sqrt(2.0 / (freedom + 2.0))  # the square of the estimate is too large by (f + 2)/f
    return _estimate(square - added, error, np.maximum(0.0, low - added), np.maximum(0.0, high - added))


def inner_product_interval(
    u: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    kind: ProjectionKind = "gaussian",
    d: int | None = None,
    fourth: Fourth = "bound",
    confidence: float = 0.95,
) -> PairEstimate:
    """The inner product of two different private records, or of n pairs of them; parameters as for distances.

    Independent noise on the release widens the interval as it should and needs no parameter. The product of a
    record with itself is its squared distance from 0.

    >>> estimate = inner_product_interval([1.0, 2.0, 0.0, 2.0], [2.0, 1.0, 2.0, 0.0])
    >>> f"{estimate.value:.0f} [{estimate.low:.1f}, {estimate.high:.1f}]"
    '4 [-14.6, 51.2]'
    """
    first, second = _released(u, v)
    k, excess = first.shape[-1], _excess(kind, d)
    factor = _factor(excess, d, fourth)
    tail = _tail(confidence)
    product = (first * second).sum(axis=-1)
    squares = (first**2).sum(axis=-1) * (second**2).sum(axis=-1)
    lengths = [np.sqrt((record**2).sum(axis=-1, keepdims=True)) for record in (first, second)]
    both = np.sqrt(lengths[0] * lengths[1])
    one, two = (
        np.divide(record * both, length, out=np.zeros_like(record), where=length > 0)
        for record, length in zip((first, second), lengths, strict=True)
    )
    plus, minus = ((one + two) ** 2).sum(axis=-1), ((one - two) ** 2).sum(axis=-1)
    (plus_low, plus_high), (minus_low, minus_high) = (_limits(s, k, factor, tail) for s in (plus, minus))
    low = product - np.hypot(plus - plus_low, minus_high - minus) / 4.0
    high = product + np.hypot(plus_high - plus, minus - minus_low) / 4.0
    error = np.sqrt(_product_variance(product, squares, k, excess, d, fourth))
    return _estimate(product, error, low, high)


def hamming_estimate(
    u: npt.ArrayLike, v: npt.ArrayLike, *, p: float, d: int | None = None, confidence: float = 0.95
) -> PairEstimate:
    """The number of attributes in which two 0/1 records differ, from their binary projections (P9).

    Each of the k released bits differs with probability q = (1 − (1 − 2p)^h)/2, independently over R, so their
    number is binomial and ``h = ln(1 − 2q)/ln(1 − 2p)`` (Liu 2007, 5.1.3). The interval is Clopper and Pearson's
    for q, mapped through that rising function and rounded inwards to whole numbers: at least ``confidence`` for
    any h. Where q may be ½ or more the release sets no upper limit but the number of attributes ``d``.

    >>> estimate = hamming_estimate([0, 1, 1, 0] * 25, [0, 1, 0, 0] * 25, p=0.02, d=200)
    >>> f"{estimate.value:.1f} [{estimate.low:.0f}, {estimate.high:.0f}]"
    '17.0 [11, 28]'
    """
    first, second = _released(u, v)
    if not (np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all()):
        raise InputError("u and v must hold 0 and 1 only: released records of a binary projection")
    chance = number(p, "p", least=0.0, most=0.5, rule="the manifest's probability, above 0 and below 0.5")
    if chance in (0.0, 0.5):
        raise InputError("p must be above 0 and below 0.5: at either end the release does not depend on the distance")
    most = math.inf if d is None else float(whole(d, "d", least=1))
    k = first.shape[-1]
    tail = _tail(confidence)
    differing = (first != second).sum(axis=-1).astype(np.float64)
    lower = np.where(differing > 0, special.betaincinv(np.maximum(differing, 1), k - differing + 1, tail), 0.0)
    upper = np.where(differing < k, special.betaincinv(differing + 1, np.maximum(k - differing, 1), 1.0 - tail), 1.0)
    share = differing / k
    value, low, high = (np.minimum(_inverse(q, chance), most) for q in (share, lower, upper))
    with np.errstate(divide="ignore"):
        slope = np.where(share < 0.5, -2.0 / (np.abs(1.0 - 2.0 * share) * math.log1p(-2.0 * chance)), np.inf)
    spread = np.sqrt(share * (1.0 - share) / k)
    error = np.where(spread > 0.0, slope * np.where(spread > 0.0, spread, 1.0), 0.0)
    return _estimate(value, error, np.maximum(0.0, np.ceil(low - 1e-9)), np.floor(high + 1e-9))


def _inverse(q: Vector, p: float) -> Vector:
    inside = np.where(q < 0.5, q, 0.0)
    return np.where(q < 0.5, np.log1p(-2.0 * inside) / math.log1p(-2.0 * p), np.inf)


def _limits(square: Vector, k: int, factor: float, tail: float) -> tuple[Vector, Vector]:
    """Limits of |z|² from |R z|² by the chi-square law of relative variance factor/k; both 0 where it is 0."""
    half = k / factor
    low, high = special.gammaincinv(half, 1.0 - tail), special.gammaincinv(half, tail)
    with np.errstate(divide="ignore", invalid="ignore"):
        return square * (half / low), np.where(square > 0.0, square * (half / high), 0.0)


def _product_variance(product: Vector, squares: Vector, k: int, excess: float, d: int | None, fourth: str) -> Vector:
    """Var(u·v), unbiased for the Gaussian kind: the squares of the estimates are put right first."""
    bias = (1.0 - 1.0 / k) * (1.0 + 2.0 / k)
    own = np.maximum(0.0, product**2 - squares / k) / bias if k > 1 else np.zeros_like(squares)
    both = squares - 2.0 * own / k
    if d is None:
        shared = np.zeros_like(own)
    elif fourth == "spread":
        shared = (both + 2.0 * own) / (d + 2)
    else:
        shared = both if excess > 0.0 else own / d  # Σx²y² is at most |x|²|y|² and at least (x·y)²/d
    return np.asarray(np.maximum(0.0, both + own + excess * shared) / k)


def _excess(kind: str, d: int | None) -> float:
    """κ − 3."""
    choice(kind, "kind", KINDS)
    if d is None and kind == "sparse":
        raise InputError("d must be given for the sparse kind: the dimension that was reduced, from the manifest")
    columns = 2 if d is None else whole(d, "d", least=2)
    return projection_kurtosis(cast(ProjectionKind, kind), columns) - 3.0


def _factor(excess: float, d: int | None, fourth: str) -> float:
    """c, the relative variance of |R z|² times k."""
    choice(fourth, "fourth", ("bound", "spread"))
    if d is None:
        return 2.0
    if fourth == "spread":
        return 2.0 + excess * 3.0 / (d + 2)
    return 2.0 + (excess / d if excess < 0.0 else excess)


def _released(u: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Vector, Vector]:
    try:
        first, second = (np.asarray(record, dtype=np.float64) for record in (u, v))
    except (TypeError, ValueError):
        raise InputError("u and v must hold numbers only: released records, k numbers each or n × k") from None
    if first.shape != second.shape or first.ndim not in (1, 2) or not first.size:
        raise InputError(f"u and v must both be k numbers or n × k; got shapes {first.shape} and {second.shape}")
    bad = int((~np.isfinite(first) | ~np.isfinite(second)).sum())
    if bad:
        raise InputError(f"u and v have {bad} missing or infinite values; leave out those pairs")
    return first, second


def _tail(confidence: float) -> float:
    level = number(confidence, "confidence", least=0.0, most=1.0, rule="a level between 0 and 1, for example 0.95")
    if not 0.0 < level < 1.0:
        raise InputError("confidence must lie strictly between 0 and 1, for example 0.95")
    return (1.0 - level) / 2.0


def _estimate(*parts: Vector) -> PairEstimate:
    return PairEstimate(*(float(part) if np.ndim(part) == 0 else np.asarray(part) for part in parts))
