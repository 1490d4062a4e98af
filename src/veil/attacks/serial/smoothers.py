"""The smoother of one noisy series that leaves the least error, by what the release itself tells.

*Model.* ``z_t = s_t + r_t``, r white of variance 1, s smooth over t with perhaps white values beside it.

Tried are the state-space model that the likelihood prefers (:mod:`veil.attacks.serial.state_space`), wavelets
(:mod:`veil.attacks.serial.wavelets`) and, for files that are sorted, the nearest monotone series (isotonic regression).
With f the smooth part, the guess is ``f + g (z − f)``, g the share of the residuals that is signal, and its risk

    SURE = (1−g)² mean (z − f)² − 1 + 2 (D + g (1 − D)),   D = Σ_t ∂f_t/∂z_t / n,

is unbiased for normal noise (Stein 1981), for a linear smoother under any noise (Mallows' C_p). D is the trace of a
linear smoother, the number of kept coefficients of wavelets, and the number of levels of an isotonic regression (Meyer
and Woodroofe 2000). The g of least risk is ``1 − (1−D)/mean (z−f)²``. Two estimates of the same truth differ in SURE by
chance with a standard error of ``2 √(mean (ŝ₁ − ŝ₂)²/n)``; the state-space model stands unless another gains more than
that.

If s is monotone, so is its nearest guess: the projection on monotone series moves every estimate towards s. It is taken
where it moves the estimate by no more than its error allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from veil.attacks.serial.state_space import SeriesModel, step_variance
from veil.attacks.serial.wavelets import denoise
from veil.data.blocks import Vector

MOMENTS = (1, 2, 4)
"""Vanishing moments of the wavelets that are tried; one is Haar's."""
CLEAR = 1.0
"""Standard errors by which another smoother must win over the state-space model."""


@dataclass(frozen=True, eq=False)
class Smoother:
    """The smooth part f of a series, by name, with its divergence D per value; NaN where the series has gaps."""

    name: str
    values: Vector
    divergence: float

    def residual_variance(self, z: Vector) -> float:
        """Mean square of what the smooth part leaves, made up for what it has fitted."""
        return float(np.nanmean((z - self.values) ** 2)) / max(1.0 - self.divergence, 1e-9)

    def gain(self, z: Vector) -> float:
        """g, the share of the residuals that belongs to the signal."""
        return max(1.0 - 1.0 / max(self.residual_variance(z), 1e-300), 0.0)

    def guess(self, z: Vector) -> Vector:
        """``f + g (z − f)``."""
        return np.asarray(self.values + self.gain(z) * (z - self.values))

    def risk(self, z: Vector) -> float:
        """Stein's estimate of the mean squared error of the guess."""
        g = self.gain(z)
        left = (1.0 - g) ** 2 * float(np.nanmean((z - self.values) ** 2))
        return left - 1.0 + 2.0 * (self.divergence + g * (1.0 - self.divergence))


def best_smoother(z: Vector, model: SeriesModel) -> Smoother:
    """The smoother of a centred series; ``model`` is the likelihood's, white where nothing depends on the order."""
    if model.name == "white":
        return Smoother(model.name, np.where(np.isnan(z), np.nan, 0.0), 0.0)
    there = np.flatnonzero(~np.isnan(z))
    first = Smoother(model.name, *model.smooth(np.ascontiguousarray(z)))
    first = Smoother(first.name, np.where(np.isnan(z), np.nan, first.values), first.divergence)
    present = z[there]
    tried = [first]
    levels = {1.0, max(float(np.sqrt(step_variance(present))), 1.0)}
    for scale in sorted(levels):
        for moments in MOMENTS:
            values, divergence = denoise(present / scale, moments)
            name = "haar" if moments == 1 else f"daubechies-{moments}"
            tried.append(Smoother(name, _placed(scale * values, there, len(z)), divergence))
    for rising in (True, False):
        values, n_levels = nearest_monotone(present, rising=rising)
        tried.append(Smoother("monotone", _placed(values, there, len(z)), n_levels / len(present)))
    risks = [smoother.risk(z) for smoother in tried]
    best = tried[int(np.argmin(risks))]
    apart = float(np.nanmean((best.guess(z) - first.guess(z)) ** 2))
    if best.risk(z) > risks[0] - CLEAR * 2.0 * np.sqrt(apart / len(present)):
        best = first
    return _sorted(best, z, there)


def nearest_monotone(z: Vector, *, rising: bool) -> tuple[Vector, int]:
    """The monotone series nearest in squares, and the number of its levels.

    >>> nearest_monotone(np.array([1.0, 3.0, 2.0, 4.0]), rising=True)
    (array([1. , 2.5, 2.5, 4. ]), 3)
    """
    fit = isotonic_regression(z, increasing=rising)
    return np.asarray(fit.x), len(fit.weights)


def _sorted(smoother: Smoother, z: Vector, there: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Smoother:
    """The smooth part as a monotone series, if it is one within its error."""
    values = smoother.values[there]
    rising = bool(values[-1] >= values[0])
    monotone, _ = nearest_monotone(values, rising=rising)
    allowed = smoother.divergence * smoother.residual_variance(z)
    if float(np.mean((monotone - values) ** 2)) > 0.5 * allowed:
        return smoother
    name = smoother.name if smoother.name == "monotone" else f"{smoother.name}, monotone"
    return Smoother(name, _placed(monotone, there, len(z)), smoother.divergence)


def _placed(values: Vector, there: np.ndarray[tuple[int], np.dtype[np.intp]], n: int) -> Vector:
    """The values at their places among n, NaN elsewhere."""
    out = np.full(n, np.nan)
    out[there] = values
    return out
