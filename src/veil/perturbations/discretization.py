"""P17: value-class membership.

*Model.* A value is released as the class it falls in: ``[e_i, e_{i+1})`` of edges that the manifest lists (Ketel, after
Agrawal and Srikant 2000). Classes are of equal width, of equal count, or between given edges; the outer ones are
open. Edges that come from the table are rounded before use: to two digits, or where that would merge classes, to one
digit of their width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.arguments import whole
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.key import Key
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Kept, Perturbation, Place
from veil.perturbations.scan import Scan, ScanResult, Summary

Edges = npt.NDArray[np.float64]
GRAIN = 1_000
"""Quantiles that are kept of each block; edges of equal count are right to a thousandth of the records."""


class QuantileScan(Scan):
    """The first pass with, per block, a thousand quantiles of each column."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str) -> None:
        super().__init__(columns, secret=secret, covariance=False, allow_missing=True, method=method)

    def summary(self, block: Matrix) -> Summary:
        """What a block adds."""
        return replace(super().summary(block), sketches=tuple(_sketch(column) for column in block))

    def result(self, total: Summary | None) -> ScanResult:
        """Moments and quantiles, once every rule holds."""
        found = super().result(total)
        assert total is not None and total.sketches is not None  # noqa: S101, PT018 - it has rows
        return replace(found, quantiles=tuple(_merged(seen) for seen in total.sketches))


def _sketch(column: Edges) -> tuple[tuple[Edges, int], ...]:
    """A thousand quantiles of one block's column, and how many values they stand for."""
    values = np.sort(column[np.isfinite(column)])
    at = np.linspace(0, len(values) - 1, min(GRAIN, len(values))).round().astype(int)
    return ((values[at], len(values)),) if len(values) else ()


def _merged(seen: Sequence[tuple[Edges, int]]) -> Edges:
    """A thousand quantiles of all blocks together."""
    if not seen:
        return np.empty(0)
    values = np.concatenate([part for part, _ in seen])
    weight = np.concatenate([np.full(len(part), n / len(part)) for part, n in seen])
    order = np.argsort(values)
    share = np.cumsum(weight[order]) - weight[order] / 2
    at = np.linspace(0, share[-1] + weight[order][-1] / 2, GRAIN + 1)
    return np.asarray(np.interp(at, share, values[order]))


