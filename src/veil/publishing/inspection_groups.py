"""Columns that name what records belong to (a household, a firm, a patient), and columns that others are told by.

*Model.* A column of whole numbers or texts is held against every other column: is that constant within its values? As
in :mod:`veil.data.groups`, but on a sample of its values so that memory is constant: those whose keyed hash is below
2^(64−l), at most :data:`KEPT`, each with all its records (:mod:`veil.data.distinct`). A column in which one value of
the sample has two is let go, so a column that stays is constant within all values, or within a sample of 4,096.

Two records of one value are equal in a column by chance with a probability of Σp². What is constant is told only where
chance would not make it so: after r repeated records with a probability of (Σp²)^r, which must be below e⁻¹⁰.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Words
from veil.data.groups import one_value_each
from veil.data.hashing import column_hashes, missing_hash
from veil.data.schema import Kind, kind_of
from veil.data.tables import Table
from veil.publishing.inspection_roles import names_a_group

KEPT = 4_096
MOST_UNREPEATED = 8
"""Columns whose first rows repeat nothing, and so show nothing against any other: they cost most memory."""
EVIDENCE = 10.0
HEAD_ROWS = 8_192


@dataclass(frozen=True)
class GroupSample:
    """Of some rows, values of one column, how many records each has, and what is constant within each.

    Attributes
    ----------
    keys, sizes
        The values below 2^(64 − level) as hashes, sorted, and their records.
    values
        Of each column that is constant, each key's value as a number; 0 where all its cells are missing.
    """

    keys: Words
    sizes: npt.NDArray[np.int64]
    values: dict[str, Words]
    level: int = 0

    def __add__(self, other: GroupSample) -> GroupSample:
        level = max(self.level, other.level)
        one, two = self.at(level), other.at(level)
        keys, at = np.unique(np.concatenate([one.keys, two.keys]), return_inverse=True)
        sizes = np.bincount(at, np.concatenate([one.sizes, two.sizes]), minlength=len(keys)).astype(np.int64)
        both = [name for name in one.values if name in two.values]
        merged = {name: one_value_each(np.concatenate([one.values[name], two.values[name]]), at, keys) for name in both}
        kept = {name: values for name, values in merged.items() if values is not None}
        return GroupSample(keys, sizes, kept, level).within(KEPT)

    def at(self, level: int) -> GroupSample:
        """The same sample at a level that is not lower."""
        if level == self.level:
            return self
        n = int(np.searchsorted(self.keys, np.uint64(1 << (64 - level))))
        values = {name: words[:n].copy() for name, words in self.values.items()}
        return GroupSample(self.keys[:n].copy(), self.sizes[:n].copy(), values, level)

    def within(self, most: int) -> GroupSample:
        """The same with at most so many values."""
        sample = self
        while len(sample.keys) > most:
            sample = sample.at(sample.level + 1)
        return sample

    @property
    def n_values(self) -> int:
        """How many values the column has, or an estimate of that."""
        return len(self.keys) << self.level

    @property
    def mean_size(self) -> float:
        """Records that share a value."""
        return float(self.sizes.mean()) if len(self.sizes) else 0.0

    @property
    def n_repeated(self) -> int:
        """Records of the sample beyond the first of each value."""
        return int((self.sizes - 1).sum())

    def told(self, name: str, chance: float) -> bool:
        """Whether a column is constant, which two records agree on with a probability of ``chance``, and not by it."""
        if name not in self.values:
            return False
        n_stated = int(self.sizes[self.values[name] != 0].sum() - np.count_nonzero(self.values[name]))
        return n_stated * -math.log(max(chance, 1e-300)) > EVIDENCE


def group_sample(candidate: str, columns: Sequence[str], words: dict[str, Words], key: int) -> GroupSample:
    """What a block says of one candidate, from the hashes of its cells.

    >>> cells = {"home": np.array([3, 3, 9], dtype=np.uint64), "rent": np.array([5, 5, 5], dtype=np.uint64)}
    >>> sample = group_sample("home", ["rent"], cells, key=1)
    >>> sample.sizes.tolist(), list(sample.values)
    ([2, 1], ['rent'])
    """
    missing = missing_hash(key)
    there = words[candidate] != missing
    keys, at, sizes = np.unique(words[candidate][there], return_inverse=True, return_counts=True)
    values = {}
    for name in columns:
        cells = words[name][there]
        constant = one_value_each(np.where(cells == missing, np.uint64(0), np.maximum(cells, np.uint64(1))), at, keys)
        if constant is not None:
            values[name] = constant
    return GroupSample(keys, sizes, values).within(KEPT)


def candidates_of(table: Table, key: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Columns of whole numbers and texts, each with the columns that its first rows show nothing against.

    Of those whose first rows repeat nothing, the first few are taken, and before these what is called like a group.
    """
    names = [f.name for f in table.schema if kind_of(f.type) is not Kind.OTHER and not pa.types.is_null(f.type)]
    first = table.head(names) if names else None
    if first is None:
        return ()
    first = first.slice(0, HEAD_ROWS)
    words = {name: column_hashes(first.column(name), key) for name in names}
    values = {name: np.unique(column) for name, column in words.items()}
    found, n_unrepeated = [], 0
    for name in sorted(names, key=lambda name: not names_a_group(name)):
        dtype = table.schema.field(name).type
        if pa.types.is_integer(dtype) or kind_of(dtype) in (Kind.TEXT, Kind.CATEGORY):
            others = [other for other in names if other != name and len(values[other]) > 1]
            left = group_sample(name, others, words, key).values
            n_unrepeated += (unrepeated := len(values[name]) == first.num_rows)
            if len(values[name]) > 1 and left and not (unrepeated and n_unrepeated > MOST_UNREPEATED):
                found.append((name, tuple(left)))
    return tuple(found)
