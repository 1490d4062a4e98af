"""Utilities of what an analyst recovers from a release: covariance, means, distributions and proportions.

Of a table with gaps, the means and the covariance to be recovered are those that the private table itself tells from
all its values (:func:`veil.recovery.gaps.table_moments`, by EM); the analyst's come from all released values by the
same EM, corrected for the noise, from the same columns. Proportions are found in the same way. Distributions are of
the values that are there.

Records of a survey stand for unequal numbers of people. Where a release has a column with the role weight, all of these
are figures of the population: the private table's are weighted, and so are the analyst's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.attacks.knowledge.base import number_classes
from veil.auditing.truth import Truth
from veil.data.blocks import Block, Matrix, Vector
from veil.measures import Measure
from veil.numerics.laws import is_law
from veil.recovery import DistributionRecovery, MomentRecovery
from veil.recovery.gaps import table_moments
from veil.recovery.proportions import ProportionRecovery
from veil.recovery.weights import as_weights
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    BinaryProjectionModel,
    ForeignModel,
    LogNormalModel,
    MultiplicativeModel,
    NormalizedRotationModel,
    RecordProjectionModel,
    Scaled,
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
FEWEST_VALUES = 2
"""Values of a column that moments need."""


def analyst_views(truth: Matrix, release: Release) -> tuple[Matrix, Matrix]:
    """Original and released records in the same units, complete records only.

    A method that mixes columns publishes the units it divided by; one that does not leaves
    columns in their own units, and both sides are divided by the original's standard deviation.
    """
    y, model, complete = release.to_numpy(), release.only_part.model, complete_in_both(truth, release)
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


def complete_in_both(truth: Matrix, release: Release) -> npt.NDArray[np.bool_]:
    """Which records are complete in the original and in the release."""
    return np.asarray(~(np.isnan(truth).any(axis=1) | np.isnan(release.to_numpy()).any(axis=1)))


def _spread(x: Matrix) -> Matrix:
    if not len(x):
        return np.ones(x.shape[1])
    scale = x.std(axis=0)
    scale[scale == 0] = 1.0
    return np.asarray(scale)


def covariance_kept(truth: Matrix, release: Release, weights: Vector | None = None) -> Measure | None:
    """1 − relative error of the covariance that the analyst can work out, column by column.

    Of noise the analyst takes out what is published about it (R3). Mixed columns are compared as they are; where
    they are fewer than the private ones, there is nothing to compare.
    """
    model = release.only_part.model
    if isinstance(model, COLUMNWISE):
        if not _enough(truth):
            return None
        original = table_moments(truth, weights)[1]
        recovered = MomentRecovery(public=False).fit(release).covariance_
        told = ~(np.isnan(original) | np.isnan(recovered))
        scale = _scale(truth, original)
        unit = np.outer(scale, scale)
        return _kept_covariance(np.where(told, original / unit, 0.0), np.where(told, recovered / unit, 0.0))
    if isinstance(model, RecordProjectionModel):
        z, y = model.scaled(truth), release.to_numpy()
        return _kept_covariance(z.T @ z / len(z), y.T @ y / len(z))
    x, y = analyst_views(truth, release)
    if isinstance(model, BinaryProjectionModel) or x.shape[1] != y.shape[1]:
        return None
    own = None if weights is None else weights[complete_in_both(truth, release)]
    original, released = (np.cov(z.T, ddof=0, aweights=own).reshape(x.shape[1], -1) for z in (x, y))
    return _kept_covariance(original, released)


def means_kept(truth: Matrix, release: Release, weights: Vector | None = None) -> Measure | None:
    """1 − error of the means that the analyst recovers (R3), in standard deviations of the columns.

    The root-mean-square error of naming one value of the column as its mean is one standard deviation: that needs no
    release. A mean whose 95 % interval is wider than that tells no more, wherever it happens to fall.
    """
    if not isinstance(release.only_part.model, COLUMNWISE):
        return None
    if not _enough(truth):
        return None
    recovered = MomentRecovery(public=False).fit(release)
    mean, covariance = table_moments(truth, weights)
    return _kept_means(recovered.mean_, recovered.mean_se_, mean, _scale(truth, covariance))


def _kept_means(recovered: Vector, error: Vector, mean: Vector, scale: Vector) -> Measure:
    """The mean over columns of 1 − error of the mean, from the least to the greatest that its error allows."""
    told = np.isfinite(mean) & np.isfinite(recovered)
    off, doubt = np.abs(recovered - mean)[told] / scale[told], 1.96 * error[told] / scale[told]
    informative = doubt < 1.0
    share, least, most = (
        float(np.mean(np.where(informative, np.clip(1.0 - error, 0.0, 1.0), 0.0)))
        for error in (off, off + doubt, off - doubt)
    )
    return Measure(share, low=least, high=most, higher_is="useful")


def distribution_kept(truth: Matrix, release: Release, weights: Vector | None = None) -> Measure | None:
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
            _skill(truth[:, j], *_deconvolved(release, name, released[:, j], float(deviations[j])), weights)
            for j, name in enumerate(release.only_part.names)
        ]
    elif isinstance(model, COLUMNWISE) or (
        isinstance(model, ForeignModel) and release.only_part.released == release.only_part.names
    ):
        own = _released_weights(release)
        shares = [_skill(truth[:, j], *_steps(column, own), weights) for j, column in enumerate(release.to_numpy().T)]
    else:
        return None
    return _kept_distributions(shares)


def _kept_distributions(shares: list[float]) -> Measure | None:
    """The mean over columns, from the worst to the best; None where no column varies."""
    known = [share for share in shares if not np.isnan(share)]
    return Measure(float(np.mean(known)), low=min(known), high=max(known), higher_is="useful") if known else None


def _deconvolved(release: Release, name: str, released: Vector, deviation: float) -> tuple[Vector, Vector]:
    """The recovered distribution function of a column behind noise, with bins that are finer than the noise."""
    present = released[~np.isnan(released)]
    wide = float(np.ptp(present)) / deviation if len(present) and deviation > 0.0 else 0.0
    if wide * FEWEST_OF_NOISE > MOST_BINS:
        return _steps(released, _released_weights(release))
    bins = int(np.clip(BINS_OF_NOISE * wide, FEWEST_BINS, MOST_BINS)) if wide > MOST_PLAIN else FEWEST_BINS
    recovered = DistributionRecovery(n_bins=bins, stop=DISTRIBUTION_STOP, columns=[name]).fit(release)
    return recovered.edges_[name], np.concatenate([[0.0], np.cumsum(recovered.probabilities_[name])])


def _released_weights(release: Release) -> Vector | None:
    """The weights of all records, as the release has them; None where it has none."""
    weights = as_weights(None, release)
    table = release.table.read(list(weights.columns))
    return weights.of(Block(0, *table.to_batches())) if weights.given else None


def _sorted(column: Vector, weights: Vector | None) -> tuple[Vector, Vector]:
    """The values that are there in order, and which share of the records, or of the people, has less: one more."""
    order = np.argsort(column, kind="stable")[: int((~np.isnan(column)).sum())]
    if weights is None:
        return column[order], np.arange(len(order) + 1) / max(len(order), 1)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return column[order], sums / max(sums[-1], 1e-300)


def _steps(column: Vector, weights: Vector | None = None) -> tuple[Vector, Vector]:
    """The distribution function of a column's values, as a line with upright steps."""
    present, heights = _sorted(column, weights)
    return np.repeat(present, 2), np.repeat(heights, 2)[1:-1]


