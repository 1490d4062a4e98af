"""What the distribution of x says about x once ``y = x + r`` is known: posterior means, hits and intervals.

*Model.* r is independent of x, with mean 0, a known law and a known standard deviation σ. Values are counted in bins of
one width, and a :class:`GridPrior` is a weight on every bin; a :class:`NormalPrior` answers in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Vector
from veil.numerics.deconvolution import convolve, grid_estimates


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
        counts = self.counts[possible]
        return float(counts @ variance / counts.sum()) if counts.any() else self.linear.expected_variance

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
        best = hits[self.grid.bins(y[inside])]
        guess[inside] = np.where(np.isnan(best), guess[inside], best)
        return guess

    def on_whole_numbers(self, steps: int = 300) -> GridPrior:
        """The prior of whole numbers: maximum likelihood with weight on their bins only, by EM."""
        edges = self.grid.start + np.arange(len(self.weights) + 1) * self.grid.width
        whole = np.floor(edges[1:]) > np.floor(edges[:-1])
        weights = np.where(whole, convolve(self.weights, np.ones(2 * int(1 / self.grid.width) + 1)) + 1e-12, 0.0)
        if not whole.any():
            return self
        *_, last = islice(grid_estimates(self.counts, weights, self.kernel), steps + 1)
        return replace(self, weights=last.weights)

    def sharpened(self, sample: Vector, weight: float = 20.0) -> GridPrior:
        """The prior with the records of a sample counted in; the prior itself counts as ``weight`` of them."""
        bins = ((sample - self.grid.start) / self.grid.width).astype(np.intp)
        counts = np.bincount(bins[(bins >= 0) & (bins < len(self.weights))], minlength=len(self.weights))
        mixed = counts + weight * self.weights / self.weights.sum()
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
        bounded = known[index]
        low[bounded] = (self.grid.start + ends[index, 0] * self.grid.width)[bounded]
        high[bounded] = (self.grid.start + ends[index, 1] * self.grid.width)[bounded]
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


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)
