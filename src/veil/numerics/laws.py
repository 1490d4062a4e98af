"""The laws of additive noise, listed once: normal, uniform and Laplace.

*Model.* ``y = x + r`` with r of mean 0, symmetric, of a named law and a standard deviation. A :class:`Law` has standard
deviation 1; a :class:`NoiseLaw` is a law with its scale.

For x uniform on an interval of width m the chance that y falls between a and b is ``(1/m) ∫ F(b − x) − F(a − x) dx``
with F the distribution function of r: a second difference of ``G = ∫F``. Far from 0, G is nearly ``max(z, 0)`` and its
differences lose all digits; ``H(z) = G(z) − max(z, 0)`` is even, dies out in the tails, and what was taken off adds up
to the plain overlap of the two intervals. So the transition probabilities are exact, not the density at a midpoint, and
an interval may be far wider or narrower than the noise.

The quantiles that turn random words into noise are compiled in :mod:`veil.keys.noise`, which knows a law by its
``code``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from veil.arguments import choice, number
from veil.data.blocks import Matrix, Vector


@dataclass(frozen=True)
class Law(ABC):
    """A symmetric law of mean 0 and standard deviation 1.

    Attributes
    ----------
    name
        What manifests and parameters call it.
    code
        What compiled code calls it. Codes are part of the noise's definition and never change.
    kurtosis
        E r⁴.
    reach
        Beyond it the law has no mass that a float could hold beside 1.
    support
        Beyond it r never lies; infinite for most.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    kurtosis: ClassVar[float]
    reach: ClassVar[float]
    support: ClassVar[float] = math.inf

    @abstractmethod
    def pdf(self, z: npt.ArrayLike) -> Any:
        """The density."""

    @abstractmethod
    def cdf(self, z: npt.ArrayLike) -> Any:
        """P(r ≤ z)."""

    @abstractmethod
    def excess(self, size: Matrix) -> Matrix:
        """``∫_{−∞}^z F − max(z, 0)`` for z of the given sizes."""

    def bin_masses(self, bins_per_sigma: int) -> Vector:
        """The probability of each bin, for a value in the middle of the central one.

        >>> UNIFORM.bin_masses(1).round(3).tolist()
        [0.0, 0.067, 0.289, 0.289, 0.289, 0.067, 0.0]
        """
        reach = int(np.ceil(self.reach * bins_per_sigma)) + 1
        edges = (np.arange(-reach, reach + 2) - 0.5) / bins_per_sigma
        return np.asarray(np.diff(self.cdf(edges)))


class Normal(Law):
    """Normal noise."""

    name, code, kurtosis, reach = "normal", 0, 3.0, 8.3

    def pdf(self, z: npt.ArrayLike) -> Any:
        """exp(−z²/2)/√(2π)."""
        return np.exp(-0.5 * np.square(z)) / math.sqrt(2 * math.pi)

    def cdf(self, z: npt.ArrayLike) -> Any:
        """Φ(z)."""
        from scipy.special import ndtr

        return ndtr(np.asarray(z, dtype=np.float64))

    def excess(self, size: Matrix) -> Matrix:
        """φ(z) − |z| Φ(−|z|)."""
        return np.asarray(self.pdf(size) - size * self.cdf(-size))


class Uniform(Law):
    """Uniform noise, on ±√3."""

    name, code, kurtosis, reach = "uniform", 1, 1.8, 1.75
    support = math.sqrt(3.0)

    def pdf(self, z: npt.ArrayLike) -> Any:
        """1/(2√3) on the support."""
        return np.where(np.abs(z) <= self.support, 0.5 / self.support, 0.0)[()]

    def cdf(self, z: npt.ArrayLike) -> Any:
        """(z/√3 + 1)/2 on the support."""
        return np.clip((np.asarray(z) / self.support + 1.0) / 2.0, 0.0, 1.0)

    def excess(self, size: Matrix) -> Matrix:
        """(√3 − |z|)²₊/(4√3)."""
        return np.asarray(np.maximum(self.support - size, 0.0) ** 2 / (4 * self.support))


class Laplace(Law):
    """Laplace noise, exp(−√2 |z|)/√2."""

    name, code, kurtosis, reach = "laplace", 2, 6.0, 26.0

    def pdf(self, z: npt.ArrayLike) -> Any:
        """exp(−√2 |z|)/√2."""
        return np.exp(-math.sqrt(2.0) * np.abs(z)) / math.sqrt(2.0)

    def cdf(self, z: npt.ArrayLike) -> Any:
        """Half of exp(−√2 |z|) beyond z, on its side of 0."""
        tail = 0.5 * np.exp(-math.sqrt(2.0) * np.abs(z))
        return np.where(np.asarray(z) < 0, tail, 1.0 - tail)[()]

    def excess(self, size: Matrix) -> Matrix:
        """exp(−√2 |z|)/(2√2)."""
        return np.asarray(np.exp(-math.sqrt(2.0) * size) / math.sqrt(8.0))


NORMAL, UNIFORM, LAPLACE = Normal(), Uniform(), Laplace()
LAWS: Final[dict[str, Law]] = {law.name: law for law in (NORMAL, UNIFORM, LAPLACE)}
"""The laws by name."""
_FAR: Final = 1e9
"""No excess is left here, and its formula is still free of infinities."""


def is_law(name: Any) -> bool:
    """Whether a name is one of :data:`LAWS`."""
    return isinstance(name, str) and name in LAWS


def check_law(name: Any, parameter: str = "distribution") -> Law:
    """The law of a name, or an error that lists the names.

    >>> check_law("laplace").kurtosis
    6.0
    """
    return LAWS[choice(name, parameter, LAWS)]


@dataclass(frozen=True)
class NoiseLaw:
    """Noise of mean 0 by its distribution ("normal", "uniform" or "laplace") and standard deviation."""

    distribution: str
    scale: float

    def __post_init__(self) -> None:
        check_law(self.distribution)
        number(self.scale, "scale", least=1e-150, most=1e150, rule="a positive standard deviation, 1e-150 to 1e150")

    @property
    def law(self) -> Law:
        """The law at standard deviation 1."""
        return LAWS[self.distribution]

    def kernel(self, edges_noisy: Vector, edges: Vector) -> Matrix:
        """Chance of each noisy interval (row) for x uniform on each interval (column).

        >>> import numpy as np
        >>> NoiseLaw("uniform", 1 / np.sqrt(12)).kernel(np.array([-1.0, 0, 1, 2]), np.array([0.0, 1])).T.round(3)
        array([[0.125, 0.75 , 0.125]])
        """
        low, high = edges[:-1], edges[1:]
        overlap = np.minimum(edges_noisy[1:, None], high) - np.maximum(edges_noisy[:-1, None], low)
        with np.errstate(over="ignore"):
            size = np.minimum(np.abs(edges_noisy[:, None] - edges) / self.scale, _FAR)
        excess = self.scale * self.law.excess(size)
        mass = np.maximum(overlap, 0.0) - np.diff(np.diff(excess, axis=0), axis=1)
        return np.asarray(np.maximum(mass, 0.0) / (high - low))
