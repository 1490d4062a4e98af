"""Recoded columns (P23, P25) as attacks read them: the place of each class or label, −1 for a suppressed cell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Vector, one_array, to_float
from veil.data.schema import Kind, kind_of
from veil.errors import InputError
from veil.release.models import RecodedColumn, RecodedModel
from veil.release.release import Release

Codes = npt.NDArray[np.int64]


def released_places(values: pa.Array, column: RecodedColumn) -> Codes:
    """Which class, label or category each released cell has.

    >>> column = RecodedColumn(categories=("a", "b", "c"), labels=("x", "y"), parents=(0, 0, 1))
    >>> released_places(pa.array(["y", None, "x"]), column).tolist()
    [1, -1, 0]
    """
    return _places(_plain(values), list(column.released))


def private_places(values: pa.Array, column: RecodedColumn, name: str) -> Codes:
    """Which class, label or category private values are released as; −1 for what the model does not list.

    >>> column = RecodedColumn(categories=("a", "b", "c"), labels=("x", "y"), parents=(0, 0, 1))
    >>> private_places(pa.array(["c", "b", "d"]), column, "town").tolist()
    [1, 0, -1]
    """
    values = _plain(values)
    if column.edges is not None:
        if kind_of(values.type) not in (Kind.NUMERIC, Kind.BOOLEAN):
            raise InputError(f"table: column {name!r} must hold numbers, as the release's did; convert it")
        numbers = np.array(to_float(values, name))
        return np.where(np.isnan(numbers), -1, np.searchsorted(column.edges, numbers, side="right")).astype(np.int64)
    at = _places(values, list(column.categories or ()))
    if column.parents is None:
        return at
    return np.where(at < 0, -1, np.array([*column.parents, -1])[at])


def recoded_columns(release: Release) -> list[Codes | None]:
    """The places of a part's cells, column by column; None for numbers that were left as they are."""
    part = release.only_part
    assert isinstance(part.model, RecodedModel)  # noqa: S101 - for the type checker
    return [
        None if column.is_exact_number else released_places(one_array(release.table.read([name]).column(name)), column)
        for name, column in zip(part.released, part.model.columns, strict=True)
    ]


def likely_categories(column: RecodedColumn) -> Vector:
    """For each label, the code of a category that it can stand for: the first, where nothing tells them apart."""
    channel = column.channel
    if not channel.size:  # every cell was suppressed
        return np.empty(len(channel))
    return np.where(channel.any(axis=1), channel.argmax(axis=1), np.nan)


def _places(values: pa.Array, listing: list[object]) -> Codes:
    numeric = all(isinstance(value, int) for value in listing) and kind_of(values.type) is Kind.NUMERIC
    if numeric:
        known = pa.array([float(value) for value in listing], type=pa.float64())  # type: ignore[arg-type]
        values = pa.array(to_float(values, ""), from_pandas=True)
    else:
        known = pa.array([_text(value) for value in listing], type=pa.string())
        values = values.cast(pa.string())
    at = pc.index_in(values, value_set=known, skip_nulls=True).fill_null(-1)
    return np.asarray(at.to_numpy(zero_copy_only=False), dtype=np.int64)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