class Discretize(Perturbation):
    """P17. Release the interval a value lies in instead of the value.

    Parameters
    ----------
    n_bins : int, default 10
        Number of classes.
    strategy : {"width", "count"}, default "width"
        Classes of equal width between the 1 % and 99 % points, or of equally many records.
    edges : list, or dict of lists by column, optional
        Inner edges, rising; they replace ``n_bins`` and ``strategy`` and say nothing about the table.
    random_state : None or int
        Not used: the method is not random.

    Attributes
    ----------
    edges_ : the inner edges of each column

    Notes
    -----
    *Threat.* Released: each value's class, and the edges. Nothing is secret: within a class all values look alike, and
    everybody knows the class. A narrow class is as good as the value. There is no formal guarantee.

    Examples
    --------
    >>> import numpy as np, veil
    >>> release, _ = veil.publish(np.arange(8.0)[:, None] * 5, veil.Discretize(edges=[10, 20, 30]))
    >>> sorted(set(release.table.read().column(0).to_pylist()))
    ['< 10', '>= 30', '[10, 20)', '[20, 30)']
    """

    catalogue = "P17"
    element_wise = True
    headline = ("n_bins", "strategy")
    edges_: list[Edges]
    _quantiles: tuple[Edges, ...]

    def __init__(
        self, n_bins: int = 10, *, strategy: str = "width", edges: Any = None, random_state: Any = None
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.random_state = random_state

    def new_scan(self, columns: Sequence[str], secret: bytes) -> Scan:
        """A pass that keeps quantiles."""
        return QuantileScan(columns, secret=secret, method=type(self).__name__)

    def fit_scan(self, columns: Sequence[str], scan: ScanResult, key: Key, kept: Kept | None = None) -> Discretize:
        """Fit from the first pass over a table."""
        self._quantiles = scan.quantiles or ()
        return super().fit_scan(columns, scan, key, kept)

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        if self.edges is not None:
            self.edges_ = [_given(self.edges, name) for name in columns]
            return
        n_bins = whole(self.n_bins, "n_bins", least=2)
        if not (isinstance(self.strategy, str) and self.strategy in ("width", "count")):
            raise InputError(f"strategy must be 'width' or 'count'; got {self.strategy!r}")
        self.edges_ = [
            np.array(kept[name]["edges"]) if name in kept else self._measured(q, n_bins, name)
            for q, name in zip(self._quantiles, columns, strict=True)
        ]

    def _measured(self, quantiles: Edges, n_bins: int, name: str) -> Edges:
        if self.strategy == "count":
            raw = quantiles[np.linspace(0, GRAIN, n_bins + 1).round().astype(int)[1:-1]]
        else:
            low, high = quantiles[GRAIN // 100], quantiles[GRAIN - GRAIN // 100]
            raw = np.linspace(low, high, n_bins + 1)[1:-1]
        if quantiles[0] == quantiles[-1]:
            raise InputError(f"column {name!r}: all its values are equal; give the role public or drop")
        raw = np.unique(raw)
        # Two digits of the value, or one of the class's width where that is finer: far from 0 classes would merge.
        gaps = np.diff(raw) if len(raw) > 1 else np.array([quantiles[-1] - quantiles[0]])
        nearest = np.minimum(np.r_[gaps[:1], gaps], np.r_[gaps, gaps[-1:]])[: len(raw)]
        edges = np.unique([_coarse(edge, gap) for edge, gap in zip(raw, nearest, strict=True)])
        inner = edges[(edges > quantiles[0]) & (edges < quantiles[-1])]
        return inner if len(inner) else edges[:1]

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The edges of one column, which later releases keep (``consistent_on``): moving ones would narrow classes."""
        return {"edges": self.edges_[j].tolist()}

    def describe(self) -> str:
        """The method and its classes."""
        return "discretize (given edges)" if self.edges is not None else super().describe()

    def disclose(self) -> dict[str, Any]:
        """The edges of each column."""
        return {"edges": [e.tolist() for e in self.edges_], "names": [class_names(e) for e in self.edges_]}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.edges_ = [np.array(edges, dtype=np.float64) for edges in parameters["edges"]]

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """The number of each value's class, from 0."""
        rows = [
            np.searchsorted(e, row, side="right").astype(np.float64) for e, row in zip(self.edges_, block, strict=True)
        ]
        return np.where(np.isnan(block), np.nan, np.array(rows))

    def decoded(self, values: Matrix) -> list[pa.Array]:
        """Classes as texts."""
        arrays = []
        for edges, row in zip(self.edges_, values, strict=True):
            missing = np.isnan(row)
            places = pa.array(np.where(missing, 0, row).astype(np.int64), mask=missing if missing.any() else None)
            arrays.append(pa.array(class_names(edges)).take(places))
        return arrays

    def released_fields(self, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
        """Texts under the columns' own names."""
        return [pa.field(name, pa.string()) for name in columns]


def _coarse(edge: float, gap: float) -> float:
    """An edge with two digits of its own, or to one digit of the gap to the next one."""
    two = two_digits(edge)
    if abs(two - edge) <= gap / 4:
        return two
    step = 10.0 ** np.floor(np.log10(gap))
    return float(f"{np.rint(edge / step) * step:.15g}")


def class_names(edges: Edges) -> list[str]:
    """Names of the classes between edges.

    >>> class_names(np.array([10.0, 20.0]))
    ['< 10', '[10, 20)', '>= 20']
    """
    shown = [repr(float(edge)).removesuffix(".0") for edge in edges]
    return [f"< {shown[0]}", *(f"[{low}, {high})" for low, high in pairwise(shown)), f">= {shown[-1]}"]


def _given(edges: Any, name: str) -> Edges:
    listing = edges.get(name) if isinstance(edges, Mapping) else edges
    try:
        found = np.array(listing, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all() or not (np.diff(found) > 0).all():
        raise InputError(f"edges must be finite numbers that rise, for column {name!r}")
    return found
