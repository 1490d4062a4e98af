"""Intervals for quantiles that hold whatever the distribution is.

The reconstruction of R1 and R2 is a good guess without an error bar: bootstrap intervals around it miss the
truth far too often. What can be said for certain follows from the release's own distribution function. With
``y = x + r`` and any a::

    P(y ≤ t + a) ≥ P(x ≤ t) P(r ≤ a)        P(y > t − a) ≥ P(x > t) P(r ≥ −a)

so the q-quantile of x lies between ``max_a [Q_y(q·P(r ≤ a)) − a]`` and ``min_a [Q_y(1 − (1−q)·P(r ≥ −a)) + a]``.
Q_y is known within the band of Dvoretzky, Kiefer and Wolfowitz, here with Bretagnolle's (1980) constant, which
also covers records that are independent but not alike: the band ``ε = √(ln(2e/α)/2n)`` holds for all quantiles
at once, for the private table as well as for the population. The price is width: about the noise's own size.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from veil.errors import InputError
from veil.parameters import number

Vector = npt.NDArray[np.float64]
_REACH = np.linspace(0.0, 4.0, 81)


def quantile_interval(
    released: Vector, q: float, noise: tuple[str, float], *, confidence: float = 0.95
) -> tuple[float, float]:
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
    number(q, "q", low=0, high=1, rule="between 0 and 1")
    number(confidence, "confidence", low=0.5, high=0.9999, rule="between 0.5 and 0.9999")
    values = np.sort(np.asarray(released, dtype=np.float64))
    values = values[~np.isnan(values)]
    if not len(values):
        raise InputError("released has no values; a quantile needs at least one")
    band = math.sqrt(math.log(2 * math.e / (1 - confidence)) / (2 * len(values)))
    law, std = noise
    reach = std * _REACH
    below = np.array([_cdf(law, a / std) for a in reach]) if std > 0 else np.ones_like(reach)
    low = _empirical(values, q * below - band, -math.inf) - reach
    high = _empirical(values, 1 - (1 - q) * below + band, math.inf) + reach
    return float(np.max(low)), float(np.min(high))


def _empirical(values: Vector, levels: Vector, beyond: float) -> Vector:
    """Empirical quantiles; ``beyond`` where the level leaves (0, 1]."""
    n = len(values)
    place = np.clip(np.ceil(levels * n).astype(int) - 1, 0, n - 1)
    outside = levels <= 0 if beyond < 0 else levels > 1
    return np.where(outside, beyond, values[place])


def _cdf(law: str, z: float) -> float:
    """P(r ≤ z) for noise of standard deviation 1; all laws are symmetric."""
    if law == "normal":
        return 0.5 * math.erfc(-z / math.sqrt(2))
    if law == "uniform":
        return min(1.0, max(0.0, 0.5 + z / (2 * math.sqrt(3))))
    if law == "laplace":
        tail = 0.5 * math.exp(-abs(z) * math.sqrt(2))
        return 1 - tail if z >= 0 else tail
    raise InputError(f"noise must be normal, uniform or laplace; got {law!r}")
