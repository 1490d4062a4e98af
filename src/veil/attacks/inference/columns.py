"""Columns of a release and of people as numbers or texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veil.attacks.knowledge import LARGEST
from veil.data.blocks import Vector, one_array, to_float
from veil.data.schema import Kind, is_countable
from veil.errors import InputError
from veil.release.release import Release


def released_array(release: Release, name: str) -> pa.Array:
    """A column of a release."""
    return one_array(release.table.read([name]).column(name))


def as_numbers(array: pa.Array, name: str) -> Vector:
    """Numbers, NaN for missing ones and for those whose squares leave float64."""
    if not is_countable(array.type):
        raise InputError(f"table: column {name!r} must hold numbers, as the release's does; convert it")
    values = to_float(array, name)
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def as_texts(array: pa.Array, kind: Kind) -> pa.Array:
    """Categories in one type: numbers where the release has codes, else texts."""
    return array.cast(pa.float64()) if kind is Kind.NUMERIC else array.cast(pa.string())


def as_moments(array: pa.Array) -> pa.Array:
    """Points in time as numbers."""
    try:
        return array.cast(pa.timestamp("us")).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(array), pa.int64())
