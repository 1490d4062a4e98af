"""The whole known-sample attack on a projection, on arrays: coordinates, draws, the averaged inverse (A21).

*Model.* ``y = R z + e`` with one secret k × d matrix R for all records, k ≤ d, entries of mean 0 and a public
variance, e normal with public deviations (often none). Known: an independent sample of z, and perhaps
some z with their y. Liu 2007, §5.4.3, holds that a sample does not help; that is true of averages over R
(errata L-v), while a release has one R, and mean, covariance and all else of ``R z`` show it.

1. *Coordinates.* The release is centred and whitened. Exact pairs fix R on their span; the rest of R is
   written so that the sample's second moments about the origin are the identity.
2. *Starts* match the mean, the pairs and the covariance, and are random otherwise.
3. *Draws* of R from its posterior; see :mod:`veil.attacks.projection.posterior`.
4. *Inverse.* Each draw gives the normal conditional mean ``μ + ΣRᵀ(RΣRᵀ + D)⁻¹(y − Rμ)``, with μ and Σ from the
   sample and D the noise. Their average is the guess: where draws disagree they cancel, and the guess
   falls back on the mean. What separate islands of draws do not have in common is taken off as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from veil.attacks.projection.features import random_frame, release_features
from veil.attacks.projection.posterior import Target, island
from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, Vector
from veil.numerics.rounding import binary_digits

_ROWS: Final = 20_000
_SAMPLE: Final = 1_000
_CHECKED_ROWS: Final = 1_000
_EXACT: Final = 1e-3  # noise variance, in units of the release's smallest, below which pairs count as exact
_RANK: Final = 1e-9
_LEAST: Final = 1e-3
"""The least variance in any direction that a draw may give a release of variance 1 there. Draws that are all but
singular claim less; their inverses are huge, magnify rounding by a billion and drown all other draws in the mean."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectionAlignment:
    """The averaged inverse of a projection, and how sure it is.

    Attributes
    ----------
    gain, offset
        ``ẑ = offset + gain y``.
    matrices
        Draws of R from the posterior (draws × k × d).
    certainty
        Spread of the guess over the spread of the guesses of single draws: 1 if all agree on every
        record, 0 if they cancel.
    expected_mse
        Per attribute, the mean squared error that the posterior predicts, in the units of z.
    """

    gain: Matrix
    offset: Vector
    matrices: Matrix
    certainty: float
    expected_mse: Vector

    def recover(self, y: Matrix) -> Matrix:
        """Estimated private records of released ones."""
        return np.asarray(self.offset + y @ self.gain.T)


def align_projection(
    y: Matrix,
    s: Matrix,
    *,
    entry_variance: float,
    noise: Vector | None = None,
    pairs: tuple[Matrix, Matrix] | None = None,
    islands: int = 8,
    particles: int = 16,
    seed: int = 0,
) -> ProjectionAlignment:
    """Line a projected release up with a sample of the same population.

    Parameters
    ----------
    y, s
        Release (N × k) and sample (n × d, n > d + 1), records as rows, in the units that were projected.
    entry_variance
        Prior variance of the entries of R.
    noise
        Standard deviations of e, per released column.
    pairs
        Known z (m × d) and their y (m × k).
    islands, particles
        Populations of draws, and draws in each.
    seed
        Of directions and draws.
    """
    with one_blas_thread():
        rng = np.random.default_rng(seed)
        z, rows = pairs if pairs is not None else (np.zeros((0, s.shape[1])), np.zeros((0, y.shape[1])))
        frame = _Frame(y, s, entry_variance, np.zeros(y.shape[1]) if noise is None else noise, z, rows, rng)
        if frame.solved:
            groups = [frame.known[None]]
        else:
            n_directions = 10 * frame.k if frame.k <= 6 else 60 + 2 * (frame.k - 6)
            features = release_features(frame.v, frame.t.shape[1], n_directions, rng)
            target = frame.target()._replace(
                directions=features.directions, means=features.means, weight=features.weight
            )
            groups = [frame.matrices(island(frame.start, target, features, particles, rng)) for _ in range(islands)]
        return _averaged(groups, frame, y)


