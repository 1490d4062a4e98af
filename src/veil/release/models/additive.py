"""Models of added noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.release.models.base import Model, digest_of, matrix, positive, require, vector


@dataclass(frozen=True, eq=False)
class AdditiveModel(Model):
    """``y = x + r``: r of mean 0, independent of x, with a public covariance and law.

    Attributes
    ----------
    distribution
        The law of the noise.
    scale
        Its standard deviation in each column.
    grid
        The spacing of the released values of each column; 0 where they lie on none.
    factor
        L with noise covariance L Lᵀ where columns share noise, else None.
    """

    name = "additive"
    independent_records = True
    methods: ClassVar[tuple[str, ...]] = ("additive-noise",)
    distribution: str
    scale: Vector
    grid: Vector
    factor: Matrix | None = None

    @classmethod
    def correlated(cls, factor: Matrix, grid: Vector) -> AdditiveModel:
        """Normal noise with covariance L Lᵀ."""
        return cls("normal", np.sqrt((factor**2).sum(axis=1)), grid, factor)

    @cached_property
    def covariance(self) -> Matrix:
        """The covariance of the noise."""
        return np.diag(self.scale**2) if self.factor is None else self.factor @ self.factor.T

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The law, its scale or factor, and the grid."""
        values = {"distribution": self.distribution, "scale": self.scale.tolist(), "grid": self.grid.tolist()}
        return values if self.factor is None else {**values, "factor": self.factor.tolist()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> AdditiveModel:
        """Back from :meth:`to_json`."""
        factor = None if "factor" not in raw else matrix(raw["factor"])
        return cls(raw["distribution"], vector(raw["scale"]), vector(raw["grid"]), factor)

    def check(self, d: int, k: int) -> None:
        """One positive deviation and one step of the grid per column."""
        super().check(d, k)
        require(isinstance(self.distribution, str) and self.scale.shape == self.grid.shape == (d,))
        require(np.isfinite(self.scale).all() and (self.scale >= 0).all() and positive(self.grid))
        require(self.factor is None or (self.factor.shape == (d, d) and np.isfinite(self.factor).all()))

    def column(self, j: int) -> dict[str, Any]:
        """The law, scale and grid of one column's noise; the whole factor where columns share noise."""
        if self.factor is not None:
            return {"factor": self._digest}
        return {"distribution": self.distribution, "scale": float(self.scale[j]), "grid": float(self.grid[j])}


@dataclass(frozen=True, eq=False)
class MechanismModel(AdditiveModel):
    """``y = clip(x) + r``: values were clipped to declared ``bounds`` (d × 2) first.

    ``parameter`` is the law's own: b of a Laplace law, the standard deviation of a normal one.
    """

    name = "mechanism"
    methods = ("gaussian-mechanism", "laplace-mechanism")
    bounds: Matrix = field(kw_only=True)
    parameter: Vector = field(kw_only=True)

    @classmethod
    def of(cls, distribution: str, parameter: Vector, grid: Vector, bounds: Matrix) -> MechanismModel:
        """A model from the law's own parameter."""
        scale = parameter * math.sqrt(2.0) if distribution == "laplace" else parameter
        return cls(distribution, scale, grid, bounds=bounds, parameter=parameter)

    def to_json(self) -> dict[str, Any]:
        """The law, its deviation, the grid and the bounds."""
        return {**super().to_json(), "bounds": self.bounds.tolist()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> MechanismModel:
        """Back from :meth:`to_json`."""
        scale = vector(raw["scale"])
        parameter = scale / math.sqrt(2.0) if raw["distribution"] == "laplace" else scale
        grid, bounds = vector(raw["grid"]), matrix(raw["bounds"])
        return cls(raw["distribution"], scale, grid, bounds=bounds, parameter=parameter)

    def check(self, d: int, k: int) -> None:
        """Bounds that rise, one pair per column."""
        super().check(d, k)
        require(self.bounds.shape == (d, 2) and np.isfinite(self.bounds).all() and (np.diff(self.bounds) > 0).all())

    def column(self, j: int) -> dict[str, Any]:
        """All that the noise of one column depends on."""
        return {
            "law": self.distribution,
            "scale": float(self.parameter[j]),
            "grid": float(self.grid[j]),
            "low": float(self.bounds[j, 0]),
        }
