"""Tables: any frame in, canonical blocks inside, the same kind of frame out.

pandas, polars and pyarrow frames and 2-D numpy arrays become a :class:`MemoryTable`; a file
becomes a table of :mod:`veil.data.files`. Both are a :class:`Table`: something that can be read
again and again, block by block, without being held twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from veil.data.blocks import BLOCK_ROWS, SPAN_BLOCKS, WHOLE, Block, Span, recut, spans
from veil.data.dates import dates_for_midnights
from veil.data.levels import Levels, is_ordered, levels_of
from veil.data.schema import Kind, kind_of
from veil.errors import InputError

FrameKind = Literal["pandas", "polars", "pyarrow", "numpy", "dask"]


class TypesChanged(Exception):  # noqa: N818 - not an error: whoever reads starts again
    """A column turned out to be of another kind than the schema said; now the schema is right."""


class Table(ABC):
    """A table that can be read many times, in canonical blocks.

    Attributes
    ----------
    schema
        Arrow names and types of the columns.
    kind
        The kind of frame that goes out again.
    native
        Names of the frame library's own types, where Arrow's do not tell them apart.
    label
        How messages call this table.
    n_rows
        Number of rows; None where only reading tells.
    remarks
        By column, what its file says about it.
    """

    schema: pa.Schema
    kind: FrameKind
    native: dict[str, str]
    label: str
    n_rows: int | None = None
    remarks: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @abstractmethod
    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows ``start`` to ``stop`` in order, in batches of any size."""

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """Some first rows; None for a table without any."""
        return next(self.batches(columns), None)

    def settle(self) -> bool:
        """Make sure of the schema, where only reading tells; returns whether a type changed."""
        return False

    def coded(self, columns: Sequence[str]) -> Self:
        """The same table, whose named text columns may come as dictionaries."""
        return self

    def spans(self) -> list[Span]:
        """Stretches that can be read apart from each other: the whole table where it is read from front to back."""
        return [WHOLE]

    def blocks(self, columns: Sequence[str] | None = None, span: Span = WHOLE) -> Iterator[Block]:
        """The rows in order, in canonical blocks."""
        start, stop = span.rows
        return recut(self.batches(columns, start, stop), start)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The whole table, or some of its columns, in memory."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(c) for c in columns])
        return pa.Table.from_batches(list(self.batches(columns)), schema=schema)

    def frame(self) -> Any:
        """The whole table as the kind of frame that it came as."""
        return as_frame(self.read(), self.kind, self.native)

    def inputs(self, span: Span) -> list[Any]:
        """What a cluster must hand to the worker of a span; files are read by the worker itself."""
        return []

    def holding(self, span: Span, frames: Sequence[Any]) -> Table:
        """The same table on the worker that was handed a span's inputs."""
        return self

    def levels(self) -> dict[str, Levels]:
        """By column of ordered categories (texts or whole numbers) its levels, the least first."""
        names = [f.name for f in self.schema if is_ordered(f.type)]
        first = self.head(names) if names else None
        known = {} if first is None else {name: levels_of(first.column(name)) or () for name in names}
        return {n: levels for n, levels in known.items() if all(isinstance(level, str | int) for level in levels)}

    def numeric(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return tuple(f.name for f in self.schema if kind_of(f.type).is_number)


class MemoryTable(Table):
    """A table held in memory as Arrow columns."""

    def __init__(self, table: pa.Table, kind: FrameKind = "pyarrow", native: dict[str, str] | None = None) -> None:
        check_names(table.column_names)
        self._table = table
        self.schema = table.schema
        self.kind = kind
        self.native = native or {}
        self.label = "the table"
        self.n_rows = int(table.num_rows)

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order, in the chunks they are held in."""
        table = self._table if columns is None else self._table.select(list(columns))
        if start or stop is not None:
            table = table.slice(start, None if stop is None else stop - start)
        yield from table.to_batches()

    def spans(self) -> list[Span]:
        """Single blocks: memory has no order of its own."""
        return spans(self.n_rows or 0, 1) or [WHOLE]

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The Arrow table itself, or some of its columns."""
        return self._table if columns is None else self._table.select(list(columns))


def memory_table(data: Any, *, whole: bool = True) -> MemoryTable:
    """A pandas, polars or pyarrow frame or a 2-D numpy array as a table.

    Of a ``whole`` pandas frame, moments that are all midnights are dates, for which pandas has no type; a partition
    does not tell.
    """
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    if isinstance(data, np.ndarray):
        return MemoryTable(_from_array(data), "numpy")
    if isinstance(data, pa.Table):
        return MemoryTable(data)
    if isinstance(data, pa.RecordBatch):
        return MemoryTable(pa.Table.from_batches([data]))
    return _from_frame(data, whole=whole)


def as_frame(table: pa.Table, kind: FrameKind, native: dict[str, str] | None = None) -> Any:
    """An Arrow table as the wanted kind of frame."""
    if kind == "pyarrow":
        return table
    if kind == "numpy":
        columns = [c.to_numpy(zero_copy_only=False) for c in table.columns]
        return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    import narwhals.stable.v1 as nw

    if kind == "dask":
        import dask.dataframe

        frame = as_frame(table, "pandas", native)
        return dask.dataframe.from_pandas(frame, chunksize=SPAN_BLOCKS * BLOCK_ROWS)
    if kind == "pandas" and native:
        table = _with_moments(table, native)
    frame = nw.from_arrow(table, native_namespace=_namespace(kind)).to_native()
    if kind == "polars":
        frame = _with_enums(frame, table)
    if kind == "pandas" and native:
        here = {name: dtype for name, dtype in native.items() if name in frame.columns}
        # A native type that cannot hold missing values would turn them into something else.
        frame = frame.astype(
            {
                n: d
                for n, d in here.items()
                if not d.startswith("datetime64[") and (_holds_missing(d) or not frame[n].isna().any())
            }
        )
    return frame


def _with_enums(frame: Any, table: pa.Table) -> Any:
    """Ordered categories of texts as those of polars, whose order no other type of it has."""
    import polars

    for name, column in zip(table.column_names, table.columns, strict=True):
        if is_ordered(column.type) and column.num_chunks and kind_of(column.type.value_type) is Kind.TEXT:
            levels = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
            frame = frame.with_columns(polars.col(name).cast(polars.String).cast(polars.Enum(levels)))
    return frame


def _with_moments(table: pa.Table, native: Mapping[str, str]) -> pa.Table:
    """Dates that were moments of pandas as such again, in a coarser unit where theirs does not reach them."""
    for i, field in enumerate(table.schema):
        wanted = native.get(field.name, "")
        if pa.types.is_date(field.type) and wanted.startswith("datetime64["):
            try:
                moments = table.column(i).cast(pa.timestamp(wanted[11:-1]))
            except pa.ArrowInvalid:
                moments = table.column(i).cast(pa.timestamp("s"))
            table = table.set_column(i, field.name, moments)
    return table


def _holds_missing(dtype: str) -> bool:
    return dtype == "boolean" or not dtype.startswith(("int", "uint", "bool"))


def check_names(names: Sequence[str]) -> None:
    """Refuse a table without columns, or with two columns of one name."""
    if not names:
        raise InputError("the table has no columns; give it a header and at least one column")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"column name {twice[0]!r} occurs {names.count(twice[0])} times; rename the columns")


