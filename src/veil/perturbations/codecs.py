"""Between Arrow columns and the numbers that methods work on. The model says which categories codes stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Vector, array_of, from_float
from veil.data.dates import check_within, is_timed
from veil.errors import InputError
from veil.perturbations.categories import CodedColumn, plain_type, typed
from veil.perturbations.layout import Layout, Takes
from veil.release.models import Model


def encoded(model: Model, columns: Sequence[str], read: Any) -> Any:
    """What a scan read of a block, as the method takes it: numbers as they are, categories as codes of the model's."""
    if not (isinstance(read, list) and read and isinstance(read[0], CodedColumn)):
        return read
    categories = model.private_categories()
    if categories is None:
        raise InputError(
            f"{type(model).__name__} describes a method for categories and does not list them; write its "
            "private_categories()"
        )
    coded = zip(read, categories, columns, strict=True)
    return np.array([column.coded(listing, name) for column, listing, name in coded])


def decoded(model: Model, values: Any, fields: Sequence[pa.Field]) -> list[pa.Array]:
    """What a method made, as released columns of these names and types."""
    categories = model.released_categories()
    if categories is not None:
        return [_named(c, codes, f) for c, codes, f in zip(categories, values, fields, strict=True)]
    return [_released(column, field) for column, field in zip(values, fields, strict=True)]


def _released(column: Any, field: pa.Field) -> pa.Array:
    """Numbers, or a column of Arrow that has the type already."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        if is_timed(field.type):
            check_within(column, field.type, field.name)
        return from_float(column, field.type)
    if isinstance(column, pa.Array) and column.type == field.type:
        return column
    kind = column.type if isinstance(column, pa.Array) else getattr(column, "dtype", type(column).__name__)
    raise InputError(
        f"column {field.name!r} was perturbed into {kind}, and its model releases {field.type}; return codes and write "
        "the model's released_categories(), or write its released_types()"
    )


def _named(categories: Sequence[Any], codes: Vector, field: pa.Field) -> pa.Array:
    """Categories of codes, missing where the code is."""
    missing = np.isnan(codes)
    places = np.where(missing, 0, codes).astype(np.int64)
    outside = int(((places < 0) | (places >= len(categories))).sum())
    if outside:
        raise InputError(
            f"column {field.name!r} was perturbed into {outside} codes outside its {len(categories)} categories; count "
            "them from 0"
        )
    return typed(categories, field.type, field.name).take(array_of(places, missing if missing.any() else None))


_USUAL = {Takes.IDENTIFIERS: pa.string(), Takes.BITS: pa.bool_()}


def released_types(layout: Layout, model: Model, private: Sequence[pa.DataType], k: int) -> list[pa.DataType]:
    """Types of the k released columns of private columns of these types."""
    kept = model.kept_types([plain_type(dtype) for dtype in private])
    if kept is not None:
        return kept
    categories = model.released_categories()
    if categories is None:
        types = model.released_types(_USUAL.get(layout.takes, pa.float64()), len(private), k)
        if not layout.passes_missing or layout.takes is Takes.IDENTIFIERS:
            return types
        return [own if is_timed(own) else dtype for own, dtype in zip(private, types, strict=True)]
    if categories == model.private_categories():
        return [plain_type(dtype) for dtype in private]
    return [pa.array(list(listing)).type for listing in categories]
