"""Utility of a release: what an honest analyst can still do with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.blocks import Matrix
from veil.measures import Measure
from veil.models import AdditiveModel, OrthogonalModel
from veil.release import Release


def analyst_views(truth: Matrix, release: Release) -> tuple[Matrix, Matrix]:
    """Original and released records in the same units, complete records only.

    A method that mixes columns publishes the units it divided by; one that does not leaves
    columns in their own units, and both sides are divided by the original's standard deviation.
    """
    y, model = release.to_numpy(), release.step.model
    complete = ~(np.isnan(truth).any(axis=1) | np.isnan(y).any(axis=1))
    x, y = truth[complete], y[complete]
    if isinstance(model, OrthogonalModel):
        return model.scaled(x), y
    scale = x.std(axis=0)
    scale[scale == 0] = 1.0
    return x / scale, y / scale


def covariance_kept(truth: Matrix, release: Release) -> Measure:
    """1 − relative error of the covariance that the analyst can work out, column by column.

    Published independent noise is subtracted from the variances (catalogue R3).
    """
    x, y = analyst_views(truth, release)
    original = np.cov(x.T, ddof=0).reshape(x.shape[1], -1)
    released = np.cov(y.T, ddof=0).reshape(y.shape[1], -1)
    model = release.step.model
    if isinstance(model, AdditiveModel):
        complete = ~np.isnan(truth).any(axis=1)
        scale = truth[complete].std(axis=0)
        scale[scale == 0] = 1.0
        released = released - model.covariance / np.outer(scale, scale)
    return _kept(measures.covariance_distortion(original, released))


def utilities(
    truth: Matrix,
    release: Release,
    *,
    n_clusters: int = 3,
    labels: Sequence[object] | npt.NDArray[np.object_] | None = None,
    seed: int = 0,
) -> dict[str, Measure]:
    """Every utility, between 0 (nothing kept) and 1 (as good as the original)."""
    x, y = analyst_views(truth, release)
    found: dict[str, Measure] = {}
    if len(x) < 3:
        return found
    found["distances"] = _kept(measures.distance_distortion(x, y, seed=seed))
    found["covariance"] = covariance_kept(truth, release)
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
