"""What the others of a group, or neighbours in an order, say of a row (A28).

The formulas are those of :mod:`veil.attacks.posterior.relatives`. No prediction has anything of the row's own noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.attacks.posterior.observations import Codes
from veil.data.blocks import Matrix, Vector

Rows = npt.NDArray[np.intp]
WIDTHS, STRETCH = tuple(2**k for k in range(9)), 256
"""Rows on either side whose mean is tried, and rows that share the best width."""
NEAREST = 16
"""Rows on either side that are few: some rows of a large release have others between them, which would say more."""
FEWEST_NEIGHBOURS = 4


def group_prediction(z: Matrix, codes: Codes) -> Matrix | None:
    """What the others of a row's group say of some columns; None where groups do not differ."""
    present = complete(z)
    counts = np.bincount(codes, present)
    n, n_groups = float(counts.sum()), int((counts > 0).sum())
    if n_groups < 2 or n <= n_groups:
        return None
    mean = z[present].mean(axis=0)
    values = np.where(present[:, None], z - mean, 0.0)
    sums = np.column_stack([np.bincount(codes, column) for column in values.T])
    means = sums / np.maximum(counts, 1)[:, None]
    within = float(((values - means[codes]) ** 2)[present].sum()) / (n - n_groups)
    size = (n - float((counts**2).sum()) / n) / (n_groups - 1)
    between = (float((counts @ means**2).sum()) / (n_groups - 1) - within) / size
    if between <= 0.0:
        return None
    others = counts[codes] - present
    return np.asarray(mean + (sums[codes] - values) / (others + within / between)[:, None])


def neighbour_prediction(z: Matrix, rows: Rows) -> tuple[Matrix, bool] | None:
    """The mean of rows before and after, in every stretch of rows as many as predict best there, or of all rows.

    And whether in most stretches that differ from all rows it is more than the nearest few.
    """
    present, n = complete(z[rows]), len(rows)
    if present.sum() < FEWEST_NEIGHBOURS:
        return None
    mean = z[rows][present].mean(axis=0)
    values = np.where(present[:, None], z[rows] - mean, 0.0)
    sums = np.vstack([np.zeros(z.shape[1]), np.cumsum(values, axis=0)])
    counts = np.r_[0, np.cumsum(present)]
    place, stretch = np.arange(n), np.arange(n) // STRETCH
    best, least = np.zeros_like(values), _beside(np.bincount(stretch, (values**2).sum(axis=1)).astype(np.float64))
    widths = np.zeros(len(least))
    for width in WIDTHS:
        half = np.maximum(np.minimum(width, np.minimum(place, n - 1 - place)), 1)  # a trend has no slope in the middle
        low, high = np.maximum(place - half, 0), np.minimum(place + half + 1, n)
        others = np.maximum(counts[high] - counts[low] - present, 1)
        prediction = (sums[high] - sums[low] - values) / others[:, None]
        square = np.where(present, ((prediction - values) ** 2).sum(axis=1), 0.0)
        error = _beside(np.bincount(stretch, square).astype(np.float64))
        widths[error < least] = width
        better = (error < least)[stretch]
        best[better], least = prediction[better], np.minimum(error, least)
    placed = np.empty_like(values)
    placed[rows] = best + mean
    return placed, bool((widths >= NEAREST).sum() >= (widths[widths > 0] < NEAREST).sum())


def _beside(errors: Vector) -> Vector:
    """For each stretch the errors of others near it.

    A width that is chosen by a stretch's own errors fits their chance: rows without any order would seem to predict
    each other. The stretches right beside it share rows of the widest means with it, so those beyond are taken.
    """
    if len(errors) < 3:
        return errors
    weights = [1.0, 0.0, 0.0, 0.0, 1.0] if len(errors) > 4 else [1.0, 0.0, 1.0]
    return np.convolve(errors, weights, mode="full")[len(weights) // 2 : -(len(weights) // 2)]


def complete(z: Matrix) -> npt.NDArray[np.bool_]:
    """Rows of which all is seen."""
    return np.asarray(np.isfinite(z).all(axis=1), dtype=bool)
