"""Intervals for quantiles that hold whatever the distribution is.

The reconstruction of R1 and R2 is a good guess without an error bar: bootstrap intervals around it miss the
truth far too often. What can be said for certain follows from the release's own distribution function. With
``y = x + r`` and any a::

    P(y ≤ t + a) ≥ P(x ≤ t) P(r ≤ a)        P(y > t − a) ≥ P(x > t) P(r ≥ −a)

so the q-quantile of x lies between ``max_a [Q_y(q·P(r ≤ a)) − a]`` and ``min_a [Q_y(1 − (1−q)·P(r ≥ −a)) + a]``.
Q_y is known within the band of Dvoretzky, Kiefer and Wolfowitz, here with Bretagnolle's (1980) constant, which
also covers records that are independent but not alike: the band ``ε = √(ln(2e/α)/2n)`` holds for all quantiles
at once, for the private table as well as for the population. The price is width: about the noise's own size.

Q_y may be read off the sorted values, or off counts of them in fine bins: what lies in a bin is then taken to be at
its lower edge for a low end and at its upper edge for a high end. Such an interval holds the one of the sorted values,
and is wider by at most a bin at each end.
"""

from __future__ import annotations

import math

import numpy as np

from veil.arguments import number
from veil.data.blocks import Vector
from veil.errors import InputError
from veil.measures import Interval
from veil.numerics.laws import check_law
from veil.recovery.counting import Counts, FineCounts

_REACH = np.linspace(0.0, 4.0, 81)


def quantile_interval(released: Vector, q: float, noise: tuple[str, float], *, confidence: float = 0.95) -> Interval:
    """An interval for the private column's q-quantile; an end that the release cannot bound is infinite.

    Parameters
    ----------
    released
        The released values of one column.
    q
        Which quantile, between 0 and 1.
    noise
        Law (normal, uniform, laplace) and standard deviation of the noise.

    >>> y = np.random.default_rng(0).normal(0, np.sqrt(2), 100_000)
    >>> low, high = quantile_interval(y, 0.5, ("normal", 1.0))
    >>> bool(-1.2 < low < 0 < high < 1.2)
    True
    """
    values = np.sort(np.asarray(released, dtype=np.float64))
    values = values[~np.isnan(values)]
    return _interval((values, values), np.arange(1, len(values) + 1), q, noise, confidence)


def counted_interval(
    released: FineCounts,
    q: float,
    noise: tuple[str, float],
    *,
    confidence: float = 0.95,
    n: float | None = None,
    ends: tuple[Vector, Vector] | None = None,
) -> Interval:
    """The same from counts of the released values, for releases of any size; rounded outwards to the bins' edges.

    ``n`` is how many records the counts are worth, if that is not their sum: of weights w, (Σw)²/Σw² (Kish 1965).
    ``ends`` are the bins' edges, where values were changed after the noise.

    >>> from veil.recovery.counting import fine_counts
    >>> y = np.random.default_rng(0).normal(0, np.sqrt(2), 100_000)
    >>> low, high = counted_interval(fine_counts(y, 1.0, "y"), 0.5, ("normal", 1.0))
    >>> exact_low, exact_high = quantile_interval(y, 0.5, ("normal", 1.0))
    >>> bool(exact_low - 1 / 16 <= low <= exact_low), bool(exact_high <= high <= exact_high + 1 / 16)
    (True, True)
    """
    return _interval(released.edges() if ends is None else ends, np.cumsum(released.counts), q, noise, confidence, n)


def _interval(
    ends: tuple[Vector, Vector],
    ranks: Counts,
    q: float,
    noise: tuple[str, float],
    confidence: float,
    n: float | None = None,
) -> Interval:
    """The interval where values of ranks above ``ranks[i - 1]`` up to ``ranks[i]`` lie from ``ends[0][i]`` to
    ``ends[1][i]``."""
    number(q, "q", least=0, most=1, rule="between 0 and 1")
    number(confidence, "confidence", least=0.5, most=0.9999, rule="between 0.5 and 0.9999")
    if not len(ranks):
        raise InputError("released has no values; a quantile needs at least one")
    band = math.sqrt(math.log(2 * math.e / (1 - confidence)) / (2 * (int(ranks[-1]) if n is None else n)))
    law, std = noise
    reach = std * _REACH
    below = check_law(law, "noise").cdf(_REACH) if std > 0 else np.ones_like(reach)
    low = _empirical(ends[0], ranks, q * below - band, -math.inf) - reach
    high = _empirical(ends[1], ranks, 1 - (1 - q) * below + band, math.inf) + reach
    return Interval(float(np.max(low)), float(np.min(high)))


def _empirical(values: Vector, ranks: Counts, levels: Vector, beyond: float) -> Vector:
    """Empirical quantiles; ``beyond`` where the level leaves (0, 1]."""
    n = int(ranks[-1])
    rank = np.clip(np.ceil(levels * n).astype(np.int64), 1, n)
    outside = levels <= 0 if beyond < 0 else levels > 1
    return np.where(outside, beyond, values[np.searchsorted(ranks, rank)])
