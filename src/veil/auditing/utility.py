"""Utility of a release: what an honest analyst can still do with it, over what a release that says nothing allows.

Every utility is u = 1 − e/e₀, at least 0: e is the error of what the analyst works out from the release, e₀ that of the
best answer that needs no release. So u is 1 for the private table and 0 for a constant or a majority answer, and an
analyst who would do worse takes that answer instead.

============== ================================================= ====================================================
utility        error e                                           without a release, e₀
============== ================================================= ====================================================
means          of the recovered mean, in standard deviations     1: any one value of the column is as near to its mean
covariance     Frobenius norm of the difference                  that of the covariance itself (a matrix of zeros)
distribution   ∫(F − G)², F true and G recovered                 the same with all mass at the median
proportions    total variation                                   the same with all mass at the most frequent category
distances      mean of |d_y/d_x − 1| over pairs                  1 (all records alike)
clusters       1 − adjusted Rand index                           1 (chance)
neighbours     share of the nearest that are lost                that of records named at random
classification share of the predictions that are lost            that of the most frequent class
============== ================================================= ====================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.auditing.truth import Truth
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.measures import Measure
from veil.numerics.laws import is_law
from veil.recovery import DistributionRecovery, MomentRecovery
from veil.recovery.proportions import ProportionRecovery
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    BinaryProjectionModel,
    ClassModel,
    ForeignModel,
    LogNormalModel,
    MultiplicativeModel,
    NormalizedRotationModel,
    PseudonymModel,
    RecodedModel,
    RecordProjectionModel,
    Scaled,
    UnknownModel,
)
from veil.release.release import Release

COLUMNWISE = (AdditiveModel, MultiplicativeModel, LogNormalModel)
"""Models that release each private column with noise on it."""
FEWEST_BINS, MOST_BINS, DISTRIBUTION_STOP = 60, 1_000, 1e-5
"""An analyst lets the deconvolution run longer than its default: behind strong noise it comes much nearer."""
MOST_PLAIN = 30.0
"""Standard deviations of the noise that a column may range over for so few bins."""
BINS_OF_NOISE, FEWEST_OF_NOISE = 8.0, 2.0
"""Bins that the noise's standard deviation should be wide; with fewer than the second, values are taken as released."""
FEWEST_COMPLETE = 2
"""Records without gaps that moments need."""
MOST_FOLDS = 5


def analyst_views(truth: Matrix, release: Release) -> tuple[Matrix, Matrix]:
    """Original and released records in the same units, complete records only.

    A method that mixes columns publishes the units it divided by; one that does not leaves
    columns in their own units, and both sides are divided by the original's standard deviation.
    """
    y, model = release.to_numpy(), release.only_part.model
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
    if isinstance(model, BasketModel):
        return x, y[:, : model.n_items]
    scale = _spread(x)
    return x / scale, y / scale


def covariance_kept(truth: Matrix, release: Release) -> Measure | None:
    """1 − relative error of the covariance that the analyst can work out, column by column.

    Of noise the analyst takes out what is published about it (R3). Mixed columns are compared as they are; where
    they are fewer than the private ones, there is nothing to compare.
    """
    model = release.only_part.model
    complete = truth[~np.isnan(truth).any(axis=1)]
    if isinstance(model, COLUMNWISE) and len(complete) < FEWEST_COMPLETE:
        return None
    if isinstance(model, COLUMNWISE):
        scale = _spread(complete)
        original = np.cov(complete.T, ddof=0).reshape(truth.shape[1], -1)
        recovered = MomentRecovery().fit(release).covariance_
        unit = np.outer(scale, scale)
        return _kept_covariance(original / unit, recovered / unit)
    if isinstance(model, RecordProjectionModel):
        z, y = model.scaled(truth), release.to_numpy()
        return _kept_covariance(z.T @ z / len(z), y.T @ y / len(z))
    x, y = analyst_views(truth, release)
    if isinstance(model, BinaryProjectionModel) or x.shape[1] != y.shape[1]:
        return None
    original = np.cov(x.T, ddof=0).reshape(x.shape[1], -1)
    return _kept_covariance(original, np.cov(y.T, ddof=0).reshape(y.shape[1], -1))


def means_kept(truth: Matrix, release: Release) -> Measure | None:
    """1 − error of the means that the analyst recovers (R3), in standard deviations of the columns.

    The root-mean-square error of naming one value of the column as its mean is one standard deviation: that needs no
    release. A mean whose 95 % interval is wider than that tells no more, wherever it happens to fall.
    """
    if not isinstance(release.only_part.model, COLUMNWISE):
        return None
    complete = truth[~np.isnan(truth).any(axis=1)]
    if len(complete) < FEWEST_COMPLETE:
        return None
    recovered = MomentRecovery().fit(release)
    scale = _spread(complete)
    off, doubt = np.abs(recovered.mean_ - complete.mean(axis=0)) / scale, 1.96 * recovered.mean_se_ / scale
    informative = doubt < 1.0
    share, least, most = (
        float(np.mean(np.where(informative, np.clip(1.0 - error, 0.0, 1.0), 0.0)))
        for error in (off, off + doubt, off - doubt)
    )
    return Measure(share, low=least, high=most, higher_is="useful")


