"""The distribution of a column before noise of a known law was added to it.

*Model.* ``y = x + r``, r independent of x, with mean 0, a known law and a known standard deviation σ.

Values are counted in bins of width σ/8, and the distribution of x is a weight on every bin. The weights of largest
likelihood (NPMLE; Kiefer and Wolfowitz 1956, by EM as Agrawal and Aggarwal 2001) come from the iteration::

    w_a ← w_a · Σ_b n_b k(b − a) / (N g_b),    g_b = Σ_a w_a k(b − a)

where k is the noise's mass per bin: a step costs bins × width of the noise, whatever N.

*Stopping rule.* The iteration starts from a wide normal curve and stops when a step raises the log-likelihood of the
whole column by less than 0.03, or after 2,000 steps. More steps gain nothing that the data could show and pile the
weights up on a few points, which costs a little accuracy of the posterior mean and much of its intervals.

*Passes.* Moments, extremes and the counts of bins are all that is needed of the values, so a column may be of any
length and be read in passes (:func:`column_priors`); only one that spreads too far for a grid takes a pass or two more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Vector
from veil.numerics.moments import Moments, block_moments

BINS_PER_SIGMA: Final = 8
MOST_BINS: Final = 2**14
LEAST_GAIN: Final = 0.03
MOST_STEPS: Final = 2_000
FEWEST_VALUES: Final = 50
LEAST_ADVANTAGE: Final = 3.0
MEDIAN_REACH: Final = 16.0
"""How near the middle of a window comes to the median, in σ; the window reaches 1,024 σ either way."""

_REACH: Final = {"normal": 8.3, "uniform": 1.75, "laplace": 26.0}
"""Standard deviations beyond which a law has no mass that a float could hold beside 1."""


@dataclass(frozen=True)
class Grid:
    """Bins of one width, the first of which begins at ``start``."""

    start: float
    width: float
    n_bins: int

    def bins(self, y: Vector) -> npt.NDArray[np.intp]:
        """The bin of each value that lies on the grid."""
        return np.clip(((y - self.start) / self.width).astype(np.intp), 0, self.n_bins - 1)

    def covers(self, y: Vector) -> npt.NDArray[np.bool_]:
        """Which values lie on the grid; missing ones do not."""
        return np.asarray((y >= self.start) & (y < self.start + self.n_bins * self.width))

    def count(self, y: Vector) -> npt.NDArray[np.int64]:
        """Values in each bin."""
        return np.bincount(self.bins(y[self.covers(y)]), minlength=self.n_bins)


@dataclass(frozen=True)
class NormalPrior:
    """x and the noise are normal: all answers in closed form. Its posterior mean is the linear filter."""

    mean: float
    variance: float
    noise: float
    kind: str = "normal"

    @property
    def gain(self) -> float:
        """The share of a deviation from the mean that belongs to x."""
        return self.variance / (self.variance + self.noise) if self.variance > 0 else 0.0

    @property
    def expected_variance(self) -> float:
        """v σ² / (v + σ²)."""
        return self.gain * self.noise

    def posterior_mean(self, y: Vector) -> Vector:
        """μ + v/(v + σ²) · (y − μ)."""
        return np.asarray(self.mean + self.gain * (y - self.mean))

    def posterior_interval(self, y: Vector, confidence: float) -> tuple[Vector, Vector]:
        """Posterior mean ± z standard deviations."""
        centre, half = self.posterior_mean(y), _quantile(confidence) * self.expected_variance**0.5
        return centre - half, centre + half

    def interval(self, confidence: float) -> tuple[float, float]:
        """Mean ± z standard deviations."""
        half = _quantile(confidence) * self.variance**0.5
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class GridPrior:
    """A weight on each bin of a grid. ``linear`` answers for values off the grid."""

    kind: str
    grid: Grid
    weights: Vector
    counts: Vector
    kernel: Vector
    linear: NormalPrior
    steps: int = 0

    @cached_property
    def centres(self) -> Vector:
        """The middle of each bin, where its weight sits."""
        return np.asarray(self.grid.start + (np.arange(len(self.weights)) + 0.5) * self.grid.width)

    @cached_property
    def _posterior(self) -> tuple[npt.NDArray[np.intp], Vector, Vector]:
        """The bins in which y can fall, with mean and variance of x given each."""
        density = convolve(self.weights, self.kernel)
        possible = np.flatnonzero(density > 1e-200)
        origin = self.linear.mean  # second moments about the middle lose no digits
        place = self.centres - origin
        first = convolve(self.weights * place, self.kernel)[possible] / density[possible]
        second = convolve(self.weights * place**2, self.kernel)[possible] / density[possible]
        return possible, first + origin, np.clip(second - first**2, 0.0, None)

    @property
    def expected_variance(self) -> float:
        """Mean of Var(x | y) over the released values."""
        possible, _, variance = self._posterior
        seen = self.counts[possible]
        return float(seen @ variance / seen.sum()) if seen.any() else self.linear.expected_variance

    def posterior_mean(self, y: Vector) -> Vector:
        """E[x | y], interpolated between bins."""
        possible, mean, _ = self._posterior
        if not len(possible):
            return self.linear.posterior_mean(y)
        guess = np.interp(y, self.centres[possible], mean)
        return np.where(self.grid.covers(y), guess, self.linear.posterior_mean(y))

    def hits(self, reach: float) -> Vector:
        """For each bin that a released value fell in, the point within ``reach`` of which x most probably lies."""
        half, span = len(self.kernel) // 2, max(int(2 * reach / self.grid.width), 1)
        padded = np.pad(self.weights, half)
        best = np.full(len(self.weights), np.nan)
        for b in np.flatnonzero(self.counts):
            mass = np.r_[0.0, np.cumsum(padded[b : b + 2 * half + 1] * self.kernel[::-1])]
            if mass[-1] > 1e-200:
                gain = mass[span:] - mass[:-span] if span < len(mass) else mass[-1:]
                # The middle of all windows that hold the most.
                top = np.flatnonzero(gain >= gain.max() * (1 - 1e-9))
                best[b] = self.grid.start + (b - half + top.mean() + span / 2) * self.grid.width
        return best

    def posterior_hit(self, y: Vector, hits: Vector) -> Vector:
        """The hit of the bin of y; the mean off the grid, and where no value of x is possible."""
        guess = self.posterior_mean(y)
        inside = self.grid.covers(y)
        found = hits[self.grid.bins(y[inside])]
        guess[inside] = np.where(np.isnan(found), guess[inside], found)
        return guess

    def on_whole_numbers(self, steps: int = 300) -> GridPrior:
        """The prior of whole numbers: maximum likelihood with weight on their bins only, by EM."""
        edges = self.grid.start + np.arange(len(self.weights) + 1) * self.grid.width
        whole = np.floor(edges[1:]) > np.floor(edges[:-1])
        weights = np.where(whole, convolve(self.weights, np.ones(2 * int(1 / self.grid.width) + 1)) + 1e-12, 0.0)
        for _ in range(steps if whole.any() else 0):
            density = convolve(weights, self.kernel)
            ratio = np.divide(self.counts, density, out=np.zeros_like(density), where=density > 0)
            weights = weights * convolve(ratio, self.kernel[::-1])
            weights /= weights.sum()
        return replace(self, weights=weights) if whole.any() else self

    def sharpened(self, sample: Vector, weight: float = 20.0) -> GridPrior:
        """The prior with the records of a sample counted in; the prior itself counts as ``weight`` of them."""
        bins = ((sample - self.grid.start) / self.grid.width).astype(np.intp)
        seen = np.bincount(bins[(bins >= 0) & (bins < len(self.weights))], minlength=len(self.weights))
        mixed = seen + weight * self.weights / self.weights.sum()
        return replace(self, weights=mixed / mixed.sum())

    def posterior_interval(self, y: Vector, confidence: float) -> tuple[Vector, Vector]:
        """Quantiles of x given the bin of y, rounded outwards to whole bins."""
        possible, _, _ = self._posterior
        lower, upper = self.linear.posterior_interval(y, confidence)
        inside = self.grid.covers(y)
        bins = ((y[inside] - self.grid.start) / self.grid.width).astype(np.intp)
        asked, index = np.unique(bins, return_inverse=True)
        low, high = lower[inside], upper[inside]
        known = np.isin(asked, possible)
        reach = len(self.kernel) // 2
        padded = np.pad(self.weights, reach)
        ends = np.full((len(asked), 2), np.nan)
        for i in np.flatnonzero(known):
            mass = np.cumsum(padded[asked[i] : asked[i] + 2 * reach + 1] * self.kernel[::-1])
            tails = mass[-1] * np.array([(1 - confidence) / 2, (1 + confidence) / 2])
            ends[i] = asked[i] - reach + np.searchsorted(mass, tails) + np.array([0, 1])
        found = known[index]
        low[found] = (self.grid.start + ends[index, 0] * self.grid.width)[found]
        high[found] = (self.grid.start + ends[index, 1] * self.grid.width)[found]
        lower[inside], upper[inside] = low, high
        return lower, upper

    def interval(self, confidence: float) -> tuple[float, float]:
        """Quantiles of the weights, spread evenly over their bins."""
        edges = self.grid.start + np.arange(len(self.weights) + 1) * self.grid.width
        mass = np.concatenate([[0.0], np.cumsum(self.weights)])
        low, high = np.interp(mass[-1] * np.array([(1 - confidence) / 2, (1 + confidence) / 2]), mass, edges)
        return float(low), float(high)


Prior = NormalPrior | GridPrior
"""The distribution of x, and what it says about x once y is seen."""


Counting = Callable[[Sequence[Grid | None]], Sequence[npt.NDArray[np.int64]]]
"""Counts the values of every column in the bins of its grid, in one pass; columns without a grid are left out."""


def deconvolve(y: Vector, law: str, sigma: float) -> Prior:
    """The prior of a column from its noisy values, none of them missing; see :func:`column_priors`."""
    found = column_priors(block_moments(y[None], covariance=False), law, [sigma], lambda grids: _counts(y, grids))[0]
    if found is None:
        raise ValueError("a column without values has no prior")
    return found


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
    linear = [
        NormalPrior(float(mean), max(float(variance) - sigma**2, 0.0), sigma**2, "normal" if sigma > 0 else "exact")
        for mean, variance, sigma in zip(moments.mean, moments.variance, sigmas, strict=True)
    ]
    grids = _windows(moments, sigmas, count)
    priors: list[Prior | None] = []
    for each, grid, counts in zip(linear, grids, count(grids), strict=True):
        priors.append(each if grid is None else _column_prior(grid, counts, each, law))
    return [prior if n else None for prior, n in zip(priors, moments.count, strict=True)]


def _column_prior(grid: Grid, counts: npt.NDArray[np.int64], linear: NormalPrior, law: str) -> Prior:
    """The better of the normal prior and the NPMLE of one column."""
    kernel, total = noise_mass(law, BINS_PER_SIGMA), counts.astype(np.float64)
    if counts.sum() >= FEWEST_VALUES and _advantage(grid, counts, linear.noise, kernel) > LEAST_ADVANTAGE:
        weights, steps = fit_weights(total, kernel)
        return GridPrior("nonparametric", grid, weights, total, kernel, linear, steps)
    if law == "normal":
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


def fit_weights(counts: Vector, kernel: Vector) -> tuple[Vector, int]:
    """The weights of (nearly) largest likelihood, and the number of steps they took."""
    place = np.arange(len(counts)) - counts @ np.arange(len(counts)) / counts.sum()
    spread = max(float(counts @ place**2 / counts.sum()), 1.0)
    weights = np.exp(-0.5 * place**2 / spread)
    weights = 0.9 * weights / weights.sum() + 0.1 / len(counts)
    seen = counts > 0
    total, before = counts.sum(), -np.inf
    for step in range(MOST_STEPS):
        density = convolve(weights, kernel)
        likelihood = float(counts[seen] @ np.log(density[seen]))
        if likelihood - before < LEAST_GAIN:
            return weights, step
        before = likelihood
        ratio = np.divide(counts, density, out=np.zeros_like(density), where=seen)
        weights = weights * convolve(ratio, kernel[::-1]) / total
        weights /= weights.sum()
    return weights, MOST_STEPS


def noise_mass(law: str, bins_per_sigma: int) -> Vector:
    """The noise's probability of each bin, for a value in the middle of the central one.

    >>> noise_mass("uniform", 1).round(3).tolist()
    [0.0, 0.067, 0.289, 0.289, 0.289, 0.067, 0.0]
    """
    from scipy.special import ndtr

    reach = int(np.ceil(_REACH[law] * bins_per_sigma)) + 1
    edges = (np.arange(-reach, reach + 2) - 0.5) / bins_per_sigma
    if law == "normal":
        mass = ndtr(edges)
    elif law == "uniform":
        mass = np.clip((edges / np.sqrt(3.0) + 1.0) / 2.0, 0.0, 1.0)
    else:
        tail = 0.5 * np.exp(-np.sqrt(2.0) * np.abs(edges))
        mass = np.where(edges < 0, tail, 1.0 - tail)
    return np.asarray(np.diff(mass))


def convolve(values: Vector, kernel: Vector) -> Vector:
    """Σ_a values_a · kernel(b − a) for every bin b of the grid."""
    reach = len(kernel) // 2
    return np.asarray(np.convolve(values, kernel)[reach : reach + len(values)])


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
        found = count(grids)
        for j in coarse:
            grid = grids[j]
            if grid is None:
                continue
            reached = below[j] + np.cumsum(found[j])
            at = min(int(np.searchsorted(reached, moments.count[j] / 2)), MOST_BINS - 1)
            below[j] = int(reached[at] - found[j][at])
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
    seen = counts > 0
    return float(counts[seen] @ np.log(convolve(weights, kernel)[seen]))


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)
