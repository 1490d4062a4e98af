"""Dates and moments as numbers, and back.

Dates are whole days since the beginning of 1970, moments seconds since then (of UTC, if they have a time zone), and
spans of time seconds. Released ones are rounded to whole days and seconds, halves up; whoever takes the noise off again
rounds halves down, so that what comes back is exact.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.errors import InputError

DAY: Final = 86_400
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST, _LAST = -719_162, 2_932_896
"""The days 0001-01-01 and 9999-12-31."""
_LONGEST = 2**63 - 1

Numbers = npt.NDArray[np.float64]


def is_timed(dtype: pa.DataType) -> bool:
    """Whether a type is one of dates, moments, spans or times of day."""
    return bool(pa.types.is_temporal(dtype) and not pa.types.is_interval(dtype))


def counted_times(array: pa.Array) -> Numbers:
    """A column of dates or times as days or seconds, anything at nulls."""
    whole, parts = _split(array)
    return np.asarray(whole + parts / _per_unit(array.type))


def times_of(values: Numbers, dtype: pa.DataType) -> pa.Array:
    """Days or seconds as a column of dates or times, NaN as null; rounded, halves up."""
    missing = np.isnan(values)
    low, high = limits(dtype)
    whole = np.clip(np.floor(np.where(missing, 0.0, values) + 0.5), low, high).astype(np.int64) * _per_unit(dtype)
    integers = np.ascontiguousarray(whole.astype(np.int32 if dtype.bit_width == 32 else np.int64))
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(dtype, len(integers), [valid, pa.py_buffer(integers)])


def halves_down(values: Numbers) -> Numbers:
    """Numbers from which :func:`times_of` makes what was there before noise was added and the sum rounded.

    >>> halves_down(np.array([0.5, -0.5, 1.2])).tolist()
    [0.0, -1.0, 1.0]
    """
    return np.asarray(np.ceil(values - 0.5))


def limits(dtype: pa.DataType) -> tuple[float, float]:
    """The first and last day or second that a type has, within the years 1 to 9999."""
    if pa.types.is_date(dtype):
        return float(_FIRST), float(_LAST)
    if pa.types.is_time(dtype):
        return 0.0, float(DAY - 1)
    reach = float(_LONGEST // _PER_SECOND[dtype.unit])
    if pa.types.is_duration(dtype):
        return -min(reach, 8.6e13), min(reach, 8.6e13)
    return max(float(_FIRST * DAY), -reach), min(float((_LAST + 1) * DAY - 1), reach)


def check_whole(array: pa.Array, name: str) -> None:
    """Refuse times that noise cannot be added to and taken off again: times of day, and fractions of a second."""
    if pa.types.is_time(array.type):
        raise InputError(
            f"column {name!r} holds times of day, which noise would move beyond the day; give it the role public, key "
            "or drop, or join it with its date"
        )
    _, parts = _split(array)
    count = int(np.count_nonzero(parts))
    if count:
        raise InputError(
            f"column {name!r} has {count} values finer than a {unit_of(array.type)}, which are perturbed in whole "
            f"{unit_of(array.type)}s; round them first, declare the column numeric, or give it the role drop"
        )


def check_within(values: Numbers, dtype: pa.DataType, name: str) -> None:
    """Refuse released days or seconds that the column's type does not have."""
    low, high = limits(dtype)
    rounded = np.floor(values + 0.5)
    count = int(np.count_nonzero((rounded < low) | (rounded > high)))
    if count:
        raise InputError(
            f"column {name!r}: {count} released values would lie beyond the dates that {dtype} and the years 1 to 9999 "
            "have; declare codes such as 9999-12-31 as missing, or add less noise"
        )


def unit_of(dtype: pa.DataType) -> str:
    """What a column is counted in."""
    return "day" if pa.types.is_date(dtype) else "second"


def dates_for_midnights(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of moments that are all midnights, as pandas keeps dates, as dates; any other as it is."""
    dtype = array.type
    if not pa.types.is_timestamp(dtype) or dtype.tz is not None or array.null_count == len(array):
        return array
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    per_day = DAY * _PER_SECOND[dtype.unit]
    if any(((_integers(chunk) % per_day != 0) & ~_missing(chunk)).any() for chunk in chunks):
        return array
    return array.cast(pa.date32())


def _split(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Whole days or seconds, and what is left of the type's own unit."""
    integers, per = _integers(array), _per_unit(array.type)
    if per == 1:
        return integers, np.zeros_like(integers)
    whole = integers // per
    return whole, integers - whole * per


def _per_unit(dtype: pa.DataType) -> int:
    """How many of the type's own steps a day (of dates) or a second has."""
    if pa.types.is_date(dtype):
        return 1 if pa.types.is_date32(dtype) else DAY * 1_000
    return _PER_SECOND[dtype.unit]


def _integers(array: pa.Array) -> npt.NDArray[np.int64]:
    """The type's own steps where they lie, 0 at nulls."""
    memory: Any = array.buffers()[1]
    steps = np.frombuffer(memory or b"", dtype="<i4" if array.type.bit_width == 32 else "<i8")
    steps = steps[array.offset : array.offset + len(array)].astype(np.int64)
    return np.where(_missing(array), 0, steps) if array.null_count else steps


def _missing(array: pa.Array) -> npt.NDArray[np.bool_]:
    memory = array.is_null().cast(pa.uint8()).buffers()[1]
    return np.frombuffer(memory or b"", dtype=np.bool_)[: len(array)]
