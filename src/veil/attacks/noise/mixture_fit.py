"""Fit a mixture of normals to records that carry noise of covariance I.

Every component's covariance is at least I. EM with the labels as the only missing data; starts from
k-means++ seeds (in noise units and in standard units) and from the smaller mixture with one more
component; the number of components by the likelihood of held-out records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dtrtrs

from veil.attacks.noise.shrinkage import pooled_eigenvalues
from veil.data.blocks import Matrix, Vector

MOST_ROWS = 10_000
MOST_CELLS = 120_000
FOLDS = 4
ENOUGH_HELD_OUT = 1_000
"""Held-out records after which one fold decides; with fewer, all folds do."""
SHORT, LONG = 12, 150
TOLERANCE = 4e-6
"""EM stops when an iteration adds less log likelihood per record."""
FEW_CELLS, MANY_STARTS = 20_000, 3
"""Few records in several columns have more local optima, and cost less to fit."""
PATIENCE = 2
"""Numbers of components tried without a gain before the search stops."""

Shrinkage = Callable[[Vector, int], Vector]


@dataclass
class NoisyMixture:
    """Weights, means and covariances (noise included) of noisy records."""

    weights: Vector
    means: Matrix
    covariances: Matrix
    held_out: dict[int, float] = field(default_factory=dict)

    def log_shares(self, z: Matrix) -> Matrix:
        """Log of w_k N(z; m_k, T_k), K × N."""
        out = np.empty((len(self.weights), len(z)))
        lowers = np.linalg.cholesky(self.covariances)
        for k, (weight, mean, lower) in enumerate(zip(self.weights, self.means, lowers, strict=True)):
            # What scipy.linalg.solve_triangular does; with few columns its checks take longer than the solution.
            scaled, _ = dtrtrs(lower.T, (z - mean).T, lower=0, trans=1, overwrite_b=1)
            np.einsum("ij,ij->j", scaled, scaled, out=out[k])
            out[k] *= -0.5
            out[k] += np.log(weight) - np.log(np.diag(lower)).sum() - 0.5 * len(mean) * np.log(2 * np.pi)
        return out

    def shares(self, z: Matrix) -> Matrix:
        """Each record's shares in the components, K × N."""
        return _log_sum(self.log_shares(z))[1]

    def log_density(self, z: Matrix) -> Vector:
        """Log density of noisy records."""
        return _log_sum(self.log_shares(z))[0]