def _namespace(kind: FrameKind) -> Any:
    import importlib

    return importlib.import_module(kind)


def _from_array(array: np.ndarray[Any, Any]) -> pa.Table:
    if array.ndim != 2:
        raise InputError(f"the array has {array.ndim} dimensions; a table has 2 (records × attributes)")
    if array.dtype.kind not in "fiub":
        raise InputError(f"the array holds {array.dtype} values; a numeric table holds floats or integers")
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return pa.table({f"x{j}": pa.array(np.ascontiguousarray(column)) for j, column in enumerate(array.T)})


def _from_frame(data: Any, *, whole: bool) -> MemoryTable:
    import narwhals.stable.v1 as nw

    if hasattr(data, "columns"):
        check_names([str(name) for name in data.columns])
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise InputError(
            f"a {type(data).__module__}.{type(data).__qualname__} is not a table; give a pandas, polars or "
            "pyarrow frame, a query of polars or DuckDB, a 2-D numpy array or a file path"
        ) from None
    names = [str(name) for name in frame.columns]
    arrays = [_column_to_arrow(frame[:, i], name) for i, name in enumerate(names)]
    is_pandas = frame.implementation.is_pandas_like()
    if is_pandas and whole:
        arrays = [dates_for_midnights(array) for array in arrays]
    table = pa.table(arrays, names=names)
    kind: FrameKind = "pandas" if is_pandas else "polars" if frame.implementation.is_polars() else "pyarrow"
    native = {name: str(data.dtypes.iloc[i]) for i, name in enumerate(names)} if is_pandas else {}
    return MemoryTable(table, kind, native)


def _column_to_arrow(series: Any, name: str) -> pa.Array:
    # Arrow's own message quotes the offending cell, so it must not be chained.
    try:
        return series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError, ValueError):
        raise InputError(
            f"column {name!r} mixes values of different types, or holds values that a table cannot (complex, sparse, "
            "beyond 64 bits); convert it to one type (numbers or text) first"
        ) from None