def _skill(column: Vector, at: Vector, heights: Vector, weights: Vector | None = None) -> float:
    """1 − ∫(F − G)²/∫(F − H)², at least 0, for G with these ``heights`` and straight between; NaN of a constant."""
    present, below = _sorted(column, weights)
    if not len(present) or present[0] == present[-1] or not len(at):
        return float("nan")
    points = np.unique(np.concatenate([present, at]))
    width, middle = np.diff(points), (points[1:] + points[:-1]) / 2
    own = below[np.searchsorted(present, middle, side="right")]
    # Between two points G is straight, and it may step at both: its ends there follow from two values inside.
    first, second = (np.interp(points[:-1] + width * share, at, heights) - own for share in (0.25, 0.75))
    start, end = 1.5 * first - 0.5 * second, 1.5 * second - 0.5 * first
    lost = float(width @ (start**2 + start * end + end**2)) / 3.0
    median = np.median(present) if weights is None else present[np.searchsorted(below[1:], 0.5)]
    nothing = float(width @ (own - (middle > median)) ** 2)
    return max(0.0, 1.0 - lost / nothing)


def _kept_covariance(original: Matrix, released: Matrix) -> Measure | None:
    """1 − relative error, or None where nothing varies."""
    return kept(measures.covariance_distortion(original, released)) if original.any() else None


