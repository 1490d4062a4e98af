"""Kalman smoothing of one noisy series, and the choice of its model by likelihood.

*Model.* ``z_t = s_t + r_t`` with normal r of variance 1, and s one of

* white: no dependence over time;
* AR(1): ``s_t = φ s_{t−1} + w_t``, stationary with variance v;
* level: ``s_t = s_{t−1} + w_t``, w of variance q (local level);
* trend: ``s_t = s_{t−1} + b_{t−1}``, ``b_t = b_{t−1} + w_t`` (smooth local linear trend).

The last three may have white values of variance u beside them, which belong to the signal and not to the noise: a
column that another, sorted one tells in part. The smoother then sees noise of variance 1 + u, and leaves its residuals
to a filter of their own.

*Reference.* Durbin and Koopman, Time Series Analysis by State Space Methods (2012), ch. 4: forward filter,
backward recursion without an inverse. Missing values are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

from veil.data.blocks import Vector

MOST_ROWS = 20_000
"""Records, from the start, that the parameters are fitted to."""
LAGS = 10
LEAST_WHITE = 0.05
"""Variance of white values beyond the noise, in its units, from which on they are looked for."""
SUSPICIOUS = 29.6
"""99.9 % point of χ² with 10 degrees of freedom."""
DIFFUSE = 1e6
SKIPPED = 2
"""First records that no likelihood counts: a diffuse start must learn them."""


@dataclass(frozen=True)
class SeriesModel:
    """A state-space model: transition [[a, b], [0, c]], state noise (q1, q2), starting variances.

    ``beside`` is u; state noise and starting variances are in units of 1 + u.
    """

    name: str
    parameters: tuple[float, ...]
    transition: tuple[float, float, float]
    power: tuple[float, float]
    start: tuple[float, float]
    log_likelihood: float = -np.inf
    beside: float = 0.0

    def smooth(self, z: Vector) -> tuple[Vector, float]:
        """The smoothed series, and its mean posterior variance in units of 1 + u.

        That is also the smoother's divergence per value, since a smoother of noise of variance 1 is the matrix of its
        posterior covariances.
        """
        smoothed, scale = np.empty_like(z), np.sqrt(1.0 + self.beside)
        variance = _compiled()[1](z / scale, *self.transition, *self.power, *self.start, smoothed)
        return scale * smoothed, float(variance)


def choose_series(z: Vector) -> SeriesModel:
    """The model of a centred series with the best Bayes information criterion; white unless the series objects."""
    part = np.ascontiguousarray(z[:MOST_ROWS])
    n = int((~np.isnan(part)).sum())
    variance = float(np.nanvar(part)) if n else 1.0
    counted = part[SKIPPED:][~np.isnan(part[SKIPPED:])]
    scale = max(variance, 1.0)
    flat = float(-0.5 * (len(counted) * np.log(2 * np.pi * scale) + counted @ counted / scale))
    white = SeriesModel("white", (scale - 1.0,), (0.0, 0.0, 0.0), (scale - 1.0, 0.0), (scale - 1.0, 0.0), flat)
    if n < 8 * LAGS or portmanteau(part) < SUSPICIOUS:
        return white
    signal = max(variance - 1.0, 0.05)
    phi = float(np.clip(_autocovariance(part, 1) / signal, -0.9, 0.98))
    candidates = [
        (white, 1),
        (_fitted(part, _ar1, [np.arctanh(phi), np.log(signal)]), 2),
        (_fitted(part, _level, [np.log(max(signal * (1 - phi), 1e-3))]), 2),
        (_fitted(part, _trend, [np.log(max(signal * (1 - phi) ** 2, 1e-4))]), 3),
    ]
    rough = step_variance(part) - 1.0
    if rough > LEAST_WHITE:
        slow = max(signal - rough, 0.05) / (1.0 + rough)
        candidates += [
            (_fitted(part, _ar1, [np.arctanh(0.9), np.log(slow)], rough), 3),
            (_fitted(part, _level, [np.log(0.01 * slow)], rough), 3),
            (_fitted(part, _trend, [np.log(1e-4 * slow)], rough), 4),
        ]
    return min(candidates, key=lambda pair: pair[1] * np.log(n) - 2.0 * pair[0].log_likelihood)[0]


def portmanteau(z: Vector) -> float:
    """Box–Pierce statistic over the first ten lags; χ² with 10 degrees of freedom without dependence."""
    power = _autocovariance(z, 0)
    if power <= 0:
        return 0.0
    n = int((~np.isnan(z)).sum())
    return float(n * sum((_autocovariance(z, lag) / power) ** 2 for lag in range(1, LAGS + 1)))


def step_variance(z: Vector) -> float:
    """Half the mean square of the steps between present neighbours: the variance of all that is white (Rice 1984)."""
    steps = np.diff(z)
    return float(np.nanmean(steps**2) / 2) if not np.isnan(steps).all() else 1.0


def _autocovariance(z: Vector, lag: int) -> float:
    product = z[lag:] * z[: len(z) - lag]
    return float(np.nanmean(product)) if not np.isnan(product).all() else 0.0


def _ar1(theta: Vector) -> SeriesModel:
    phi = float(np.clip(np.tanh(theta[0]), -0.99999, 0.99999))
    v = float(np.exp(np.clip(theta[1], -20, 40)))
    return SeriesModel("ar1", (phi, v), (phi, 0.0, 0.0), (v * (1 - phi**2), 0.0), (v, 0.0))


def _level(theta: Vector) -> SeriesModel:
    q = float(np.exp(np.clip(theta[0], -40, 40)))
    return SeriesModel("level", (q,), (1.0, 0.0, 0.0), (q, 0.0), (DIFFUSE * max(q, 1.0), 0.0))


def _trend(theta: Vector) -> SeriesModel:
    q = float(np.exp(np.clip(theta[0], -40, 40)))
    wide = DIFFUSE * max(q, 1.0)
    return SeriesModel("trend", (q,), (1.0, 1.0, 1.0), (0.0, q), (wide, wide))


def _fitted(
    z: Vector, make: Callable[[Vector], SeriesModel], start: list[float], beside: float | None = None
) -> SeriesModel:
    """The likeliest model of a kind; with ``beside`` to start from, u is fitted as well."""
    likelihood = _compiled()[0]
    counted = int((~np.isnan(z[SKIPPED:])).sum())

    def parts(theta: Vector) -> tuple[SeriesModel, float]:
        return (make(theta), 0.0) if beside is None else (make(theta[:-1]), float(np.exp(np.clip(theta[-1], -20, 40))))

    def cost(theta: Vector) -> float:
        model, extra = parts(theta)
        scale = np.sqrt(1.0 + extra)
        value = likelihood(z / scale, *model.transition, *model.power, *model.start, SKIPPED)
        return -(float(value) - counted * float(np.log(scale))) / len(z)

    first = np.array(start if beside is None else [*start, np.log(beside)])
    optimum = minimize(cost, first, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-7})
    model, extra = parts(optimum.x)
    parameters = model.parameters if beside is None else (*model.parameters, extra)
    return replace(model, parameters=parameters, log_likelihood=-float(optimum.fun) * len(z), beside=extra)


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from numba import njit

    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    return njit(_log_likelihood, **options), njit(_smooth, **options)


def _log_likelihood(
    z: Vector, a: float, b: float, c: float, q1: float, q2: float, p1: float, p2: float, skipped: int
) -> float:
    """Gaussian log likelihood of a series with observation noise of variance 1."""
    m1, m2, p12, total = 0.0, 0.0, 0.0, 0.0
    for t in range(len(z)):
        if z[t] == z[t]:  # not missing
            f = p1 + 1.0
            v = z[t] - m1
            if t >= skipped:
                total -= 0.5 * (np.log(2 * np.pi * f) + v * v / f)
            k1, k2 = p1 / f, p12 / f
            m1, m2 = m1 + k1 * v, m2 + k2 * v
            # p1 - p1²/f = p1/f, exact where p1 is huge.
            p2, p12, p1 = p2 - k2 * p12, k2, k1
        m1, m2 = a * m1 + b * m2, c * m2
        p1, p12, p2 = a * a * p1 + 2 * a * b * p12 + b * b * p2 + q1, c * (a * p12 + b * p2), c * c * p2 + q2
    return total


def _smooth(z: Vector, a: float, b: float, c: float, q1: float, q2: float, p1: float, p2: float, out: Vector) -> float:
    """Write the smoothed series to ``out``; return its mean posterior variance."""
    n = len(z)
    mean = np.empty(n)
    power = np.empty((n, 2))
    m1, m2, p12 = 0.0, 0.0, 0.0
    for t in range(n):
        mean[t], power[t, 0], power[t, 1] = m1, p1, p12
        if z[t] == z[t]:
            f = p1 + 1.0
            v = z[t] - m1
            k1, k2 = p1 / f, p12 / f
            m1, m2 = m1 + k1 * v, m2 + k2 * v
            p2, p12, p1 = p2 - k2 * p12, k2, k1
        m1, m2 = a * m1 + b * m2, c * m2
        p1, p12, p2 = a * a * p1 + 2 * a * b * p12 + b * b * p2 + q1, c * (a * p12 + b * p2), c * c * p2 + q2
    r1, r2, n11, n12, n22, spread = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n - 1, -1, -1):
        p1, p12 = power[t, 0], power[t, 1]
        # Through the transition, r ← Tᵀ r and N ← Tᵀ N T ...
        r1, r2 = a * r1, b * r1 + c * r2
        n11, n12, n22 = a * a * n11, a * (b * n11 + c * n12), b * b * n11 + 2 * b * c * n12 + c * c * n22
        if z[t] == z[t]:
            # ... and through the update with gain k: (I − kZ)ᵀ from the left, and the innovation's own part.
            f = p1 + 1.0
            k1, k2 = p1 / f, p12 / f
            v = z[t] - mean[t]
            r1 = v / f + (1.0 - k1) * r1 - k2 * r2
            e11 = (1.0 - k1) * n11 - k2 * n12
            e12 = (1.0 - k1) * n12 - k2 * n22
            n11, n12 = 1.0 / f + (1.0 - k1) * e11 - k2 * e12, e12
        out[t] = mean[t] + p1 * r1 + p12 * r2
        spread += p1 - (p1 * p1 * n11 + 2 * p1 * p12 * n12 + p12 * p12 * n22)
    return spread / n
