"""The first pass over a private table: refuse what breaks a rule, take moments and fingerprint.

A block's :class:`Summary` depends on that block alone, and summaries add up; so the pass runs on all
cores or on a cluster. What was learned is checked once, when all is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Block, Matrix, Vector
from veil.data.dates import check_whole, is_timed
from veil.data.levels import Levels, merged
from veil.errors import InputError, listed
from veil.keys.randomness import column_digests, fingerprint
from veil.numerics.extremes import Extremes, Spread, extremes_of
from veil.numerics.grids import Grid, Steps, grids_of
from veil.numerics.moments import Moments, block_moments

Counts = npt.NDArray[np.int64]
Tally = dict[Any, int]


@dataclass(frozen=True, eq=False)
class ClassTotals:
    """Of a column of numbers that is reported by class: how many values each class has, their sum, and how many of
    all are not whole.
    """

    counts: npt.NDArray[np.integer[Any]]
    sums: Vector
    n_fractions: int

    def __add__(self, other: ClassTotals) -> ClassTotals:
        """Both stretches together."""
        return ClassTotals(self.counts + other.counts, self.sums + other.sums, self.n_fractions + other.n_fractions)


@dataclass(frozen=True)
class ScanResult:
    """What the first pass learned about some columns.

    Of categories, how often each occurs, and their order; of columns of numbers that are reported by class, by name,
    the totals of the classes; of numbers, their grids and their spreads without values that dominate them.
    """

    moments: Moments
    fingerprint: str
    categories: tuple[Tally, ...] | None = None
    combinations: Tally | None = None
    classes: Mapping[str, ClassTotals] = field(default_factory=dict)
    quantiles: tuple[Vector, ...] | None = None
    grids: tuple[Steps | None, ...] | None = None
    spreads: tuple[Spread | None, ...] | None = None
    tails: tuple[tuple[Vector, Vector], ...] | None = None
    levels: tuple[Levels | None, ...] | None = None


@dataclass(frozen=True)
class Summary:
    """What a stretch of rows adds to the first pass.

    Attributes
    ----------
    n_rows, digests
        Rows, and the digest of each (block, column) in order.
    moments
        None where some value has none.
    infinite, refused, missing
        By column: values that no method takes, values that this one does not take, and values that are missing.
    categories, combinations
        How often each occurs, where that is counted.
    classes
        By name, the totals of columns of numbers that are reported by class.
    sketches
        By column, quantiles of each block with the number of values behind them, where that is kept.
    grids
        By column, the grid that its values are on, where that is measured.
    extremes
        By column, its ends apart from the rest, where values could dominate a spread.
    levels
        By column of categories, their order if they have one.
    """

    n_rows: int
    digests: bytes
    infinite: Counts
    refused: Counts
    missing: Counts
    moments: Moments | None = None
    categories: tuple[Tally, ...] | None = None
    combinations: Tally | None = None
    classes: Mapping[str, ClassTotals] = field(default_factory=dict)
    sketches: tuple[tuple[tuple[Vector, int], ...], ...] | None = None
    grids: tuple[Grid, ...] | None = None
    extremes: tuple[Extremes, ...] | None = None
    levels: tuple[Levels | None, ...] | None = None

    def __add__(self, other: Summary) -> Summary:
        """Both stretches together; this one comes first."""
        both = self.moments is not None and other.moments is not None
        return Summary(
            n_rows=self.n_rows + other.n_rows,
            digests=self.digests + other.digests,
            infinite=self.infinite + other.infinite,
            refused=self.refused + other.refused,
            missing=self.missing + other.missing,
            moments=self.moments + other.moments if both else None,  # type: ignore[operator]
            categories=_each(_tallied, self.categories, other.categories),
            combinations=_tallied(self.combinations, other.combinations),
            classes={name: totals + other.classes[name] for name, totals in self.classes.items()},
            sketches=_each(_joined, self.sketches, other.sketches),
            grids=_each(_joined, self.grids, other.grids),
            extremes=_each(_joined, self.extremes, other.extremes),
            levels=_each(merged, self.levels, other.levels),
        )


def _each(join: Any, a: Any, b: Any) -> Any:
    return None if a is None or b is None else tuple(join(x, y) for x, y in zip(a, b, strict=True))


def _joined(a: Any, b: Any) -> Any:
    return a + b


def _steps(total: Summary) -> tuple[Steps | None, ...] | None:
    """The grid of each column, from the first value to the last."""
    if total.grids is None or total.moments is None:
        return None
    ends = zip(total.grids, total.moments.minimum.tolist(), total.moments.maximum.tolist(), strict=True)
    return tuple(grid.steps(total.n_rows, lowest, highest) for grid, lowest, highest in ends)


def _tallied(a: Tally | None, b: Tally | None) -> Tally | None:
    if a is None or b is None:
        return None
    total = dict(a)
    for value, count in b.items():
        total[value] = total.get(value, 0) + count
    return total


def infinite_values(block: Matrix) -> Counts:
    """How many values of each column are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.isfinite(block.sum(axis=1))
    if plain.all():
        return np.zeros(len(block), dtype=np.int64)
    return np.asarray(np.isinf(block).sum(axis=1))


