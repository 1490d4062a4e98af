"""The mean of records given linear equations about them, for what an attacker believes beforehand (A14, A15).

*Model.* ``y = R z + e``, e normal with known deviations; R known, or known up to a normal law per row. The
prior of z is normal (`conditional_mean`) or a mixture of normals around a sample's records (`mixture_mean`),
which also follows clusters, skewness and edges. The mean of a normal posterior is also the guess that most probably
hits; under a mixture it need not be, and these attacks aim at the mean.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Prior = tuple[Vector, Matrix]
"""Mean and covariance."""

MOST_CENTRES: Final = 1_000
"""Components of a mixture: enough that draws from a normal give its own mean within 1 %."""
_TILE: Final = 1 << 22


def prior_moments(sample: Matrix | None, limits: tuple[Vector, ...] | None = None) -> Prior | None:
    """Mean and covariance of z from a sample (Ledoit–Wolf), else from the box; None when nothing is known."""
    if sample is not None and len(sample) >= 2:
        from sklearn.covariance import ledoit_wolf

        spread = sample.std(axis=0)
        spread[spread == 0] = 1.0
        shrunk = ledoit_wolf(sample / spread)[0]
        return sample.mean(axis=0), np.asarray(shrunk * np.outer(spread, spread))
    if limits is not None:
        lower, upper = limits
        return (lower + upper) / 2, np.diag((upper - lower) ** 2 / 12)
    return None


def plain_prior(y: Matrix, matrix: Matrix, noise: Vector) -> Prior:
    """Nothing known: mean 0 and the one variance that explains the release's power; E[z|y] is then R⁺y or ridge."""
    power = max(float(np.nanmean((y**2).sum(axis=1)) - (noise**2).sum()), 0.0) if len(y) else 1.0
    size = float((matrix**2).sum())
    return np.zeros(matrix.shape[1]), np.eye(matrix.shape[1]) * ((power / size if size > 0 else 0.0) or 1.0)


def conditional_mean(y: Matrix, matrix: Matrix, prior: Prior, noise: Vector) -> Matrix:
    """E[z | y] for ``y = R z + e``, z ~ N(μ, Σ), e ~ N(0, diag(noise²)); Σ may be singular."""
    mean, covariance = prior
    eigenvalues, q = np.linalg.eigh(covariance)
    root = q * np.sqrt(np.clip(eigenvalues, 0.0, None))
    image = matrix @ root
    if noise.any():
        gain = root @ image.T @ np.linalg.pinv(image @ image.T + np.diag(noise**2), hermitian=True)
    else:
        gain = root @ np.linalg.pinv(image, rcond=1e-13)
    return np.asarray(mean + (y - matrix @ mean) @ gain.T)


def mixture_mean(
    y: Matrix,
    matrix: Matrix,
    prior: Prior,
    centres: Matrix,
    noise: Vector,
    *,
    width: float = 1.0,
    spread: Matrix | None = None,
    group: npt.NDArray[np.intp] | None = None,
) -> Matrix:
    """E[z | y] for ``y_i ~ N(R_i·z, zᵀ S_i z + noise_i²)`` under a mixture of normals around ``centres``.

    ``S_i = spread[group[i]]`` is the attacker's doubt about the i-th row of R, none by default. The components
    have covariance h²Σ and Silverman's h times ``width``, their centres drawn in so that the mixture keeps the
    prior's covariance. Inside one, ``zᵀ S z`` is nearly constant and the mean given y linear.
    """
    mean, covariance = prior
    n, d = centres.shape
    k = len(noise)
    h = min(width * (4 / ((d + 2) * n)) ** (1 / (d + 4)), 1.0)
    points = mean + math.sqrt(1 - h * h) * (centres - mean)
    variance = np.broadcast_to(noise**2, (n, k))
    if spread is not None and group is not None:
        doubt = [((points @ c) * points).sum(axis=1) + h * h * np.trace(c @ covariance) for c in spread]
        variance = variance + np.maximum(np.stack(doubt, axis=1), 0.0)[:, group]
    # Rows are weighted by their mean variance; what remains is taken as one variance per component.
    signal = np.diag(matrix @ covariance @ matrix.T)
    row = np.sqrt(np.maximum(variance.mean(axis=0), 1e-13 * signal))
    row[row == 0] = 1.0
    scaled = matrix / row[:, None]
    level = (variance / row**2).mean(axis=1)
    size, q = np.linalg.eigh(scaled @ covariance @ scaled.T)
    total = np.clip(h * h * size, 0.0, None) + level[:, None]
    precision = 1.0 / np.maximum(total, 1e-13 * (h * h * max(size[-1], 0.0) + 1.0))
    image = points @ scaled.T @ q
    pull = h * h * q.T @ scaled @ covariance
    constant = (np.log(precision).sum(axis=1) - (image**2 * precision).sum(axis=1)) / 2
    guess = np.empty((len(y), d))
    block = max(1, _TILE // max(n, k))
    for start in range(0, len(y), block):
        part = (y[start : start + block] / row) @ q
        weight = constant + part @ (image * precision).T - (part**2) @ precision.T / 2
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        residual = part * (weight @ precision) - weight @ (image * precision)
        guess[start : start + block] = weight @ points + residual @ pull
    return guess


def thinned(sample: Matrix, seed: int = 0) -> Matrix:
    """A sample of at most `MOST_CENTRES` records."""
    if len(sample) <= MOST_CENTRES:
        return sample
    return sample[np.random.default_rng(seed).choice(len(sample), MOST_CENTRES, replace=False)]
