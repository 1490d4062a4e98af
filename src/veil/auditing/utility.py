"""Utility of a release: what an honest analyst can still do with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.blocks import Matrix
from veil.measures import Measure
from veil.models import (
    AdditiveModel,
    BinaryProjectionModel,
    LogNormalModel,
    MultiplicativeModel,
    NormalizedRotationModel,
    RecordProjectionModel,
    Scaled,
)
from veil.recovery import MomentRecovery
from veil.release import Release


def analyst_views(truth: Matrix, release: Release) -> tuple[Matrix, Matrix]:
    """Original and released records in the same units, complete records only.

    A method that mixes columns publishes the units it divided by; one that does not leaves
    columns in their own units, and both sides are divided by the original's standard deviation.
    """
    y, model = release.to_numpy(), release.step.model
    complete = ~(np.isnan(truth).any(axis=1) | np.isnan(y).any(axis=1))
    x, y = truth[complete], y[complete]
    if isinstance(model, Scaled):
        return model.scaled(x), y
    if isinstance(model, NormalizedRotationModel):
        centre, width = (
            (x.mean(axis=0), x.std(axis=0)) if model.normalize == "zscore" else (x.min(axis=0), np.ptp(x, axis=0))
        )
        return (x - centre) / width, y
    if isinstance(model, BinaryProjectionModel):
        return x, y
    scale = _spread(x)
    return x / scale, y / scale


def covariance_kept(truth: Matrix, release: Release) -> Measure | None:
    """1 − relative error of the covariance that the analyst can work out, column by column.

    Of noise the analyst takes out what is published about it (R3). Mixed columns are compared as they are; where
    they are fewer than the private ones, there is nothing to compare.
    """
    model = release.step.model
    complete = truth[~np.isnan(truth).any(axis=1)]
    if isinstance(model, AdditiveModel | MultiplicativeModel | LogNormalModel):
        scale = _spread(complete)
        original = np.cov(complete.T, ddof=0).reshape(truth.shape[1], -1)
        found = MomentRecovery().fit(release).covariance_
        unit = np.outer(scale, scale)
        return _kept_covariance(original / unit, found / unit)
    if isinstance(model, RecordProjectionModel):
        z, y = model.scaled(truth), release.to_numpy()
        return _kept_covariance(z.T @ z / len(z), y.T @ y / len(z))
    x, y = analyst_views(truth, release)
    if isinstance(model, BinaryProjectionModel) or x.shape[1] != y.shape[1]:
        return None
    original = np.cov(x.T, ddof=0).reshape(x.shape[1], -1)
    return _kept_covariance(original, np.cov(y.T, ddof=0).reshape(y.shape[1], -1))


def _kept_covariance(original: Matrix, released: Matrix) -> Measure | None:
    """1 − relative error, or None where nothing varies."""
    return _kept(measures.covariance_distortion(original, released)) if original.any() else None


def _spread(x: Matrix) -> Matrix:
    scale = x.std(axis=0)
    scale[scale == 0] = 1.0
    return np.asarray(scale)


def utilities(
    truth: Matrix,
    release: Release,
    *,
    n_clusters: int = 3,
    labels: Sequence[object] | npt.NDArray[np.object_] | None = None,
    seed: int = 0,
) -> dict[str, Measure]:
    """Every utility that the release can have, between 0 (nothing kept) and 1 (as good as the original)."""
    found: dict[str, Measure] = {}
    if len(truth) < 3:
        return found
    covariance = covariance_kept(truth, release)
    if covariance is not None:
        found["covariance"] = covariance
    if isinstance(release.step.model, RecordProjectionModel):
        return found
    x, y = analyst_views(truth, release)
    if len(x) < 3:
        return found
    if not isinstance(release.step.model, BinaryProjectionModel):
        found = {"distances": _kept(measures.distance_distortion(x, y, seed=seed)), **found}
    if len(x) > n_clusters:
        agreement = measures.clustering_agreement(x, y, n_clusters, seed=seed)
        found["clusters"] = Measure(
            max(0.0, agreement),
            low=max(0.0, agreement.low),
            high=max(0.0, agreement.high),
            higher_is="useful",
        )
    if len(x) > 11:
        found["neighbours"] = measures.neighbour_retention(x, y, seed=seed)
    if labels is not None:
        complete = ~(np.isnan(truth).any(axis=1))
        found["classification"] = measures.classification_retention(x, y, np.asarray(labels)[complete], seed=seed)
    return found


def _kept(distortion: Measure) -> Measure:
    return Measure(
        max(0.0, 1.0 - distortion),
        low=max(0.0, 1.0 - distortion.high),
        high=max(0.0, 1.0 - distortion.low),
        higher_is="useful",
    )
