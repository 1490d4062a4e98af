"""Columns of any kind as numbers, equal for equal values: how cells read a table.

Arrays, lists, and frames and columns of pandas, polars and pyarrow are taken column by column, so that no column takes
the type of another, and whole numbers never pass through floats. Missing values are found by the library's own mask.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from veil.errors import InputError

Columns = npt.ArrayLike | Sequence[npt.ArrayLike]
Codes = npt.NDArray[np.int64]

ROOM = 4
"""Numbers up to this many times the records are made small by a table instead of by sorting."""
_DURATIONS = (np.timedelta64, dt.timedelta)
_WHOLE = ("Boolean", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))
_PASS = {
    "columns": "pass a list of columns, each of plain values",
    "labels": "pass one class per record",
    "suppressed": "pass one bool per record",
}


class Column(NamedTuple):
    """One column, and which values are missing besides those that show it themselves."""

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None = None


def columns_of(columns: Columns) -> list[Column]:
    """The columns, of one length."""
    checked = [column_of(column, "columns") for column in _apart(columns)]
    if not checked or not len(checked[0].values):
        raise InputError("columns: has no column or no record; pass at least one record and one column")
    if len(lengths := {len(column.values) for column in checked}) > 1:
        raise InputError(
            f"columns: have {len(lengths)} different lengths, {min(lengths)} to {max(lengths)}; pass equal ones"
        )
    return checked


def _apart(columns: Any) -> list[Any]:
    """A table column by column, so that no column takes the type of another."""
    from narwhals.stable.v1 import dependencies, from_native

    if isinstance(columns, list | tuple):
        return list(columns)
    if dependencies.is_pandas_like_dataframe(columns):  # by place: names may occur twice
        return [columns.iloc[:, i] for i in range(columns.shape[1])]
    if dependencies.is_pyarrow_table(columns):
        return list(columns.columns)
    if dependencies.is_into_dataframe(columns):
        return list(from_native(columns, eager_only=True).iter_columns())
    if (series := _series(columns, "columns")) is not None:
        return [series]
    table = columns if isinstance(columns, np.ma.MaskedArray) else _array(columns, "columns")
    if table.ndim not in (1, 2):
        raise InputError(
            f"columns: must have one or two dimensions, not {table.ndim}; pass records as rows or a list of columns"
        )
    if table.dtype.names and table.ndim == 1:
        return [table[name] for name in table.dtype.names]
    return list(table.T) if table.ndim == 2 else [columns]


def column_of(values: Any, name: str) -> Column:
    """One column as a one-dimensional array."""
    if isinstance(values, list | tuple):
        return Column(_listed(values, name))
    if isinstance(values, np.ma.MaskedArray):
        column = Column(values.data, np.ma.getmaskarray(values))
    else:
        series = _series(values, name)
        column = Column(_array(values, name)) if series is None else _of_series(series, name)
    if column.values.ndim != 1:
        raise InputError(f"{name}: a column must have one dimension, not {column.values.ndim}; {_PASS[name]}")
    if column.values.dtype.names:
        raise InputError(f"{name}: a column must have one field, not {len(column.values.dtype.names)}; {_PASS[name]}")
    return column


def _array(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except Exception:  # what a foreign object raises may quote its values
        raise InputError(f"{name}: must be an array or a list of plain values; {_PASS[name]}") from None


def _listed(values: Sequence[Any], name: str) -> npt.NDArray[Any]:
    """A list as numpy's numbers where all values are of one type; otherwise as objects, which stay what they are."""
    kinds = set(map(type, values))
    if kinds & {list, tuple, np.ndarray}:
        raise InputError(f"{name}: a column must have one dimension, not 2 or more; {_PASS[name]}")
    if (len(kinds) == 1 and _is_numeric(*kinds)) or kinds == {bool, np.bool_}:
        try:
            return np.array(values, dtype=np.int64 if kinds == {int} else None)
        except OverflowError:  # beyond 64 bits
            pass
    return _objects(values)


def _is_numeric(kind: type) -> bool:
    return kind in (bool, int, float, complex) or issubclass(kind, np.number | np.bool_ | np.datetime64)


