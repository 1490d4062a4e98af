"""The law of P3's random factor: a normal truncated to an interval, optionally with a notch at 1.

With α = (A − μ)/σ, β = (B − μ)/σ and K = 1/(Φ(β) − Φ(α)), a normal truncated to [A, B] has::

    E r   = μ + σ K [φ(α) − φ(β)]
    Var r = σ² (1 + K [αφ(α) − βφ(β)] − K² [φ(α) − φ(β)]²)

(Liu 2007, eq. 3.1–3.2; the paper prints the first without σ and with one argument twice, errata L-k.) The
EIA variant keeps ``notch ≤ |r − 1|`` and truncates at 0.6: its variance is .02374 and not the .0225 of the
normal it starts from (errata L-l).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veil.arguments import number
from veil.data.blocks import Vector
from veil.errors import InputError


@dataclass(frozen=True)
class FactorLaw:
    """A normal with the given mean and standard deviation, kept to ``bounds`` and outside the notch."""

    mean: float
    std: float
    bounds: tuple[float, float]
    notch: float | None = None

    @cached_property
    def pieces(self) -> tuple[tuple[float, float], ...]:
        """The intervals in which the factor lies."""
        low, high = self.bounds
        if self.notch is None:
            return ((low, high),)
        return ((low, 1.0 - self.notch), (1.0 + self.notch, high))

    def _standard(self) -> list[tuple[float, float, float]]:
        """Ends of each piece in standard units, and its probability under the untruncated normal."""
        from scipy.special import ndtr

        ends = [((a - self.mean) / self.std, (b - self.mean) / self.std) for a, b in self.pieces]
        return [(a, b, float(ndtr(b) - ndtr(a))) for a, b in ends]

    @cached_property
    def acceptance(self) -> float:
        """The share of the untruncated normal that is kept."""
        return sum(share for _, _, share in self._standard())

    @cached_property
    def expectation(self) -> float:
        """E r."""
        shift = sum(_phi(a) - _phi(b) for a, b, _ in self._standard()) / self.acceptance
        return self.mean + self.std * shift

    @cached_property
    def second_moment(self) -> float:
        """E r²."""
        first = sum(_phi(a) - _phi(b) for a, b, _ in self._standard()) / self.acceptance
        second = 1.0 + sum(a * _phi(a) - b * _phi(b) for a, b, _ in self._standard()) / self.acceptance
        return self.mean**2 + 2 * self.mean * self.std * first + self.std**2 * second

    @property
    def variance(self) -> float:
        """Var r."""
        return self.second_moment - self.expectation**2

    def raw_moments(self, points: int = 200_001) -> tuple[float, float, float, float]:
        """E r, E r², E r³ and E r⁴; the first two in closed form, the others by quadrature over the probability."""
        r = self.quantile((np.arange(points) + 0.5) / points)
        return self.expectation, self.second_moment, float(np.mean(r**3)), float(np.mean(r**4))

    def quantile(self, u: Vector) -> Vector:
        """The inverse distribution function."""
        from scipy.special import ndtr, ndtri

        target = np.asarray(u, dtype=np.float64) * self.acceptance
        out = np.empty_like(target)
        for (a, b, share), (low, high) in zip(self._standard(), self.pieces, strict=True):
            here = (target >= 0) & (target <= share)
            z = ndtri(np.clip(ndtr(a) + target[here], ndtr(a), ndtr(b)))
            out[here] = np.clip(self.mean + self.std * z, low, high)
            target = np.where(here, -1.0, target - share)
        out[target > 0] = self.bounds[1]
        return out

    def log_moments(self, points: int = 20_001) -> tuple[float, float]:
        """E ln r and Var ln r, by quadrature over the probability."""
        logs = np.log(self.quantile((np.arange(points) + 0.5) / points))
        return float(logs.mean()), float(logs.var())

    def disclose(self) -> dict[str, Any]:
        """The law as JSON values."""
        return {"mean": self.mean, "std": self.std, "bounds": list(self.bounds), "notch": self.notch}

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> FactorLaw:
        """Back from :meth:`disclose`."""
        return cls(
            float(raw["mean"]), float(raw["std"]), (float(raw["bounds"][0]), float(raw["bounds"][1])), raw["notch"]
        )


def factor_law(mean: Any, std: Any, bounds: Any, notch: Any) -> FactorLaw:
    """A checked law; the factor must stay positive, or zeros and signs would be made up."""
    number(mean, "mean", least=1e-6, most=1e6, rule="a positive number")
    number(std, "std", least=1e-6, most=1e6, rule="a positive number")
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise InputError("bounds must be two numbers, for example (0.4, 1.6)") from None
    if not 0 < low < high < np.inf:
        raise InputError("bounds must be positive and rising, for example (0.4, 1.6)")
    if notch is not None:
        number(notch, "notch", least=1e-9, most=min(1 - low, high - 1) - 1e-9, rule="between 0 and the bounds around 1")
    law = FactorLaw(float(mean), float(std), (low, high), None if notch is None else float(notch))
    if not law.acceptance > 1e-9:
        raise InputError("bounds leave nothing of the normal law; move them nearer to the mean or raise std")
    return law


def _phi(z: float) -> float:
    return float(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
