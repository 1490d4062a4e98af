"""The prior of a column, from its noisy values alone.

*Model.* ``y = x + r``, r independent of x, with mean 0, a known law and a known standard deviation σ. Values are
counted in bins of width σ/8, and the distribution of x is a weight on every bin (:mod:`veil.numerics.deconvolution`).

*Passes.* Moments, extremes and the counts of bins are all that is needed of the values, so a column may be of any
length and be read in passes (:func:`column_priors`); only one that spreads too far for a grid takes a pass or two more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Vector
from veil.numerics.deconvolution import convolve, fit_weights, reconstructed_weights
from veil.numerics.laws import LAWS, NORMAL
from veil.numerics.moments import Moments, block_moments
from veil.numerics.priors import Grid, GridPrior, NormalPrior, Prior

BINS_PER_SIGMA: Final = 8
MOST_BINS: Final = 2**14
FEWEST_VALUES: Final = 50
LEAST_ADVANTAGE: Final = 3.0
MEDIAN_REACH: Final = 16.0
"""How near the middle of a window comes to the median, in σ; the window reaches 1,024 σ either way."""

Counting = Callable[[Sequence[Grid | None]], Sequence[npt.NDArray[np.int64]]]
"""Counts the values of every column in the bins of its grid, in one pass; columns without a grid are left out."""


def deconvolve(y: Vector, law: str, sigma: float) -> Prior:
    """The prior of a column from its noisy values, none of them missing; see :func:`column_priors`."""
    prior = column_priors(block_moments(y[None], covariance=False), law, [sigma], lambda grids: _counts(y, grids))[0]
    if prior is None:
        raise ValueError("a column without values has no prior")
    return prior


def column_priors(moments: Moments, law: str, sigmas: Sequence[float], count: Counting) -> list[Prior | None]:
    """The prior of each column from its moments and from counts of its noisy values; None for one without values.

    Two priors compete: a normal one and the NPMLE. Each is fitted to a random half of the values and judged by the
    likelihood of the other half, both ways round. The NPMLE is taken where it wins by more than 3 in log-likelihood (20
    to 1; on normal data that happens in fewer than one column of a hundred), and fitted anew to all values. While they
    are judged, the share of one value is spread flat over the grid, so that one outlier does not decide. Under
    ``FEWEST_VALUES`` values, and otherwise, the normal one is taken. The truth is never seen. Without noise the values
    are the truth, and their prior is "exact".

    The halves are drawn bin by bin, by a seed that the counts make: neither order nor units of the values matter.
    """
    return _priors(moments, law, sigmas, count, _column_prior)


def reconstructed_priors(moments: Moments, law: str, sigmas: Sequence[float], count: Counting) -> list[Prior | None]:
    """The same with Agrawal and Srikant's reconstruction for every column, whatever it is worth."""
    return _priors(moments, law, sigmas, count, _reconstructed_prior)


def _priors(
    moments: Moments,
    law: str,
    sigmas: Sequence[float],
    count: Counting,
    fit: Callable[[Grid, npt.NDArray[np.int64], NormalPrior, str], Prior],
) -> list[Prior | None]:
    linear = [
        NormalPrior(float(mean), max(float(variance) - sigma**2, 0.0), sigma**2, "normal" if sigma > 0 else "exact")
        for mean, variance, sigma in zip(moments.mean, moments.variance, sigmas, strict=True)
    ]
    grids = _windows(moments, sigmas, count)
    priors: list[Prior | None] = []
    for each, grid, counts in zip(linear, grids, count(grids), strict=True):
        priors.append(each if grid is None else fit(grid, counts, each, law))
    return [prior if n else None for prior, n in zip(priors, moments.count, strict=True)]


def _reconstructed_prior(grid: Grid, counts: npt.NDArray[np.int64], linear: NormalPrior, law: str) -> Prior:
    kernel, total = LAWS[law].bin_masses(BINS_PER_SIGMA), counts.astype(np.float64)
    weights, steps = reconstructed_weights(total, kernel)
    return GridPrior("reconstructed", grid, weights, total, kernel, linear, steps)


def _column_prior(grid: Grid, counts: npt.NDArray[np.int64], linear: NormalPrior, law: str) -> Prior:
    """The better of the normal prior and the NPMLE of one column."""
    kernel, total = LAWS[law].bin_masses(BINS_PER_SIGMA), counts.astype(np.float64)
    if counts.sum() >= FEWEST_VALUES and _advantage(grid, counts, linear.noise, kernel) > LEAST_ADVANTAGE:
        weights, steps = fit_weights(total, kernel)
        return GridPrior("nonparametric", grid, weights, total, kernel, linear, steps)
    if law == NORMAL.name:
        return linear
    return GridPrior("normal", grid, _normal_weights(linear, grid), total, kernel, linear)