def distribution_kept(truth: Matrix, release: Release) -> Measure | None:
    """1 − ∫(F − G)²/∫(F − H)² of the distributions that the analyst recovers, mean over columns.

    F is the column's distribution function, G the recovered one, and H that of a constant at the median, which is the
    best constant: ∫(F − H)² has the slope F² − (1 − F)² in the constant. ∫(F − G)² is what G loses in the continuous
    ranked probability score, so this is its skill score over the constant (Gneiting and Raftery 2007, 4.2).

    Through additive noise of a known law the analyst deconvolves (R1); other columns are taken as released. The
    interval is over columns, from the worst to the best.
    """
    model = release.only_part.model
    if isinstance(model, AdditiveModel) and is_law(model.distribution):
        deviations, released = np.sqrt(np.diag(model.covariance)), release.to_numpy()
        shares = [
            _skill(truth[:, j], *_deconvolved(release, name, released[:, j], float(deviations[j])))
            for j, name in enumerate(release.only_part.names)
        ]
    elif isinstance(model, COLUMNWISE) or (
        isinstance(model, ForeignModel) and release.only_part.released == release.only_part.names
    ):
        shares = [_skill(truth[:, j], *_steps(column)) for j, column in enumerate(release.to_numpy().T)]
    else:
        return None
    known = [share for share in shares if not np.isnan(share)]
    return Measure(float(np.mean(known)), low=min(known), high=max(known), higher_is="useful") if known else None


def _deconvolved(release: Release, name: str, released: Vector, deviation: float) -> tuple[Vector, Vector]:
    """The recovered distribution function of a column behind noise, with bins that are finer than the noise."""
    present = released[~np.isnan(released)]
    wide = float(np.ptp(present)) / deviation if len(present) and deviation > 0.0 else 0.0
    if wide * FEWEST_OF_NOISE > MOST_BINS:
        return _steps(released)
    bins = int(np.clip(BINS_OF_NOISE * wide, FEWEST_BINS, MOST_BINS)) if wide > MOST_PLAIN else FEWEST_BINS
    recovered = DistributionRecovery(n_bins=bins, stop=DISTRIBUTION_STOP, columns=[name]).fit(release)
    return recovered.edges_[name], np.concatenate([[0.0], np.cumsum(recovered.probabilities_[name])])


def _steps(column: Vector) -> tuple[Vector, Vector]:
    """The distribution function of a column's values, as a line with upright steps."""
    present = np.sort(column[~np.isnan(column)])
    heights = np.arange(len(present) + 1) / max(len(present), 1)
    return np.repeat(present, 2), np.repeat(heights, 2)[1:-1]


def _skill(column: Vector, at: Vector, heights: Vector) -> float:
    """1 − ∫(F − G)²/∫(F − H)², at least 0, for G with these ``heights`` and straight between; NaN of a constant."""
    present = np.sort(column[~np.isnan(column)])
    if not len(present) or present[0] == present[-1] or not len(at):
        return float("nan")
    points = np.unique(np.concatenate([present, at]))
    width, middle = np.diff(points), (points[1:] + points[:-1]) / 2
    own = np.searchsorted(present, middle, side="right") / len(present)
    # Between two points G is straight, and it may step at both: its ends there follow from two values inside.
    first, second = (np.interp(points[:-1] + width * share, at, heights) - own for share in (0.25, 0.75))
    start, end = 1.5 * first - 0.5 * second, 1.5 * second - 0.5 * first
    lost = float(width @ (start**2 + start * end + end**2)) / 3.0
    nothing = float(width @ (own - (middle > np.median(present))) ** 2)
    return max(0.0, 1.0 - lost / nothing)


def _kept_covariance(original: Matrix, released: Matrix) -> Measure | None:
    """1 − relative error, or None where nothing varies."""
    return _kept(measures.covariance_distortion(original, released)) if original.any() else None


def _spread(x: Matrix) -> Matrix:
    if not len(x):
        return np.ones(x.shape[1])
    scale = x.std(axis=0)
    scale[scale == 0] = 1.0
    return np.asarray(scale)


def plan_utilities(
    private: Truth,
    release: Release,
    *,
    n_clusters: int = 3,
    labels: Sequence[object] | npt.NDArray[np.object_] | None = None,
    seed: int = 0,
) -> dict[str, Measure]:
    """The utilities of all parts of a release; one that several have is their mean, from the least to the greatest."""
    by_name: dict[str, list[Measure]] = {}
    for i, part in enumerate(release.manifest.parts):
        truth, released = private.part(part.names), release.part(i)
        model = part.model
        if isinstance(model, RecodedModel):
            continue
        if model.private_categories() is not None:
            with suppress(NotApplicableError, InputError):  # reports that tell no proportions
                by_name.setdefault("proportions", []).append(proportions_kept(truth, released))
        elif not isinstance(model, UnknownModel | ClassModel | PseudonymModel) or _comparable(truth, released):
            settings = {"n_clusters": n_clusters, "labels": labels, "seed": seed}
            for name, value in utilities(truth.values, released, **settings).items():  # type: ignore[arg-type]
                by_name.setdefault(name, []).append(value)
    return {n: values[0] if len(values) == 1 else averaged(values) for n, values in by_name.items() if values}


