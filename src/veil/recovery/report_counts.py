"""Counts of randomized reports, block by block: all that proportions need, so that no record is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reports:
    """Reads the reports of some columns off a block."""

    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]

    def codes(self, block: Block) -> Counts:
        """One row per column: places among its categories, −1 for a report that is none of them."""
        found = np.empty((len(self.columns), block.n_rows), dtype=np.int64)
        for row, name, known in zip(found, self.columns, self.categories, strict=True):
            values = block.column(name)
            if pa.types.is_dictionary(values.type):
                values = values.cast(values.type.value_type)
            places = pc.index_in(values, value_set=pa.array(list(known), type=values.type), skip_nulls=False)
            row[:] = places.fill_null(-1).to_numpy(zero_copy_only=False)
        return found


@dataclass(frozen=True)
class CategoryCounts:
    """For each column in turn, how many reports of a block are none of its categories, and how many are each."""

    reports: Reports

    def __call__(self, block: Block) -> Counts:
        sizes = [len(known) + 1 for known in self.reports.categories]
        codes = self.reports.codes(block)
        return np.concatenate([np.bincount(row + 1, minlength=k) for row, k in zip(codes, sizes, strict=True)])


@dataclass(frozen=True)
class CellCounts:
    """How many records of a block report each combination of categories, one axis per column."""

    reports: Reports

    def __call__(self, block: Block) -> Counts:
        shape = tuple(len(known) for known in self.reports.categories)
        cells = np.ravel_multi_index(tuple(self.reports.codes(block)), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True)
class CompoundCounts:
    """How many records of a block report each listed combination, and at last how many report another."""

    reports: Reports
    compound: tuple[tuple[int, ...], ...]

    def __call__(self, block: Block) -> Counts:
        # A combination's number is that of its beginning times k, plus the next code. Beginnings are numbered anew at
        # each column, so that numbers stay small however many columns there are.
        listed = np.array(self.compound, dtype=np.int64).T
        codes = self.reports.codes(block)
        begun, place = np.zeros(len(self.compound), dtype=np.int64), np.zeros(block.n_rows, dtype=np.int64)
        other = np.zeros(block.n_rows, dtype=bool)
        for known, told, here in zip(self.reports.categories, listed, codes, strict=True):
            numbers, begun = np.unique(begun * len(known) + told, return_inverse=True)
            wanted = place * len(known) + here
            place = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            other |= (numbers[place] != wanted) | (here < 0)
        # Now each listed combination has a number of its own.
        listed_place = np.empty(len(self.compound), dtype=np.int64)
        listed_place[begun] = np.arange(len(self.compound))
        place = np.where(other, len(self.compound), listed_place[place])
        return np.bincount(place, minlength=len(self.compound) + 1)
