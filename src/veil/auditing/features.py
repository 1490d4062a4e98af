"""What an attacker knows of everybody, in the release or not: numbers to compare people by, and their groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import Kind, kind_of

MOST_CATEGORIES = 200
"""Categories of a column, the most frequent ones, that become a feature each."""
MOST_GROUPINGS = 6
"""Columns whose values group people: those with most groups."""
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Features:
    """Standardised numbers of N people (N × p), and the groups that they are in by some columns (N × g)."""

    numbers: Matrix
    groups: Codes

    def of(self, rows: Codes) -> Features:
        """Those of some people."""
        return Features(self.numbers[rows], self.groups[rows])


def features_of(table: pa.Table) -> Features | None:
    """Columns as numbers and groups; None where nothing varies.

    A number is one feature, with another where it is missing from somebody; a category is one for each of its frequent
    values. Values that people share group them, and so do all categories together.
    """
    features: list[Vector] = []
    groupings: dict[str, Codes] = {}
    categories: list[str] = []
    for name in table.column_names:
        array = table.column(name).combine_chunks()
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        groupings[name] = pc.dictionary_encode(array, null_encoding="encode").indices.to_numpy().astype(np.intp)
        if kind_of(array.type) is Kind.NUMERIC:
            features += _numbers(to_float(array, name))
        else:
            features += _categories(array)
            categories.append(name)
    varying = [column for column in features if np.ptp(column) > 0]
    if not varying:
        return None
    numbers = np.column_stack([(column - column.mean()) / column.std() for column in varying])
    if len(categories) > 1:
        groupings[""] = np.unique([groupings[name] for name in categories], axis=1, return_inverse=True)[1].ravel()
    return Features(numbers, _repeated(groupings))


def _repeated(groupings: dict[str, Codes]) -> Codes:
    """The finest groupings in which most people share their group."""
    n_groups = {name: int(codes.max()) + 1 for name, codes in groupings.items()}
    n = len(next(iter(groupings.values())))
    usable = [name for name in sorted(groupings) if 1 < n_groups[name] <= n / 2]
    finest = sorted(usable, key=lambda name: -n_groups[name])[:MOST_GROUPINGS]
    return np.column_stack([groupings[name] for name in finest]) if finest else np.empty((n, 0), dtype=np.intp)


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
