"""The analyst's door for files: a release folder in, what can honestly be learned from it out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veil.models import AdditiveModel
from veil.recovery import DistributionRecovery, MomentRecovery
from veil.recovery.bands import quantile_interval
from veil.release import Release
from veil.report.recovered import RecoveredColumn, RecoveredView

Quantile = tuple[float, float, float | None, float | None]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NOTE = (
    "Estimates correct for the published noise. '± for the table' is two standard errors for the private table's own "
    "mean or spread; '± for the population' also counts that the table is a sample. Densities and quantiles are "
    "reconstructed by the iterative Bayes method on bins; a quantile's interval follows from the release's own "
    "distribution and the noise law alone, assumes nothing about the private one, and is wide for it. None of this "
    "says anything about single records."
)


def recover_folder(folder: Path, *, n_bins: int = 100) -> RecoveredView:
    """Means, covariances and, for additive noise, distributions of the private columns of a release."""
    release = Release.load(folder)
    return recover(release, n_bins=n_bins)


def recover(release: Release, *, n_bins: int = 100) -> RecoveredView:
    """The same for a release in memory."""
    moments = MomentRecovery().fit(release)
    variance, error = np.diag(moments.covariance_), np.diag(moments.covariance_se_)
    std = np.sqrt(np.clip(variance, 0.0, None))
    # Delta method: the error of a root is the error of its square over twice the root.
    std_error = np.divide(error, 2 * std, out=np.full_like(std, np.nan), where=std > 0)
    shapes = None
    if isinstance(release.step.model, AdditiveModel):
        shapes = DistributionRecovery(n_bins=n_bins).fit(release)
    columns = []
    for j, name in enumerate(moments.columns_):
        quantiles: tuple[Quantile, ...] = ()
        density: tuple[tuple[float, float], ...] = ()
        if shapes is not None:
            quantiles = _quantiles(release, shapes, j, name)
            density = _curve(shapes, name)
        columns.append(
            RecoveredColumn(
                name=name,
                mean=float(moments.mean_[j]),
                mean_half=float(2 * moments.mean_se_[j]),
                mean_half_total=float(2 * moments.mean_total_se_[j]),
                std=float(std[j]),
                std_half=float(2 * std_error[j]),
                quantiles=quantiles,
                density=density,
            )
        )
    return RecoveredView(
        method=release.method,
        release=release.manifest.release,
        n_rows=release.moments().n_rows,
        columns=tuple(columns),
        covariance=tuple(tuple(float(v) for v in row) for row in moments.covariance_),
        covariance_half=tuple(tuple(float(2 * v) for v in row) for row in moments.covariance_se_),
        note=NOTE,
    )


def _quantiles(release: Release, shapes: DistributionRecovery, j: int, name: str) -> tuple[Quantile, ...]:
    """Estimates from the recovered density, each with an interval that assumes nothing about it."""
    model = release.step.model
    if not isinstance(model, AdditiveModel):
        return ()
    noise = (model.distribution, float(np.sqrt(model.covariance[j, j])))
    values = release.to_numpy()[:, j]
    found = []
    for q in QUANTILES:
        low, high = quantile_interval(values, q, noise)
        ends = [end if np.isfinite(end) else None for end in (low, high)]
        found.append((q, float(shapes.quantile(q, column=name)), ends[0], ends[1]))
    return tuple(found)


def _curve(shapes: DistributionRecovery, name: str) -> tuple[tuple[float, float], ...]:
    """Bin centres and heights between the first and the last bin that holds a thousandth of the weight."""
    weight, edges = np.asarray(shapes.probabilities_[name]), np.asarray(shapes.edges_[name])
    used = np.flatnonzero(weight > 1e-3 * weight.max())
    part = slice(int(used[0]), int(used[-1]) + 1)
    centres, heights = (edges[1:] + edges[:-1]) / 2, weight / np.diff(edges)
    return tuple((float(x), float(h)) for x, h in zip(centres[part], heights[part], strict=True))
