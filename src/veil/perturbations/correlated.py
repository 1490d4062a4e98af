"""The covariance of P2's noise: similar to the data's, independent, or opposite, at constant power.

Huang, Du and Chen (2005, §8): noise hides best when its correlations resemble the data's. With D the
standard deviations (or the identity) and Q, λ the eigenpairs of ``D⁻¹ΣxD⁻¹``, the noise covariance is
``Σr = scale²·D Q diag(g) Qᵀ D`` with the spectrum::

    g(s) = s·λ/mean(λ) + (1 − s)                  s ≥ 0
    g(s) = |s|·reversed(λ)/mean(λ) + (1 − |s|)    s < 0

so that ``similarity`` s = 1 mimics the data, 0 is independent noise and −1 the opposite, and the total
power is that of independent noise of the same scale.

What is applied and published is a factor L with Σr = L Lᵀ, rounded to two digits before use; a rounded Σr
could be indefinite, a rounded factor cannot.

Rounding tilts the factor by a few hundredths. Where columns are collinear, noise that fills only the data's own
directions would so miss them a little, and leave bare directions in which the data still show. Eigenvalues are
therefore lifted to :data:`~veil.release.models.additive.LEAST_POWER` of their mean first, which covers the tilt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.data.blocks import Matrix, Vector, tiles
from veil.errors import InputError
from veil.measures import correlation_dissimilarity
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.release.models.additive import LEAST_POWER


def similar_spectrum(eigenvalues: Vector, similarity: float) -> Vector:
    """The spectrum g(s), for eigenvalues in any order.

    >>> similar_spectrum(np.array([1.0, 3.0]), 1.0), similar_spectrum(np.array([1.0, 3.0]), -1.0)
    (array([0.5, 1.5]), array([1.5, 0.5]))
    """
    order = np.argsort(eigenvalues)
    shape = eigenvalues / eigenvalues.mean()
    if similarity < 0:
        mirrored = np.empty_like(shape)
        mirrored[order] = shape[order[::-1]]
        shape = mirrored
    weight = abs(similarity)
    return np.asarray(weight * shape + (1.0 - weight))


def similar_factor(covariance: Matrix, unit: Vector, scale: Vector, similarity: float) -> Matrix:
    """The rounded factor L of noise with the given similarity; ``unit`` is the diagonal of D."""
    if similarity == 0:
        return np.diag(scale * unit)
    correlation = covariance / np.outer(unit, unit)
    if not np.trace(correlation) > 0:
        return np.zeros_like(covariance)
    eigenvalues, q = lifted_eigenpairs(correlation)
    factor = q * np.sqrt(similar_spectrum(eigenvalues, similarity))
    return np.asarray((scale * unit)[:, None] * np.vectorize(two_digits)(factor))


def lifted_eigenpairs(correlation: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues, none under :data:`LEAST_POWER` of their mean, and eigenvectors with a fixed sign."""
    eigenvalues, q = np.linalg.eigh(correlation)
    # Eigenvectors have no sign of their own: the largest entry is made positive.
    q = q * np.where(q[np.abs(q).argmax(axis=0), np.arange(len(q))] < 0, -1.0, 1.0)
    return np.clip(eigenvalues, LEAST_POWER * eigenvalues.mean(), None), q


def present_covariance(moments: Moments) -> Matrix:
    """The covariance over complete records, scaled to the variances over all present values."""
    covariance = moments.covariance
    size = np.sqrt(np.diag(covariance))
    ratio = np.divide(moments.std, size, out=np.ones_like(size), where=size > 0)
    return np.asarray(covariance * np.outer(ratio, ratio))


def shift_on_grid(values: Matrix, draws: Matrix, factor: Matrix, grid: Vector, sign: float) -> Matrix:
    """Add (or, with ``sign`` −1, take off) ``factor @ draws``, values and noise both rounded to the grid."""
    step = grid[:, None]
    out = np.empty_like(values)
    for tile in tiles(values.shape[1]):
        out[:, tile] = step * (np.rint(values[:, tile] / step) + sign * np.rint(factor @ draws[:, tile] / step))
    return out


def grouped_factor(factor: Matrix, grouped: Sequence[int]) -> Matrix:
    """A factor of the same covariance by which the columns ``grouped`` depend on no draws but their own.

    With L Lᵀ = Σr and these columns first, the QR decomposition Lᵀ = QR gives Rᵀ R = Σr with a lower triangle Rᵀ: noise
    of a column is made of the draws of the columns before it and of its own. So what is one per group stays so, other
    columns correlate with it as Σr says, and each record has the law that is published. ``grouped`` names columns
    of larger groups first, and each of these groups is within one of those before it.

    >>> factor = grouped_factor(np.array([[1.0, 2.0], [0.0, 1.0]]), [1])
    >>> (factor @ factor.T).round(9).tolist(), abs(factor[1]).round(9).tolist()
    ([[5.0, 2.0], [2.0, 1.0]], [0.0, 1.0])
    """
    if not grouped:
        return factor
    order = [*grouped, *(j for j in range(len(factor)) if j not in grouped)]
    triangle = np.linalg.qr(factor[order].T)[1].T
    mixed = np.zeros((len(factor), len(factor)))
    mixed[np.ix_(order, order[: triangle.shape[1]])] = triangle
    return mixed


def explicit_factor(covariance: object, n_columns: int) -> Matrix:
    """A factor of a covariance that the owner states, through its eigenvectors: it may be singular."""
    try:
        matrix = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (n_columns, n_columns) or not np.isfinite(matrix).all():
        raise InputError(f"covariance must be a finite {n_columns} × {n_columns} matrix; got shape {matrix.shape}")
    size = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-9 * size):
        raise InputError("covariance must be symmetric; use (C + C.T)/2")
    eigenvalues, q = np.linalg.eigh((matrix + matrix.T) / 2)
    if eigenvalues[0] < -1e-9 * size:
        raise InputError("covariance must not be negative in any direction; its smallest eigenvalue is below 0")
    if not (np.diag(matrix) > 0).all():
        raise InputError("covariance must have a positive variance in every column; one would be released unchanged")
    return np.asarray(q * np.sqrt(np.clip(eigenvalues, 0.0, None)))


def dissimilarity(moments: Moments, factor: Matrix) -> dict[str, float] | None:
    """M9 of the data's and the noise's correlations, rounded."""
    if moments.comoment is None or len(factor) < 2 or not (moments.std > 0).all():
        return None
    unit, noise = np.sqrt(np.diag(moments.covariance)), factor @ factor.T
    if not (unit > 0).all():
        return None
    data = moments.covariance / np.outer(unit, unit)
    shape = noise / np.sqrt(np.outer(np.diag(noise), np.diag(noise)))
    return {
        "paper": two_digits(float(correlation_dissimilarity(data, shape, "paper"))),
        "rms": two_digits(float(correlation_dissimilarity(data, shape, "rms"))),
    }
