"""Two tables of the same records side by side, read in lockstep, so that one pass sees both.

A :class:`Beside` is a table like any other: an engine cuts it into spans where both tables can be cut, and reads it from
front to back where one of them cannot. Each row has the private values and the other table's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest

import pyarrow as pa
import pyarrow.compute as pc

from veil.blocks import WHOLE, Block, Matrix, Span, canonical, to_float
from veil.errors import InputError
from veil.schema import PERTURBED, Kind, Role, kind_of, listed, parse_roles
from veil.tables import Table

PRIVATE, OTHER = "private ", "other "
ROW_COLUMNS = ("row", "release row", "veil row")
"""Names that a guess gives the column of row numbers."""
_COMPARED_AS = {Kind.TEXT: pa.large_string(), Kind.CATEGORY: pa.large_string(), Kind.TIME: pa.timestamp("us")}


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
        """The rows in order, in canonical blocks of both tables."""
        wanted = self.schema.names if columns is None else list(columns)
        parts = [[name.removeprefix(side) for name in wanted if name.startswith(side)] for side in (PRIVATE, OTHER)]
        first, second = (t.blocks(part or t.schema.names[:1], span) for t, part in zip(self._tables, parts, strict=True))
        with closing(first), closing(second):  # type: ignore[type-var]
            for mine, theirs in zip_longest(first, second):
                if mine is None or theirs is None or mine.n_rows != theirs.n_rows:
                    counts = [0 if b is None else b.start + b.n_rows for b in (mine, theirs)]
                    ends = [
                        max([count, *(b.start + b.n_rows for b in rest)])
                        for count, rest in zip(counts, (first, second), strict=True)
                    ]
                    # A table that has ended says nothing more: it ended where the last common block did.
                    start = mine.start if mine is not None else theirs.start
                    raise _other_length(max(ends[0], start), max(ends[1], start))
                sides = [b.column(n) for b, part in zip((mine, theirs), parts, strict=True) for n in part]
                names = [side + n for side, part in zip((PRIVATE, OTHER), parts, strict=True) for n in part]
                yield Block(mine.start, pa.RecordBatch.from_arrays(sides, names=names))

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of both tables, in canonical blocks cut to ``start`` and ``stop``."""
        for block in self.blocks(columns):
            low = max(start - block.start, 0)
            high = block.n_rows if stop is None else min(stop - block.start, block.n_rows)
            if low < high:
                yield block.batch.slice(low, high - low)


@dataclass(frozen=True)
class Common:
    """What two tables have in common.

    Attributes
    ----------
    numbers, texts
        Names of the columns that are compared as numbers, and of those whose values are equal or not.
    row
        The other table's column of row numbers, if it has one.
    left_out
        Columns of both that cannot be compared, because they are of different kinds.
    absent
        Columns of the private table that the other one does not have.
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    row: str | None
    left_out: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def of(cls, private: Table, other: Table, roles: Mapping[str, str] | None = None) -> Common:
        """By name; columns with a role that no perturbation changes are not compared."""
        given = parse_roles(roles, private.schema.names)
        named = [n for n in private.schema.names if given.get(n, Role.SENSITIVE) in PERTURBED]
        shared = [name for name in named if name in other.schema.names]
        if not shared:
            raise InputError(
                f"other: has none of the private columns {listed(named)}; it has {listed(other.schema.names)}; "
                "columns are compared by name, so rename them alike"
            )
        kinds = {n: tuple(kind_of(t.schema.field(n).type) for t in (private, other)) for n in shared}
        numbers = tuple(n for n, (a, b) in kinds.items() if a is b is Kind.NUMERIC)
        texts = tuple(n for n in shared if n not in numbers and _comparable(private, other, n))
        left = tuple(n for n in shared if n not in numbers and n not in texts)
        if not numbers and not texts:
            raise InputError(f"{listed(left)}: of different kinds in the two tables; convert them to the same type")
        rows = [n for n in ROW_COLUMNS if n in other.schema.names and n not in private.schema.names]
        return cls(numbers, texts, rows[0] if rows else None, left, tuple(n for n in named if n not in shared))

    @property
    def columns(self) -> list[str]:
        """The columns of :class:`Beside` that a first pass needs."""
        names = [side + name for side in (PRIVATE, OTHER) for name in (*self.numbers, *self.texts)]
        return names + ([OTHER + self.row] if self.row is not None else [])


def side_by_side(block: Block, names: Sequence[str]) -> Matrix:
    """The private values (the first half of the rows) and the other's, 2d × n, missing as NaN."""
    out = canonical_empty = None
    del canonical_empty
    import numpy as np

    out = np.empty((2 * len(names), block.n_rows))
    places = [(side, name) for side in (PRIVATE, OTHER) for name in names]
    for row, (side, name) in zip(out, places, strict=True):
        row[:] = to_float(block.column(side + name), name)
    return canonical(out)
