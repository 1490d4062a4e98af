"""Models of added noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.numerics.rounding import two_digit_step
from veil.release.models.base import Model, digest_of, matrix, positive, require, vector

LEAST_POWER = 0.01
"""Noise that mimics the data has at least this share of their mean variance in every direction."""
MOST_LENGTH = 1.1
"""Rows of such noise's factor, in units of the scale: 1 for the data themselves, up to 5 % off for each of two rounded
standard deviations."""


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
    unit
        The data's standard deviations, rounded to two digits, that the scale was relative to; None where it was not, or
        where an earlier release had fixed it.
    similarity
        How far the noise's correlations follow the data's: 1 if they are the data's, 0 if there are none, −1 if they
        are the opposite; None where that was not chosen.
    """

    name = "additive"
    independent_records = True
    methods: ClassVar[tuple[str, ...]] = ("additive-noise",)
    distribution: str
    scale: Vector
    grid: Vector
    factor: Matrix | None = None
    unit: Vector | None = field(default=None, kw_only=True)
    similarity: float | None = field(default=None, kw_only=True)

    @classmethod
    def correlated(
        cls, factor: Matrix, grid: Vector, *, unit: Vector | None = None, similarity: float | None = None
    ) -> AdditiveModel:
        """Normal noise with covariance L Lᵀ."""
        deviations = np.sqrt((factor**2).sum(axis=1))
        return cls("normal", deviations, grid, factor, unit=unit, similarity=similarity)

    @cached_property
    def covariance(self) -> Matrix:
        """The covariance of the noise."""
        return np.diag(self.scale**2) if self.factor is None else self.factor @ self.factor.T

    @cached_property
    def data_covariance(self) -> Matrix | None:
        """The private table's covariance as far as it is published: NaN where it is not, None where nothing is.

        On the diagonal stands ``unit²``. Noise of similarity 1 has the data's correlations, so that the entries off the
        diagonal are ``unitᵢ·unitⱼ·corr(L Lᵀ)ᵢⱼ``. Of a table with missing values, variances are over the present values
        of each column and correlations over complete records.
        """
        if self.unit is None:
            return None
        known = np.diag(self.unit**2)
        if self._mimics:
            rows = self._directions
            known += np.outer(self.unit, self.unit) * (rows @ rows.T) * ~np.eye(len(rows), dtype=np.bool_)
        else:
            known[~np.eye(len(known), dtype=np.bool_)] = np.nan
        return known

    @cached_property
    def data_covariance_se(self) -> Matrix | None:
        """The standard error of each entry of :attr:`data_covariance` for what was rounded before it was published.

        *Units.* ``uᵢ`` lies within half a step ``hᵢ`` of the standard deviation. Of one table that is one number that
        nothing averages, so it counts with its bound: to first order ``(2uᵢhᵢ)²`` on the diagonal and
        ``ρᵢⱼ²(uᵢ²hⱼ² + uⱼ²hᵢ²)`` off it.

        *Factor.* Its entries are rounded to two digits in units of the scale. An error δ of entry k of row i, uniform
        within a step s, so of variance s²/12, moves ``ρᵢⱼ = r̂ᵢ·r̂ⱼ`` (r̂ the rows at length 1) by
        ``δ(r̂ⱼₖ − ρᵢⱼr̂ᵢₖ)``; the errors of all entries of both rows add up.

        *Lift.* Where the data have next to no variance in some direction, the noise has :data:`LEAST_POWER` of the mean
        there: a matrix E, 0 ≤ E ≤ LEAST_POWER, is added to the correlations, which moves ρᵢⱼ by
        ``Eᵢⱼ − ρᵢⱼ(Eᵢᵢ + Eⱼⱼ)/2``, the trace of E with a matrix of eigenvalues ``(±1 − ρᵢⱼ)/2``; by at most
        ``LEAST_POWER·(1 + |ρᵢⱼ|)/2``. That bound counts where the noise has a direction so weak.
        """
        if self.unit is None or self.data_covariance is None:
            return None
        half, size = two_digit_step(self.unit) / 2, np.outer(self.unit, self.unit)
        rho = self.data_covariance / size
        relative = half / self.unit
        variance = rho**2 * (relative[:, None] ** 2 + relative**2)
        if self._mimics:
            variance += self._rounded_factor(rho)
            if np.linalg.eigvalsh(rho)[0] < 2 * LEAST_POWER:
                variance += (LEAST_POWER * (1.0 + np.abs(rho)) / 2) ** 2
        np.fill_diagonal(variance, 4 * relative**2)
        return np.asarray(size * np.sqrt(variance))

    @property
    def _mimics(self) -> bool:
        """Whether the noise has the data's correlations."""
        return self.similarity == 1 and self.factor is not None and bool((self.scale > 0).all())

    @property
    def _directions(self) -> Matrix:
        """The factor's rows at length 1."""
        return np.zeros((0, 0)) if self.factor is None else self.factor / self.scale[:, None]

    def _rounded_factor(self, rho: Matrix) -> Matrix:
        """Variances of the correlations for the rounding of the factor."""
        rows = self._directions
        own = two_digit_step(MOST_LENGTH * rows) ** 2 / 12
        part = own @ (rows**2).T - 2 * rho * ((own * rows) @ rows.T) + rho**2 * (own * rows**2).sum(axis=1)[:, None]
        return np.asarray(part + part.T)

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.ledger_json())

    def ledger_json(self) -> dict[str, Any]:
        """All that the noise depends on: the law, its scale or factor, and the grid."""
        values = {"distribution": self.distribution, "scale": self.scale.tolist(), "grid": self.grid.tolist()}
        return values if self.factor is None else {**values, "factor": self.factor.tolist()}

    def to_json(self) -> dict[str, Any]:
        """All that the noise depends on, and what it was relative to, where that is known."""
        values = self.ledger_json()
        if self.unit is not None:
            values["unit"] = self.unit.tolist()
        if self.similarity is not None:
            values["similarity"] = self.similarity
        return values

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> AdditiveModel:
        """Back from :meth:`to_json`."""
        factor = None if "factor" not in raw else matrix(raw["factor"])
        unit = None if "unit" not in raw else vector(raw["unit"])
        scale, grid = vector(raw["scale"]), vector(raw["grid"])
        return cls(raw["distribution"], scale, grid, factor, unit=unit, similarity=raw.get("similarity"))

    def check(self, d: int, k: int) -> None:
        """One positive deviation and one step of the grid per column."""
        super().check(d, k)
        require(isinstance(self.distribution, str) and self.scale.shape == self.grid.shape == (d,))
        require(np.isfinite(self.scale).all() and (self.scale >= 0).all() and positive(self.grid))
        require(self.factor is None or (self.factor.shape == (d, d) and np.isfinite(self.factor).all()))
        require(self.unit is None or (self.unit.shape == (d,) and positive(self.unit)))
        require(self.similarity is None or (isinstance(self.similarity, int | float) and -1 <= self.similarity <= 1))

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

    def ledger_json(self) -> dict[str, Any]:
        """The law, its deviation, the grid and the bounds."""
        return {**super().ledger_json(), "bounds": self.bounds.tolist()}

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
