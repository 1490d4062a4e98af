"""Which columns are constant within groups: a household has one income for all members, a patient one birth date.

*Model.* Groups and cells are keyed 64-bit numbers (:mod:`veil.data.hashing`). Every stretch of rows keeps each group
once, and of each column the one value that the group has so far; a column in which some group has two is let go. What
is kept of all rows depends on neither their order nor how they were cut, and takes 8 bytes for each group and each
column that is constant. Less cannot do: whether every group has one value is as hard to tell from rows in any order as
whether two sets share an element (Kalyanasundaram and Schnitger 1992), and a sample of groups would miss the one that
differs. Two of n groups have one number with a probability of n²/2⁶⁵; a column of theirs then counts as not constant.

A missing cell is released as missing and says nothing about the group's value; where it is a category of its own, it is
a value like others. Rows without a group are groups by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, Words, missing_in
from veil.data.hashing import column_hashes, new_hash_key

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Grouping:
    """The groups of some rows, and what is constant within each of them.

    Attributes
    ----------
    keys
        The groups' numbers, sorted.
    n_rows
        Rows that have a group.
    values
        Of each column that is constant, each group's value as a number; 0 where all its cells are missing.
    """

    keys: Words
    n_rows: int
    values: dict[str, Words]

    def __add__(self, other: Grouping) -> Grouping:
        keys, at = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        both = [name for name in self.values if name in other.values]
        merged = {
            name: one_value_each(np.concatenate([self.values[name], other.values[name]]), at, keys) for name in both
        }
        kept = {name: values for name, values in merged.items() if values is not None}
        return Grouping(keys, self.n_rows + other.n_rows, kept)

    @property
    def repeats(self) -> bool:
        """Whether any group has two rows."""
        return self.n_rows > len(self.keys)


@dataclass(frozen=True)
class GroupScan:
    """The first pass over groups: ``groups`` are their columns, ``columns`` those that may be constant in them, too.

    In the columns ``categorical_gaps`` a missing cell is a value. The key makes numbers of cells.
    """

    groups: tuple[str, ...]
    columns: tuple[str, ...]
    categorical_gaps: frozenset[str]
    key: int = field(repr=False)

    def of_block(self, block: Block) -> tuple[Grouping, ...]:
        """What a block adds, for each column of groups."""
        cells = {name: block.column(name) for name in self.columns} if self.groups else {}
        return tuple(grouping(block.column(name), cells, self.key, self.categorical_gaps) for name in self.groups)


def grouping(
    groups: pa.Array, columns: Mapping[str, pa.Array], key: int, categorical_gaps: Collection[str] = ()
) -> Grouping:
    """The groups of some rows and the columns that are constant in them.

    >>> groups = grouping(pa.array([7, 7, 9]), {"a": pa.array([1, 1, 2]), "b": pa.array([1, 2, 2])}, key=1)
    >>> groups.n_rows, len(groups.keys), list(groups.values)
    (3, 2, ['a'])
    """
    there = ~missing_in(groups)
    keys, at = np.unique(column_hashes(_canonical(groups), key)[there], return_inverse=True)
    values: dict[str, Words] = {}
    for name, cells in columns.items():
        words = np.maximum(column_hashes(cells, key), np.uint64(1))
        if name not in categorical_gaps:
            words[_gaps(cells)] = 0
        constant = one_value_each(words[there], at, keys)
        if constant is not None:
            values[name] = constant
    return Grouping(keys, int(there.sum()), values)


def one_value_each(words: Words, at: Codes, keys: Words) -> Words | None:
    """The one value of each group, 0 for none; None where a group has two; ``at`` is each row's place in ``keys``."""
    values, stated = np.zeros(len(keys), dtype=np.uint64), words != 0
    values[at[stated]] = words[stated]
    return values if bool((values[at[stated]] == words[stated]).all()) else None


def _gaps(cells: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a column is null or not a number."""
    missing: npt.NDArray[np.bool_] = missing_in(cells).copy()
    if pa.types.is_floating(cells.type):
        missing |= missing_in(pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells))
    return missing


def _canonical(groups: pa.Array) -> pa.Array:
    """Texts in NFC, as pseudonyms take them."""
    if pa.types.is_dictionary(groups.type):
        groups = groups.cast(groups.type.value_type)
    if pa.types.is_string_view(groups.type):
        groups = groups.cast(pa.large_string())
    text = pa.types.is_string(groups.type) or pa.types.is_large_string(groups.type)
    return pc.utf8_normalize(groups, form="NFC") if text else groups


@dataclass(frozen=True)
class ConstantColumns:
    """What is constant within groups.

    Attributes
    ----------
    groups
        Of each column that is constant within groups, the column of groups; of several that with the fewest. Columns of
        the fewest groups come first.
    within
        Pairs of columns of groups: every group of the one is within a group of the other.
    """

    groups: dict[str, str] = field(default_factory=dict)
    within: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, groupings: Mapping[str, Grouping]) -> ConstantColumns:
        """By groups that have several rows; columns of groups may be among the others."""
        coarsest = sorted((g for g in groupings if groupings[g].repeats), key=lambda g: (len(groupings[g].keys), g))
        constant: dict[str, str] = {}
        for group in coarsest:
            for name in groupings[group].values:
                if name not in groupings:
                    constant.setdefault(name, group)
        pairs = frozenset(
            (inner, outer) for inner in coarsest for outer in coarsest if outer in groupings[inner].values
        )
        return cls(constant, pairs)

    def crossing(self, groups: Collection[str]) -> tuple[str, str] | None:
        """Two columns of groups neither of which are within the other's."""
        for one, other in combinations(sorted(set(groups)), 2):
            if not {(one, other), (other, one)} & self.within:
                return one, other
        return None


def constant_in(table: pa.Table, groups: Sequence[str], columns: Sequence[str]) -> ConstantColumns:
    """The same for a table in memory.

    >>> homes = pa.table({"home": ["a", "a", "b"], "rent": [500, 500, 300], "age": [30, 40, 50]})
    >>> constant_in(homes, ["home"], ["rent", "age"]).groups
    {'rent': 'home'}
    """
    key = new_hash_key()
    cells = {name: table.column(name).combine_chunks() for name in (*columns, *groups)}
    return ConstantColumns.of({name: grouping(cells[name], cells, key) for name in groups})
