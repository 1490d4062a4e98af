"""Releases of normalized columns: centre and width of each column are secret too (P5).

*Model.* ``y = R (x − centre)/width`` with R a rotation. What A9 and A11 need beyond P6 is the columns' widths:

* from known pairs. Differences of records have ``Δy_i·Δy_j = Σ_c Δx_ic Δx_jc / width_c²``, which is linear in the d
  unknowns 1/width²; k records give k(k − 1)/2 such equations, so that about √(2d) of them are enough, far fewer
  than the d + 1 of a general affine map. With fewer, the solution nearest to the records' own spread is taken.
* pairs of columns. A released column mixes its private column with one other (an odd column out with two), and keeps
  its place: ``x_j = α y_j + β y_i + γ`` has three unknowns whatever d is, so four known records solve it, and show
  the partner by fitting exactly.
* from a sample: its own mean and spread (or extremes).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.release.models import NormalizedRotationModel

EXACT = 1e-8
"""Of a column's spread: what an exact fit may miss by rounding."""


def widths_from_pairs(records: Matrix, released: Matrix) -> tuple[Vector, bool]:
    """The columns' widths from known records and their rows, and whether the equations determine them."""
    if len(records) < 2:
        raise NotApplicableError(
            f"columns were normalized by secret widths, which {len(records)} known record does not show; at least 2 do"
        )
    x, y = records[1:] - records[0], released[1:] - released[0]
    i, j = np.triu_indices(len(x))
    products, target = x[i] * x[j], np.einsum("ij,ij->i", y[i], y[j])
    spread = records.var(axis=0)
    spread[spread == 0] = np.mean(spread[spread > 0]) if (spread > 0).any() else 1.0
    scaled = products / spread
    # The solution nearest to 1 in units of the records' own spread: exact where the equations suffice.
    ratio = 1.0 + np.linalg.lstsq(scaled, target - scaled.sum(axis=1), rcond=1e-10)[0]
    determined = bool(np.linalg.matrix_rank(scaled, tol=1e-8 * np.linalg.norm(scaled, 2)) == x.shape[1])
    return np.sqrt(spread / np.clip(ratio, 1e-6, None)), determined


def paired_columns(records: Matrix, released: Matrix, y: Matrix) -> Matrix:
    """Private columns as the few released ones that fit them exactly on the known records; NaN where none do."""
    values = np.full(y.shape, np.nan)
    d, p = y.shape[1], len(records)
    spread = np.abs(records - records.mean(axis=0)).max(axis=0)
    for j in range(d):
        for others in (1, 2):
            if p < others + 3 or d < others + 1:
                break
            fits = []
            for partners in combinations([i for i in range(d) if i != j], others):
                used = [j, *partners]
                design = np.column_stack([np.ones(p), released[:, used]])
                weights, _, rank, _ = np.linalg.lstsq(design, records[:, j], rcond=1e-12)
                miss = np.abs(design @ weights - records[:, j]).max()
                if rank == len(used) + 1 and miss <= EXACT * spread[j]:
                    fits.append((used, weights))
            if fits:
                # Several sets fit only where further columns do not matter: all give the same values.
                used, weights = fits[0]
                values[:, j] = weights[0] + y[:, used] @ weights[1:]
                break
    return values


def normalization_of_sample(model: NormalizedRotationModel, sample: Matrix) -> tuple[Vector, Vector]:
    """Centre and width of the columns, as a sample shows them."""
    if model.normalize == "zscore":
        centre, width = sample.mean(axis=0), sample.std(axis=0)
    else:
        centre, width = sample.min(axis=0), np.ptp(sample, axis=0)
    return centre, np.where(width > 0, width, 1.0)
