"""Likelihood ratios of one row for who knows all other records and their rows (A30), where one matrix mixes columns.

*Model.* ``y = B'(1, x) + e`` with e normal: rotations, linear transforms, projections, permuted coefficients, and most
of what is released elsewhere. *Known*: n records with their rows. They give B by least squares, exactly where there is
no noise, and the covariance of e. A person is never among the records that their own row is judged by: with h their
leverage, the residual without them is r/(1 − h). The ratio is that of the density of the row in question around what is
expected for this person to the density of the rows in general.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from veil.attacks.linkage.likelihood import Background
from veil.attacks.rotation.matching import release_tolerance
from veil.data.blocks import Matrix, Vector

Rows = npt.NDArray[np.intp]


def row_ratios(x: Matrix, y: Matrix, rows: Rows, own: Rows) -> Vector | None:
    """Log-likelihood ratios of people with records x, one row of y each; ``own`` are the rows that they have, or −1.

    None where the people with rows are too few to tell a matrix.
    """
    complete = np.asarray(np.isfinite(y).all(axis=1))
    known = (own >= 0) & np.isfinite(x).all(axis=1) & complete[own]
    n, d = int(known.sum()), x.shape[1] + 1
    if n <= d + y.shape[1]:
        return None
    design = np.column_stack([np.ones(len(x)), x - x[known].mean(axis=0)])
    design /= np.maximum(np.sqrt((design[known] ** 2).sum(axis=0)), 1e-300)
    u, sizes, v = np.linalg.svd(design[known], full_matrices=False)
    kept = sizes > 1e-10 * sizes[0]
    expected = design @ (v[kept].T / sizes[kept]) @ (u[:, kept].T @ y[own[known]])
    residuals = y[own[known]] - expected[known]
    leverage = np.minimum((u[:, kept] ** 2).sum(axis=1), 1.0 - 1e-9)[:, None]
    expected[known] -= residuals * leverage / (1.0 - leverage)
    return _ratios(y, expected, rows, complete, residuals.T @ residuals / (n - d))


def _ratios(y: Matrix, expected: Matrix, rows: Rows, complete: npt.NDArray[np.bool_], covariance: Matrix) -> Vector:
    """The density of rows around what is expected, over that of the rows in general; 0 where a value is missing."""
    k, least = y.shape[1], max(release_tolerance(y), 1e-140) ** 2
    root = np.linalg.cholesky(covariance + least * np.eye(k))
    z = np.linalg.solve(root, (y[rows] - expected).T)
    own = -0.5 * (z * z).sum(axis=0) - np.log(np.diag(root)).sum() - 0.5 * k * math.log(2.0 * math.pi)
    ratios = own - Background(y, np.full(k, least)).log_density(np.ones(k, dtype=np.bool_))[rows]
    return np.where(complete[rows] & np.isfinite(ratios), ratios, 0.0)