class _Frame:
    """Coordinates in which the release is white and what the pairs leave of R is ``Θ``, k × r.

    Chains of draws amplify any difference, so what they start from and compare is rounded, far below the sampling
    error: a sample in other units, whose last digits differ, then gives the same draws.
    """

    def __init__(
        self, y: Matrix, s: Matrix, variance: float, noise: Vector, z: Matrix, z_rows: Matrix, rng: np.random.Generator
    ) -> None:
        some = y if len(y) <= _ROWS else y[rng.choice(len(y), _ROWS, replace=False)]
        size, axes = np.linalg.eigh(np.atleast_2d(np.cov(some.T)))
        varying = size > _RANK * size[-1]  # collinear records leave released columns collinear
        size, self.axes = size[varying], axes[:, varying]
        self.k, self.d, self.n = len(size), s.shape[1], len(s)
        self.mean_y = some.mean(axis=0) @ self.axes
        self.unit, self.v = np.sqrt(size), (some @ self.axes - self.mean_y) / np.sqrt(size)
        self.noise = (self.axes.T * noise**2) @ self.axes
        self.mean, self.covariance = s.mean(axis=0), np.atleast_2d(np.cov(s.T))
        self.z, self.z_rows = z, z_rows @ self.axes
        self.variance, self._rng = variance, rng

        exact = float(noise.max()) ** 2 <= _EXACT * size[0]
        span, free = _bases(z if exact else z[:0])
        self.solved = free.shape[1] == 0
        self.known = (np.linalg.pinv(z, rcond=_RANK) @ self.z_rows).T if span.shape[1] else np.zeros((self.k, self.d))
        self._soft = not exact and len(z) > 0
        some_s = s if self.n <= _SAMPLE else s[rng.choice(self.n, _SAMPLE, replace=False)]
        basis = free @ _roots(free.T @ (some_s.T @ some_s / len(some_s)) @ free)[1]
        self.scale, turn = np.linalg.eigh(basis.T @ basis)
        self.basis = basis @ turn
        self.t = binary_digits((some_s @ self.basis).T)
        e = rng.standard_normal((len(some_s), len(noise))) * noise @ self.axes
        self.c = binary_digits(((some_s @ self.known.T + e - self.mean_y) / self.unit).T)

    def target(self) -> Target:
        """Everything of the log-density but the comparison."""
        root, pair_t, values = np.zeros((self.k, self.k)), np.zeros((len(self.t), 0)), np.zeros((self.k, 0))
        if self._soft:
            whiten = _roots(self.noise)[1]
            root, pair_t = whiten * self.unit, binary_digits((self.z @ self.basis).T)
            values = binary_digits(whiten @ self.z_rows.T)
        precision = binary_digits(np.outer(self.unit**2, self.scale) / self.variance)
        empty = np.zeros((0, self.k))
        return Target(self.c, self.t, empty, np.zeros(0), np.zeros((0, 0)), precision, root, pair_t, values)

    def matrices(self, theta: Matrix) -> Matrix:
        """R of each draw, for the release turned by ``axes``."""
        return np.asarray(self.known + self.unit[:, None] * (theta @ self.basis.T))

    def start(self) -> Matrix:
        """A random Θ that fits mean, pairs and covariance about as well as the sample lets them."""
        inverse = _roots(self.covariance)[1]
        signal_root, signal_inverse = _roots(np.diag(self.unit**2) - self.noise, floor=0.01)
        here = np.column_stack([self.mean, *self.z]).T @ inverse
        there = np.column_stack([self.mean_y, *self.z_rows]).T @ signal_inverse
        left, length, right = np.linalg.svd(here, full_matrices=True)
        rank = int((length > 3.0 / np.sqrt(self.n)).sum())
        fitted = there.T @ (left[:, :rank] / length[:rank]) @ right[:rank]
        rest = _roots(np.eye(self.k) - fitted @ fitted.T, floor=0.0)[0]
        free = right[rank:]
        turned = fitted + rest @ random_frame(self.k, len(free), self._rng) @ free if len(free) else fitted
        matrix = signal_root @ turned @ inverse
        return binary_digits((matrix - self.known) @ self.basis / self.scale / self.unit[:, None])


