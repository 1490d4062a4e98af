"""Draws from the posterior of a secret projection, by tempering and Hamiltonian moves (A21).

*Model.* A candidate matrix is ``Θ`` (k × r), in coordinates in which sample records become
``v_i = c_i + Θ t_i`` and its prior is normal with independent entries. The log-density is minus half of: the
weighted square of the differences in :mod:`veil.attacks.projection.features`, the prior's precisions times
``Θ²``, and the misfit of noisy known pairs.

The posterior has many modes (wrong order, wrong signs) and, where the data are normal, whole surfaces of
equally good matrices. Particles start as matrices that fit mean and covariance, and the other
differences are given weight step by step; at each step particles are drawn again by weight and moved by
Hamiltonian dynamics (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006). Separate islands of particles
show how much of the result is chance (weights by their evidence would be noisier than the evidence is sharp).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from veil.attacks.projection.features import FAST, Features, feature_means, window_means, window_slopes
from veil.data.blocks import Matrix, Vector

Single = npt.NDArray[np.float32]
_SMALL: Final = 40  # unknowns up to which short and frequent moves are the better ones
_ACCEPTED: Final = 0.75
_ENOUGH: Final = 0.6  # effective share of the particles that a step of the tempering must leave
_BURN: Final = 40
_KEPT: Final = 8


class Target(NamedTuple):
    """A log-density of Θ: constants of the map, of the comparison, of the prior and of known pairs."""

    c: Matrix  # k × n
    t: Matrix  # r × n
    directions: Matrix
    means: Vector
    weight: Matrix
    precision: Matrix  # k × r
    pair_root: Matrix  # k × k: noise-whitened image of a change in v
    pair_t: Matrix  # r × m
    pair_values: Matrix  # k × m

    def evaluated(self) -> Evaluated:
        """The same with everything that does not change with Θ."""
        c, t, n = self.c, self.t, self.t.shape[1]
        products = c @ c.T / n, c @ t.T / n, t @ t.T / n
        moments = Moments(n, c.mean(axis=1), t.mean(axis=1), *products)
        pairs = Pairs(self.pair_root, np.ascontiguousarray(self.pair_root.T), self.pair_t, self.pair_values)
        return Evaluated(
            moments,
            t=_single(t),
            t_rows=_single(t.T),
            directions=_single(self.directions),
            shown=_single(self.directions @ c),
            turned=self.directions.T.copy(),
            means=self.means,
            weight=np.ascontiguousarray(self.weight),
            precision=self.precision,
            pairs=pairs,
        )


def _single(matrix: Matrix) -> Single:
    return np.ascontiguousarray(matrix, dtype=np.float32)


class Moments(NamedTuple):
    """Moments of c and t: all that entries and products of ``v`` need of the sample."""

    n: int
    c: Vector
    t: Vector
    cc: Matrix
    ct: Matrix
    tt: Matrix


class Pairs(NamedTuple):
    """Known pairs, and the root as columns."""

    root: Matrix
    pull: Matrix
    t: Matrix
    values: Matrix


class Evaluated(NamedTuple):
    """A target as it is evaluated.

    Bounded functions are evaluated in single precision, far below the sampling error of their means.
    """

    moments: Moments
    t: Single
    t_rows: Single  # n × r
    directions: Single
    shown: Single  # directions · c
    turned: Matrix  # directions as columns
    means: Vector
    weight: Matrix
    precision: Matrix
    pairs: Pairs


def island(
    start: Callable[[], Matrix], target: Target, features: Features, particles: int, rng: np.random.Generator
) -> Matrix:
    """Draws of Θ (draws × k × r) from one population of particles.

    ``target`` must have the features' full weight.
    """
    n_first = features.n_normal
    normal = target._replace(
        directions=np.zeros((0, target.c.shape[0])),
        means=features.means[:n_first].copy(),
        weight=np.ascontiguousarray(features.normal_weight[:n_first, :n_first]),
    )
    theta = np.array([start() for _ in range(particles)])
    mover = _Mover(target, rng)
    for _ in range(_BURN):
        mover.move(theta, normal)
    power = 0.0
    while power < 1.0:
        gain = np.array([_extra(x, target, features.normal_weight) for x in theta])
        step = _next_step(gain, 1.0 - power)
        power = min(1.0, power + step)
        theta = theta[_redrawn(np.exp(step * (gain - gain.max())), rng)]
        tempered = target._replace(weight=(1.0 - power) * features.normal_weight + power * features.weight)
        for _ in range(mover.repeats):
            mover.move(theta, tempered)
    draws = []
    for _ in range(_KEPT):
        mover.move(theta, target)
        draws.append(theta.copy())
    return np.concatenate(draws)


class _Mover:
    """Hamiltonian moves whose step is adapted to the share that is accepted."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        n = target.t.shape[1]
        curvature = target.precision + np.outer((target.pair_root**2).sum(axis=0), (target.pair_t**2).sum(axis=1))
        self._spread = 1.0 / (n + curvature)
        self._step, self._rng = 0.6, rng
        self._leaps, self.repeats = (6, 3) if self._spread.size <= _SMALL else (12, 2)

    def move(self, theta: Matrix, target: Target) -> None:
        rng, accepted, density = self._rng, 0.0, target.evaluated()
        for p in range(len(theta)):
            kick = rng.standard_normal(theta[p].shape)
            step = self._step * rng.uniform(0.7, 1.3)
            theta[p], rate = _trajectory(
                theta[p], kick, step, self._leaps, np.log(rng.uniform()), self._spread, density
            )
            accepted += rate
        self._step = float(np.clip(self._step * np.exp(0.7 * (accepted / len(theta) - _ACCEPTED)), 1e-4, 2.0))


