"""Independent signals behind noise, their mixture known: the Bayes estimate under their own densities (A13, R = I).

*Model.* ``y = μ + A s + e``: signals s independent, of mean 0 and variance 1, with densities f_r; e normal of
covariance Σ_E. In the coordinates ``t = A⁻¹(y − μ) = s + η`` the noise η has the precision ``Λ = Aᵀ Σ_E⁻¹ A``, which
couples the signals, and the posterior ``∏ f_r(s_r) · N(t; s, Λ⁻¹)`` has no closed form unless all f are normal.

*Expectation propagation* (Minka 2001): every f_r is replaced, record by record, by a normal factor such that the
posterior with f_r in its place has the same mean and variance of s_r. As f_r is a mixture of normals, these moments are
closed forms. For normal f_r the result is exact, ``Σx (Σx + Σ_E)⁻¹ (y − μ)``.

*Mixture and moments.* A comes from the separation of a sample, and is stretched by the least change that gives it the
covariance of sample and release together, the release's less its noise (optimal transport between normals): few known
records tell how columns are mixed, and many released ones how far they vary.

*Risk.* A posterior mean has ``∂ŝ/∂t = Cov(s | t) Λ`` (Tweedie), so that Stein's unbiased estimate of its weighted risk,
``mean (ŝ − t)ᵀ Λ (ŝ − t) − d + 2 mean tr(Λ Cov(s | t))``, needs no truth. With the covariance of
expectation propagation in place of the exact one it is some percent too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import logsumexp

from veil.attacks.noise.additive import available_covariance, filter_incomplete
from veil.attacks.noise.shrinkage import pooled_prior
from veil.attacks.separation.independence import normal_signals, separate, whiten
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError

NODES: Final = 48
"""Components of a signal's density."""
BANDWIDTHS: Final = (0.1, 0.2, 0.4, 0.7, 1.0)
"""Of a kernel estimate, in units of Silverman's rule."""
SWEEPS: Final = 5
DAMPING: Final = 0.9
CLEAR: Final = 0.97
"""Of the linear filter's risk, under which the signals' own densities are taken."""
_MOST_JUDGED: Final = 1_000
_ROWS: Final = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class NoisyRecovery:
    """Records recovered from noise: ``values = mean + signals mixingᵀ``, or those of the linear filter.

    ``risk`` and ``linear_risk`` are Stein's estimates of the squared error in units of the noise, per record.
    """

    values: Matrix
    signals: Matrix
    mixing: Matrix
    risk: float
    linear_risk: float
    converged: bool


def recover_noisy(y: Matrix, noise: Matrix, sample: Matrix, *, starts: int = 6, seed: int = 0) -> NoisyRecovery:
    """Recover the records behind additive noise of covariance ``noise`` from a sample of their population.

    Records with gaps, and all where the signals' own densities have no smaller risk, come from the linear filter.
    """
    n, d = sample.shape
    there = ~np.isnan(y).any(axis=1)
    if whiten(sample).rank < d:
        raise NotApplicableError(f"the sample spans less than the {d} dimensions of the private columns")
    separation = separate(sample, starts=starts, seed=seed)
    mean = np.nanmean(y, axis=0)
    covariance = available_covariance(y, mean)
    released = pooled_prior(covariance, noise, len(y))
    share = float(np.mean(np.diag(released) / np.diag(released + noise)))
    known, weight = separation.mixing @ separation.mixing.T, len(y) * share**2
    prior = (n * known + weight * released) / (n + weight)
    mean = (n * sample.mean(axis=0) + len(y) * mean) / (n + len(y))
    mixing = _transport(known, prior) @ separation.mixing
    gain = np.linalg.solve(prior + noise, prior)
    values = filter_incomplete(y, mean, prior, noise)
    inverse = np.linalg.inv(mixing)
    signals = (values - mean) @ inverse.T
    if not there.any():
        return NoisyRecovery(values, signals, mixing, np.nan, np.nan, separation.converged)
    whitened = np.linalg.inv(noise)
    error = values[there] - y[there]
    linear_risk = float(np.einsum("ni,ij,nj->", error, whitened, error)) / there.sum() - d + 2.0 * np.trace(gain)
    t, precision = (y[there] - mean) @ inverse.T, mixing.T @ whitened @ mixing
    posterior, risk = posterior_signals(t, precision, signal_densities(separation.signals))
    if risk < CLEAR * linear_risk:
        signals[there] = posterior
        values[there] = mean + posterior @ mixing.T
    return NoisyRecovery(values, signals, mixing, risk, linear_risk, separation.converged)


def _transport(here: Matrix, there: Matrix) -> Matrix:
    """The symmetric L with ``L here Lᵀ = there``: the map between two normals that moves least."""
    root = _root(here)
    inverse = np.linalg.inv(root)
    return np.asarray(inverse @ _root(root @ there @ root) @ inverse)


