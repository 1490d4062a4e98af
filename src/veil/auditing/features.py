"""What an attacker knows of everybody, in the release or not, as numbers to compare people by."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Matrix, Vector, one_array, to_float
from veil.data.schema import kind_of

MOST_CATEGORIES = 200
"""Categories of a column, the most frequent ones, that become a feature each."""


def features_of(table: pa.Table) -> Matrix | None:
    """Columns as standardised numbers, N × p; None where nothing varies.

    A number is one feature, with another where it is missing from somebody; a category is one for each of its frequent
    values.
    """
    features: list[Vector] = []
    for name in table.column_names:
        array = one_array(table.column(name))
        features += _numbers(to_float(array, name)) if kind_of(array.type).is_number else _categories(array)
    varying = [column for column in features if np.ptp(column) > 0]
    return np.column_stack([(column - column.mean()) / column.std() for column in varying]) if varying else None


def _numbers(values: Vector) -> list[Vector]:
    missing = ~np.isfinite(values)
    present = values[~missing]
    if not present.size:
        return []
    filled = np.where(missing, np.median(present), values)
    # Ranks: one value far out must not decide who is near.
    ranks = np.searchsorted(np.sort(filled), filled, side="left").astype(np.float64)
    return [filled, ranks, missing.astype(np.float64)]


def _categories(array: pa.Array) -> list[Vector]:
    counts = sorted(pc.value_counts(array).to_pylist(), key=lambda entry: (-entry["counts"], str(entry["values"])))
    frequent = [entry["values"] for entry in counts[:MOST_CATEGORIES]]
    codes = (
        pc.index_in(array, value_set=pa.array(frequent, type=array.type)).fill_null(-1).to_numpy(zero_copy_only=False)
    )
    return [(codes == i).astype(np.float64) for i in range(len(frequent))]