def _advantage(grid: Grid, counts: npt.NDArray[np.int64], noise: float, kernel: Vector) -> float:
    """By how much the NPMLE foretells held-out values better than a normal prior, in log-likelihood."""
    seed = np.frombuffer(hashlib.sha256(counts.astype("<i8").tobytes()).digest(), dtype=np.uint32)
    # Halves as alike as can be would share their chance bumps: the NPMLE would be judged by what it was fitted to.
    first = np.random.default_rng(seed).binomial(counts, 0.5)
    halves = [first.astype(np.float64), (counts - first).astype(np.float64)]
    flat = np.full(grid.n_bins, 1.0 / grid.n_bins)
    score = 0.0
    for fitted, judged in (halves, halves[::-1]):
        share = 1.0 / fitted.sum()
        free = (1 - share) * fit_weights(fitted, kernel)[0] + share * flat
        bound = (1 - share) * _normal_weights(_binned_prior(grid, fitted, noise), grid) + share * flat
        score += _log_likelihood(free, judged, kernel) - _log_likelihood(bound, judged, kernel)
    return score


def _binned_prior(grid: Grid, counts: Vector, noise: float) -> NormalPrior:
    """The normal prior of binned values; bins add a twelfth of their squared width to the variance (Sheppard)."""
    total, place = counts.sum(), np.arange(grid.n_bins) + 0.5
    middle = float(counts @ place / total)
    variance = (float(counts @ (place - middle) ** 2 / total) - 1 / 12) * grid.width**2
    return NormalPrior(grid.start + middle * grid.width, max(variance - noise, 0.0), noise)


def _windows(moments: Moments, sigmas: Sequence[float], count: Counting) -> list[Grid | None]:
    """A grid for every column with values and noise: all values, or the middle ones where they spread too far."""
    grids: list[Grid | None] = []
    wide = []
    for j, sigma in enumerate(sigmas):
        low, high, width = float(moments.minimum[j]), float(moments.maximum[j]), sigma / BINS_PER_SIGMA
        if not sigma > 0 or not moments.count[j]:
            grids.append(None)
            continue
        n_bins = (high - low) / width
        grids.append(Grid(low - width / 2, width, int(n_bins) + 2 if n_bins < MOST_BINS - 2 else MOST_BINS))
        if not n_bins < MOST_BINS - 2:
            wide.append(j)
    if wide:
        middles = _medians(moments, wide, sigmas, count)
        for j, middle in zip(wide, middles, strict=True):
            width = sigmas[j] / BINS_PER_SIGMA
            grids[j] = Grid(middle - MOST_BINS // 2 * width, width, MOST_BINS)
    return grids


def _medians(moments: Moments, wide: Sequence[int], sigmas: Sequence[float], count: Counting) -> list[float]:
    """The medians of some columns, each to a small part of its window, by counting in ever finer bins."""
    ends = {j: (float(moments.minimum[j]), float(moments.maximum[j])) for j in wide}
    below = dict.fromkeys(wide, 0)
    while coarse := [j for j, (low, high) in ends.items() if high - low > MEDIAN_REACH * sigmas[j]]:
        grids: list[Grid | None] = [None] * len(sigmas)
        for j in coarse:
            low, high = ends[j]
            # The last bin lies beyond the highest value, so that it, too, is counted.
            grids[j] = Grid(low, high / (MOST_BINS - 1) - low / (MOST_BINS - 1), MOST_BINS)
        counts = count(grids)
        for j in coarse:
            grid = grids[j]
            if grid is None:
                continue
            reached = below[j] + np.cumsum(counts[j])
            at = min(int(np.searchsorted(reached, moments.count[j] / 2)), MOST_BINS - 1)
            below[j] = int(reached[at] - counts[j][at])
            ends[j] = (grid.start + at * grid.width, grid.start + (at + 1) * grid.width)
    return [(ends[j][0] + ends[j][1]) / 2 for j in wide]


def _counts(y: Vector, grids: Sequence[Grid | None]) -> list[npt.NDArray[np.int64]]:
    return [np.zeros(0, dtype=np.int64) if grid is None else grid.count(y) for grid in grids]


def _normal_weights(prior: NormalPrior, grid: Grid) -> Vector:
    from scipy.special import ndtr

    edges = grid.start + np.arange(grid.n_bins + 1) * grid.width
    mass = np.diff(ndtr((edges - prior.mean) / max(prior.variance**0.5, 1e-9 * grid.width)))
    return np.asarray(mass / mass.sum()) if mass.sum() > 0 else np.full(grid.n_bins, 1.0 / grid.n_bins)


def _log_likelihood(weights: Vector, counts: Vector, kernel: Vector) -> float:
    counted = counts > 0
    return float(counts[counted] @ np.log(convolve(weights, kernel)[counted]))
