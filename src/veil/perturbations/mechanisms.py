"""P21: noise with a formal guarantee.

*Model.* ``y = clip(x) + r``: each value is clipped to bounds that the owner declares (never taken from the table), so
that two values differ by at most ``Δ = high − low``, and gets Laplace noise of scale Δ/ε (Dwork et al. 2006), or normal
noise of the smallest σ with ``Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) ≤ δ`` (the analytic calibration of Balle and Wang
2018). That is local differential privacy of one value; over the columns of a record ε and δ add up.

*Floating point.* In doubles the last bits of ``x + r`` betray x (Mironov 2012). Values and noise are rounded to a
public grid g ≤ scale/2²⁰ *before* they are added, so that every multiple of g can come from every x; the calibration
uses Δ + 2g. One 64-bit word makes a draw, which bounds the tails and quantizes the law. That adds a little to δ, and an
error of the other value's law counts e^ε times: :func:`sampler_delta` bounds it (counting words exactly gives about
e^ε·2⁻⁴²), and ε is limited to 15 so that it stays small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.data.blocks import Matrix
from veil.errors import InputError, listed
from veil.keys.noise import add_noise
from veil.numerics.laws import LAPLACE, NORMAL
from veil.numerics.moments import Moments
from veil.perturbations.base import Kept, Perturbation, Place

MOST_EPSILON = 15.0


def sampler_delta(epsilon: float) -> float:
    """What quantized draws may add to δ.

    >>> sampler_delta(1.0) < 1e-11
    True
    """
    return (1.0 + math.exp(epsilon)) * 2.0**-40


def fine_grid(deviation: float) -> float:
    """The power of two nearest below deviation/2²⁰."""
    return float(2.0 ** (math.floor(math.log2(deviation)) - 20))


def gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation of normal noise for (ε, δ), by bisection (Balle and Wang 2018, theorem 8).

    >>> round(gaussian_scale(1.0, 1e-6), 4)
    4.2247
    """
    from scipy.special import log_ndtr, ndtr

    def excess(ratio: float) -> float:
        """δ at σ = ratio·Δ, less the wanted one."""
        upper = 0.5 / ratio - epsilon * ratio
        return float(ndtr(upper) - math.exp(min(epsilon + log_ndtr(-0.5 / ratio - epsilon * ratio), 700.0))) - delta

    low, high = 1e-6, 1.0
    while excess(high) > 0:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high * sensitivity