class Scan:
    """Reads canonical blocks of some columns.

    Parameters
    ----------
    columns
        Names of the columns.
    secret
        The sub-key of fingerprints.
    covariance
        Whether the covariance is needed, which costs d² per row.
    allow_missing
        Whether missing values may pass.
    method
        How messages call the method.
    grids, extremes
        Whether it is measured which grid the values of a column are on, and which dominate its spread.
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        secret: bytes,
        covariance: bool,
        allow_missing: bool,
        method: str,
        grids: bool = False,
        extremes: bool = False,
    ) -> None:
        self._columns = list(columns)
        self._secret = secret
        self._covariance = covariance
        self._allow_missing = allow_missing
        self._method = method
        self._grids, self._extremes = grids, extremes

    def block_summary(self, block: Block) -> Summary:
        """What a block of a table adds."""
        for name in self._columns:
            if is_timed(block.schema.field(name).type):
                check_whole(block.column(name), name)
        return self.summary(self.read(block))

    def read(self, block: Block) -> Any:
        """The columns of a block as the scan and the method take them; the memory is lent until the next block."""
        return block.matrix(self._columns, lent=True)

    def digests(self, columns: Any) -> bytes:
        """The digests of a block's columns, to be compared with those of the first pass."""
        return column_digests(self._secret, columns)

    def summary(self, block: Matrix) -> Summary:
        """What a block adds, as a matrix."""
        infinite = infinite_values(block)
        refused = self._refused(block)
        moments, grids, extremes = None, None, None
        if not infinite.any() and not refused.any():
            moments = block_moments(self._measured(block), covariance=self._covariance)
            if self._grids:
                grids = grids_of(block, np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)))
            if self._extremes and not moments.missing.any():
                extremes = extremes_of(block, moments)
        return Summary(
            n_rows=block.shape[1],
            digests=self.digests(block),
            infinite=infinite,
            refused=refused,
            missing=np.zeros_like(infinite) if moments is None else moments.missing,
            moments=moments,
            grids=grids,
            extremes=extremes,
        )

    def _measured(self, block: Matrix) -> Matrix:
        """What moments are taken of."""
        return block

    def _refused(self, block: Matrix) -> Counts:
        """By column, how many values the method does not take."""
        return np.zeros(len(block), dtype=np.int64)

    def result(self, total: Summary | None) -> ScanResult:
        """What was learned, once every rule holds."""
        if total is None or not total.n_rows:
            raise InputError("the table has no rows; a release needs at least one")
        self._check_refused(total)
        if total.infinite.any():
            j = int(np.argmax(total.infinite))
            raise InputError(
                f"column {self._columns[j]!r} has {total.infinite[j]} infinite values; "
                "replace them by a finite value or mark them missing"
            )
        assert total.moments is not None  # noqa: S101 - nothing was refused
        self._check_moments(total.moments)
        spreads = None if total.extremes is None else tuple(each.spread() for each in total.extremes)
        return ScanResult(total.moments, self._fingerprint(total), grids=_steps(total), spreads=spreads)

    def _fingerprint(self, total: Summary) -> str:
        return fingerprint(self._secret, self._columns, total.digests, total.n_rows)

    def _check_refused(self, total: Summary) -> None:
        if total.refused.any():
            counts = [f"{n!r} ({c})" for n, c in zip(self._columns, total.refused, strict=True) if c]
            raise InputError(f"{self._method} {self._refusal(', '.join(counts[:8]))}")

    def _refusal(self, counts: str) -> str:
        """What the method refuses, and how to mend it, after its name; ``counts`` are the columns'."""
        return f"does not take some values of {counts}; give the columns another role"

    def _check_moments(self, moments: Moments) -> None:
        if not self._allow_missing and moments.missing.any():
            counts = [
                f"{name!r} ({count})" for name, count in zip(self._columns, moments.missing, strict=True) if count
            ]
            raise InputError(
                f"{self._method} mixes columns, so it refuses missing values: {', '.join(counts[:8])}; "
                "fill them, drop those records, or give the columns another role"
            )
        empty = [name for name, count in zip(self._columns, moments.count, strict=True) if not count]
        if empty:
            raise InputError(f"{listed(empty)}: every value is missing; give the role drop, or fill it")
        with np.errstate(invalid="ignore"):
            unmeasured = ~np.isfinite(moments.std) | ((moments.std == 0) & (moments.minimum < moments.maximum))
        if unmeasured.any():
            name = self._columns[int(np.argmax(unmeasured))]
            raise InputError(
                f"column {name!r}: the {moments.n_rows} values are too large or too close together for float64 to "
                "measure their spread (about 1e150 and 1e-150 are the limits); rescale the column"
            )