def _root(covariance: Matrix) -> Matrix:
    power, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.sqrt(np.clip(power, 0.0, None))) @ axes.T)


@dataclass(frozen=True, eq=False)
class SignalDensity:
    """A mixture of normals with equal weights, of mean 0 and variance 1 in all."""

    centres: Vector
    variances: Vector

    def tilted(self, mean: Vector, variance: Vector) -> tuple[Vector, Vector]:
        """Mean and variance of the density times N(mean, variance), for many of them.

        >>> SignalDensity(np.zeros(1), np.ones(1)).tilted(np.array([2.0]), np.array([1.0]))
        (array([1.]), array([0.5]))
        """
        total = variance[:, None] + self.variances
        logs = -0.5 * ((mean[:, None] - self.centres) ** 2 / total + np.log(total))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        # Each component's own posterior lies between its centre and the mean.
        means = (self.variances * mean[:, None] + variance[:, None] * self.centres) / total
        first = (weights * means).sum(axis=1)
        spread = (weights * (variance[:, None] * self.variances / total + (means - first[:, None]) ** 2)).sum(axis=1)
        return first, spread


def signal_densities(signals: Matrix) -> list[SignalDensity]:
    """Each signal's density from those of a sample; normal where it looks so, as signals fitted to few records may."""
    normal = set(normal_signals(signals))
    return [
        SignalDensity(np.zeros(1), np.ones(1)) if r in normal else kernel_density(column)
        for r, column in enumerate(signals.T)
    ]


def kernel_density(values: Vector) -> SignalDensity:
    """A kernel estimate at quantiles of the values, with the bandwidth under which left-out values are likeliest."""
    u = np.sort((values - values.mean()) / values.std())
    n = len(u)
    judged = u[:: max(n // _MOST_JUDGED, 1)]
    low, high = np.quantile(u, (0.25, 0.75))
    rule = 0.9 * min(1.0, (high - low) / 1.34 or 1.0) * n**-0.2
    square = (judged[:, None] - judged) ** 2
    np.fill_diagonal(square, np.inf)
    scores = [
        float(logsumexp(-0.5 * square / (b * rule) ** 2, axis=1).sum() - len(judged) * np.log(b)) for b in BANDWIDTHS
    ]
    width = BANDWIDTHS[int(np.argmax(scores))] * rule
    centres = np.quantile(u, (np.arange(min(NODES, n)) + 0.5) / min(NODES, n))
    # Kernels reach their neighbours, in the tails too, where these are far apart.
    widths = np.maximum(width, np.gradient(centres))
    scale = np.sqrt(centres.var() + (widths**2).mean())
    return SignalDensity((centres - centres.mean()) / scale, (widths / scale) ** 2)


def posterior_signals(t: Matrix, precision: Matrix, densities: list[SignalDensity]) -> tuple[Matrix, float]:
    """E[s | t] of every record, and Stein's estimate of its weighted risk per record."""
    values, risk = np.empty_like(t), 0.0
    for start in range(0, len(t), _ROWS):
        part = slice(start, start + _ROWS)
        values[part], spread = _propagated(t[part], precision, densities)
        error = values[part] - t[part]
        risk += float(np.einsum("ni,ij,nj->", error, precision, error) + 2.0 * np.einsum("ij,nji->", precision, spread))
    return values, risk / len(t) - t.shape[1]


def _propagated(t: Matrix, precision: Matrix, densities: list[SignalDensity]) -> tuple[Matrix, Matrix]:
    """Means (N × d) and covariances (N × d × d) of the posterior."""
    n, d = t.shape
    at = np.arange(d)
    pull = t @ precision
    sites, weights = np.ones((n, d)), np.zeros((n, d))
    for sweep in range(SWEEPS + 1):
        total = np.broadcast_to(precision, (n, d, d)).copy()
        total[:, at, at] += sites
        spread = np.linalg.inv(total)
        mean = np.einsum("nij,nj->ni", spread, pull + weights)
        if sweep == SWEEPS:
            break
        own = spread[:, at, at]
        cavity = 1.0 / np.maximum(1.0 / own - sites, 1e-9)
        centre = cavity * (mean / own - weights)
        for r, density in enumerate(densities):
            m, v = density.tilted(centre[:, r], cavity[:, r])
            site = np.maximum(1.0 / np.maximum(v, 1e-12) - 1.0 / cavity[:, r], 1e-6)
            weight = m * (site + 1.0 / cavity[:, r]) - centre[:, r] / cavity[:, r]
            sites[:, r] += DAMPING * (site - sites[:, r])
            weights[:, r] += DAMPING * (weight - weights[:, r])
    return np.asarray(mean), np.asarray(spread)
