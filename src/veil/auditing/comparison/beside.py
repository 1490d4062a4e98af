"""Two tables of the same records side by side, read in lockstep, so that one pass sees both.

A :class:`Beside` is a table like any other: an engine cuts it into spans where both tables can be cut, and reads it
from front to back where one of them cannot. Each row has the private values and the other table's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import WHOLE, Block, Matrix, Span, canonical, to_float
from veil.data.schema import PERTURBED, Kind, Role, kind_of, parse_roles
from veil.data.tables import Table
from veil.errors import InputError, listed

PRIVATE, OTHER = "private ", "other "
ROW_COLUMNS = ("row", "release row", "veil row")
"""Names that a guess gives its column of row numbers (:mod:`veil.attacks.folders`)."""


class Beside(Table):
    """The rows of two tables of one length; columns are called ``private NAME`` and ``other NAME``."""

    def __init__(self, private: Table, other: Table) -> None:
        if private.n_rows is not None and other.n_rows is not None and private.n_rows != other.n_rows:
            raise _other_length(private.n_rows, other.n_rows)
        self._tables = private, other
        sides = zip((PRIVATE, OTHER), self._tables, strict=True)
        self.schema = pa.schema([f.with_name(side + f.name) for side, table in sides for f in table.schema])
        self.kind, self.native, self.label = "pyarrow", {}, private.label
        self.n_rows = other.n_rows if private.n_rows is None else private.n_rows

    def spans(self) -> list[Span]:
        """The longer spans of the two, or all rows where one table is read from front to back."""
        ways = [table.spans() for table in self._tables]
        return [WHOLE] if [WHOLE] in ways else min(ways, key=len)

    def blocks(self, columns: Sequence[str] | None = None, span: Span = WHOLE) -> Iterator[Block]:
        """The rows in order, in canonical blocks; refuses tables of different lengths at the end of the shorter one."""
        wanted = self.schema.names if columns is None else list(columns)
        parts = [[name.removeprefix(side) for name in wanted if name.startswith(side)] for side in (PRIVATE, OTHER)]
        names = [side + name for side, part in zip((PRIVATE, OTHER), parts, strict=True) for name in part]
        first, second = (t.blocks(part, span) for t, part in zip(self._tables, parts, strict=True))
        ends = [0, 0]
        with closing(first), closing(second):  # type: ignore[type-var]
            for pair in zip_longest(first, second):
                ends = [end if b is None else b.start + b.n_rows for end, b in zip(ends, pair, strict=True)]
                if ends[0] != ends[1]:
                    for side, rest in enumerate((first, second)):
                        for block in rest:
                            ends[side] = block.start + block.n_rows
                    raise _other_length(*ends)
                arrays = [b.column(name) for b, part in zip(pair, parts, strict=True) for name in part]
                yield Block(pair[0].start, pa.RecordBatch.from_arrays(arrays, names=names))

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows ``start`` to ``stop`` in order."""
        for block in self.blocks(columns):
            low = max(start - block.start, 0)
            high = block.n_rows if stop is None else min(stop - block.start, block.n_rows)
            if low < high:
                yield block.batch.slice(low, high - low)


@dataclass(frozen=True)
class Common:
    """What two tables have in common, by name.

    Attributes
    ----------
    numbers, texts
        Columns that are compared as numbers, and those of which it is asked whether the values are equal.
    row
        The other table's column of row numbers, if it has one.
    left_out
        Columns of both tables that cannot be compared, because they are of different kinds.
    absent
        Private columns that the other table does not have.
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    row: str | None
    left_out: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def of(cls, private: Table, other: Table, roles: Mapping[str, str] | None = None) -> Common:
        """The columns to compare; those whose role says that nothing changes them are not."""
        given = parse_roles(roles, private.schema.names)
        wanted = [n for n in private.schema.names if given.get(n, Role.SENSITIVE) in PERTURBED]
        shared = [name for name in wanted if name in other.schema.names]
        if not shared:
            raise InputError(
                f"{other.label} has none of the private columns {listed(wanted)}; columns are compared by name, so "
                "rename them alike"
            )
        types = {n: (private.schema.field(n).type, other.schema.field(n).type) for n in shared}
        numbers = tuple(
            n for n, pair in types.items() if kind_of(pair[0]).is_number and kind_of(pair[0]) is kind_of(pair[1])
        )
        texts = tuple(n for n, pair in types.items() if n not in numbers and _one_type(*pair) is not None)
        left = tuple(n for n in shared if n not in numbers and n not in texts)
        if not numbers and not texts:
            raise InputError(f"{listed(left)}: of different kinds in the two tables; convert them to one type first")
        rows = [n for n in ROW_COLUMNS if n in other.schema.names and n not in private.schema.names]
        return cls(numbers, texts, rows[0] if rows else None, left, tuple(n for n in wanted if n not in shared))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of :class:`Beside` that are read to compare everything."""
        texts = [side + name for side in (PRIVATE, OTHER) for name in self.texts]
        return (*self.number_columns, *texts, *([OTHER + self.row] if self.row is not None else []))

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of :class:`Beside` that are compared as numbers."""
        return tuple(side + name for side in (PRIVATE, OTHER) for name in self.numbers)

    def values(self, block: Block) -> Matrix:
        """The private numbers above the other table's, 2d × n, missing as NaN."""
        out = np.empty((2 * len(self.numbers), block.n_rows))
        places = [(side, name) for side in (PRIVATE, OTHER) for name in self.numbers]
        for row, (side, name) in zip(out, places, strict=True):
            row[:] = to_float(block.column(side + name), name)
        return canonical(out)

    def equal(self, block: Block) -> npt.NDArray[np.int64]:
        """Of each text column how many values are equal, and how many are present in both tables."""
        counts = np.zeros((2, len(self.texts)), dtype=np.int64)
        for j, name in enumerate(self.texts):
            pair = [block.column(side + name) for side in (PRIVATE, OTHER)]
            dtype = _one_type(*(values.type for values in pair))
            same = pc.equal(*(_decoded(values).cast(dtype, safe=False) for values in pair))
            counts[:, j] = pc.sum(same).as_py() or 0, len(same) - same.null_count
        return counts

    def check_rows(self, block: Block) -> None:
        """Refuse row numbers that are not those of the records."""
        if self.row is None:
            return
        rows = block.column(OTHER + self.row)
        right = pa.types.is_integer(rows.type) and not rows.null_count
        if not right or (rows.to_numpy() != np.arange(block.start, block.start + block.n_rows)).any():
            raise InputError(
                f"the other table's column {self.row!r} must number the rows 0, 1, 2, ... without a gap, as the "
                "private table has them; sort it by that column, and leave no row out"
            )


def _decoded(values: pa.Array) -> pa.Array:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _one_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type as which values that are no numbers are compared; None where they cannot be."""
    a, b = (t.value_type if pa.types.is_dictionary(t) else t for t in (a, b))
    kind, other = kind_of(a), kind_of(b)
    if all(pa.types.is_date(t) or pa.types.is_timestamp(t) for t in (a, b)):
        return pa.timestamp("us")
    if kind is not other or kind is Kind.OTHER:
        return None
    if kind is Kind.TEXT:
        return pa.large_string()
    return a if a == b else None


def _other_length(private: int, other: int) -> InputError:
    return InputError(
        f"the other table has {other:,} rows where the private table has {private:,}; both need the same records in "
        "the same order"
    )
