"""The one pass of an inspection: what a block says about its columns, added up in constant memory.

Values are told apart by keyed hashes (:mod:`veil.data.hashing`) and counted by samples of a fixed size
(:mod:`veil.data.distinct`): exactly up to 65,536 different ones, with a standard error of 0.47 % beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Block
from veil.data.distinct import DistinctSample, IntegerRun, integer_run, sampled, sampled_values
from veil.data.hashing import present_hashes, record_hashes
from veil.data.schema import Kind, kind_of
from veil.data.sources import count_numbers, possible_identifiers, possible_numbers
from veil.data.tables import Table
from veil.numerics.grids import Grid, grids_of
from veil.numerics.moments import Moments, block_moments
from veil.publishing.inspection_suspects import MARKS, Ends, count_marks, ends_of, looks_like_a_code


@dataclass(frozen=True)
class Questions:
    """What is asked of each column, by names.

    Attributes
    ----------
    columns
        Missing values.
    numeric
        Moments and infinite values.
    integers
        Whether one repeats: those whose first rows repeat none.
    texts
        How many are different.
    nearly
        How many are numbers: texts whose first rows are so mostly.
    quasi
        How many records are alike on all of these.
    codes
        Whole numbers whose first rows look like codes for categories.
    key
        That of the hashes.
    """

    columns: tuple[str, ...]
    numeric: tuple[str, ...]
    integers: tuple[str, ...]
    texts: tuple[str, ...]
    nearly: tuple[str, ...]
    quasi: tuple[str, ...]
    codes: tuple[str, ...]
    key: int


def questions_of(table: Table, quasi: tuple[str, ...], key: int) -> Questions:
    """What is to be asked of a table, by its types and first rows."""
    numeric = table.numeric()
    texts = tuple(f.name for f in table.schema if kind_of(f.type) in (Kind.TEXT, Kind.CATEGORY))
    integers, nearly = tuple(possible_identifiers(table, numeric)), tuple(possible_numbers(table))
    whole = [name for name in numeric if pa.types.is_integer(table.schema.field(name).type)]
    first = table.head(whole) if whole else None
    codes = () if first is None else tuple(name for name in whole if looks_like_a_code(first.column(name), name))
    return Questions(tuple(table.schema.names), numeric, integers, texts, nearly, quasi, codes, key)


@dataclass(frozen=True)
class Tally:
    """Of some rows, the answers: by column, in the order of the questions.

    Attributes
    ----------
    grids
        Of numbers, the grid that they are on.
    numbers
        Of columns that are nearly numeric, the texts that are numbers and all texts.
    cells
        Records by their values on the quasi columns, if there are such columns.
    records
        Records by all of their values.
    ends
        Of numbers, what is at the ends of their scales.
    marks
        Of texts, how often marks occur that may stand for missing values.
    """

    missing: npt.NDArray[np.int64]
    infinite: npt.NDArray[np.int64]
    grids: tuple[Grid, ...]
    moments: Moments
    integers: tuple[IntegerRun, ...]
    texts: tuple[DistinctSample, ...]
    numbers: npt.NDArray[np.int64]
    cells: DistinctSample | None
    records: DistinctSample
    ends: Ends
    marks: npt.NDArray[np.int64]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.missing + other.missing,
            self.infinite + other.infinite,
            tuple(a + b for a, b in zip(self.grids, other.grids, strict=True)),
            self.moments + other.moments,
            tuple(a + b for a, b in zip(self.integers, other.integers, strict=True)),
            tuple(a + b for a, b in zip(self.texts, other.texts, strict=True)),
            self.numbers + other.numbers,
            None if self.cells is None or other.cells is None else self.cells + other.cells,
            self.records + other.records,
            self.ends + other.ends,
            self.marks + other.marks,
        )


def tally(questions: Questions, block: Block) -> Tally:
    """The answers of a block; what is infinite has no moments."""
    matrix = block.matrix(questions.numeric, lent=True)
    infinite = np.isinf(matrix)
    if infinite.any():
        matrix = np.where(infinite, np.nan, matrix)
    key, moments = questions.key, block_moments(matrix)
    quasi = [block.column(name) for name in questions.quasi]
    texts = [_decoded(block.column(name)) for name in questions.texts]
    return Tally(
        missing=np.array([block.null_count(name) for name in questions.columns], dtype=np.int64),
        infinite=infinite.sum(axis=1),
        grids=grids_of(matrix, np.maximum(np.abs(moments.minimum), np.abs(moments.maximum))),
        moments=moments,
        integers=tuple(integer_run(block.column(name), key) for name in questions.integers),
        texts=tuple(sampled_values(present_hashes(values, key)) for values in texts),
        numbers=np.array([count_numbers(block.column(name)) for name in questions.nearly], dtype=np.int64),
        cells=sampled(record_hashes(quasi, key)) if quasi else None,
        records=sampled(record_hashes([block.column(name) for name in questions.columns], key)),
        ends=ends_of(matrix, moments.minimum, moments.maximum),
        marks=np.array([count_marks(values) for values in texts], dtype=np.int64).reshape(-1, len(MARKS)),
    )


def _decoded(values: pa.Array) -> pa.Array:
    """A block's cells without their dictionary, which may hold values that no cell has, or one twice."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
