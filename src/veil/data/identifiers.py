"""Columns that name every record of a table once."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import InputError


def named_once(table: pa.Table, name: str, parameter: str, where: str) -> pa.ChunkedArray:
    """A column as texts, which must name every record once; errors name the ``parameter`` and ``where`` the column is.

    >>> named_once(pa.table({"id": [7, 8]}), "id", "match", "the table").to_pylist()
    ['7', '8']
    """
    if name not in table.column_names:
        raise InputError(f"{parameter}: {where} has no column {name!r}; name one that both tables have")
    keys = table.column(name)
    if pa.types.is_dictionary(keys.type):
        keys = keys.cast(keys.type.value_type)
    try:
        texts = keys.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"{parameter}: column {name!r} of {where} has the type {keys.type}; keys are numbers or texts"
        ) from None
    present = texts.drop_null()
    repeated = len(present) - pc.count_distinct(present).as_py()
    if repeated or texts.null_count:
        raise InputError(
            f"{parameter}: column {name!r} of {where} has {repeated} repeated and {texts.null_count} missing keys; a "
            "key names one record"
        )
    return texts
