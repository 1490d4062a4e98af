"""The law of additive noise, integrated over intervals.

*Model.* ``y = x + r``. For x uniform on an interval of width m the chance that y falls between a
and b is ``(1/m) ∫ F(b − x) − F(a − x) dx`` with F the distribution function of r: a second
difference of ``G = ∫F``. Far from 0, G is nearly ``max(z, 0)`` and its differences lose all
digits; ``H(z) = G(z) − max(z, 0)`` is even, dies out in the tails, and what was taken off adds up
to the plain overlap of the two intervals. So the transition probabilities are exact, not the
density at a midpoint, and an interval may be far wider or narrower than the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from veil.arguments import choice, number
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError, listed
from veil.release.models import AdditiveModel
from veil.release.release import Release

LAWS = ("normal", "uniform", "laplace")


@dataclass(frozen=True)
class NoiseLaw:
    """Noise of mean 0 by its distribution ("normal", "uniform" or "laplace") and standard deviation."""

    distribution: str
    scale: float

    def __post_init__(self) -> None:
        choice(self.distribution, "distribution", LAWS)
        number(self.scale, "scale", least=1e-150, most=1e150, rule="a positive standard deviation, 1e-150 to 1e150")

    def _excess(self, z: Matrix) -> Matrix:
        """``∫_{−∞}^z F − max(z, 0)``."""
        size = np.abs(z)
        if self.distribution == "normal":
            t = size / self.scale
            return np.asarray(self.scale * np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi) - size * ndtr(-t))
        if self.distribution == "uniform":
            half = self.scale * math.sqrt(3)
            return np.asarray(np.maximum(half - size, 0.0) ** 2 / (4 * half))
        width = self.scale / math.sqrt(2)
        return np.asarray(0.5 * width * np.exp(-size / width))

    def kernel(self, edges_noisy: Vector, edges: Vector) -> Matrix:
        """Chance of each noisy interval (row) for x uniform on each interval (column).

        >>> import numpy as np
        >>> NoiseLaw("uniform", 1 / np.sqrt(12)).kernel(np.array([-1.0, 0, 1, 2]), np.array([0.0, 1])).T.round(3)
        array([[0.125, 0.75 , 0.125]])
        """
        low, high = edges[:-1], edges[1:]
        overlap = np.minimum(edges_noisy[1:, None], high) - np.maximum(edges_noisy[:-1, None], low)
        with np.errstate(over="ignore"):
            excess = self._excess(edges_noisy[:, None] - edges)
        mass = np.maximum(overlap, 0.0) - np.diff(np.diff(excess, axis=0), axis=1)
        return np.asarray(np.maximum(mass, 0.0) / (high - low))


@dataclass(frozen=True)
class NoisyColumn:
    """One perturbed column: its private name, its released name and its noise."""

    name: str
    released: str
    noise: NoiseLaw


def noisy_columns(release: Any, columns: Sequence[str] | None, recovery: str) -> list[NoisyColumn]:
    """The wanted columns of an additive release with their noise, as the manifest states it."""
    if not isinstance(release, Release):
        raise InputError(f"{recovery} reads a release; got a {type(release).__name__}")
    step, model = release.only_part, release.only_part.model
    if not isinstance(model, AdditiveModel) or model.distribution not in LAWS:
        raise NotApplicableError(f"{recovery} has no theory for a {release.method} release; it needs additive noise")
    known = step.names
    wanted = known if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    absent = [name for name in wanted if name not in known]
    if absent or not wanted or len(set(wanted)) < len(wanted):
        fault = f"{listed(absent)} is not among them" if absent else f"got {len(wanted)}, or one of them twice"
        raise InputError(f"columns must be one or more of the {len(known)} perturbed columns; {fault}")
    scales = np.sqrt(np.diag(model.covariance))
    places = [known.index(name) for name in wanted]
    return [NoisyColumn(known[j], step.released[j], NoiseLaw(model.distribution, float(scales[j]))) for j in places]
