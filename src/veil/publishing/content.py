"""What a key knows of the release it made: a keyed digest of the released cells.

The digest is of canonical values, block by block and column by column, so it is the same for every format and kind of
frame that a release is saved in, and another one as soon as a cell, a row or a column is altered, moved or left out.
It stays in the key's ledger. The manifest's own hash anybody can compute anew; this one takes the key.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, missing_in, one_nan, to_float, values_of
from veil.errors import TamperedError
from veil.keys.key import Key, LedgerEntry
from veil.keys.randomness import column_digests, fingerprint

CONTENT = "content"
"""The name of a block's digests among its notes."""


def content_secret(key: Key) -> bytes:
    """The sub-key of digests of released cells."""
    return key.derive("released content")


def block_content(secret: bytes, block: Block) -> str:
    """The digests of a released block's columns, as hexadecimal digits."""
    floats = [f.name for f in block.schema if pa.types.is_floating(f.type)]
    others = [f.name for f in block.schema if not pa.types.is_floating(f.type)]
    room = np.empty(block.n_rows)  # one column at a time stays in the cache
    numbers = (one_nan(np.add(to_float(block.column(name), name), 0.0, out=room)) for name in floats)
    texts = (_canonical(block.column(name)) for name in others)
    return column_digests(secret, chain(numbers, texts)).hex()


def content_of(secret: bytes, schema: pa.Schema, digests: list[str], n_rows: int) -> str:
    """The digest of a release, from those of its blocks in order.

    What a column's bytes mean depends on its type, and their order on which columns are floats, so both are in it.
    """
    columns = [f"{_meaning(f.type)}:{f.name}" for f in schema]
    return fingerprint(secret, columns, bytes.fromhex("".join(digests)), n_rows)


def check_content(entry: LedgerEntry, content: str) -> None:
    """Refuse a release that is not what the key released; keys of version 0.1 do not know."""
    if entry.content and content not in entry.content:
        raise altered(entry)


def altered(entry: LedgerEntry) -> TamperedError:
    """The refusal of a release that is not what the key released."""
    return TamperedError(
        f"the data is not what this key released as release {entry.number}: cells, rows or columns were altered, "
        "moved or left out since; fetch the release anew"
    )


def _canonical(values: pa.Array) -> bytes:
    """Values as bytes that depend on them alone, not on how a format holds them."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    missing = missing_in(values)
    head = np.packbits(missing).tobytes()
    whole = _as_integers(values)
    if whole is not None:
        integers = values_of(whole)
        return head + np.where(missing, integers.dtype.type(0), integers).tobytes()
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    elif not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        values = pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.large_string())
    filled = pc.fill_null(values, "") if values.null_count else values
    _, ends, content = filled.buffers()
    offsets = np.frombuffer(ends, "<i4" if pa.types.is_string(filled.type) else "<i8")[filled.offset :]
    offsets = offsets[: len(filled) + 1]
    text = memoryview(content)[offsets[0] : offsets[-1]] if content is not None else b""
    return b"".join([head, np.diff(offsets).astype("<i8").data, text])


def _as_integers(values: pa.Array) -> pa.Array | None:
    """Booleans, whole numbers, dates and times as integers of one unit; Parquet has no seconds."""
    types, dtype = pa.types, values.type
    if types.is_boolean(dtype):
        return values.cast(pa.int8())
    if types.is_integer(dtype):
        return values.cast(pa.uint64() if types.is_uint64(dtype) else pa.int64())
    if types.is_timestamp(dtype):
        return (values if dtype.unit == "ns" else values.cast(pa.timestamp("us", dtype.tz))).cast(pa.int64())
    if types.is_time(dtype):
        return (values if dtype.unit == "ns" else values.cast(pa.time64("us"))).cast(pa.int64())
    if types.is_date(dtype):
        return values.cast(pa.date32()).cast(pa.int32())
    return None


def _meaning(dtype: pa.DataType) -> str:
    """What the canonical bytes of a type are to be read as: one name for the types that formats exchange."""
    types = pa.types
    if types.is_dictionary(dtype):
        return _meaning(dtype.value_type)
    if types.is_timestamp(dtype) or types.is_time(dtype):
        return f"{'time' if types.is_time(dtype) else 'timestamp'} in {'ns' if dtype.unit == 'ns' else 'us'}"
    if types.is_integer(dtype):
        return "uint64" if types.is_uint64(dtype) else "integer"
    tests = {
        "float": types.is_floating,
        "boolean": types.is_boolean,
        "date": types.is_date,
        "duration": types.is_duration,
        "decimal": types.is_decimal,
        "bytes": lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_fixed_size_binary(t),
        "nested": types.is_nested,
    }
    return next((name for name, test in tests.items() if test(dtype)), "text")
