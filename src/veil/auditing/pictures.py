"""What a report shows of a guess: original against guess, binned, and the records that it comes nearest to."""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.report.model import Picture

SMALLEST_CELL = 10
"""Values at least in a cell that is shown."""


def nearest(truth: Matrix, values: Matrix, unit: Vector, limit: int) -> list[tuple[int, float]]:
    """The records that a guess comes nearest to, with their root mean square error in units."""
    square = ((values - truth) / unit) ** 2
    scored = np.isfinite(square).sum(axis=1)
    error = np.where(scored > 0, np.sqrt(np.nansum(square, axis=1) / np.maximum(scored, 1)), np.inf)
    return [(int(i), float(error[i])) for i in np.argsort(error)[:limit] if np.isfinite(error[i])]


def binned(x: Matrix, y: Matrix, *, bins: int = 36, reach: float = 3.6) -> Picture:
    """Original against guess in standard units from the centre, cells under 10 suppressed."""
    both = np.isfinite(x) & np.isfinite(y)
    edges = np.linspace(-reach, reach, bins + 1)
    counts, _, _ = np.histogram2d(x[both], y[both], bins=[edges, edges])
    counts = counts.astype(int)
    small = (counts > 0) & (counts < SMALLEST_CELL)
    n_small = int(counts[small].sum())
    counts[small] = 0
    n_outside = int(both.sum()) - int(counts.sum()) - n_small
    if n_outside < SMALLEST_CELL:  # a small cell like any other
        n_small, n_outside = n_small + n_outside, 0
    return Picture(
        edges=tuple(float(e) for e in edges),
        counts=tuple(tuple(int(c) for c in row) for row in counts),
        n_values=int(both.sum()),
        n_suppressed=n_small,
        n_outside=n_outside,
    )
