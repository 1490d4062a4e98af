"""Whatever the owner hands in, as a table; and what must be known of it before roles are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.data.dask_frames import PartitionedTable, is_partitioned
from veil.data.files import open_table
from veil.data.schema import Kind, kind_of
from veil.data.tables import Table, memory_table


def as_table(data: Any, *, settle: bool = True) -> Table:
    """Any supported frame, array, file path or table as a :class:`~veil.data.tables.Table`.

    ``settle`` is that of :func:`veil.data.files.open_table`.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        return open_table(data, settle=settle)
    if is_partitioned(data):
        return PartitionedTable(data)
    return memory_table(data)


def unique_integer_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Which of the named integer columns never repeat a value (and so may be identifiers).

    Reads only until every column has shown a repetition: usually no further than the first rows.
    """
    open_columns: dict[str, list[Any]] = {
        name: [] for name in names if pa.types.is_integer(table.schema.field(name).type)
    }
    n_rows = 0
    first = table.head(list(open_columns)) if open_columns else None
    if first is not None:
        repeated = [n for n in open_columns if pc.count_distinct(first.column(n)).as_py() < first.num_rows]
        open_columns = {name: [] for name in open_columns if name not in repeated}
    if not open_columns:
        return ()
    for block in table.blocks(list(open_columns)):
        n_rows += block.n_rows
        for name in list(open_columns):
            values = block.column(name)
            unique = not values.null_count and pc.count_distinct(values).as_py() == block.n_rows
            if unique and pa.types.is_integer(values.type):
                open_columns[name].append(values)
            else:
                del open_columns[name]
        if not open_columns:
            return ()
    return tuple(
        name
        for name, parts in open_columns.items()
        if n_rows > 1 and pc.count_distinct(pa.chunked_array(parts)).as_py() == n_rows
    )


def nearly_numeric_columns(
    table: Table, besides: Collection[str] = (), share: float = 0.5
) -> dict[str, tuple[int, int]]:
    """Text columns of which more than ``share`` of the values are numbers: (count that are not, rows).

    Whether a column could be one, its first values tell; only then it is read to the end.
    """
    names = [f.name for f in table.schema if kind_of(f.type) is Kind.TEXT and f.name not in besides]
    numbers, rows = Counter[str](), Counter[str]()
    if not names:
        return {}
    first = table.head(names)
    if first is not None:
        counts = {name: _numbers(first.column(name)) for name in names}
        names = [name for name, (count, total) in counts.items() if count > share * total or not total]
    for batch in table.batches(names) if names else ():
        for name in names:
            count, total = _numbers(batch.column(name))
            numbers[name] += count
            rows[name] += total
    return {n: (rows[n] - numbers[n], rows[n]) for n in names if rows[n] and numbers[n] > share * rows[n]}


def _numbers(values: pa.Array) -> tuple[int, int]:
    """How many texts are numbers, of how many that are there."""
    number = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
    return pc.sum(pc.match_substring_regex(values, number)).as_py() or 0, len(values) - values.null_count