class _Mechanism(Perturbation):
    """Clipped noise on single values."""

    element_wise = True
    addressed = True
    law: str
    epsilon: float
    bounds: Any
    scale_: npt.NDArray[np.float64]
    _clipped: list[str]
    low_: npt.NDArray[np.float64]
    high_: npt.NDArray[np.float64]

    def _scale_for(self, sensitivity: float) -> float:
        raise NotImplementedError

    @property
    def _deviation(self) -> npt.NDArray[np.float64]:
        """Standard deviation of the noise of each column."""
        raise NotImplementedError

    @property
    def keeps_cells(self) -> bool:
        """A cell that keeps its noise is protected only once; the guarantee is for fresh noise."""
        return False

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        self._check()
        pairs = [_bounds_of(self.bounds, name) for name in columns]
        self.low_, self.high_ = (np.array(ends) for ends in zip(*pairs, strict=True))
        width = self.high_ - self.low_
        rough = [fine_grid(self._scale_for(w)) for w in width]
        self.scale_ = np.array([self._scale_for(w + 2 * g) for w, g in zip(width, rough, strict=True)])
        self.grid_ = np.array([min(g, fine_grid(s)) for g, s in zip(rough, self._deviation, strict=True)])
        outside = (moments.minimum < self.low_) | (moments.maximum > self.high_)
        self._clipped = [name for name, out in zip(columns, outside, strict=True) if out]
        reach = np.maximum(np.abs(self.low_), np.abs(self.high_)) + 64 * self._deviation
        lost = [n for n, far, g in zip(columns, reach, self.grid_, strict=True) if far >= g * 2.0**53]
        if lost:
            raise InputError(
                f"bounds of column {lost[0]!r} are too far from 0 for float64 to hold value and noise; shift the column"
            )

    def _check(self) -> None:
        rule = f"a number from 1e-6 to {MOST_EPSILON:g}"
        number(self.epsilon, "epsilon", least=1e-6, most=MOST_EPSILON, rule=rule)

    def disclose(self) -> dict[str, Any]:
        """The law, its deviation, the grid and the bounds."""
        return {
            "distribution": self.law,
            "scale": self._deviation.tolist(),
            "grid": self.grid_.tolist(),
            "bounds": np.column_stack([self.low_, self.high_]).tolist(),
        }

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        deviation = np.array(parameters["scale"], dtype=np.float64)
        self.scale_ = deviation / math.sqrt(2.0) if self.law == LAPLACE.name else deviation
        self.grid_ = np.array(parameters["grid"], dtype=np.float64)
        self.low_, self.high_ = np.array(parameters["bounds"], dtype=np.float64).T
        self._clipped = []

    def column_parameters(self, j: int) -> dict[str, Any]:
        """All that the noise of one column depends on."""
        return {
            "law": self.law,
            "scale": float(self.scale_[j]),
            "grid": float(self.grid_[j]),
            "low": float(self.low_[j]),
        }

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Clip, and add the noise on the grid."""
        out = np.empty_like(block)
        for j, row in enumerate(block):
            clipped = np.clip(row, self.low_[j], self.high_[j])
            words = self._words(j, row, place)
            out[j] = add_noise(clipped, words, self.law, float(self._deviation[j]), float(self.grid_[j]))
        return out

    def remarks(self) -> list[str]:
        """Which columns were clipped, and so what is protected in their place."""
        if not self._clipped:
            return []
        return [f"Warning: column {listed(self._clipped)} has values outside its declared bounds; they were clipped."]

    def _said(self, epsilon: float, delta: float) -> str:
        d = len(self.low_)
        return (
            f"local differential privacy: epsilon {epsilon:g}, delta {delta:.3g} for one value; epsilon "
            f"{d * epsilon:g}, delta {d * delta:.3g} for all {d} values of one record; the number of records and which "
            "values are missing are outside it, and releases of one key add up"
        )


class LaplaceMechanism(_Mechanism):
    """P21. Clip to declared bounds and add Laplace noise of scale (high − low)/ε.

    Parameters
    ----------
    epsilon : float, default 1
        The guarantee, per value.
    bounds : (low, high), or a dict of them by column, default (0, 1)
        Declared limits; values outside are clipped. Never take them from the table.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: it voids the guarantee.

    Attributes
    ----------
    scale_ : array, Laplace scale of each column

    Notes
    -----
    *Threat.* Released: the noisy values, bounds and law. One value stays ε-indistinguishable from any other; a record
    of d columns is protected by d·ε only, and correlated columns make the most of that (A6). Missing values stay
    missing.
    """

    catalogue = "P21"
    law = LAPLACE.name
    headline = ("epsilon", "bounds")

    def __init__(self, epsilon: float = 1.0, bounds: Any = (0.0, 1.0), *, random_state: Any = None) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.random_state = random_state

    def _scale_for(self, sensitivity: float) -> float:
        return sensitivity / float(self.epsilon)

    @property
    def _deviation(self) -> npt.NDArray[np.float64]:
        return self.scale_ * math.sqrt(2.0)

    def formal_guarantee(self, *, consistent: bool = False) -> str:
        """(ε, δ) of one value and of one record; none with a seed."""
        return "none" if self.key_.seeded else self._said(float(self.epsilon), sampler_delta(float(self.epsilon)))


class GaussianMechanism(_Mechanism):
    """P21. Clip to declared bounds and add normal noise calibrated to (ε, δ).

    Parameters
    ----------
    epsilon, delta : float, default 1 and 1e-6
        The guarantee, per value.
    bounds : (low, high), or a dict of them by column, default (0, 1)
        Declared limits; values outside are clipped. Never take them from the table.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: it voids the guarantee.

    Attributes
    ----------
    scale_ : array, standard deviation of the noise of each column (4.2247·Δ for ε = 1, δ = 1e-6)

    Notes
    -----
    *Threat.* Released: the noisy values, bounds and law. One value stays (ε, δ)-indistinguishable from any other; over
    the columns of a record both add up. Missing values stay missing.
    """

    catalogue = "P21"
    law = NORMAL.name
    headline = ("epsilon", "delta", "bounds")

    def __init__(
        self, epsilon: float = 1.0, delta: float = 1e-6, bounds: Any = (0.0, 1.0), *, random_state: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        least = 4 * sampler_delta(float(self.epsilon))
        number(self.delta, "delta", least=least, most=0.5, rule=f"from {least:.1e} (the sampler's own) to 0.5")

    def _scale_for(self, sensitivity: float) -> float:
        own = sampler_delta(float(self.epsilon))
        return gaussian_scale(float(self.epsilon), float(self.delta) - own, sensitivity)

    @property
    def _deviation(self) -> npt.NDArray[np.float64]:
        return self.scale_

    def formal_guarantee(self, *, consistent: bool = False) -> str:
        """(ε, δ) of one value and of one record; none with a seed."""
        return "none" if self.key_.seeded else self._said(float(self.epsilon), float(self.delta))


def _bounds_of(bounds: Any, name: str) -> tuple[float, float]:
    rule = f"bounds must be (low, high) with low below high, for column {name!r}; declare them, do not measure them"
    given: Any = bounds.get(name) if isinstance(bounds, Mapping) else bounds
    if isinstance(given, str):
        raise InputError(rule)
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise InputError(rule) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(rule)
    return low, high
