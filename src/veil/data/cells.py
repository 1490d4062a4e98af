"""Cells as their owner declares them: codes that stand for a missing value, and columns of another kind than they look.

An empty text is a missing value in whatever kind of table it comes. Dates that are declared numeric are days since the
beginning of 1970 and stay numbers; those that are not are perturbed as dates (:mod:`veil.data.dates`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.schema import Kind, kind_of
from veil.errors import InputError

_DAY = 86_400e6
DECLARABLE = (Kind.NUMERIC, Kind.BOOLEAN, Kind.CATEGORY, Kind.TEXT, Kind.DATE, Kind.TIME)
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_MOMENT = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}(:\d{2}){1,2}(\.\d{1,6})?)?$"
_TARGETS = {
    Kind.NUMERIC: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.CATEGORY: pa.dictionary(pa.int32(), pa.string()),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.timestamp("us"),
}


@dataclass(frozen=True)
class Codes:
    """What stands for a missing value in a column: texts, and numbers.

    >>> Codes.of(["?", 99]) + Codes.of(["NA"])
    Codes(texts=('', '?', '99', 'NA'), numbers=(99.0,))
    """

    texts: tuple[str, ...] = ("",)
    numbers: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[Any]) -> Codes:
        """Codes as given: a text of digits is the number, too."""
        texts, numbers = [""], []
        for value in values:
            texts.append(f"{value:g}" if isinstance(value, float) else str(value))
            number = as_number(value)
            numbers += [] if number is None else [number]
        return cls(tuple(texts), tuple(numbers))

    def __add__(self, other: Codes) -> Codes:
        return Codes(tuple(dict.fromkeys(self.texts + other.texts)), tuple(dict.fromkeys(self.numbers + other.numbers)))


def as_number(value: Any) -> float | None:
    """A code as the number that it is, if it is one.

    >>> as_number("99"), as_number("?"), as_number("nan")
    (99.0, None, None)
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number == number and abs(number) != float("inf") else None


def without_codes(values: pa.Array, codes: Codes) -> pa.Array:
    """A column whose codes are missing values.

    >>> without_codes(pa.array(["a", "", " ?"]), Codes.of(["?"])).to_pylist()
    ['a', None, None]
    """
    dtype = values.type
    if pa.types.is_dictionary(dtype):
        return _without_entries(values, codes)
    coded = _is_coded(values, codes)
    if coded is None or not pc.any(coded).as_py():
        return values
    if pa.types.is_string_view(dtype):
        return pc.if_else(coded, None, values.cast(pa.large_string())).cast(dtype)
    return pc.if_else(coded, pa.scalar(None, dtype), values)


def _is_coded(values: pa.Array, codes: Codes) -> pa.Array | None:
    """Where a column has a code; None if it cannot have one."""
    kind, dtype = kind_of(values.type), values.type
    if kind is Kind.TEXT:
        texts = values.cast(pa.large_string())
        if codes.texts == ("",):
            return _is_empty(texts)
        return pc.is_in(pc.utf8_trim_whitespace(texts), value_set=pa.array(codes.texts, pa.large_string()))
    if kind is Kind.NUMERIC and codes.numbers and not pa.types.is_null(dtype):
        return pc.is_in(values.cast(pa.float64(), safe=False), value_set=pa.array(codes.numbers, pa.float64()))
    if kind.is_timed and codes.texts != ("",) and not pa.types.is_duration(dtype):
        return pc.is_in(values.cast(pa.string()), value_set=pa.array(codes.texts))
    return None


def _is_empty(texts: pa.Array) -> pa.Array | None:
    """Where a text has no letters, by the offsets of all: comparing with a Python text makes Arrow import pandas."""
    if not len(texts):
        return None
    ends = np.frombuffer(texts.buffers()[1], "<i8")[texts.offset : texts.offset + len(texts) + 1]
    empty = np.diff(ends) == 0
    bits = pa.py_buffer(np.packbits(empty, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(empty), [None, bits]) if empty.any() else None


def _without_entries(values: pa.Array, codes: Codes) -> pa.Array:
    """Categories of which some are codes; those entries leave the dictionary, too."""
    coded = _is_coded(values.dictionary, codes)
    if coded is None or not pc.any(coded).as_py():
        return values
    kept = pc.filter(pa.array(range(len(coded)), values.type.index_type), pc.invert(pc.fill_null(coded, False)))
    places = pc.index_in(values.indices, value_set=kept).cast(values.type.index_type)
    return pa.DictionaryArray.from_arrays(places, values.dictionary.take(kept), ordered=values.type.ordered)


def type_as(dtype: pa.DataType, kind: Kind) -> pa.DataType:
    """The type of a column that is declared to be of a kind; its own where it is."""
    if kind is Kind.NUMERIC and pa.types.is_date(dtype):
        return pa.int64()
    return dtype if kind_of(dtype) is kind and not pa.types.is_null(dtype) else _TARGETS[kind]


def _days(values: pa.Array, name: str) -> pa.Array:
    """Dates as whole days since 1970, moments as days with a fraction."""
    if pa.types.is_date(values.type):
        return values.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    if not pa.types.is_timestamp(values.type):
        raise InputError(
            f"kinds: column {name!r} holds times of day, which are no numbers; leave its kind out", parameter="kinds"
        )
    return pc.divide(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).cast(pa.float64()), _DAY)


def _check_dates(values: pa.Array, kind: Kind, name: str) -> None:
    """Refuse texts that are not all dates in one form."""
    pattern, example = (_DATE, "2024-02-29") if kind is Kind.DATE else (_MOMENT, "2024-02-29 13:45:00")
    n_others = len(values) - values.null_count - (pc.sum(pc.match_substring_regex(values, pattern)).as_py() or 0)
    if n_others:
        raise InputError(
            f"kinds: {n_others} values of column {name!r} are not written like {example}; write all of them so, or say "
            "which of them are missing values",
            parameter="missing",
        )


def as_kind(values: pa.Array, kind: Kind, name: str) -> pa.Array:
    """A column as the kind that it is declared to be."""
    target = type_as(values.type, kind)
    if values.type == target:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    source = kind_of(values.type)
    if kind is Kind.NUMERIC and source.is_timed:
        return _days(values, name)
    if kind is Kind.NUMERIC and source is Kind.TEXT:
        values = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
        n_others = len(values) - values.null_count - (pc.sum(pc.match_substring_regex(values, _NUMBER)).as_py() or 0)
        if n_others:
            raise InputError(
                f"kinds: {n_others} values of column {name!r} are not numbers; say which of them are missing values, "
                "or leave the kind out",
                parameter="missing",
            )
    if kind.is_timed and source is Kind.TEXT:
        values = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
        _check_dates(values, kind, name)
    try:
        plain = values.cast(target.value_type if kind is Kind.CATEGORY else target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InputError(
            f"kinds: column {name!r} is {source} and cannot be read as {kind}; leave its kind out", parameter="kinds"
        ) from None
    return plain.dictionary_encode() if kind is Kind.CATEGORY else plain
