"""The distribution of a column before noise of a known law was added to it.

*Model.* ``y = x + r``, r independent of x, with mean 0, a known law and a known standard deviation σ.

Values are counted in bins of width σ/8, and the distribution of x is a weight on every bin. The weights of largest
likelihood (NPMLE; Kiefer and Wolfowitz 1956, by EM as Agrawal and Aggarwal 2001) come from the iteration::

    w_a ← w_a · Σ_b n_b k(b − a) / (N g_b),    g_b = Σ_a w_a k(b − a)

where k is the noise's mass per bin: a step costs bins × width of the noise, whatever N.

*Stopping rule.* The iteration starts from a wide normal curve and stops when a step raises the log-likelihood of the
whole column by less than 0.03, or after 2,000 steps. More steps gain nothing that the data could show and pile the
weights up on a few points, which costs a little accuracy of the posterior mean and much of its intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.canonical import row_order
from veil.moments import Vector

BINS_PER_SIGMA: Final = 8
MOST_BINS: Final = 2**14
LEAST_GAIN: Final = 0.03
MOST_STEPS: Final = 2_000
FEWEST_VALUES: Final = 50
LEAST_ADVANTAGE: Final = 3.0

_REACH: Final = {"normal": 8.3, "uniform": 1.75, "laplace": 26.0}
"""Standard deviations beyond which a law has no mass that a float could hold beside 1."""


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

    def posterior_hit(self, y: Vector, reach: float) -> Vector:
        """The point within ``reach`` of which x most probably lies: the mean."""
        return self.posterior_mean(y)

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
    start: float
    width: float
    weights: Vector
    counts: Vector
    kernel: Vector
    linear: NormalPrior
    steps: int = 0

    @cached_property
    def centres(self) -> Vector:
        """The middle of each bin, where its weight sits."""
        return np.asarray(self.start + (np.arange(len(self.weights)) + 0.5) * self.width)

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
        return np.where(self._covers(y), guess, self.linear.posterior_mean(y))

    def posterior_hit(self, y: Vector, reach: float) -> Vector:
        """The point within ``reach`` of which x most probably lies, given the bin of y."""
        guess = self.posterior_mean(y)
        inside = self._covers(y)
        bins = ((y[inside] - self.start) / self.width).astype(np.intp)
        asked, index = np.unique(bins, return_inverse=True)
        half, span = len(self.kernel) // 2, max(int(2 * reach / self.width), 1)
        padded = np.pad(self.weights, half)
        best = np.full(len(asked), np.nan)
        for i, b in enumerate(asked):
            mass = np.r_[0.0, np.cumsum(padded[b : b + 2 * half + 1] * self.kernel[::-1])]
            if mass[-1] > 1e-200:
                gain = mass[span:] - mass[:-span] if span < len(mass) else mass[-1:]
                # The middle of all windows that hold the most.
                top = np.flatnonzero(gain >= gain.max() * (1 - 1e-9))
                best[i] = self.start + (b - half + top.mean() + span / 2) * self.width
        found = best[index]
        part = guess[inside]
        guess[inside] = np.where(np.isnan(found), part, found)
        return guess

    def on_whole_numbers(self, steps: int = 300) -> GridPrior:
        """The prior of whole numbers: maximum likelihood with weight on their bins only, by EM."""
        edges = self.start + np.arange(len(self.weights) + 1) * self.width
        whole = np.floor(edges[1:]) > np.floor(edges[:-1])
        weights = np.where(whole, convolve(self.weights, np.ones(2 * int(1 / self.width) + 1)) + 1e-12, 0.0)
        for _ in range(steps if whole.any() else 0):
            density = convolve(weights, self.kernel)
            ratio = np.divide(self.counts, density, out=np.zeros_like(density), where=density > 0)
            weights = weights * convolve(ratio, self.kernel[::-1])
            weights /= weights.sum()
        return replace(self, weights=weights) if whole.any() else self

    def sharpened(self, sample: Vector, weight: float = 20.0) -> GridPrior:
        """The prior with the records of a sample counted in; the prior itself counts as ``weight`` of them."""
        bins = ((sample - self.start) / self.width).astype(np.intp)
        seen = np.bincount(bins[(bins >= 0) & (bins < len(self.weights))], minlength=len(self.weights))
        mixed = seen + weight * self.weights / self.weights.sum()
        return replace(self, weights=mixed / mixed.sum())

    def posterior_interval(self, y: Vector, confidence: float) -> tuple[Vector, Vector]:
        """Quantiles of x given the bin of y, rounded outwards to whole bins."""
        possible, _, _ = self._posterior
        lower, upper = self.linear.posterior_interval(y, confidence)
        inside = self._covers(y)
        bins = ((y[inside] - self.start) / self.width).astype(np.intp)
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
        low[found] = (self.start + ends[index, 0] * self.width)[found]
        high[found] = (self.start + ends[index, 1] * self.width)[found]
        lower[inside], upper[inside] = low, high
        return lower, upper

    def interval(self, confidence: float) -> tuple[float, float]:
        """Quantiles of the weights, spread evenly over their bins."""
        edges = self.start + np.arange(len(self.weights) + 1) * self.width
        mass = np.concatenate([[0.0], np.cumsum(self.weights)])
        low, high = np.interp(mass[-1] * np.array([(1 - confidence) / 2, (1 + confidence) / 2]), mass, edges)
        return float(low), float(high)

    def _covers(self, y: Vector) -> npt.NDArray[np.bool_]:
        return np.asarray((y >= self.start) & (y < self.start + len(self.weights) * self.width))


Prior = NormalPrior | GridPrior
"""The distribution of x, and what it says about x once y is seen."""


def normal_prior(y: Vector, sigma: float) -> NormalPrior:
    """The normal law with the mean of y and its variance less the noise's, or 0."""
    return NormalPrior(float(y.mean()), max(float(y.var()) - sigma**2, 0.0), sigma**2)