def choose_mixture(z: Matrix, *, max_components: int, seed: int) -> NoisyMixture:
    """The mixture whose number of components held-out records support, fitted to all of at most 10,000 rows."""
    n, d = z.shape
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n)[: max(min(MOST_ROWS, MOST_CELLS // max(d, 1)), 2)]
    if d == 0 or max_components == 1 or len(rows) < 4 * FOLDS * (d + 1):
        return one_normal(z[rows])
    folds = np.array_split(rows, FOLDS)
    if len(folds[0]) >= ENOUGH_HELD_OUT:
        folds = folds[:1]
    parts = [(z[np.setdiff1d(rows, fold)], z[fold]) for fold in folds]
    fits = {1: [one_normal(used) for used, _ in parts]}
    scores = {1: _held_out(fits[1], parts)}
    best = 1
    for k in range(2, min(max_components, len(rows) // (4 * (d + 1))) + 1):
        fits[k] = [_fit(used, k, smaller, rng) for (used, _), smaller in zip(parts, fits[k - 1], strict=True)]
        scores[k] = _held_out(fits[k], parts)
        if scores[k].mean() > scores[best].mean():
            best = k
        elif k - best >= PATIENCE:
            break
    # One normal is given up only for a clear gain, so that normal data keep the normal filter.
    chosen = next(k for k in sorted(fits) if _within_error(scores[best] - scores[k], 2.0 if k == 1 else 1.0))
    every = z[rows]
    fit = max((_climb(every, start, LONG) for start in fits[chosen]), key=lambda run: run[1])[0]
    shrink = max((towards_identity, pooled_eigenvalues), key=lambda s: _held_out(fits[chosen], parts, s).mean())
    fit = _shrunk(fit, every, shrink)
    fit.held_out = {k: float(score.mean()) for k, score in scores.items()}
    return fit


def towards_identity(eigenvalues: Vector, n_rows: int) -> Vector:
    """Eigenvalues drawn to their mean by as much as sampling error spread them (Ledoit and Wolf 2004, normal records).

    Better than pooling where a component is round, worse where it is flat; held-out records decide.
    """
    mean, square = eigenvalues.mean(), eigenvalues @ eigenvalues
    spread = square - len(eigenvalues) * mean**2
    error = (eigenvalues.sum() ** 2 + square) / n_rows
    weight = min(1.0, error / spread) if spread > 0 else 1.0
    return np.asarray(np.clip((1 - weight) * eigenvalues + weight * mean, 1.0, None))


def _held_out(
    fits: list[NoisyMixture], parts: list[tuple[Matrix, Matrix]], shrink: Shrinkage = towards_identity
) -> Vector:
    """Log density of each held-out record under the mixture fitted without it."""
    pairs = zip(fits, parts, strict=True)
    return np.concatenate([_shrunk(fit, used, shrink).log_density(held) for fit, (used, held) in pairs])


def one_normal(z: Matrix) -> NoisyMixture:
    """A single normal."""
    return _maximise(z, np.ones((1, len(z))))


def _within_error(difference: Vector, deviations: float) -> bool:
    return bool(difference.mean() <= deviations * difference.std(ddof=1) / np.sqrt(len(difference)))


def _fit(z: Matrix, k: int, smaller: NoisyMixture, rng: np.random.Generator) -> NoisyMixture:
    """The best of short runs from several starts, run to the end."""
    draws = MANY_STARTS if z.shape[1] > 3 and z.size <= FEW_CELLS else 1
    starts = [_seeded(z, metric, k, rng) for metric in (z, z / z.std(axis=0)) for _ in range(draws)]
    starts += [_grown(z, smaller, rng) for _ in range(draws)]
    runs = [_climb(z, start, SHORT) for start in starts]
    best = max(runs, key=lambda run: run[1])
    return _climb(z, best[0], LONG)[0]


def _climb(z: Matrix, fit: NoisyMixture, iterations: int) -> tuple[NoisyMixture, float]:
    """EM, until an iteration gains less than the tolerance; the fit and its mean log likelihood."""
    before = -np.inf
    for _ in range(iterations):
        total, shares = _log_sum(fit.log_shares(z))
        now = float(total.mean())
        if now - before < TOLERANCE:
            break
        before, fit = now, _maximise(z, shares)
    return fit, before


def _maximise(z: Matrix, shares: Matrix) -> NoisyMixture:
    """The most likely mixture given each record's shares in the components (K × N)."""
    shares = shares[shares.sum(axis=1) > 1.0]
    size = shares.sum(axis=1)
    means = (shares @ z) / size[:, None]
    scatters = np.empty((len(size), z.shape[1], z.shape[1]))
    for k, (share, mean) in enumerate(zip(shares, means, strict=True)):
        scatters[k] = _scatter(z, share, mean)
    return NoisyMixture(size / size.sum(), means, _clipped(scatters))


def _shrunk(fit: NoisyMixture, z: Matrix, shrink: Shrinkage) -> NoisyMixture:
    """One more M-step whose eigenvalues are shrunk, as each component rests on few records."""
    shares = fit.shares(z)
    out = _maximise(z, shares)
    shares = shares[shares.sum(axis=1) > 1.0]
    for k, (share, mean) in enumerate(zip(shares, out.means, strict=True)):
        eigenvalues, q = np.linalg.eigh(_scatter(z, share, mean))
        n_rows = int(share.sum() ** 2 / (share @ share))
        out.covariances[k] = (q * shrink(np.clip(eigenvalues, 0.0, None), n_rows)) @ q.T
    return out


def _scatter(z: Matrix, share: Vector, mean: Vector) -> Matrix:
    centred = (z - mean) * np.sqrt(share / share.sum())[:, None]
    return np.asarray(centred.T @ centred)


def _clipped(scatters: Matrix) -> Matrix:
    """Every component's covariance, at least that of the noise."""
    eigenvalues, q = np.linalg.eigh(scatters)
    return np.asarray((q * np.maximum(eigenvalues, 1.0)[:, None, :]) @ q.swapaxes(1, 2))


def _seeded(z: Matrix, metric: Matrix, k: int, rng: np.random.Generator) -> NoisyMixture:
    """k-means++: each next centre is a record drawn by its squared distance from the centres so far."""
    centres = metric[[rng.integers(len(z))]]
    nearest = ((metric - centres[0]) ** 2).sum(axis=1)
    label = np.zeros(len(z), dtype=np.intp)
    for j in range(1, k):
        centre = metric[rng.choice(len(z), p=nearest / nearest.sum())]
        distance = ((metric - centre) ** 2).sum(axis=1)
        label[distance < nearest] = j
        nearest = np.minimum(nearest, distance)
    return _maximise(z, _shares_of(label, k))


def _grown(z: Matrix, smaller: NoisyMixture, rng: np.random.Generator) -> NoisyMixture:
    """The smaller mixture with its broadest component cut in two across its longest axis."""
    total, shares = _log_sum(smaller.log_shares(z))
    label = shares.argmax(axis=0)
    # The component whose records are the least probable under it has the most to gain.
    loss = np.array([-total[label == j].sum() if (label == j).any() else -np.inf for j in range(len(shares))])
    cut = int(loss.argmax())
    axis = np.linalg.eigh(smaller.covariances[cut])[1][:, -1]
    along = (z - smaller.means[cut]) @ axis
    upper = along > np.quantile(along[label == cut], rng.uniform(0.3, 0.9))
    shares = np.vstack([shares, shares[cut] * upper])
    shares[cut] *= ~upper
    return _maximise(z, shares)


def _shares_of(label: npt.NDArray[np.intp], k: int) -> Matrix:
    return np.asarray(label[None, :] == np.arange(k)[:, None], dtype=np.float64)


def _log_sum(logs: Matrix) -> tuple[Vector, Matrix]:
    """Log density of each record and its shares in the components (K × N)."""
    top = logs.max(axis=0)
    shares = np.exp(logs - top)
    total = shares.sum(axis=0)
    return np.log(total) + top, shares / total
