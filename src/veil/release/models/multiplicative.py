"""Models of random factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.numerics.factor_law import FactorLaw
from veil.release.models.base import Model, digest_of, matrix, positive, require, vector


@dataclass(frozen=True, eq=False)
class MultiplicativeModel(Model):
    """``y = x·r + e``: r of a public law, e normal with standard deviations ``scale`` (None where there is no e).

    ``grid`` is the spacing of the released values of each column.
    """

    name = "multiplicative"
    methods = ("multiplicative-noise", "combined-noise")
    independent_records = True
    law: FactorLaw
    grid: Vector
    scale: Vector | None = None

    @property
    def noise(self) -> Vector:
        """Standard deviations of e, zero where there is none."""
        return np.zeros(len(self.grid)) if self.scale is None else self.scale

    def to_json(self) -> dict[str, Any]:
        """The factor's law, the noise's scale and the grid."""
        values = {"factor": self.law.disclose(), "grid": self.grid.tolist()}
        return values if self.scale is None else {**values, "scale": self.scale.tolist()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> MultiplicativeModel:
        """Back from :meth:`to_json`."""
        scale = vector(raw["scale"]) if "scale" in raw else None
        return cls(FactorLaw.from_json(raw["factor"]), vector(raw["grid"]), scale)

    def check(self, d: int, k: int) -> None:
        """A factor that stays positive, one step of the grid and one deviation per column."""
        super().check(d, k)
        low, high = self.law.bounds
        require(0 < low < high < np.inf and 0 < self.law.std < np.inf and np.isfinite(self.law.mean))
        notch = self.law.notch
        require(notch is None or (isinstance(notch, int | float) and 0 < notch < np.inf))
        require(self.law.acceptance > 0 and self.grid.shape == self.noise.shape == (d,) and positive(self.grid))
        require(np.isfinite(self.noise).all() and (self.noise >= 0).all())

    def column(self, j: int) -> dict[str, Any]:
        """The factor's law, the grid and the noise's scale of one column."""
        values = {"factor": self.law.disclose(), "grid": float(self.grid[j])}
        return values if self.scale is None else {**values, "scale": float(self.scale[j])}


@dataclass(frozen=True, eq=False)
class LogNormalModel(Model):
    """``ln y = ln x + e``: e normal with covariance L Lᵀ, c times that of ln x; L is ``factor``.

    ``grid`` is the spacing of the released logarithms.
    """

    name = "log-normal"
    methods = ("log-normal-noise",)
    independent_records = True
    c: float
    factor: Matrix
    grid: Vector

    @cached_property
    def covariance(self) -> Matrix:
        """The covariance of e."""
        return np.asarray(self.factor @ self.factor.T)

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The share c, the noise's factor on the logarithms, and the grid of the released logarithms."""
        return {"c": self.c, "factor": self.factor.tolist(), "grid": self.grid.tolist()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> LogNormalModel:
        """Back from :meth:`to_json`."""
        return cls(float(raw["c"]), matrix(raw["factor"]), vector(raw["grid"]))

    def check(self, d: int, k: int) -> None:
        """A finite factor of all columns."""
        super().check(d, k)
        require(0 < self.c < 1 and self.factor.shape == (d, d) and np.isfinite(self.factor).all())
        require(self.grid.shape == (d,) and positive(self.grid))

    def column(self, j: int) -> dict[str, Any]:
        """The whole factor: columns share noise."""
        return {"factor": self._digest}
