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
from typing import Any

import numpy as np

from veil.arguments import number
from veil.data.blocks import Matrix
from veil.errors import InputError, listed
from veil.keys.noise import add_noise
from veil.numerics.laws import LAPLACE, NORMAL
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise
from veil.perturbations.method import Learned, one_of
from veil.release.models import MechanismModel

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
    """Clipped noise on single values, always fresh: a cell that kept its noise would be protected only once."""

    layout = Layout(noise=Noise.RECORD, apart=True)
    law: str
    epsilon: float
    bounds: Any
    model_: MechanismModel
    scale_, grid_ = Learned("parameter"), Learned("grid")

    def _scale_for(self, sensitivity: float) -> float:
        """The law's own parameter for a sensitivity."""
        raise NotImplementedError

    def _deviation_of(self, scale: float) -> float:
        """The standard deviation of noise of that parameter."""
        raise NotImplementedError

    def learn(self, facts: Facts) -> MechanismModel:
        """The noise for the declared bounds; nothing depends on the table."""
        self._check()
        bounds = np.array([_bounds_of(self.bounds, name) for name in facts.columns])
        low, high = bounds.T
        rough = [fine_grid(self._scale_for(w)) for w in high - low]
        scale = [self._scale_for(w + 2 * g) for w, g in zip(high - low, rough, strict=True)]
        grid = [min(g, fine_grid(self._deviation_of(s))) for g, s in zip(rough, scale, strict=True)]
        model = MechanismModel.of(self.law, np.array(scale), np.array(grid), bounds)
        outside = (facts.moments.minimum < low) | (facts.moments.maximum > high)
        clipped = [name for name, out in zip(facts.columns, outside, strict=True) if out]
        if clipped:
            facts.remark(
                f"Warning: column {listed(clipped)} has values outside its declared bounds; they were clipped."
            )
        reach = np.maximum(np.abs(low), np.abs(high)) + 64 * model.scale
        lost = [n for n, far, g in zip(facts.columns, reach, grid, strict=True) if far >= g * 2.0**53]
        if lost:
            raise InputError(
                f"bounds of column {lost[0]!r} are too far from 0 for float64 to hold value and noise; shift the column"
            )
        return model

    def _check(self) -> None:
        rule = f"a number from 1e-6 to {MOST_EPSILON:g}"
        number(self.epsilon, "epsilon", least=1e-6, most=MOST_EPSILON, rule=rule)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Clip, and add the noise on the grid."""
        model, out = self.model_, np.empty_like(block)
        for j, row in enumerate(block):
            clipped = np.clip(row, *model.bounds[j])
            out[j] = add_noise(clipped, draws.words(j), self.law, float(model.scale[j]), float(model.grid[j]))
        return out

    def _promise(self, delta: float) -> str:
        d, epsilon = len(self.model_.bounds), float(self.epsilon)
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
    bounds : (low, high), or a dict of them by column
        Declared limits, which must be said; values outside are clipped. Never take them from the table.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: it voids the guarantee.

    Attributes
    ----------
    scale_ : array, Laplace scale of each column
    """

    threat = (
        "Released: the noisy values, bounds and law. One value stays ε-indistinguishable from any other; a record of "
        "d columns is protected by d·ε only, and correlated columns make the most of that (A6). Missing values stay "
        "missing."
    )
    catalogue = "P21"
    summary = "Clip to declared bounds and add Laplace noise of scale (high − low)/ε."
    law = LAPLACE.name
    headline = ("epsilon", "bounds")

    def __init__(self, epsilon: float = 1.0, bounds: Any = None, *, random_state: Any = None) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.random_state = random_state

    def _scale_for(self, sensitivity: float) -> float:
        return sensitivity / float(self.epsilon)

    def _deviation_of(self, scale: float) -> float:
        return scale * math.sqrt(2.0)

    def guarantee(self) -> str:
        """(ε, δ) of one value and of one record."""
        return self._promise(sampler_delta(float(self.epsilon)))


class GaussianMechanism(_Mechanism):
    """P21. Clip to declared bounds and add normal noise calibrated to (ε, δ).

    Parameters
    ----------
    epsilon, delta : float, default 1 and 1e-6
        The guarantee, per value.
    bounds : (low, high), or a dict of them by column
        Declared limits, which must be said; values outside are clipped. Never take them from the table.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: it voids the guarantee.

    Attributes
    ----------
    scale_ : array, standard deviation of the noise of each column (4.2247·Δ for ε = 1, δ = 1e-6)
    """

    threat = (
        "Released: the noisy values, bounds and law. One value stays (ε, δ)-indistinguishable from any other; over "
        "the columns of a record both add up. Missing values stay missing."
    )
    catalogue = "P21"
    summary = "Clip to declared bounds and add normal noise calibrated to (ε, δ)."
    law = NORMAL.name
    headline = ("epsilon", "delta", "bounds")

    def __init__(
        self, epsilon: float = 1.0, delta: float = 1e-6, bounds: Any = None, *, random_state: Any = None
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

    def _deviation_of(self, scale: float) -> float:
        return scale

    def guarantee(self) -> str:
        """(ε, δ) of one value and of one record."""
        return self._promise(float(self.delta))


def _bounds_of(bounds: Any, name: str) -> tuple[float, float]:
    rule = f"bounds must be (low, high) with low below high, for column {name!r}; declare them, do not measure them"
    if bounds is None:
        raise InputError(
            f"bounds must be declared, for example bounds=(0, 100), or a dict by column; column {name!r} has none, and "
            "the guarantee rests on them",
            parameter="bounds",
        )
    given = one_of(bounds, name)
    if isinstance(given, str):
        raise InputError(rule)
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise InputError(rule) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(rule)
    return low, high
