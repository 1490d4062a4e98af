"""Histograms of the noisy columns of a release, in one pass: of records that count alike, or by their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from veil.arguments import whole
from veil.data.blocks import Block, Matrix, Vector
from veil.errors import InputError
from veil.recovery.counting import FINE_BINS, Counts, FineCounts, GridCounts, fine_counts, repeated
from veil.recovery.noise import NoisyColumn
from veil.recovery.weights import Weights
from veil.release.release import Release

TIMES = 2**50
"""How often all weighted records together are counted, at most."""


def fine_bins(n_bins: Any) -> int:
    """How many noisy bins at most: several per interval, so that counting in bins costs no accuracy."""
    return max(8 * whole(n_bins, "n_bins", least=1), 256)


@dataclass(frozen=True)
class ColumnCounts:
    """The columns' histograms."""

    columns: tuple[FineCounts, ...]

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        """Counts of both parts together."""
        return ColumnCounts(tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))


def column_counts(columns: tuple[NoisyColumn, ...], most: int, block: Block) -> ColumnCounts:
    """Counts of some columns of a block."""
    values = block.matrix([column.released for column in columns])
    pairs = zip(values, columns, strict=True)
    return ColumnCounts(tuple(fine_counts(row / column.unit, column.scale, column.name, most) for row, column in pairs))


def weighted_counts(
    columns: tuple[NoisyColumn, ...], most: int, weights: Weights, unit: float, block: Block
) -> ColumnCounts:
    """Counts of some columns of a block, each record as often as its weight in units says."""
    values = block.matrix([column.released for column in columns])
    times = times_of(weights, block, unit)
    pairs = zip(values, columns, strict=True)
    return ColumnCounts(
        tuple(repeated(row / column.unit, times, column.scale, column.name, most) for row, column in pairs)
    )


def weight_sums(columns: tuple[NoisyColumn, ...], weights: Weights, block: Block) -> Matrix:
    """For each column the sums of the weights and of their squares over the records that have a value."""
    there = ~np.isnan(block.matrix([column.released for column in columns]))
    own = weights.of(block)
    return np.column_stack([there @ own, there @ own**2])


def pair_weights(columns: tuple[NoisyColumn, ...], weights: Weights, block: Block) -> Vector:
    """The sum of the weights and that of their squares over the records that have all of some columns."""
    there = ~np.isnan(block.matrix([column.released for column in columns])).any(axis=0)
    own = weights.of(block)[there]
    return np.array([own.sum(), (own**2).sum()])


def times_of(weights: Weights, block: Block, unit: float) -> Counts:
    """How often each record of a block is counted."""
    return np.asarray(np.rint(weights.of(block) / unit), dtype=np.int64)


def effective_counts(release: Release, columns: Sequence[NoisyColumn], weights: Weights) -> dict[str, float]:
    """How many equal records each column's weighted ones are worth."""
    read = [column.released for column in columns] + list(weights.columns)
    sums = release.summed(partial(weight_sums, tuple(columns), weights), read)
    return {column.name: float(one**2 / two) for column, (one, two) in zip(columns, sums, strict=True) if two > 0.0}


def count_columns(
    release: Release, columns: Sequence[NoisyColumn], most: int, weights: Weights | None = None
) -> list[FineCounts]:
    """The columns' histograms, from which grids of up to ``most`` bins can be made, in one pass over the release."""
    read = [column.released for column in columns]
    if weights is None or not weights.given:
        histograms = list(release.summed(partial(column_counts, tuple(columns), max(most, FINE_BINS)), read).columns)
    else:
        read += weights.columns
        greatest = release.summed(partial(weight_sums, tuple(columns), weights), read)[:, 0].max()
        leaf = partial(weighted_counts, tuple(columns), max(most, FINE_BINS), weights, float(greatest) / TIMES)
        histograms = list(release.summed(leaf, read).columns)
    for column, fine in zip(columns, histograms, strict=True):
        check_counted(fine, [column])
    return histograms


def check_counted(table: GridCounts | FineCounts, columns: Sequence[NoisyColumn]) -> None:
    """Refuse columns without a single complete record."""
    if not table.counts.size:
        names = " and ".join(repr(column.name) for column in columns)
        raise InputError(f"column {names}: all {table.n_missing} released records have a missing value; leave it out")
