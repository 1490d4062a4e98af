"""The types of CSV columns, in Arrow's order of inference: a column has the first type that holds all its cells."""

from __future__ import annotations

import pyarrow as pa

ORDER = (
    pa.null(),
    pa.int64(),
    pa.bool_(),
    pa.date32(),
    pa.time32("s"),
    pa.timestamp("s"),
    pa.timestamp("ns"),
    pa.float64(),
    pa.string(),
)
_HOLDS = {
    pa.float64(): (pa.int64(),),
    pa.timestamp("s"): (pa.date32(),),
    pa.timestamp("ns"): (pa.date32(), pa.timestamp("s")),
}
"""Types that hold every cell of an earlier one; texts hold all, and what has no value is held by all."""


def wider(dtype: pa.DataType) -> pa.DataType:
    """The type to try next."""
    return ORDER[ORDER.index(dtype) + 1] if dtype in ORDER[:-1] else pa.string()


def joined_type(a: pa.DataType, b: pa.DataType, *, bits: bool = False) -> pa.DataType:
    """The first type that holds the cells of two stretches of a column, of which ``a`` and ``b`` are the first types.

    ``bits``: all integers among them are 0 or 1, which are words for no and yes, too.

    >>> joined_type(pa.int64(), pa.float64()), joined_type(pa.date32(), pa.time32("s"))
    (DataType(double), DataType(string))
    """
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a) or a in _HOLDS.get(b, ()):
        return b
    if b in _HOLDS.get(a, ()):
        return a
    return pa.bool_() if bits and {a, b} == {pa.int64(), pa.bool_()} else pa.string()
