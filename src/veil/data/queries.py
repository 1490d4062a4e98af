"""Queries as tables: polars lazy frames and DuckDB relations, run anew for every pass and read in batches.

What they read need not fit into memory. A query must give the same rows in the same order every time: a release checks
in its second pass that blocks are those of the first, and refuses others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from veil.data.blocks import BLOCK_ROWS, between
from veil.data.tables import FrameKind, Table, check_names
from veil.errors import InputError, VeilError

Batches = Callable[[Sequence[str]], Iterable[pa.RecordBatch]]


class QueryTable(Table):
    """A query that gives rows; ``run`` gives those of some columns.

    >>> table = QueryTable(lambda names: [pa.record_batch({"a": [1, 2]}).select(names)], pa.schema([("a", pa.int64())]))
    >>> table.read().to_pydict()
    {'a': [1, 2]}
    """

    def __init__(self, run: Batches, schema: pa.Schema, kind: FrameKind = "pyarrow") -> None:
        check_names(schema.names)
        self._run, self.schema, self.kind = run, schema.remove_metadata(), kind
        self.native, self.label = {}, "the query"

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in the query's order."""
        wanted = list(self.schema.names if columns is None else columns)
        schema = pa.schema([self.schema.field(name) for name in wanted])
        with _quoting_no_cell():
            rows = (batch if batch.schema.equals(schema) else batch.cast(schema) for batch in self._run(wanted))
            yield from between(rows, start, stop)

    def __reduce__(self) -> Any:
        raise InputError("a query cannot travel to a cluster; write its rows to a Parquet file, or collect it first")


def is_query(data: Any) -> bool:
    """Whether this is a polars lazy frame or a DuckDB relation; neither library is imported to find out."""
    return _is(data, "polars", "LazyFrame") or _is(data, "duckdb", "DuckDBPyRelation") or _is(data, "_duckdb", "")


def query_table(data: Any) -> QueryTable:
    """A polars lazy frame or a DuckDB relation as a table."""
    with _quoting_no_cell():
        return _of_polars(data) if _is(data, "polars", "LazyFrame") else _of_duckdb(data)


def _of_polars(frame: Any) -> QueryTable:
    def run(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        query = frame.select(list(names))
        if not hasattr(query, "collect_batches"):  # polars before 1.34
            yield from query.collect().to_arrow().to_batches(max_chunksize=BLOCK_ROWS)
            return
        for rows in query.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True):
            yield from rows.to_arrow().to_batches()

    return QueryTable(run, frame.limit(0).collect().to_arrow().schema, "polars")


def _of_duckdb(relation: Any) -> QueryTable:
    def run(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        chosen = relation.project(quoted)
        reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        yield from reader(BLOCK_ROWS)

    empty = relation.limit(0)
    return QueryTable(run, (getattr(empty, "to_arrow_table", None) or empty.arrow)().schema)


@contextmanager
def _quoting_no_cell() -> Iterator[None]:
    """What an engine says about a query that fails may quote cells."""
    try:
        yield
    except (VeilError, GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as error:
        raise InputError(f"the query could not be run ({type(error).__name__}); run it by itself to see why") from None


def _is(data: Any, package: str, name: str) -> bool:
    kind = type(data)
    return kind.__module__.partition(".")[0] == package and kind.__qualname__ == (name or "DuckDBPyRelation")
