"""Zeros that heap: a marginal with an atom at zero, where the release allows it (A28).

Amounts are often exactly zero: no capital gain, no rainfall, no claim. Behind noise such a heap looks like a narrow
component near zero, whose middle and width are known only roughly, and a guess that misses zero by more than the
tolerance misses all of them. With the marginal p on the grid, and p' the same without its mass within w of zero and
with as heavy an atom there as makes the release most likely, the atom is taken if the release is nearly as likely under
p' as under p, if p peaks near zero, and if zero's surroundings hold so much more than what lies beside them that a
smooth marginal is no explanation.
"""

from __future__ import annotations

import numpy as np

from veil.attacks.posterior.margins import judges, log_likelihood, own_density
from veil.attacks.posterior.observations import Number
from veil.data.blocks import Matrix, Vector

WIDTHS = (0.3, 0.2, 0.1)
"""How far from zero mass is moved, in standard deviations of the column."""
DENSER = 2.0
"""How many times as dense as the ring from w to 3w the surroundings of zero must be."""
LEAST_HEAP = 0.02
PEAK, PEAK_BESIDE, ONE_SIDED = 0.1, 0.4, 0.25
"""How far from zero the marginal may peak, in standard deviations of the column, and how far where nearly all of the
rest lies on one side of zero: less than a quarter as much on the other. Amounts pull the peak to their side."""
MOST_LOSS = 2.0
"""Log-likelihood that an atom may cost: nothing else says that a heap at zero is exactly there."""
STEPS = 30


def with_zeros(shape: Vector, number: Number, points: Vector, sigma: float, unit: float) -> Vector:
    """The marginal with an atom at the point nearest to zero; as it is where nothing speaks for one.

    ``unit`` is the column's standard deviation, ``sigma`` the noise's.
    """
    if not points[0] <= 0.0 <= points[-1]:
        return shape
    total, far = max(float(shape.sum()), 1e-300), np.abs(points)
    seen: Matrix | None = None
    for width in WIDTHS:
        w = max(width * unit, float(points[1] - points[0]))
        near, ring = far <= w, (far > w) & (far <= 3.0 * w)
        heap, beside = float(shape[near].sum()) / total, float(shape[ring].sum()) / total / max(int(ring.sum()), 1)
        if heap < max(LEAST_HEAP, DENSER * beside * int(near.sum())):
            continue
        around = np.flatnonzero(near | ring)
        less, more = sorted((float(shape[points < -w].sum()), float(shape[points > w].sum())))
        reach = (PEAK_BESIDE if less < ONE_SIDED * more else PEAK) * unit
        if abs(points[around[shape[around].argmax()]]) > max(reach, float(points[1] - points[0])):
            continue
        seen = own_density(number, judges(number), points, sigma) if seen is None else seen
        rest, zero = np.where(near, 0.0, shape) / max(total * (1.0 - heap), 1e-300), int(far.argmin())
        own, others = seen[:, zero], seen @ rest
        for _ in range(STEPS):
            heap = float(np.mean(heap * own / np.maximum(heap * own + (1.0 - heap) * others, 1e-300)))
        if log_likelihood(heap * own + (1.0 - heap) * others) >= log_likelihood(seen @ shape / total) - MOST_LOSS:
            rest *= 1.0 - heap
            rest[zero] += heap
            return np.asarray(rest)
    return shape
