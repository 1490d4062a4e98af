"""Intervals for rates, for means over repetitions and for ratios of sums over records.

Which one to use (catalogue M5): :func:`wilson` where the guesses of different records are
independent; :func:`repetition_interval` where one estimated matrix decides about every
record at once, so that records are not a sample of anything but runs are;
:func:`ratio_interval` for an average whose parts are records.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.errors import InputError


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


class RatioEstimate(NamedTuple):
    """A ratio and the ends of its interval."""

    ratio: float
    low: float
    high: float


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a share (Wilson 1927).

    With p = successes/n and z the normal quantile at (1 + confidence)/2::

        (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)

    ``successes`` may be fractional: a rate over the cells of n records is passed as rate·n.
    No trials at all is no knowledge: (0, 1).

    >>> low, high = wilson(8, 10)
    >>> f"{low:.4f} {high:.4f}"
    '0.4902 0.9433'
    """
    n = whole(n, "n")
    successes = number(successes, "successes", least=0.0, most=float(n))
    z = NormalDist().inv_cdf((1.0 + _confidence(confidence)) / 2.0)
    if n == 0:
        return Interval(0.0, 1.0)
    share = successes / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    # The share lies inside by construction; rounding must not push an end past it (0 and 1 above all).
    return Interval(max(0.0, min(share, (centre - half) / scale)), min(1.0, max(share, (centre + half) / scale)))


def repetition_interval(
    values: npt.ArrayLike, confidence: float = 0.95, *, lower: float = 0.0, upper: float = 1.0
) -> Interval:
    """Student-t interval of the mean over independent repetitions, clipped to [lower, upper].

    mean ± t_{n−1} · s/√n with s the sample standard deviation (ddof 1). One repetition says
    nothing about the spread: (lower, upper). Repetitions that all agree give an interval of
    width zero, which understates what a rare event could still do: n agreeing runs exclude
    only events rarer than about 3/n, so run enough of them.

    >>> repetition_interval([0.2])
    Interval(low=0.0, high=1.0)
    >>> low, high = repetition_interval([0.2, 0.4])
    >>> f"{low:.2f} {high:.2f}"
    '0.00 1.00'
    """
    confidence = _confidence(confidence)
    lower = number(lower, "lower", infinite=True)
    upper = number(upper, "upper", least=lower, infinite=True)
    try:
        sample = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise InputError("values: must hold numbers only; pass one number per repetition") from None
    if sample.size == 0:
        raise InputError("values: holds no repetition; pass at least one")
    outside = int((~((sample >= lower - 1e-9) & (sample <= upper + 1e-9))).sum())
    if outside or not np.isfinite(sample).all():
        raise InputError(f"values: {outside} of {sample.size} lie outside [{lower:g}, {upper:g}]; widen the bounds")
    if sample.size == 1:
        return Interval(lower, upper)
    mean = float(sample.mean())
    half = _student(sample.size - 1, confidence) * float(sample.std(ddof=1)) / math.sqrt(sample.size)
    return Interval(min(max(mean - half, lower), upper), max(min(mean + half, upper), lower))


def ratio_interval(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    confidence: float = 0.95,
    *,
    lower: float = 0.0,
    upper: float = math.inf,
) -> RatioEstimate:
    """The ratio r = Σa_i / Σb_i of two sums over records, with its interval.

    Normal theory by linearisation (Cochran 1977, 6.4): the standard error is
    √(n/(n−1) · Σ(a_i − r b_i)²) / Σb_i, times Student's t. With b_i = 1 it is the usual
    interval of a mean. Records with a_i = b_i = 0 say nothing and do not count. One record
    gives (lower, upper); a zero denominator gives NaN.

    >>> ratio_interval([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    RatioEstimate(ratio=0.5, low=0.5, high=0.5)
    """
    above = np.asarray(numerators, dtype=np.float64)
    below = np.asarray(denominators, dtype=np.float64)
    if above.ndim != 1 or above.shape != below.shape:
        raise InputError("denominators: must be a vector as long as numerators; pass one number per record each")
    counted = (above != 0.0) | (below != 0.0)
    above, below = above[counted], below[counted]
    total = float(below.sum())
    if total == 0.0:
        return RatioEstimate(math.nan, math.nan, math.nan)
    ratio = float(above.sum()) / total
    squares = float(np.sum((above - ratio * below) ** 2))
    low, high = summed_interval(ratio, squares, above.size, total, confidence, lower=lower, upper=upper)
    return RatioEstimate(ratio, low, high)


def summed_interval(
    ratio: float,
    squares: float,
    n: int,
    total: float,
    confidence: float = 0.95,
    *,
    lower: float = 0.0,
    upper: float = math.inf,
) -> Interval:
    """The interval of :func:`ratio_interval` from sums: ``squares`` Σ(a_i − r b_i)² over n records, ``total`` Σb_i."""
    if n < 2 or not math.isfinite(squares):
        return Interval(lower, upper)
    half = _student(n - 1, _confidence(confidence)) * math.sqrt(squares * n / (n - 1)) / abs(total)
    return Interval(max(ratio - half, lower), min(ratio + half, upper))


def _confidence(confidence: float) -> float:
    level = number(confidence, "confidence", least=0.0, most=1.0)
    if not 0.0 < level < 1.0:
        raise InputError("confidence: must lie strictly between 0 and 1; pass e.g. 0.95")
    return level


def _student(freedom: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1.0 + confidence) / 2.0))
