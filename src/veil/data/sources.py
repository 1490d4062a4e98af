"""Whatever the owner hands in, as a table; and what must be known of it before roles are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.data.dask_frames import PartitionedTable, is_partitioned
from veil.data.declarations import AS_IT_IS, Declarations, Declared, DeclaredTable
from veil.data.distinct import IntegerRun, integer_run
from veil.data.files import FileOptions, open_table
from veil.data.hashing import new_hash_key
from veil.data.queries import is_query, query_table
from veil.data.schema import Kind, kind_of
from veil.data.tables import Table, memory_table
from veil.errors import InputError

_ISO_DATE = r"^\s*\d{4}-\d{2}-\d{2}\s*$"
_ANY_DATE = r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))\s*$"
NEARLY = 0.5
"""A text column of which more than this share are numbers is nearly numeric."""


def as_table(data: Any, *, settle: bool = True, declared: Declared | None = None) -> Table:
    """Any supported frame, array, file path or table as a :class:`~veil.data.tables.Table`.

    An empty text is a missing value, and what is ``declared`` is as declared. ``settle`` is that of
    :func:`veil.data.files.open_table`.
    """
    if isinstance(data, Table) and declared is None:
        if settle:
            data.settle()
        return data
    rules, options = (AS_IT_IS, None) if declared is None else (declared.cells, declared.options)
    if isinstance(data, str | Path):
        return DeclaredTable(open_table(data, settle=settle, options=options or FileOptions()), rules)
    if options is not None and options != replace(FileOptions(), marks=options.marks, texts=options.texts):
        raise InputError("delimiter, decimal, encoding, labels and sheet are of files, and this table is in memory")
    if isinstance(data, Table):
        return DeclaredTable(data, rules)
    if is_partitioned(data):
        return PartitionedTable(data, rules=rules)
    if is_query(data):
        return DeclaredTable(query_table(data), rules)
    return rules.table(memory_table(data))


def read_table(
    data: Any,
    *,
    missing: Any = None,
    kinds: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    labels: bool = True,
    sheet: str | None = None,
) -> Table:
    """A table as its owner declares it, for :func:`veil.publish`, ``audit``, ``advise``, ``inspect`` and ``measure``.

    Parameters
    ----------
    data
        A frame, an array, or the path of a file or a folder of Parquet files.
    missing
        Codes that stand for a missing value: by column, or ``"*"`` for all, e.g. ``{"age": [98, 99], "*": ["?"]}``.
        Empty texts always do.
    kinds
        Columns that are of another kind than they look: numeric, boolean, category, text, date or time, e.g. ``{"zip":
        "category"}`` of postcodes.
    delimiter, decimal, encoding
        How a CSV file is written, where its first rows do not tell: ``";"``, ``","``, ``"windows-1252"``.
    labels
        Whether a column of an SPSS or Stata file becomes a category of its value labels; else it keeps its codes.
    sheet
        The sheet of a workbook that has several.

    >>> table = read_table(pa.table({"age": [31, 99], "job": ["?", "nurse"]}), missing={"age": [99], "*": ["?"]})
    >>> table.read().to_pydict()
    {'age': [31, None], 'job': [None, 'nurse']}
    """
    rules = Declarations.of(missing, kinds)
    options = FileOptions(delimiter, decimal, encoding, labels, sheet, rules.marks(), rules.texts())
    return as_table(data, settle=False, declared=Declared(rules, options))


def possible_identifiers(table: Table, names: Sequence[str]) -> list[str]:
    """Which of the named columns are integers whose first rows repeat none."""
    integers = [name for name in names if pa.types.is_integer(table.schema.field(name).type)]
    first = table.head(integers) if integers else None
    if first is None:
        return integers
    return [name for name in integers if pc.count_distinct(first.column(name)).as_py() == first.num_rows]


def unique_integer_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Which of the named integer columns repeat no value (and so may be identifiers), in constant memory.

    Reads only until every column has shown a repetition: usually no further than the first rows. A column that is
    long and not sorted is judged by a sample of its values (:class:`veil.data.distinct.IntegerRun`).
    """
    open_columns = possible_identifiers(table, names)
    if not open_columns:
        return ()
    key, n_rows = new_hash_key(), 0
    runs: dict[str, IntegerRun] = {}
    for block in table.blocks(open_columns):
        for name in open_columns:
            run = integer_run(block.column(name), key)
            runs[name] = runs[name] + run if n_rows else run
        open_columns = [name for name in open_columns if not runs[name].repeats]
        n_rows += block.n_rows
        if not open_columns:
            return ()
    return tuple(open_columns) if n_rows > 1 else ()


def possible_numbers(table: Table, besides: Collection[str] = (), share: float = NEARLY) -> list[str]:
    """Text columns of which more than ``share`` of the first values are numbers, or which have no first values."""
    names = [f.name for f in table.schema if kind_of(f.type) is Kind.TEXT and f.name not in besides]
    first = table.head(names) if names else None
    if first is None:
        return names
    counts = {name: count_numbers(first.column(name)) for name in names}
    return [name for name, (count, total) in counts.items() if count > share * total or not total]


def nearly_numeric_columns(
    table: Table, besides: Collection[str] = (), share: float = NEARLY
) -> dict[str, tuple[int, int]]:
    """Text columns of which more than ``share`` of the values are numbers: (count that are not, rows).

    Whether a column could be one, its first values tell; only then it is read to the end.
    """
    names = possible_numbers(table, besides, share)
    numbers, rows = Counter[str](), Counter[str]()
    for batch in table.batches(names) if names else ():
        for name in names:
            count, total = count_numbers(batch.column(name))
            numbers[name] += count
            rows[name] += total
    return {n: (rows[n] - numbers[n], rows[n]) for n in names if rows[n] and numbers[n] > share * rows[n]}


def dated_columns(table: Table, besides: Collection[str] = ()) -> dict[str, tuple[int, int]]:
    """Text columns of which most first values are dates in some form: (count of values in another than ISO's, rows)."""
    names = [f.name for f in table.schema if kind_of(f.type) is Kind.TEXT and f.name not in besides]
    first = table.head(names) if names else None
    if first is None:
        return {}
    counts = {name: _count_matches(first.column(name), _ANY_DATE) for name in names}
    names = [name for name, (count, total) in counts.items() if count > NEARLY * total]
    written, rows = Counter[str](), Counter[str]()
    for batch in table.batches(names) if names else ():
        for name in names:
            count, total = _count_matches(batch.column(name), _ISO_DATE)
            written[name] += count
            rows[name] += total
    return {name: (rows[name] - written[name], rows[name]) for name in names}


def count_numbers(values: pa.Array) -> tuple[int, int]:
    """How many texts are numbers, with a decimal point or comma, of how many that are there."""
    return _count_matches(values, r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$")


def _count_matches(values: pa.Array, pattern: str) -> tuple[int, int]:
    """How many texts match a pattern, of how many that are there."""
    values = values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values
    return pc.sum(pc.match_substring_regex(values, pattern)).as_py() or 0, len(values) - values.null_count
