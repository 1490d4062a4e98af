"""What the owner declares about a table: codes for missing values, kinds of columns, and how its file is to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from veil.data.blocks import Span
from veil.data.cells import DECLARABLE, Codes, as_kind, as_number, type_as, without_codes
from veil.data.files.options import FileOptions
from veil.data.schema import Kind, check_known_columns
from veil.data.tables import MemoryTable, Table
from veil.errors import InputError

EVERY = "*"
"""The name that stands for every column."""


@dataclass(frozen=True)
class Declarations:
    """Codes for missing values and kinds, by column ("*" is every one).

    >>> rules = Declarations.of({"age": [99], "*": ["?"]}, {"zip": "category"})
    >>> rules.codes("age").texts, rules.kinds["zip"]
    (('', '?', '99'), <Kind.CATEGORY: 'category'>)
    """

    missing: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @classmethod
    def of(cls, missing: Any = None, kinds: Any = None) -> Declarations:
        """Declarations as given; one code or a list for every column may stand without a name."""
        if missing is not None and not isinstance(missing, Mapping):
            missing = {EVERY: missing}
        if kinds is not None and not isinstance(kinds, Mapping):
            raise InputError("kinds must map column names to kinds, for example {'zip': 'category'}", parameter="kinds")
        codes = {name: _listed(values, name) for name, values in (missing or {}).items()}
        return cls(codes, {name: _kind(kind, name) for name, kind in (kinds or {}).items()})

    def codes(self, name: str) -> Codes:
        """What stands for a missing value in a column; an empty text always does."""
        return Codes.of(self.missing.get(EVERY, ())) + Codes.of(self.missing.get(name, ()))

    def marks(self) -> dict[str, tuple[str, ...]]:
        """Codes that are no numbers, which make no text of a column of numbers."""
        marks = {
            name: tuple(str(code) for code in codes if as_number(code) is None) for name, codes in self.missing.items()
        }
        return {name: texts for name, texts in marks.items() if texts}

    def texts(self) -> frozenset[str]:
        """Columns whose cells are texts, whatever they look like."""
        return frozenset(name for name, kind in self.kinds.items() if kind in (Kind.CATEGORY, Kind.TEXT))

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that the table does not have."""
        check_known_columns([name for name in self.missing if name != EVERY], names, "missing")
        check_known_columns(self.kinds, names, "kinds")

    def limited(self, names: Sequence[str]) -> Declarations:
        """Those for another table, which has some of the columns."""
        return Declarations(
            {name: codes for name, codes in self.missing.items() if name == EVERY or name in names},
            {name: kind for name, kind in self.kinds.items() if name in names},
        )

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """The types of columns as declared."""
        fields = [
            pa.field(f.name, type_as(f.type, self.kinds[f.name]) if f.name in self.kinds else f.type) for f in schema
        ]
        return pa.schema(fields)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as declared."""
        arrays = [self._column(batch.column(i), name) for i, name in enumerate(batch.schema.names)]
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    def _column(self, values: pa.Array, name: str) -> pa.Array:
        values = without_codes(values, self.codes(name))
        return as_kind(values, self.kinds[name], name) if name in self.kinds else values

    def table(self, table: MemoryTable) -> MemoryTable:
        """A table in memory as declared."""
        self.check(table.schema.names)
        before = table.read()
        columns = [
            pa.chunked_array([self._column(chunk, name) for chunk in column.chunks], field.type)
            for name, column, field in zip(before.column_names, before.columns, self.schema(before.schema), strict=True)
        ]
        native = {name: dtype for name, dtype in table.native.items() if name not in self.kinds}
        declared = MemoryTable(pa.table(columns, names=before.column_names), table.kind, native)
        declared.label = table.label
        return declared


AS_IT_IS = Declarations()
"""Nothing is declared; an empty text is missing nevertheless."""


@dataclass(frozen=True)
class Declared:
    """All that can be declared: about the cells, and about the file."""

    cells: Declarations = AS_IT_IS
    options: FileOptions = field(default_factory=FileOptions)


class DeclaredTable(Table):
    """A table that is read in blocks, its cells as declared."""

    def __init__(self, source: Table, rules: Declarations = AS_IT_IS) -> None:
        rules.check(source.schema.names)
        self._source, self._rules = source, rules
        self.kind, self.native, self.label = source.kind, source.native, source.label
        self.remarks = dict(source.remarks)
        self.path: Path | None = getattr(source, "path", None)
        self._follow()

    def _follow(self) -> None:
        """Types and rows as the source knows them by now."""
        self.schema, self.n_rows = self._rules.schema(self._source.schema), self._source.n_rows

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        try:
            for batch in self._source.batches(columns, start, stop):
                yield self._rules.batch(batch)
        finally:
            self._follow()

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """Some first rows."""
        first = self._source.head(columns)
        return None if first is None else self._rules.batch(first)

    def settle(self) -> bool:
        """Make sure of the schema; returns whether a type changed."""
        before = self.schema
        self._source.settle()
        self._follow()
        return not self.schema.equals(before)

    def coded(self, columns: Sequence[str]) -> Self:
        """The same table, whose named text columns may come as dictionaries."""
        texts = [name for name in columns if name not in self._rules.kinds]
        source = self._source.coded(texts)
        return self if source is self._source else type(self)(source, self._rules)

    def spans(self) -> list[Span]:
        """Stretches that can be read apart from each other."""
        return self._source.spans()


def _listed(values: Any, name: str) -> tuple[Any, ...]:
    listed = list(values) if isinstance(values, list | tuple | set | frozenset) else [values]
    if not all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in listed):
        raise InputError(
            f"missing: the codes of {name!r} must be texts or numbers, for example {{'age': [99], '*': ['?']}}",
            parameter="missing",
        )
    return tuple(listed)


def _kind(kind: Any, name: str) -> Kind:
    if kind not in list(DECLARABLE):
        raise InputError.from_unknown_name(f"kind for column {name!r}", kind, DECLARABLE, parameter="kinds")
    return Kind(kind)
