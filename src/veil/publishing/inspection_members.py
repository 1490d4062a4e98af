"""What an inspection tells about groups: how many are alone with the keys of all their members.

A combination of members is the sum of their records' keyed numbers, which depends on neither order nor blocks. It takes
16 bytes for each group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veil.data.blocks import Words, missing_in
from veil.data.hashing import column_hashes
from veil.measures.group_risk import alone


@dataclass(frozen=True)
class MemberSums:
    """Some groups, as sorted numbers, and the sums of their members' numbers."""

    groups: Words
    sums: Words

    @classmethod
    def of(cls, column: pa.Array, members: Words, key: int) -> MemberSums:
        """The groups of some rows; those without one are left out.

        >>> ages = np.array([30, 5, 5, 30, 40, 40], dtype=np.uint64)
        >>> found = MemberSums.of(pa.array(["a", "a", "b", "b", "c", None]), ages, 1)
        >>> found.n_groups, found.unique
        (3, 1)
        """
        there = ~missing_in(column)
        return cls._added(column_hashes(column, key)[there], members[there])

    @classmethod
    def _added(cls, groups: Words, words: Words) -> MemberSums:
        keys, at = np.unique(groups, return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.uint64)
        np.add.at(sums, at, words)
        return cls(keys, sums)

    def __add__(self, other: MemberSums) -> MemberSums:
        return self._added(np.concatenate([self.groups, other.groups]), np.concatenate([self.sums, other.sums]))

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.groups)

    @property
    def unique(self) -> int:
        """How many no other has the same members as."""
        return alone(self.sums)