def _enough(truth: Matrix) -> bool:
    """Whether some column has the values that moments need."""
    return bool(((~np.isnan(truth)).sum(axis=0) >= FEWEST_VALUES).any())


def _scale(truth: Matrix, covariance: Matrix) -> Vector:
    """Standard deviations of the columns; 1 of a constant one."""
    if not np.isnan(truth).any():
        return _spread(truth)
    scale = np.sqrt(np.clip(np.nan_to_num(np.diag(covariance)), 0.0, None))
    return np.where(scale > 0.0, scale, 1.0)


def proportions_kept(truth: Truth, release: Release, weights: Vector | None = None) -> Measure:
    """1 − t/t₀, mean over columns: t is the total variation between true proportions and recovered ones (R4).

    A missing value is a category where the release lists it as one. Else the true proportions are those that the
    private table itself tells from all its values, with missing ones predicted from its other columns, as the
    analyst's are.

    All mass at the most frequent category, with the share m, is off by t₀ = 1 − m. A column with one category has
    nothing to tell, and is kept where it is recovered.
    """
    recovered = ProportionRecovery(public=False).fit(release)
    truth = truth.in_classes(number_classes(release.manifest.parts))
    shares_kept = []
    for name, shares in zip(truth.columns, _true_shares(truth, recovered.proportions_, weights), strict=True):
        off = 0.5 * float(np.abs(shares - list(recovered.proportions_[name].values())).sum())
        unsaid = 1.0 - float(shares.max())
        shares_kept.append(max(0.0, 1.0 - off / unsaid) if unsaid > 0.0 else float(off < 1e-9))
    return Measure(float(np.mean(shares_kept)), low=min(shares_kept), high=max(shares_kept), higher_is="useful")


def class_means_kept(truth: Truth, release: Release, weights: Vector | None = None) -> Measure | None:
    """:func:`means_kept` of the numbers that were reported by class, from the shares of the classes (R4)."""
    recovered = ProportionRecovery(public=False).fit(release)
    values = np.column_stack([truth.values[:, truth.columns.index(name)] for name in recovered.means_])
    if not _enough(values):
        return None
    mean, covariance = table_moments(values, weights)
    told, error = (np.array(list(each.values())) for each in (recovered.means_, recovered.mean_se_))
    return _kept_means(told, error, mean, _scale(values, covariance))


def class_distributions_kept(truth: Truth, release: Release, weights: Vector | None = None) -> Measure | None:
    """:func:`distribution_kept` of the numbers that were reported by class, from the shares of the classes (R4)."""
    recovered = ProportionRecovery(public=False).fit(release)
    return _kept_distributions(
        [
            _skill(truth.values[:, truth.columns.index(name)], *points, weights)
            for name, points in recovered.distributions_.items()
        ]
    )


def _true_shares(
    truth: Truth, listed: Mapping[str, Mapping[Any, float]], weights: Vector | None = None
) -> list[Vector]:
    """The private table's shares of the listed categories of each column."""
    indicators, gaps = [], False
    for j, name in enumerate(truth.columns):
        column, listing = truth.values[:, j], truth.categories[j]
        codes = [
            np.nan if v is None else float(v) if listing is None else listing.index(v) if v in listing else -1.0
            for v in listed[name]
        ]
        own = np.column_stack([np.isnan(column) if np.isnan(c) else column == c for c in codes]).astype(np.float64)
        if None not in listed[name]:
            own[np.isnan(column)] = np.nan
            gaps = gaps or bool(np.isnan(column).any())
        indicators.append(own)
    if not gaps:
        return [np.average(own, axis=0, weights=weights) for own in indicators]
    means, _ = table_moments(np.hstack([own[:, :-1] for own in indicators]), weights)
    parts = np.split(means, np.cumsum([own.shape[1] - 1 for own in indicators])[:-1])
    return [np.append(part, 1.0 - part.sum()) for part in parts]


def kept(distortion: Measure) -> Measure:
    return between(Measure(1.0 - distortion, low=1.0 - distortion.high, high=1.0 - distortion.low, higher_is="useful"))


def between(utility: Measure) -> Measure:
    """A utility with its interval, between 0 and 1."""
    value, low, high = (min(max(end, 0.0), 1.0) for end in (float(utility), utility.low, utility.high))
    return Measure(value, low=low, high=high, higher_is="useful")