def _averaged(groups: list[Matrix], frame: _Frame, y: Matrix) -> ProjectionAlignment:
    """The mean of the draws' inverses, less what islands do not share."""
    rows = y[:: max(1, len(y) // _CHECKED_ROWS)] @ frame.axes
    inverses = [[_inverse(matrix, frame) for matrix in group] for group in groups]
    gains = np.array([np.mean([gain for gain, _, _ in group], axis=0) for group in inverses])
    shifts = np.array([np.mean([shift for _, shift, _ in group], axis=0) for group in inverses])
    each = np.einsum("jdk,nk->jnd", gains, rows) + shifts[:, None]
    mean, count = each.mean(axis=0), len(groups)
    spread = (mean**2).mean(axis=0)
    keep = np.ones(frame.d)
    if count > 1:
        chance = ((each - mean) ** 2).sum(axis=(0, 1)) / len(rows) / (count - 1) / count
        keep = np.clip(1.0 - chance / np.maximum(spread, 1e-300), 0.0, 1.0)
    gain, shift = keep[:, None] * gains.mean(axis=0), keep * shifts.mean(axis=0)

    variance = np.diag(frame.covariance)
    variance = np.where(variance > 0, variance, 1.0)  # a column that does not vary in the sample
    flat = [item for group in inverses for item in group]
    guess = rows @ gain.T + shift
    single, apart, left = np.zeros(frame.d), np.zeros(frame.d), np.zeros(frame.d)
    for one_gain, one_shift, one_left in flat:
        other = rows @ one_gain.T + one_shift
        single += (other**2).mean(axis=0) / len(flat)
        apart += ((other - guess) ** 2).mean(axis=0) / len(flat)
        left += one_left / len(flat)
    certainty = float(
        np.clip(((guess**2).mean(axis=0) / variance).sum() / max((single / variance).sum(), 1e-300), 0.0, 1.0)
    )
    matrices = np.concatenate([frame.axes @ group for group in groups])
    return ProjectionAlignment(gain @ frame.axes.T, frame.mean + shift, matrices, certainty, left + apart)


def _inverse(matrix: Matrix, frame: _Frame) -> tuple[Matrix, Vector, Vector]:
    """Gain and shift from the mean of the conditional mean under one matrix, and the variance it leaves."""
    through = matrix @ frame.covariance
    # In units of the release, whose variance is 1 in every direction; see _LEAST.
    size, axes = np.linalg.eigh((through @ matrix.T + frame.noise) / np.outer(frame.unit, frame.unit))
    turned = axes / frame.unit[:, None]
    gain = through.T @ (turned / np.maximum(size, _LEAST)) @ turned.T
    left = np.diag(frame.covariance) - np.einsum("dk,kd->d", gain, through)
    return gain, -gain @ (matrix @ frame.mean), np.maximum(left, 0.0)


def _bases(z: Matrix) -> tuple[Matrix, Matrix]:
    """Orthonormal bases of the records' span and of its complement, as columns."""
    if not len(z):
        return np.zeros((z.shape[1], 0)), np.eye(z.shape[1])
    _, size, right = np.linalg.svd(z, full_matrices=True)
    rank = int((size > _RANK * size[0]).sum()) if size[0] > 0 else 0
    return right[:rank].T, right[rank:].T


def _roots(covariance: Matrix, *, floor: float = _RANK) -> tuple[Matrix, Matrix]:
    """The symmetric root and its inverse; eigenvalues below ``floor`` of the largest are raised to it."""
    size, axes = np.linalg.eigh(covariance)
    size = np.maximum(size, max(floor * size.max(initial=0.0), 1e-300))
    return np.asarray((axes * np.sqrt(size)) @ axes.T), np.asarray((axes / np.sqrt(size)) @ axes.T)