def _extra(theta: Matrix, target: Target, normal_weight: Matrix) -> float:
    """Log-likelihood of what goes beyond mean and covariance."""
    g = differences(theta, target)
    return float(-0.5 * g @ (target.weight - normal_weight) @ g)


def differences(theta: Matrix, target: Target) -> Vector:
    """Means over the mapped sample less those over the release."""
    v = target.c + theta @ target.t
    return np.asarray(feature_means(v, target.directions @ v) - target.means)


def _next_step(gain: Vector, most: float) -> float:
    """The largest rise of the power that leaves enough particles with weight."""

    def share(step: float) -> float:
        weights = np.exp(step * (gain - gain.max()))
        return float(weights.sum() ** 2 / (weights**2).sum() / len(gain))

    if share(most) >= _ENOUGH:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) >= _ENOUGH else (low, middle)
    return max(low, 1e-3)


def _redrawn(weights: Vector, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Systematic resampling."""
    places = (np.arange(len(weights)) + rng.uniform()) / len(weights)
    return np.minimum(np.searchsorted(np.cumsum(weights) / weights.sum(), places), len(weights) - 1)


@numba.njit(cache=True, fastmath=FAST, error_model="numpy")
def _log_density(theta: Matrix, target: Any) -> tuple[float, Matrix]:
    """The log-density and its gradient.

    With ``v = c + Θ t``, ``E v = E c + Θ E t`` and ``E vvᵀ = E ccᵀ + Θ E tcᵀ + E vtᵀ Θᵀ``, ``E vtᵀ = E ctᵀ + Θ E ttᵀ``.
    """
    known, k, m = target.moments, len(theta), len(target.directions)
    vt = known.ct + theta @ known.tt
    square = known.cc + theta @ known.ct.T + vt @ theta.T
    g = np.empty(len(target.means))
    g[:k] = known.c + theta @ known.t
    at = k
    for a in range(k):
        for b in range(a + 1):
            g[at] = square[a, b]
            at += 1
    projected = target.shown
    if m > 0:
        projected = target.shown + (target.directions @ theta.astype(np.float32)) @ target.t
        g[at:] = window_means(projected)
    g -= target.means
    pull = target.weight @ g
    value = -0.5 * np.sum(g * pull)
    curve = np.empty((k, k))
    at = k
    for a in range(k):
        for b in range(a):
            curve[a, b] = curve[b, a] = pull[at]
            at += 1
        curve[a, a] = 2.0 * pull[at]
        at += 1
    gradient = -(curve @ vt)
    for a in range(k):
        gradient[a] -= pull[a] * known.t
    if m > 0:
        slopes = window_slopes(projected, pull[at:].astype(np.float32)) @ target.t_rows
        gradient -= target.turned @ slopes.astype(np.float64) / known.n
    held = target.precision * theta
    value -= 0.5 * np.sum(held * theta)
    gradient -= held
    if target.pairs.t.shape[1] > 0:
        misfit = target.pairs.root @ (theta @ target.pairs.t) - target.pairs.values
        value -= 0.5 * np.sum(misfit * misfit)
        gradient -= target.pairs.pull @ misfit @ target.pairs.t.T
    return value, gradient


@numba.njit(cache=True, fastmath=FAST, error_model="numpy")
def _trajectory(
    theta: Matrix, kick: Matrix, step: float, leaps: int, log_uniform: float, spread: Matrix, target: Any
) -> tuple[Matrix, float]:
    """One Hamiltonian move (leapfrog, Metropolis test): the new Θ and the probability of accepting it."""
    momentum = kick / np.sqrt(spread)
    value, gradient = _log_density(theta, target)
    before = value - 0.5 * np.sum(kick * kick)
    x = theta.copy()
    momentum = momentum + 0.5 * step * gradient
    for leap in range(leaps):
        x = x + step * spread * momentum
        value, gradient = _log_density(x, target)
        momentum = momentum + (step if leap < leaps - 1 else 0.5 * step) * gradient
    change = value - 0.5 * np.sum(momentum * momentum * spread) - before
    rate = 0.0
    if change >= 0.0:
        rate = 1.0
    elif change > -700.0:  # not so for NaN
        rate = np.exp(change)
    if rate > 0.0 and log_uniform < change:
        return x, rate
    return theta, rate