def rowless_utilities(private: Truth, release: Release) -> dict[str, Measure]:
    """The utilities of a release whose rows belong to nobody in particular: moments and distributions."""
    by_name: dict[str, Measure] = {}
    for i, part in enumerate(release.manifest.parts):
        truth, released = private.part(part.names), release.part(i)
        named = isinstance(part.model, ForeignModel) and part.released == part.names
        measured = {"means": means_kept, "covariance": covariance_kept, "distribution": distribution_kept}
        for name, utility_of in measured.items() if isinstance(part.model, COLUMNWISE) else ():
            value = utility_of(truth.values, released)
            by_name |= {name: value} if value is not None else {}
        if named:
            value = distribution_kept(truth.values, released)
            by_name |= {"distribution": value} if value is not None else {}
    return by_name


def _comparable(truth: Truth, part: Release) -> bool:
    """Whether a release that nobody described has the private columns and records."""
    described = not isinstance(part.only_part.model, ForeignModel)
    return (
        not described and part.only_part.released == part.only_part.names and len(part.to_numpy()) == len(truth.values)
    )


def proportions_kept(truth: Truth, release: Release) -> Measure:
    """1 − t/t₀, mean over columns: t is the total variation between true proportions and recovered ones (R4).

    All mass at the most frequent category, with the share m, is off by t₀ = 1 − m. A column with one category has
    nothing to tell, and is kept where it is recovered.
    """
    recovered = ProportionRecovery().fit(release)
    shares_kept = []
    for j, name in enumerate(truth.columns):
        column, listing = truth.values[:, j], truth.categories[j]
        proportions = recovered.proportions_[name]
        values = list(proportions)
        codes = [
            np.nan if v is None else float(v) if listing is None else listing.index(v) if v in listing else -1.0
            for v in values
        ]
        shares = [np.mean(np.isnan(column)) if np.isnan(c) else np.mean(column == c) for c in codes]
        off = 0.5 * float(np.abs(np.array(shares) - [proportions[v] for v in values]).sum())
        unsaid = 1.0 - float(np.unique(column, return_counts=True)[1].max()) / len(column)
        shares_kept.append(max(0.0, 1.0 - off / unsaid) if unsaid > 0.0 else float(off < 1e-9))
    return Measure(float(np.mean(shares_kept)), low=min(shares_kept), high=max(shares_kept), higher_is="useful")


def averaged(values: Sequence[Measure]) -> Measure:
    """The mean of utilities, from the lowest end to the highest."""
    low, high = min(v.low for v in values), max(v.high for v in values)
    return Measure(float(np.mean(values)), low=low, high=high, higher_is="useful")


def utilities(
    truth: Matrix,
    release: Release,
    *,
    n_clusters: int = 3,
    labels: Sequence[object] | npt.NDArray[np.object_] | None = None,
    seed: int = 0,
) -> dict[str, Measure]:
    """Every utility that the release can have, between 0 (nothing kept) and 1 (as good as the original)."""
    by_name: dict[str, Measure] = {}
    if len(truth) < 3:
        return by_name
    for name, measured in (("means", means_kept), ("covariance", covariance_kept), ("distribution", distribution_kept)):
        utility = measured(truth, release)
        if utility is not None:
            by_name[name] = utility
    if isinstance(release.only_part.model, RecordProjectionModel):
        return by_name
    x, y = analyst_views(truth, release)
    if len(x) < 3:
        return by_name
    if not isinstance(release.only_part.model, BinaryProjectionModel):
        by_name = {"distances": _kept(measures.distance_distortion(x, y, random_state=seed)), **by_name}
    if len(x) > n_clusters:
        by_name["clusters"] = _between(measures.clustering_agreement(x, y, n_clusters, random_state=seed))
    if len(x) > 11:
        near = measures.neighbour_retention(x, y, random_state=seed, over_chance=True)
        by_name |= {"neighbours": _between(near)} if not np.isnan(near) else {}
    if labels is not None:
        complete = ~(np.isnan(truth).any(axis=1))
        classes = np.asarray(labels)[complete]
        largest = int(np.unique(classes, return_counts=True)[1].max())
        if largest > 1:  # else nothing can be learned from one record and tried on another
            folds = min(MOST_FOLDS, largest)
            predicted = measures.classification_retention(
                x, y, classes, folds=folds, random_state=seed, over_chance=True
            )
            by_name |= {"classification": _between(predicted)} if not np.isnan(predicted) else {}
    return by_name


def _kept(distortion: Measure) -> Measure:
    return _between(Measure(1.0 - distortion, low=1.0 - distortion.high, high=1.0 - distortion.low, higher_is="useful"))


def _between(utility: Measure) -> Measure:
    """A utility with its interval, between 0 and 1."""
    value, low, high = (min(max(end, 0.0), 1.0) for end in (float(utility), utility.low, utility.high))
    return Measure(value, low=low, high=high, higher_is="useful")
