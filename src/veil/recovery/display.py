"""What recoveries show: the same lines and tables in a terminal, in a notebook and of a whole release."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.data.schema import Kind
from veil.release.release import Release
from veil.report.notebook import settings_fragment
from veil.report.recovered import DATE, MOMENT, SECOND, RecoveredColumn, RecoveredShares
from veil.report.recovered_text import RecoveredView

Quantile = tuple[float, float, float | None, float | None]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Displayed:
    """A recovery that a notebook shows: before :meth:`fit` its parameters, then what it found."""

    _release_words: tuple[str, int]
    _units: dict[str, str]

    def view(self) -> RecoveredView:
        """What was found, as it is shown."""
        raise NotImplementedError

    def _saw(self, release: Release) -> None:
        """Keep what the release is called."""
        self._release_words = release.manifest.method, release.manifest.release
        self._units = units_of(release)

    def _view(self, n_rows: int, **found: Any) -> RecoveredView:
        method, number = self._release_words
        empty = {"columns": (), "covariance": (), "covariance_half": (), "note": ""}
        return RecoveredView(method=method, release=number, n_rows=n_rows, **{**empty, **found})

    def _repr_html_(self) -> str:
        if hasattr(self, "_release_words"):
            return self.view()._repr_html_()
        settings = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        return settings_fragment(type(self).__name__, settings)


def units_of(release: Release) -> dict[str, str]:
    """What the numbers of private columns of dates and times stand for."""
    columns = [column for part in release.manifest.parts for column in part.columns if column.kind.is_timed]
    calendar = {Kind.DATE: DATE, Kind.TIME: MOMENT}
    return {c.name: SECOND if c.dtype.startswith("duration") else calendar[c.kind] for c in columns}


def shares_of(
    names: Iterable[str],
    shares: Mapping[str, Mapping[Any, float]],
    own: Mapping[str, Mapping[Any, float]],
    total: Mapping[str, Mapping[Any, float]],
) -> tuple[RecoveredShares, ...]:
    """Shares of categories with two standard errors, for the table (``own``) and for the population (``total``)."""
    listed = []
    for name in names:
        rows = (
            (str(c) if c is not None else "(missing)", float(v), 2 * float(own[name][c]), 2 * float(total[name][c]))
            for c, v in shares[name].items()
        )
        listed.append(RecoveredShares(name, tuple(rows)))
    return tuple(listed)


def columns_of(
    names: Iterable[str],
    mean: tuple[Vector, Vector, Vector],
    covariance: Matrix,
    covariance_se: Matrix,
    shape: Callable[[str], tuple[tuple[Quantile, ...], tuple[tuple[float, float], ...]]] | None = None,
    units: Mapping[str, str] = MappingProxyType({}),
) -> tuple[RecoveredColumn, ...]:
    """Moments of every column, and its quantiles and density by ``shape`` where they are recovered.

    ``mean`` is the estimate and its standard errors for the table and for the population; ``units`` are those of dates.
    """
    variance, error = np.diag(covariance), np.diag(covariance_se)
    std = np.sqrt(np.clip(variance, 0.0, None))
    # Delta method: the error of a root is the error of its square over twice the root.
    std_error = np.divide(error, 2 * std, out=np.full_like(std, np.nan), where=std > 0)
    columns = []
    for j, name in enumerate(names):
        quantiles, density = shape(name) if shape is not None else ((), ())
        columns.append(
            RecoveredColumn(
                name=name,
                mean=float(mean[0][j]),
                mean_half=float(2 * mean[1][j]),
                mean_half_total=float(2 * mean[2][j]),
                std=float(std[j]),
                std_half=float(2 * std_error[j]),
                quantiles=quantiles,
                density=density,
                unit=units.get(name, ""),
            )
        )
    return tuple(columns)


def table_of(values: Matrix, factor: float = 1.0) -> tuple[tuple[float, ...], ...]:
    """A matrix as rows of numbers, each times a factor."""
    return tuple(tuple(float(factor * v) for v in row) for row in values)


def column_of_density(
    name: str, probabilities: Vector, edges: Vector, quantiles: tuple[Quantile, ...] = (), unit: str = ""
) -> RecoveredColumn:
    """A column of which only the density is recovered: its moments come without errors."""
    middle = (edges[1:] + edges[:-1]) / 2
    mean = float(probabilities @ middle)
    variance = float(probabilities @ (middle - mean) ** 2)
    unknown = math.nan
    curve = curve_of(probabilities, edges)
    return RecoveredColumn(name, mean, unknown, unknown, math.sqrt(max(variance, 0.0)), unknown, quantiles, curve, unit)


def curve_of(weight: Vector, edges: Vector) -> tuple[tuple[float, float], ...]:
    """Bin centres and heights between the first and the last bin that holds a thousandth of the weight."""
    used = np.flatnonzero(weight > 1e-3 * weight.max())
    part = slice(int(used[0]), int(used[-1]) + 1)
    centres, heights = (edges[1:] + edges[:-1]) / 2, weight / np.diff(edges)
    return tuple((float(x), float(h)) for x, h in zip(centres[part], heights[part], strict=True))
