"""A18: smooth a release whose rows are in time order.

*Model.* ``y_t = x_t + r_t``, noise independent over records with covariance Σr, x dependent over time.

In noise-whitened units the noise is the same in every orthogonal basis. Each component of such a basis is
smoothed by the state-space model that its likelihood prefers (see :mod:`veil.attacks.noise.smoothing`); the
components without memory go through the Bayes filter together, as in A6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veil.attacks.base import Details, Guess, GuessingAttack, full_guess, needed
from veil.attacks.knowledge import Knowledge, TimeOrder
from veil.attacks.noise.additive import available_covariance, filter_incomplete, noise_covariance
from veil.attacks.noise.shrinkage import pooled_prior, whitening
from veil.attacks.noise.smoothing import MOST_ROWS, SeriesModel, choose_series
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.release.models import AdditiveModel, Model
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class SerialDetails(Details):
    """The ``basis`` by name, the name of each component's model, and ``expected_mse`` of each column."""

    basis: str
    models: tuple[str, ...]
    expected_mse: Vector


class SerialAttack(GuessingAttack):
    """A18. Kalman smoothing of every component of the release over time (H §3).

    *Knowledge.* TimeOrder, and Σr (published, or KnownNoise). Rows that were shuffled have no order to use.

    Bases tried: the columns, the principal components, and the eigenvectors of the lag-1 covariance, which the
    noise does not touch; the likelihood chooses. Without dependence over time every component is white, and the
    guess is A6's with pooled eigenvalues. For an AR(1) column the m.s.e. is
    ``σ²s/√((s + σ²(1+φ²))² − 4σ⁴φ²)`` with innovation variance s; for a random walk ``σ²√(s/(s + 4σ²))``.

    Missing values stay missing; the columns are then smoothed one by one, which needs noise that is independent
    over columns.

    ``guess.details``: ``basis``, ``models`` (name of each component's model) and ``expected_mse`` per column.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 1)).cumsum(axis=0)
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=0))
    >>> guess = veil.SerialAttack().run(release, veil.TimeOrder())
    >>> errors = [np.mean((each - x) ** 2) for each in (release.to_numpy(), guess.values)]
    >>> bool(errors[1] < errors[0] / 4)
    True
    """

    catalogue = "A18"
    requires = (TimeOrder,)
    words = "smooths the noise away over time, since neighbouring records resemble each other"

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        y = release.to_numpy()
        order = needed(knowledge, TimeOrder).rows(release)
        if len(order) != len(y):
            raise InputError(f"TimeOrder has {len(order)} rows; the release has {len(y)}")
        noise = noise_covariance(release, knowledge)
        holes = np.isnan(y)
        if holes.all(axis=0).any() or len(y) < 2:
            raise NotApplicableError("a column of the release has no values to smooth")
        root, inverse = whitening(noise)
        if not np.any(noise - np.diag(np.diag(noise))):
            root, inverse = np.diag(np.sqrt(np.diag(noise))), np.diag(1.0 / np.sqrt(np.diag(noise)))
        elif holes.any():
            raise NotApplicableError("records with missing values can be smoothed only where noise is independent")
        mean = np.nanmean(y, axis=0)
        z = np.where(holes, np.nan, np.nan_to_num(y - mean) @ inverse.T)[order]
        tried = [_Decomposition.of(name, basis, z) for name, basis in _bases(z, inverse).items()]
        best = max(tried, key=lambda each: each.score)
        if all(model.name == "white" for model in best.models):  # no memory: A6 itself, in the release's columns
            best = replace(best, name="columns", basis=_bases(z, inverse)["columns"])
        smoothed, errors = best.smooth(z)
        turn = root @ best.basis
        values = np.empty_like(y)
        values[order] = mean + np.nan_to_num(smoothed) @ turn.T
        values[holes] = np.nan
        expected = np.einsum("ij,jk,ik->i", turn, errors, turn)
        names = tuple(model.name for model in best.models)
        return full_guess(release, values, SerialDetails(best.name, names, expected))


@dataclass(frozen=True)
class _Decomposition:
    """A basis of the whitened release with the model of each component."""

    name: str
    basis: Matrix
    models: tuple[SeriesModel, ...]
    score: float

    @classmethod
    def of(cls, name: str, basis: Matrix, z: Matrix) -> _Decomposition:
        component = _components(z, basis)
        models = tuple(choose_series(np.ascontiguousarray(c)) for c in component.T)
        penalty = 0.5 * np.log(len(z)) * sum(len(model.parameters) for model in models)
        score = sum(model.log_likelihood for model in models) - penalty
        white = np.array([model.name == "white" for model in models])
        if white.sum() > 1 and not np.isnan(z).any():
            # Components without memory are filtered together, so they score together.
            block = np.cov(component[:, white].T, ddof=0)
            own = np.log(np.clip(np.diag(block), 1.0, None)).sum()
            joint = np.log(np.clip(np.linalg.eigvalsh(block), 1.0, None)).sum()
            score += 0.5 * min(len(z), MOST_ROWS) * (own - joint)
        return cls(name, basis, models, float(score))

    def smooth(self, z: Matrix) -> tuple[Matrix, Matrix]:
        """The estimated components, and the covariance of their errors as far as the models know it."""
        holes = np.isnan(z)
        component = _components(z, self.basis)
        out = np.empty_like(component)
        errors = np.zeros((z.shape[1], z.shape[1]))
        for j, model in enumerate(self.models):
            if model.name != "white":
                out[:, j], errors[j, j] = model.smooth(np.ascontiguousarray(component[:, j]))
        white = np.flatnonzero([model.name == "white" for model in self.models])
        if len(white):
            block, unit, zero = component[:, white], np.eye(len(white)), np.zeros(len(white))
            n_rows = int((~holes).sum(axis=0).min())
            prior = pooled_prior(available_covariance(block, zero), unit, n_rows, alone=self.name == "columns")
            gain = np.linalg.solve(prior + unit, prior)
            out[:, white] = filter_incomplete(block, zero, prior, unit) if holes.any() else block @ gain
            errors[np.ix_(white, white)] = gain
        return out, errors


def _components(z: Matrix, basis: Matrix) -> Matrix:
    """The release in a basis; with missing values the only basis is the columns."""
    return z if np.isnan(z).any() else z @ basis


def _bases(z: Matrix, inverse: Matrix) -> dict[str, Matrix]:
    """Orthogonal bases of the whitened release worth trying."""
    d = z.shape[1]
    if np.isnan(z).any():
        return {"columns": np.eye(d)}
    # Columns as near as an orthogonal basis comes to them: exact where noise is independent over columns.
    u, _, vt = np.linalg.svd(inverse / np.linalg.norm(inverse, axis=0))
    lagged = z[1:].T @ z[:-1] / (len(z) - 1)
    bases = {
        "principal components": np.linalg.eigh(z.T @ z / len(z))[1],
        "columns": u @ vt,
        "lag-1 components": np.linalg.eigh((lagged + lagged.T) / 2)[1],
    }
    return bases if d > 1 else {"columns": np.eye(1)}
