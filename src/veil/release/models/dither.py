"""What a manifest says about dither: which columns were moved off their grid before records were mixed, and how far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.numerics.grids import Steps, nearest_on_grid
from veil.release.models.base import require, vector

LAW = "uniform"


@dataclass(frozen=True, eq=False)
class Dither:
    """Every record got noise of its own, uniform of mean 0, in the columns that are on a grid.

    Attributes
    ----------
    grain, origin
        The values of a column are ``origin + k·grain`` for whole k; 0 for columns that were not dithered.
    width
        How wide the law of the noise is: one grain, less what rounding in float64 needs for an exact way back.
    distances
        What it adds to the mean squared distance of records, as a share of it.
    """

    grain: Vector
    origin: Vector
    width: Vector
    distances: float

    @property
    def columns(self) -> npt.NDArray[np.intp]:
        """The columns that were dithered."""
        return np.flatnonzero(self.grain)

    def restored(self, values: Matrix, columns: npt.NDArray[np.intp] | None = None) -> Matrix:
        """Dithered values (one matrix row per column) moved to the nearest point of their grid, in place."""
        for j in self.columns if columns is None else columns:
            values[j] = nearest_on_grid(values[j], Steps(float(self.grain[j]), float(self.origin[j])))
        return values

    @property
    def variance(self) -> Vector:
        """The variance of the noise in each column, w²/12."""
        return np.asarray(self.width**2 / 12.0)

    def to_json(self) -> dict[str, Any]:
        """Law, grids, widths and what distances gain."""
        return {
            "law": LAW,
            "grain": self.grain.tolist(),
            "origin": self.origin.tolist(),
            "width": self.width.tolist(),
            "distances": self.distances,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Dither:
        """Back from :meth:`to_json`."""
        require(isinstance(raw, Mapping) and raw["law"] == LAW and isinstance(raw["distances"], int | float))
        return cls(vector(raw["grain"]), vector(raw["origin"]), vector(raw["width"]), float(raw["distances"]))

    def check(self, d: int) -> None:
        """One finite grain per column, some above 0, and widths of at most as much."""
        require(all(each.shape == (d,) and np.isfinite(each).all() for each in (self.grain, self.origin, self.width)))
        require((self.grain > 0).any() and ((self.width > 0) == (self.grain > 0)).all())
        require((self.grain >= self.width).all() and (self.width >= 0).all() and 0 <= self.distances < np.inf)
