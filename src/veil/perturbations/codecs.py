"""Between Arrow columns and the numbers that methods work on: one codec for each kind of column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix, array_of, from_float
from veil.perturbations.categories import CodedColumn, plain_type, typed
from veil.perturbations.layout import Layout, Takes
from veil.release.models import BasketModel, ClassModel, Model, ResponseModel


def encoded(model: Model, columns: Sequence[str], read: Any) -> Any:
    """What a scan read of a block, as the method takes it: numbers as they are, categories as codes of the model's."""
    if isinstance(model, ResponseModel):
        coded: Sequence[CodedColumn] = read
        pairs = zip(coded, model.categories, columns, strict=True)
        return np.array([column.coded(categories, name) for column, categories, name in pairs])
    return read


def decoded(model: Model, values: Any, fields: Sequence[pa.Field]) -> list[pa.Array]:
    """What a method made, as released columns of these names and types."""
    if isinstance(model, ResponseModel):
        columns = zip(model.categories, values, fields, strict=True)
        return [typed(c, f.type, f.name).take(array_of(v.astype(np.int64))) for c, v, f in columns]
    if isinstance(model, ClassModel):
        return [_named(names, row) for names, row in zip(model.names, values, strict=True)]
    if isinstance(values, np.ndarray):
        return [from_float(row, field.type) for row, field in zip(values, fields, strict=True)]
    return list(values)


def _named(names: Sequence[str], codes: Matrix) -> pa.Array:
    """Texts of codes, missing where the code is."""
    missing = np.isnan(codes)
    places = array_of(np.where(missing, 0, codes).astype(np.int64), missing if missing.any() else None)
    return pa.array(list(names)).take(places)


def released_types(layout: Layout, model: Model, private: Sequence[pa.DataType], k: int) -> list[pa.DataType]:
    """Types of the k released columns of private columns of these types."""
    if isinstance(model, ResponseModel):
        return [plain_type(dtype) for dtype in private]
    if isinstance(model, ClassModel) or layout.takes is Takes.IDENTIFIERS:
        return [pa.string()] * k
    if isinstance(model, BasketModel):
        return [pa.bool_()] * len(private) + [pa.int64()] * (k - len(private))
    return [pa.bool_() if layout.takes is Takes.BITS else pa.float64()] * k
