"""Moments of columns with gaps or of weighted records, from two passes over a release.

The first adds up patterns (:mod:`veil.numerics.gap_patterns`), from which EM takes the moments
(:mod:`veil.numerics.gap_moments`); the second adds up what their errors follow from (:mod:`veil.numerics.gap_errors`).
Where noise is one per group, the total is over groups, and the noise counts the rows of a group as one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from veil.data.blocks import Block, Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.gap_errors import (
    GapErrors,
    GapSpread,
    GroupSums,
    gap_errors,
    gap_spread,
    group_sums,
    influence_map,
    record_stride,
)
from veil.numerics.gap_moments import Correction, GapMoments, solve
from veil.numerics.gap_noise import GapNoise
from veil.numerics.gap_patterns import PatternSums, pattern_sums
from veil.recovery.clusters import Clusters, Codes, weighted_design
from veil.recovery.gap_columns import GapColumns
from veil.recovery.weights import Weights
from veil.release.release import Release

_RELATED = 1e-6
"""Share of a column's variance that the ones before it must leave open."""


def sum_patterns(columns: GapColumns, weights: Weights, noise: GapNoise, block: Block) -> PatternSums:
    """What the moments need of a block."""
    return pattern_sums(noise.unbiased(columns.matrix(block)), weights.of(block))


def sum_spread(
    columns: GapColumns, weights: Weights, noise: GapNoise, moments: GapMoments, each: Matrix, stride: int, block: Block
) -> GapSpread:
    """What the errors need of a block."""
    return gap_spread(columns.matrix(block), weights.of(block), noise, moments, each, stride, block.start)


def sum_groups(
    columns: GapColumns, weights: Weights, noise: GapNoise, moments: GapMoments, codes: Codes, block: Block
) -> GroupSums:
    """What the errors over groups need of a block."""
    own = codes[block.start : block.start + block.n_rows]
    return group_sums(columns.matrix(block), weights.of(block), noise, moments, own)


@dataclass(frozen=True)
class Estimated:
    """Moments of the private columns with the covariances of their errors, NaN where the records tell nothing.

    Errors are of means, then of the upper triangle of the covariance, row by row; ``third`` are the third cumulants of
    those for the population.
    """

    mean: Vector
    covariance: Matrix
    noise: Matrix
    total: Matrix
    third: Vector


def estimate(
    release: Release,
    columns: GapColumns,
    d: int,
    weights: Weights,
    every: GapNoise,
    clusters: Clusters | None = None,
    sums: PatternSums | None = None,
) -> Estimated:
    """Moments of the first ``d`` columns, behind the noise on every one of them, which ``clusters`` may share.

    ``sums`` are those of the columns where they are known already.
    """
    read = columns.columns + weights.columns
    sums = release.summed(partial(sum_patterns, columns, weights, every), read) if sums is None else sums
    kept = tuple(_telling(sums, d))
    own = [j for j in kept if j < d]
    if not own or sums.n_used < 2:
        raise NotApplicableError("no column of the release has two values; moments need at least 2")
    noise, columns = every.of(np.array(kept)), replace(columns, kept=kept)
    sums = sums.of(kept)
    moments = solve(sums, noise.correction)
    each, stride = influence_map(sums, noise, moments), record_stride(sums.n_used, len(kept))
    spread = release.summed(partial(sum_spread, columns, weights, noise, moments, each, stride), read)
    if clusters is None:
        return _placed(moments, gap_errors(spread, each), sums.together, own, d)
    groups = release.summed(partial(sum_groups, columns, weights, noise, moments, clusters.codes), read)
    errors = gap_errors(spread, each, groups)
    design = weighted_design(release, clusters, weights, columns.private) if clusters.shared else 1.0
    return _placed(moments, replace(errors, noise=design * errors.noise), sums.together, own, d)


def table_moments(values: Matrix, weights: Vector | None = None) -> tuple[Vector, Matrix]:
    """Mean and covariance (over n, or over the weights) of a table: its own, or by EM where it has gaps.

    NaN of a column without values.
    """
    d = values.shape[1]
    if not np.isnan(values).any():
        mean = values.mean(axis=0) if weights is None else weights @ values / weights.sum()
        return mean, np.cov(values.T, ddof=0, aweights=weights).reshape(d, d)
    there = np.flatnonzero((~np.isnan(values)).any(axis=0))
    mean, covariance = np.full(d, np.nan), np.full((d, d), np.nan)
    if len(there):
        origin = np.nanmean(values[:, there], axis=0)
        sums = pattern_sums(values[:, there] - origin, weights)
        solved = solve(sums, Correction.none(len(there)))
        mean[there] = solved.mean + origin
        covariance[np.ix_(there, there)] = np.where(sums.together > 1, solved.covariance, np.nan)
    return mean, covariance


def _telling(sums: PatternSums, d: int) -> list[int]:
    """The private columns that have two values, and public ones that are not made of each other."""
    count, kept = np.diag(sums.together), []
    weight = np.maximum(sums.present.T.astype(np.float64) @ sums.weight, 1e-300)
    mean = sums.one.sum(axis=0) / weight
    rows: list[Vector] = []
    spread = sums.two.sum(axis=0) / np.sqrt(np.outer(weight, weight)) - np.outer(mean, mean)
    for j in range(len(count)):
        if j < d:
            kept += [j] if count[j] >= 2 else []
            continue
        # Cholesky's factor, column by column: what is left of the variance is what the columns before do not tell.
        chosen = [k for k in kept if k >= d]
        left = np.array([row[j] for row in rows])
        rest = spread[j, j] - left @ left
        if count[j] >= 2 and spread[j, j] > 0.0 and rest > _RELATED * spread[j, j]:
            below = np.array(list(rows)).reshape(len(chosen), len(count))
            rows.append((spread[j] - left @ below) / np.sqrt(rest))
            kept.append(j)
    return kept


def _placed(moments: GapMoments, errors: GapErrors, together: Matrix, own: list[int], d: int) -> Estimated:
    """The private columns among those that were estimated, at their places among all private ones."""
    k, size = len(own), len(moments.mean)
    first, second = np.triu_indices(size)
    inside = np.concatenate([np.arange(k), size + np.flatnonzero((first < k) & (second < k))])
    places = np.full((d, d), -1)
    first, second = np.triu_indices(d)
    places[first, second] = d + np.arange(len(first))
    at = np.array(own)
    there = np.concatenate([at, places[np.ix_(at, at)][np.triu_indices(k)]])
    mean, covariance = np.full(d, np.nan), np.full((d, d), np.nan)
    mean[at] = moments.mean[:k]
    seen = together[:k, :k] > 1
    covariance[np.ix_(at, at)] = np.where(seen, moments.covariance[:k, :k], np.nan)
    told = np.concatenate([np.ones(k, dtype=np.bool_), seen[np.triu_indices(k)]])
    size = d + len(first)
    noise, total, third = np.full((size, size), np.nan), np.full((size, size), np.nan), np.full(size, np.nan)
    for placed, error in ((noise, errors.noise), (total, errors.total)):
        placed[np.ix_(there, there)] = np.where(told[:, None] & told, error[np.ix_(inside, inside)], np.nan)
    third[there] = np.where(told, errors.third[inside], np.nan)
    return Estimated(mean, covariance, noise, total, third)
