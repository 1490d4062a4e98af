"""Cells as keyed 64-bit numbers: equal for equal cells of a column, whatever batch, dictionary or file they come in.

Numbers, dates and times are the bits of their value through a permutation of the 64-bit words (the finaliser of
SplitMix64, Steele, Lea and Flood 2014), so that no two of them meet; texts are chained through it eight bytes at a
time, and two of n texts meet with a probability of about n²/2⁶⁵. The key is drawn anew for every run: nobody can choose
cells that meet, and the numbers tell nothing outside of the run.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Words, missing_in, to_float, values_of

_FIRST, _SECOND, _GOLDEN = (np.uint64(n) for n in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15))
_HEADS = np.array([2 ** (8 * n) - 1 for n in range(9)], dtype=np.uint64)
LONG_TEXT = 512
"""Texts of more bytes than this are hashed one at a time."""


def new_hash_key() -> int:
    """A key of 64 bits."""
    return secrets.randbits(64)


def mixed(words: Words) -> Words:
    """The permutation of all 64-bit words; a change of one bit changes every other with a probability of a half."""
    words = words ^ (words >> np.uint64(30))
    words *= _FIRST
    words ^= words >> np.uint64(27)
    words *= _SECOND
    words ^= words >> np.uint64(31)
    return words


def column_hashes(values: pa.Array, key: int) -> Words:
    """The numbers of a column's cells; those that are missing (null, NaN) are alike."""
    if pa.types.is_null(values.type):
        return np.full(len(values), missing_hash(key))
    if pa.types.is_dictionary(values.type):
        return _taken(values, key)
    values = _without_views(values)
    if _is_text(values.type):
        return _taken(values.dictionary_encode(), key)
    if pa.types.is_floating(values.type):
        numbers = to_float(values, "") + 0.0
        return np.where(np.isnan(numbers), missing_hash(key), _of_bits(numbers.view(np.uint64), key))
    whole = _as_integers(values)
    if whole is None:
        return _taken(_as_texts(values).dictionary_encode(), key)
    words = _of_bits(values_of(whole).astype(np.int64, copy=False).view(np.uint64), key)
    return np.where(missing_in(values), missing_hash(key), words) if values.null_count else words


def record_hashes(columns: list[pa.Array], key: int) -> Words:
    """The numbers of records: equal where all of their cells are."""
    return combined_hashes([column_hashes(values, key) for values in columns], key)


def combined_hashes(columns: Sequence[Words], key: int) -> Words:
    """The numbers of records from those of their cells."""
    words = np.full(len(columns[0]), missing_hash(key))
    for cells in columns:
        words = mixed(words * _GOLDEN + cells)
    return words


def present_hashes(values: pa.Array, key: int) -> Words:
    """The numbers of the values that a column has, each once, sorted; what is missing is none."""
    return np.unique(column_hashes(_without_views(values).drop_null().unique(), key))


def _without_views(values: pa.Array) -> pa.Array:
    """Texts as Arrow can compare them."""
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def _of_bits(bits: Words, key: int) -> Words:
    return mixed(bits ^ np.uint64(key))


def missing_hash(key: int) -> np.uint64:
    """The number of a missing cell."""
    return np.uint64(mixed(np.array([key], dtype=np.uint64) * _GOLDEN)[0])


def _taken(values: pa.Array, key: int) -> Words:
    """The numbers of cells that are kept as places in a dictionary."""
    dictionary = values.dictionary
    of_values = _of_texts(dictionary, key) if _is_text(dictionary.type) else column_hashes(dictionary, key)
    words = np.append(of_values, missing_hash(key))
    places = values_of(values.indices).astype(np.int64, copy=False)
    return words[np.where(missing_in(values.indices), len(dictionary), places) if values.null_count else places]


def _is_text(dtype: pa.DataType) -> bool:
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)
    return any(test(dtype) for test in tests)


def _as_integers(values: pa.Array) -> pa.Array | None:
    types, dtype = pa.types, values.type
    if types.is_integer(dtype):
        return values
    if types.is_boolean(dtype):
        return values.cast(pa.uint8())
    if types.is_temporal(dtype) and not types.is_interval(dtype):
        return values.cast(pa.int32() if dtype.bit_width == 32 else pa.int64())
    return None


def _as_texts(values: pa.Array) -> pa.Array:
    if pa.types.is_decimal(values.type):
        return values.cast(pa.string())
    return pa.array([None if value is None else repr(value) for value in values.to_pylist()], pa.string())


def _of_texts(values: pa.Array, key: int) -> Words:
    """Texts, chained through the permutation by words of eight bytes, their lengths first."""
    values = values.cast(pa.large_binary())
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    data = np.zeros(offsets[-1] - offsets[0] + 8, dtype=np.uint8)
    data[:-8] = np.frombuffer(values.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    word_at: npt.NDArray[Any] = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data.data, strides=(1,))
    words = _of_bits(lengths.astype(np.uint64), key)
    rows = np.flatnonzero((lengths > 0) & (lengths <= LONG_TEXT))
    for at in range(0, LONG_TEXT, 8):
        rows = rows[lengths[rows] > at]
        if not len(rows):
            break
        head = _HEADS[np.minimum(lengths[rows] - at, 8)]
        words[rows] = mixed((words[rows] + _GOLDEN) ^ (word_at[starts[rows] + at] & head))
    for row in np.flatnonzero(lengths > LONG_TEXT):
        text = data[starts[row] : starts[row] + lengths[row]].tobytes()
        digest = hashlib.blake2b(text, key=key.to_bytes(8, "little"), digest_size=8).digest()
        words[row] = np.uint64(int.from_bytes(digest, "little"))
    return words
