"""Smooth several noisy series together: each component of a basis by itself, what is left of all of them jointly.

*Model.* ``z_t = s_t + r_t`` of d columns, centred, the noise r white over t with unit variances; s has a part that is
smooth over t and one that is not.

Where r has the covariance I it has it in every orthogonal basis. The smooth part of each component is found by
:func:`veil.attacks.serial.smoothers.best_smoother`. The residuals z − f have no memory, but correlations: the Bayes
filter of A6 takes its share of them for signal. A release without any memory is thus filtered as A6 does. The
likelihood of the state-space models chooses the basis; the columns themselves are taken instead if Stein's estimate of
the risk says so, since a sorted column is monotone in no other basis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veil.attacks.noise.additive import available_covariance, filter_incomplete
from veil.attacks.noise.shrinkage import pooled_prior
from veil.attacks.serial.smoothers import CLEAR, Smoother, best_smoother
from veil.attacks.serial.state_space import MOST_ROWS, SeriesModel, choose_series
from veil.data.blocks import Matrix

COLUMNS = "columns"


@dataclass(frozen=True, eq=False)
class SmoothedSeries:
    """Estimated series (N × d) and their expected squared errors, with the basis and the smoother of each component.

    ``risk`` is Stein's estimate of the total.
    """

    basis: str
    models: tuple[str, ...]
    values: Matrix
    errors: Matrix
    risk: float

    @property
    def white(self) -> bool:
        """Whether nothing depends on the order."""
        return all(name == "white" for name in self.models)


def smooth_series(z: Matrix, noise: Matrix, inverse: Matrix) -> SmoothedSeries:
    """Estimate the series; ``noise`` is the noise's covariance, of unit variances, and ``inverse`` what whitened it.

    With gaps, or noise that is not white over the columns, the columns are smoothed one by one.
    """
    bases = _bases(z, noise, inverse)
    fitted = {name: _Fit.of(z, basis) for name, basis in bases.items()}
    first = max(fitted, key=lambda name: fitted[name].score)
    if fitted[first].white:  # no memory: A6 itself, in the release's columns
        return _smoothed(COLUMNS, z, noise, bases[COLUMNS], fitted[first])
    chosen = _smoothed(first, z, noise, bases[first], fitted[first])
    if first == COLUMNS:
        return chosen
    other = _smoothed(COLUMNS, z, noise, bases[COLUMNS], fitted[COLUMNS])
    apart = float(((other.values - chosen.values) ** 2).sum(axis=1).mean())
    return other if other.risk < chosen.risk - CLEAR * 2.0 * np.sqrt(apart / len(z)) else chosen


@dataclass(frozen=True)
class _Fit:
    """The state-space model of each component of a basis, and how likely they make the release."""

    models: tuple[SeriesModel, ...]
    score: float

    @property
    def white(self) -> bool:
        return all(model.name == "white" for model in self.models)

    @classmethod
    def of(cls, z: Matrix, basis: Matrix) -> _Fit:
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
        return cls(models, float(score))


def _smoothed(name: str, z: Matrix, noise: Matrix, basis: Matrix, fit: _Fit) -> SmoothedSeries:
    """The series by the smoothers of one basis, and the filter of what they leave."""
    holes, component = np.isnan(z), _components(z, basis)
    if fit.white:
        smoothers = [Smoother("white", np.where(np.isnan(c), np.nan, 0.0), 0.0) for c in component.T]
    else:
        smoothers = [best_smoother(c, model) for c, model in zip(component.T, fit.models, strict=True)]
    smooth = np.column_stack([smoother.values for smoother in smoothers])
    residual, lost = component - smooth, np.array([smoother.divergence for smoother in smoothers])
    zero, n_rows = np.zeros(z.shape[1]), int((~holes).sum(axis=0).min())
    free = np.sqrt(np.clip(1.0 - lost, 1e-9, None))
    covariance = available_covariance(residual / free, zero)
    prior = pooled_prior(covariance, noise, n_rows, alone=name == COLUMNS)
    gain = np.linalg.solve(prior + noise, prior)
    values = smooth + (filter_incomplete(residual, zero, prior, noise) if holes.any() else residual @ gain)
    own = np.diag(gain)
    divergence = lost + own * (1.0 - lost)
    risk = float((np.nanmean((component - values) ** 2, axis=0) - 1.0 + 2.0 * divergence).sum())
    errors = noise @ gain + np.diag(lost * (1.0 - own) ** 2 * np.diag(covariance))
    if not holes.any():
        values, errors = values @ basis.T, basis @ errors @ basis.T
    return SmoothedSeries(name, tuple(smoother.name for smoother in smoothers), values, errors, risk)


def _components(z: Matrix, basis: Matrix) -> Matrix:
    """The release in a basis; with missing values the only basis is the columns."""
    return z if np.isnan(z).any() else z @ basis


def _bases(z: Matrix, noise: Matrix, inverse: Matrix) -> dict[str, Matrix]:
    """Orthogonal bases of the release worth trying."""
    d = z.shape[1]
    if d == 1 or np.isnan(z).any() or np.any(noise - np.diag(np.diag(noise))):
        return {COLUMNS: np.eye(d)}
    # Columns as near as an orthogonal basis comes to them: exact where noise is independent over columns.
    u, _, vt = np.linalg.svd(inverse / np.linalg.norm(inverse, axis=0))
    lagged = z[1:].T @ z[:-1] / (len(z) - 1)
    return {
        "principal components": np.linalg.eigh(z.T @ z / len(z))[1],
        COLUMNS: u @ vt,
        "lag-1 components": np.linalg.eigh((lagged + lagged.T) / 2)[1],
    }
