"""Covariances and correlations of a table, and their spectra, for the measures that look at a table before release.

Records with a missing value are left out whole: a covariance put together from pairs of
columns need not be one. Constant columns have variance zero, exactly.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_table, choice
from veil.errors import InputError

MatrixKind = Literal["auto", "table", "covariance"]

#: Eigenvalues below this share of the largest are rounding and count as zero.
NEGLIGIBLE = 1e-12


def complete_table(values: npt.ArrayLike, name: str, *, least: int = 2) -> Array:
    """The records of ``values`` without a missing value, at least ``least`` of them."""
    table = as_table(values, name)
    complete = ~np.isnan(table).any(axis=1)
    if (count := int(complete.sum())) < least:
        raise InputError(f"{name}: has {count} complete record(s); pass at least {least}")
    return table if complete.all() else table[complete]


def about_mean(table: Array) -> Array:
    """The table about its column means; a constant column is exactly zero."""
    deviation: Array = np.asarray(table - table.mean(axis=0))
    deviation[:, table.max(axis=0) <= table.min(axis=0)] = 0.0
    return deviation


def as_covariance(values: npt.ArrayLike, name: str, kind: MatrixKind = "auto") -> Array:
    """``values`` if it is a covariance matrix, else the covariance (ddof 1) of its records.

    ``"auto"`` takes a symmetric square array with no negative eigenvalue for a covariance;
    a table of records is one with probability zero unless it is 1 × 1.
    """
    chosen = choice(kind, "kind", ("auto", "table", "covariance"))
    matrix = as_table(values, name)
    if chosen == "table" or (chosen == "auto" and not _symmetric(matrix)):
        deviation = about_mean(complete_table(matrix, name))
        return np.asarray(deviation.T @ deviation / (len(deviation) - 1))
    if not _symmetric(matrix):
        raise InputError(f"{name}: has shape {matrix.shape}; pass a symmetric covariance matrix without missing values")
    spectrum = np.linalg.eigvalsh(matrix)
    if spectrum[0] < -1e-8 * max(abs(spectrum[-1]), abs(spectrum[0])) or (np.diag(matrix) < 0.0).any():
        raise InputError(
            f"{name}: is symmetric but has a negative eigenvalue; pass a covariance matrix, or kind='table' for records"
        )
    return np.asarray((matrix + matrix.T) / 2.0)


def is_correlation(matrix: Array) -> bool:
    """Symmetric, ones on the diagonal, nothing beyond 1."""
    return (
        _symmetric(matrix)
        and bool(np.allclose(np.diag(matrix), 1.0, rtol=0.0, atol=1e-9))
        and bool((np.abs(matrix) <= 1.0 + 1e-9).all())
    )


def as_correlation(covariance: Array) -> tuple[Array, Mask]:
    """The correlation matrix of the columns that vary, and the mask of those columns."""
    varying: Mask = np.asarray(np.diag(covariance) > 0.0)
    std = np.sqrt(np.diag(covariance)[varying])
    correlation = covariance[np.ix_(varying, varying)] / std / std[:, None]
    np.fill_diagonal(correlation, 1.0)
    return correlation, varying


def eigenpairs(covariance: Array) -> tuple[Array, Array]:
    """Eigenvalues, largest first and rounding set to zero, with their eigenvectors as columns."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    return np.where(values > NEGLIGIBLE * values[0], values, 0.0), vectors


def singular(matrix: Array) -> tuple[Array, Array]:
    """Singular values, largest first, and right singular vectors as columns (through R of QR when tall)."""
    square = np.linalg.qr(matrix, mode="r") if matrix.shape[0] > matrix.shape[1] else matrix
    _, values, vectors = np.linalg.svd(square, full_matrices=False)
    return np.asarray(values), np.asarray(vectors.T)


def _symmetric(matrix: Array) -> bool:
    if matrix.shape[0] != matrix.shape[1] or np.isnan(matrix).any():
        return False
    return bool((np.abs(matrix - matrix.T) <= 1e-10 * np.abs(matrix).max()).all())
