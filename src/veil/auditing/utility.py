"""Utility of a release: what an honest analyst can still do with it, over what a release that says nothing allows.

Every utility is u = 1 − e/e₀, at least 0: e is the error of what the analyst works out from the release, e₀ that of the
best answer that needs no release. So u is 1 for the private table and 0 for a constant or a majority answer, and an
analyst who would do worse takes that answer instead.

Of a table with gaps, :mod:`veil.auditing.recovered` says what is held against what; the other utilities are of complete
records. Where records have weights, means, covariances, distributions and proportions are those of the population that
they stand for. Distances, neighbours, clusters and classes are about records, each of which counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.auditing.recovered import (
    COLUMNWISE,
    analyst_views,
    between,
    class_distributions_kept,
    class_means_kept,
    covariance_kept,
    distribution_kept,
    kept,
    means_kept,
    proportions_kept,
)
from veil.auditing.truth import Truth
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.measures import Measure
from veil.release.models import (
    BinaryProjectionModel,
    ClassModel,
    ForeignModel,
    PseudonymModel,
    RecodedModel,
    RecordProjectionModel,
    UnknownModel,
)
from veil.release.release import Release

MOST_FOLDS = 5
_OF_COLUMNS = ("means", "distribution", "proportions")
_OF_CLASSES = {"means": class_means_kept, "distribution": class_distributions_kept}


def plan_utilities(
    private: Truth,
    release: Release,
    *,
    n_clusters: int = 3,
    labels: Sequence[object] | npt.NDArray[np.object_] | None = None,
    weights: Vector | None = None,
    seed: int = 0,
) -> dict[str, Measure]:
    """The utilities of all parts of a release; one that several have is their mean, from the least to the greatest.

    Means, distributions and proportions are those of columns, and a part counts by how many it has of them. ``weights``
    say how many people each private record stands for.
    """
    by_name: dict[str, list[tuple[int, Measure]]] = {}
    for i, part in enumerate(release.manifest.parts):
        truth, released = private.part(part.names), release.part(i)
        model = part.model
        n_columns = len(part.names)
        if isinstance(model, RecodedModel):
            continue
        if model.private_categories() is not None:
            with suppress(NotApplicableError, InputError):  # reports that tell no proportions
                by_name.setdefault("proportions", []).append((n_columns, proportions_kept(truth, released, weights)))
                n_classes = sum(classes is not None for classes in model.number_classes())
                for name, kept_of in _OF_CLASSES.items() if n_classes else ():
                    value = kept_of(truth, released, weights)
                    by_name.setdefault(name, []).extend([] if value is None else [(n_classes, value)])
        elif not isinstance(model, UnknownModel | ClassModel | PseudonymModel) or _comparable(truth, released):
            settings = {"n_clusters": n_clusters, "labels": labels, "weights": weights, "seed": seed}
            for name, value in utilities(truth.values, released, **settings).items():  # type: ignore[arg-type]
                by_name.setdefault(name, []).append((n_columns if name in _OF_COLUMNS else 1, value))
    return {n: values[0][1] if len(values) == 1 else averaged(values) for n, values in by_name.items() if values}


def rowless_utilities(private: Truth, release: Release, weights: Vector | None = None) -> dict[str, Measure]:
    """The utilities of a release whose rows belong to nobody in particular: moments and distributions."""
    by_name: dict[str, Measure] = {}
    for i, part in enumerate(release.manifest.parts):
        truth, released = private.part(part.names), release.part(i)
        named = isinstance(part.model, ForeignModel) and part.released == part.names
        measured = {"means": means_kept, "covariance": covariance_kept, "distribution": distribution_kept}
        for name, utility_of in measured.items() if isinstance(part.model, COLUMNWISE) else ():
            value = utility_of(truth.values, released, weights)
            by_name |= {name: value} if value is not None else {}
        if named:
            value = distribution_kept(truth.values, released, weights)
            by_name |= {"distribution": value} if value is not None else {}
    return by_name


def _comparable(truth: Truth, part: Release) -> bool:
    """Whether a release that nobody described has the private columns and records."""
    described = not isinstance(part.only_part.model, ForeignModel)
    return (
        not described and part.only_part.released == part.only_part.names and len(part.to_numpy()) == len(truth.values)
    )


def averaged(values: Sequence[tuple[int, Measure]]) -> Measure:
    """The weighted mean of utilities, from the lowest end to the highest."""
    weights, utilities = zip(*values, strict=True)
    low, high = min(v.low for v in utilities), max(v.high for v in utilities)
    return Measure(float(np.average(utilities, weights=weights)), low=low, high=high, higher_is="useful")


def utilities(
    truth: Matrix,
    release: Release,
    *,
    n_clusters: int = 3,
    labels: Sequence[object] | npt.NDArray[np.object_] | None = None,
    weights: Vector | None = None,
    seed: int = 0,
) -> dict[str, Measure]:
    """Every utility that the release can have, between 0 (nothing kept) and 1 (as good as the original)."""
    by_name: dict[str, Measure] = {}
    if len(truth) < 3:
        return by_name
    for name, measured in (("means", means_kept), ("covariance", covariance_kept), ("distribution", distribution_kept)):
        utility = measured(truth, release, weights)
        if utility is not None:
            by_name[name] = utility
    if isinstance(release.only_part.model, RecordProjectionModel):
        return by_name
    x, y = analyst_views(truth, release)
    if len(x) < 3:
        return by_name
    if not isinstance(release.only_part.model, BinaryProjectionModel):
        by_name = {"distances": kept(measures.distance_distortion(x, y, random_state=seed)), **by_name}
    if len(x) > n_clusters:
        by_name["clusters"] = between(measures.clustering_agreement(x, y, n_clusters, random_state=seed))
    if len(x) > 11:
        near = measures.neighbour_retention(x, y, random_state=seed, over_chance=True)
        by_name |= {"neighbours": between(near)} if not np.isnan(near) else {}
    if labels is not None:
        complete = ~(np.isnan(truth).any(axis=1))
        classes = np.asarray(labels)[complete]
        largest = int(np.unique(classes, return_counts=True)[1].max())
        if largest > 1:  # else nothing can be learned from one record and tried on another
            folds = min(MOST_FOLDS, largest)
            predicted = measures.classification_retention(
                x, y, classes, folds=folds, random_state=seed, over_chance=True
            )
            by_name |= {"classification": between(predicted)} if not np.isnan(predicted) else {}
    return by_name