def deconvolve(y: Vector, law: str, sigma: float) -> Prior:
    """The prior of a column from its noisy values, none of them missing.

    Two priors compete: a normal one and the NPMLE. Each is fitted to a random half of the values and judged by the
    likelihood of the other half, both ways round. The NPMLE is taken where it wins by more than 3 in log-likelihood (20
    to 1; on normal data that happens in fewer than one column of a hundred), and fitted anew to all values. While they
    are judged, the share of one value is spread flat over the grid, so that one outlier does not decide. Under
    ``FEWEST_VALUES`` values, and otherwise, the normal one is taken. The truth is never seen.
    """
    linear = normal_prior(y, sigma)
    width = sigma / BINS_PER_SIGMA
    start, n_bins = _window(y, width)
    kernel = noise_mass(law, BINS_PER_SIGMA)
    inside = y[(y >= start) & (y < start + n_bins * width)]
    inside = inside[row_order(inside[:, None])]
    halves = [_count(inside[part::2], start, width, n_bins) for part in (0, 1)]
    counts = halves[0] + halves[1]
    flat = np.full(n_bins, 1.0 / n_bins)
    score = 0.0
    if len(inside) >= FEWEST_VALUES:
        for part, (fitted, judged) in enumerate([halves, halves[::-1]]):
            share = 1.0 / fitted.sum()
            free = (1 - share) * fit_weights(fitted, kernel)[0] + share * flat
            bound = (1 - share) * _normal_weights(normal_prior(inside[part::2], sigma), start, width, n_bins)
            score += _log_likelihood(free, judged, kernel) - _log_likelihood(bound + share * flat, judged, kernel)
    if score > LEAST_ADVANTAGE:
        weights, steps = fit_weights(counts, kernel)
        return GridPrior("nonparametric", start, width, weights, counts, kernel, linear, steps)
    if law == "normal":
        return linear
    weights = _normal_weights(linear, start, width, n_bins)
    return GridPrior("normal", start, width, weights, counts, kernel, linear)


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


def _window(y: Vector, width: float) -> tuple[float, int]:
    """Start and number of bins: all values, or the middle ones where they spread over too many."""
    low, high = float(y.min()), float(y.max())
    if (high - low) / width < MOST_BINS - 2:
        return low - width / 2, int((high - low) / width) + 2
    return float(np.median(y)) - MOST_BINS // 2 * width, MOST_BINS


def _count(y: Vector, start: float, width: float, n_bins: int) -> Vector:
    bins = np.clip(((y - start) / width).astype(np.intp), 0, n_bins - 1)
    return np.bincount(bins, minlength=n_bins).astype(np.float64)


def _normal_weights(prior: NormalPrior, start: float, width: float, n_bins: int) -> Vector:
    from scipy.special import ndtr

    edges = start + np.arange(n_bins + 1) * width
    mass = np.diff(ndtr((edges - prior.mean) / max(prior.variance**0.5, 1e-9 * width)))
    return np.asarray(mass / mass.sum()) if mass.sum() > 0 else np.full(n_bins, 1.0 / n_bins)


def _log_likelihood(weights: Vector, counts: Vector, kernel: Vector) -> float:
    seen = counts > 0
    return float(counts[seen] @ np.log(convolve(weights, kernel)[seen]))


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)
