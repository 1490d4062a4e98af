"""Ordered categories: the order of their levels, from the table that they came in to frames that go out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Levels = tuple[Any, ...]


def is_ordered(dtype: pa.DataType) -> bool:
    """Whether a type is one of categories with an order (of pandas, Arrow, polars' Enum, ordinal survey columns)."""
    return bool(pa.types.is_dictionary(dtype) and dtype.ordered)


def levels_of(array: pa.Array) -> Levels | None:
    """The levels of a column of ordered categories, the least first; None of any other column."""
    return tuple(array.dictionary.to_pylist()) if is_ordered(array.type) else None


def merged(first: Levels | None, second: Levels | None) -> Levels | None:
    """The levels of two stretches of a column: those of the first, then what the second has beside them."""
    if first is None or second is None:
        return first if second is None else second
    return tuple(dict.fromkeys(first + second))


def in_order(values: Sequence[Any], levels: Levels | None) -> list[Any]:
    """Categories in the order of their levels, a missing one last; those of no order as they are.

    >>> in_order(["high", "low", None], ("low", "medium", "high"))
    ['low', 'high', None]
    """
    if levels is None:
        return list(values)
    rank = {level: place for place, level in enumerate(levels)}
    return sorted(values, key=lambda value: (value is None, rank.get(value, len(rank))))


def as_ordered(column: pa.ChunkedArray, levels: Levels, index: pa.DataType | None = None) -> pa.ChunkedArray:
    """A column as ordered categories of these levels."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    known = pa.array(list(levels), plain.type)
    chunks = [
        pa.DictionaryArray.from_arrays(
            pc.index_in(chunk, value_set=known, skip_nulls=True).cast(index or pa.int32()), known, ordered=True
        )
        for chunk in plain.chunks
    ]
    return pa.chunked_array(chunks, pa.dictionary(index or pa.int32(), plain.type, ordered=True))


def used_places(column: pa.Array, levels: Levels) -> list[int]:
    """The places among the levels of those that a column has a cell of."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    places = pc.index_in(plain.unique(), value_set=pa.array(list(levels), plain.type), skip_nulls=True)
    return sorted(place for place in places.to_pylist() if place is not None)