def _objects(values: Sequence[Any]) -> npt.NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _series(values: Any, name: str) -> Any | None:
    """A column of pandas, polars or pyarrow as one of narwhals; None for anything else."""
    import narwhals.stable.v1 as nw

    pandas, pyarrow = nw.dependencies.get_pandas(), sys.modules.get("pyarrow")
    try:
        if pandas and isinstance(values, pandas.Index | pandas.api.extensions.ExtensionArray):
            values = pandas.Series(values)
        elif pyarrow and isinstance(values, pyarrow.Array):
            values = pyarrow.chunked_array([values])
        if isinstance(values, np.ndarray) or not nw.dependencies.is_into_series(values):
            return None
        return nw.from_native(values, series_only=True)
    except Exception:  # a library's message may quote a value
        raise InputError(f"{name}: holds values that cannot be read; pass numbers, text or dates") from None


def _of_series(series: Any, name: str) -> Column:
    try:
        return _read(series)
    except Exception:  # the same
        raise InputError(f"{name}: holds values that cannot be read; pass numbers, text or dates") from None


def _read(series: Any) -> Column:
    """The values of a column of narwhals; its types by name, as older versions have fewer of them."""
    kind = type(series.dtype).__name__
    if kind in ("Categorical", "Enum") and series.implementation.is_pandas_like():
        codes = series.to_native().cat.codes.to_numpy()
        return Column(codes, codes < 0)
    if kind == "Time":  # to nanoseconds, which Python's own do not have
        import pyarrow

        whole = series.to_arrow().cast(pyarrow.time64("ns")).cast("int64")
        return Column(whole.fill_null(0).to_numpy(), whole.is_null().to_numpy(zero_copy_only=False))
    if kind in _WHOLE:
        missing = series.is_null().to_numpy().astype(bool)
        filled = series.fill_null(False if kind == "Boolean" else 0) if missing.any() else series
        return Column(filled.to_numpy(), missing)
    if kind in ("Float32", "Float64", "Date", "Datetime", "Duration"):
        return Column(series.to_numpy())  # NaN and NaT are missing
    return Column(_objects(series.to_list()))


def factorised(column: Column, name: str) -> tuple[Codes, int]:
    """A number for each value, equal for equal values, and a number that all are below."""
    codes, count, hole = _numbered(column.values, name)
    if column.missing is None or not column.missing.any():
        return codes, count
    return np.where(column.missing, count if hole is None else hole, codes), count + (hole is None)


def _numbered(column: npt.NDArray[Any], name: str) -> tuple[Codes, int, int | None]:
    """The same for values that show themselves whether they are missing, and the number of the missing ones."""
    if column.dtype.kind in "mM" and not np.isnat(column).any():
        column = column.astype(np.int64)
    kind = column.dtype.kind
    if kind in "biu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < ROOM * len(column):
            shifted = column - column.min() if kind == "u" else column.astype(np.int64) - low
            return shifted.astype(np.int64), high - low + 1, None
    if kind in "biufcmM":
        values, codes = np.unique(column, return_inverse=True)  # one NaN, one NaT, and it is the last
        hole = len(values) - 1 if len(values) and values[-1] != values[-1] else None
        return codes.astype(np.int64), len(values), hole
    listed, places = column.tolist(), dict[Any, int]()
    try:
        if np.timedelta64 in set(map(type, listed)):  # which numpy has equal to whole numbers
            listed = [value if _is_missing(value) else (isinstance(value, _DURATIONS), value) for value in listed]
        numbered = (places.setdefault(value, len(places)) for value in listed)
        codes = np.fromiter(numbered, dtype=np.int64, count=len(listed))
        missing = [place for value, place in places.items() if _is_missing(value)]
    except Exception:  # whatever a value's own comparison raises, and quotes
        raise InputError(f"{name}: holds values that cannot be compared; pass numbers, text or dates") from None
    if len(missing) > 1:
        codes[np.isin(codes, missing)] = missing[0]
    return codes, len(places), missing[0] if missing else None


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    unlike = value != value
    return unlike is value or bool(unlike)  # pandas.NA is unlike nothing but gives itself
