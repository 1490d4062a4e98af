"""What errors of a column are counted in, as far as a release and a sample show it (A28).

A judge counts in the private column's standard deviation, or in IQR/1.349 where it has long tails
(:mod:`veil.measures.units`). An attacker, who aims at a window of that width, estimates both.
"""

from __future__ import annotations

import numpy as np

from veil.attacks.posterior.candidates import Candidates
from veil.attacks.posterior.observations import Number
from veil.data.blocks import Vector

ENOUGH_SAMPLED = 100
"""Values of a sample that tell the quartiles better than the marginal does."""
LEAST_BINS = 2.0
"""Of the grid, that the quartiles of a marginal are apart if they do not lie in one heap."""


def column_spread(number: Number, candidates: Candidates, i: int, sigma: float) -> float:
    """The standard deviation of the private column, by the release."""
    z = number.z[~np.isnan(number.z)]
    if not number.logs:
        centre = candidates.weights @ candidates.centres[:, i]
        inner = candidates.spreads[candidates.group, i, i] + (candidates.centres[:, i] - centre) ** 2
        return float(candidates.unit[i]) * max(float(np.sqrt(candidates.weights @ inner)), 1e-9)
    signs = np.sign(number.sign[~np.isnan(number.z)]) if number.sign is not None else np.ones(len(z))
    share = len(z) / max(int((~np.isnan(number.sign)).sum()), 1) if number.sign is not None else 1.0
    top = float(z.max(initial=0.0))
    first = float((signs * np.exp(z - top)).mean()) * np.exp(-(sigma**2) / 2) * share
    second = float(np.exp(2 * (z - top)).mean()) * np.exp(-2 * sigma**2) * share
    return float(np.sqrt(max(second - first**2, 1e-6 * second)) * np.exp(top))


def interquartile_range(number: Number, sample: Vector | None, place: Vector, widths: Vector, shape: Vector) -> float:
    """Of the private column, by values of a sample or by its marginal ``shape`` on a grid.

    0 where the quartiles lie in one heap, or where sizes alone are seen and signs differ.
    """
    if sample is not None and (there := ~np.isnan(sample)).sum() >= ENOUGH_SAMPLED:
        low, high = np.percentile(sample[there], (25.0, 75.0))
        return float(high - low)
    if number.logs and number.sign is not None and (number.sign <= 0).any():
        return 0.0
    total = np.cumsum(shape) / max(float(shape.sum()), 1e-300)
    low, high = np.searchsorted(total, (0.25, 0.75))
    apart = float(place[high] - place[low])
    return apart if apart > LEAST_BINS * widths[low] else 0.0
