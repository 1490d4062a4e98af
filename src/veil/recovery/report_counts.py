"""Counts of randomized reports, block by block: all that proportions need, so that no record is kept.

The block is the last argument of each count, so that ``functools.partial`` of it is the work of a pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, Matrix, missing_in
from veil.recovery.weights import Weights

Counts = npt.NDArray[np.int64]
UNLISTED, NONE = -1, -2
"""Codes of a report that is none of the categories, and of one that is not there."""


@dataclass(frozen=True)
class Reports:
    """Reads the reports of some columns off a block."""

    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]

    def codes(self, block: Block) -> Counts:
        """One row per column: places among its categories, or :data:`UNLISTED` or :data:`NONE`."""
        codes = np.empty((len(self.columns), block.n_rows), dtype=np.int64)
        for row, name, known in zip(codes, self.columns, self.categories, strict=True):
            values = block.column(name)
            if pa.types.is_dictionary(values.type):
                values = values.cast(values.type.value_type)
            places = pc.index_in(values, value_set=pa.array(list(known), type=values.type), skip_nulls=False)
            row[:] = places.fill_null(UNLISTED).to_numpy(zero_copy_only=False)
            if values.null_count and None not in known:
                row[missing_in(values)] = NONE
        return codes


def count_categories(reports: Reports, block: Block) -> Counts:
    """For each column in turn, how many reports of a block are none of its categories, and how many are each."""
    sizes = [len(known) + 1 for known in reports.categories]
    codes = np.maximum(reports.codes(block), UNLISTED)
    return np.concatenate([np.bincount(row + 1, minlength=k) for row, k in zip(codes, sizes, strict=True)])


def count_gaps(reports: Reports, block: Block) -> Counts:
    """For each column how many reports of a block are not there, and at last how many records lack one."""
    missing = reports.codes(block) == NONE
    return np.append(missing.sum(axis=1), np.count_nonzero(missing.any(axis=0)))


def count_cells(reports: Reports, block: Block) -> Counts:
    """How many records of a block report each combination of categories, one axis per column; of those with all."""
    shape = tuple(len(known) for known in reports.categories)
    codes = reports.codes(block)
    cells = np.ravel_multi_index(tuple(codes[:, (codes != NONE).all(axis=0)]), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def weigh_cells(reports: Reports, weights: Weights, block: Block) -> Matrix:
    """The sums of the weights of the records of each combination, and of their squares; of records with all reports."""
    shape = tuple(len(known) for known in reports.categories)
    codes, own = reports.codes(block), weights.of(block)
    there = (codes != NONE).all(axis=0)
    cells, size = np.ravel_multi_index(tuple(codes[:, there]), shape), int(np.prod(shape))
    return np.array([np.bincount(cells, own[there] ** power, minlength=size).reshape(shape) for power in (1, 2)])


def count_combinations(reports: Reports, combinations: tuple[tuple[int, ...], ...], block: Block) -> Counts:
    """How many records of a block report each listed combination, and at last how many report another."""
    # A combination's number is that of its beginning times k, plus the next code. Beginnings are numbered anew at
    # each column, so that numbers stay small however many columns there are.
    n_listed, listed = len(combinations), np.array(combinations, dtype=np.int64).T
    codes = reports.codes(block)
    begun, place = np.zeros(n_listed, dtype=np.int64), np.zeros(block.n_rows, dtype=np.int64)
    other = np.zeros(block.n_rows, dtype=bool)
    for known, wanted, reported in zip(reports.categories, listed, codes, strict=True):
        numbers, begun = np.unique(begun * len(known) + wanted, return_inverse=True)
        number = place * len(known) + reported
        place = np.minimum(np.searchsorted(numbers, number), len(numbers) - 1)
        other |= (numbers[place] != number) | (reported < 0)
    # Now each listed combination has a number of its own.
    listed_place = np.empty(n_listed, dtype=np.int64)
    listed_place[begun] = np.arange(n_listed)
    return np.bincount(np.where(other, n_listed, listed_place[place]), minlength=n_listed + 1)
