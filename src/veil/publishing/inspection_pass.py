"""The one pass of an inspection: what a block says about its columns, added up in constant memory.

Values are told apart by keyed hashes (:mod:`veil.data.hashing`) and counted by samples of a fixed size
(:mod:`veil.data.distinct`): exactly up to 65,536 different ones, with a standard error of 0.47 % beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Block, Vector, to_float
from veil.data.distinct import DistinctSample, IntegerRun, integer_run, sampled, sampled_values
from veil.data.hashing import column_hashes, combined_hashes, present_hashes
from veil.data.schema import Kind, kind_of
from veil.data.sources import count_numbers, possible_identifiers, possible_numbers
from veil.data.tables import Table
from veil.numerics.grids import Grid, grids_of
from veil.numerics.moments import Moments, block_moments
from veil.publishing.inspection_groups import GroupSample, candidates_of, group_sample
from veil.publishing.inspection_members import MemberSums
from veil.publishing.inspection_order import Neighbours, neighbours_of
from veil.publishing.inspection_suspects import MARKS, Ends, count_marks, ends_of, looks_like_a_code
from veil.publishing.inspection_tails import Tops, tops_of

FEW_VALUES = 4_096
"""Different values of each column that are counted with their records."""


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
    subsets
        How many records are alike on these of the quasi columns.
    weight
        The column of weights, if there is one.
    belonging
        Columns of groups, as the owner says: who belongs together.
    groups
        Columns whose values may be groups, each with the columns that may be constant within these.
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
    subsets: tuple[tuple[str, ...], ...] = ()
    weight: str | None = None
    belonging: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def unordered(self) -> tuple[str, ...]:
        """All columns but the numeric ones."""
        return tuple(name for name in self.columns if name not in self.numeric)


MOST_LEFT_OUT, MOST_PAIRED = 12, 6
"""Keys of which each is left out in turn, and of which all pairs are looked at."""


def subsets_of(quasi: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """All keys but one, and pairs of them.

    >>> subsets_of(("sex", "age", "town"))
    (('age', 'town'), ('sex', 'town'), ('sex', 'age'))
    """
    n = len(quasi)
    others = [quasi[:j] + quasi[j + 1 :] for j in range(n)] if 2 <= n <= MOST_LEFT_OUT else []
    return tuple(dict.fromkeys([*others, *(combinations(quasi, 2) if n <= MOST_PAIRED else ())]))


def questions_of(
    table: Table, quasi: tuple[str, ...], key: int, weight: str | None = None, belonging: tuple[str, ...] = ()
) -> Questions:
    """What is to be asked of a table, by its types and first rows."""
    numeric = table.numeric()
    texts = tuple(f.name for f in table.schema if kind_of(f.type) in (Kind.TEXT, Kind.CATEGORY))
    integers, nearly = tuple(possible_identifiers(table, numeric)), tuple(possible_numbers(table))
    whole = [name for name in numeric if pa.types.is_integer(table.schema.field(name).type)]
    first = table.head(whole) if whole else None
    codes = () if first is None else tuple(name for name in whole if looks_like_a_code(first.column(name), name))
    subsets, names = subsets_of(quasi), tuple(table.schema.names)
    return Questions(
        columns=names,
        numeric=numeric,
        integers=integers,
        texts=texts,
        nearly=nearly,
        quasi=quasi,
        codes=codes,
        key=key,
        subsets=subsets,
        weight=weight if quasi else None,
        belonging=belonging if quasi else (),
        groups=candidates_of(table, key),
    )


@dataclass(frozen=True)
class Tally:
    """Of some rows, the answers: by column, in the order of the questions.

    Attributes
    ----------
    grids
        Of numbers, the grid that they are on.
    numbers
        Of columns that are nearly numeric, the texts that are numbers and all texts.
    cells, subsets
        Records by their values on the quasi columns, if there are such columns, and on subsets of these.
    records
        Records by all of their values.
    members
        Groups by the values of their members on the quasi columns.
    ends
        Of numbers, what is at the ends of their scales.
    marks
        Of texts, how often marks occur that may stand for missing values.
    values
        Of all columns, records by their value.
    tops
        Zeros and largest sizes of numbers.
    neighbours
        How rows differ from the next, in numbers and dates, and in other cells.
    groups
        Of columns whose values may be groups, what is constant within them.
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
    values: tuple[DistinctSample, ...]
    tops: Tops
    neighbours: Neighbours
    groups: tuple[GroupSample, ...]
    subsets: tuple[DistinctSample, ...] = ()
    members: tuple[MemberSums, ...] = ()

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
            tuple(a + b for a, b in zip(self.values, other.values, strict=True)),
            self.tops + other.tops,
            self.neighbours + other.neighbours,
            tuple(a + b for a, b in zip(self.groups, other.groups, strict=True)),
            tuple(a + b for a, b in zip(self.subsets, other.subsets, strict=True)),
            tuple(a + b for a, b in zip(self.members, other.members, strict=True)),
        )


def tally(questions: Questions, block: Block) -> Tally:
    """The answers of a block; what is infinite has no moments."""
    matrix = block.matrix(questions.numeric, lent=True)
    infinite = np.isinf(matrix)
    if infinite.any():
        matrix = np.where(infinite, np.nan, matrix)
    key, moments = questions.key, block_moments(matrix)
    hashes = {name: column_hashes(block.column(name), key) for name in questions.columns}
    quasi = {name: hashes[name] for name in questions.quasi}
    weights = None if questions.weight is None else _weights(block, questions.weight)
    texts = [_decoded(block.column(name)) for name in questions.texts]
    cells = combined_hashes(list(quasi.values()), key) if quasi else None
    others = np.array([hashes[name] for name in questions.unordered], dtype=np.uint64).reshape(-1, block.n_rows)
    return Tally(
        missing=np.array([block.null_count(name) for name in questions.columns], dtype=np.int64),
        infinite=infinite.sum(axis=1),
        grids=grids_of(matrix, np.maximum(np.abs(moments.minimum), np.abs(moments.maximum))),
        moments=moments,
        integers=tuple(integer_run(block.column(name), key) for name in questions.integers),
        texts=tuple(sampled_values(present_hashes(values, key)) for values in texts),
        numbers=np.array([count_numbers(block.column(name)) for name in questions.nearly], dtype=np.int64),
        cells=None if cells is None else sampled(cells, weights=weights),
        records=sampled(combined_hashes(list(hashes.values()), key)),
        ends=ends_of(matrix, moments.minimum, moments.maximum),
        marks=np.array([count_marks(values) for values in texts], dtype=np.int64).reshape(-1, len(MARKS)),
        values=tuple(sampled(hashes[name], cap=FEW_VALUES) for name in questions.columns),
        tops=tops_of(matrix),
        neighbours=neighbours_of(matrix.copy(), others),
        groups=tuple(group_sample(name, columns, hashes, key) for name, columns in questions.groups),
        subsets=tuple(sampled(combined_hashes([quasi[name] for name in names], key)) for names in questions.subsets),
        members=tuple(
            MemberSums.of(block.column(name), cells, key) for name in questions.belonging if cells is not None
        ),
    )


def _weights(block: Block, name: str) -> Vector:
    """People that each record stands for: itself at least, and itself alone where nothing is said."""
    return np.fmax(np.nan_to_num(to_float(block.column(name), name), nan=1.0, posinf=1.0), 1.0)


def _decoded(values: pa.Array) -> pa.Array:
    """A block's cells without their dictionary, which may hold values that no cell has, or one twice."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
