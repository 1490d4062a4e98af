"""Groups that are alone with the keys of all their members: households are far more unique than people.

*Model.* Whoever knows all members of a household (their ages and sexes) finds it if no other has the same combination:
the cells of its members, each as often as it occurs. *Known*: the keys of all members, and who belongs together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.measures.cell_columns import Columns
from veil.measures.cells import cell_numbers

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class GroupCounts:
    """How many groups there are, and how many are alone with the combination of their members."""

    n_groups: int
    unique: int


def group_counts(columns: Columns, groups: Columns) -> GroupCounts:
    """How many groups no other has the same members as, by their keys.

    Parameters
    ----------
    columns
        The keys, as for :func:`cell_sizes`.
    groups
        The group of each record, as columns whose cells are groups.

    Combinations are compared as sums of a random 64-bit number for each cell: two different ones of n are taken for
    one with a probability of n²/2⁶⁵.

    >>> ages = [30, 5, 5, 30, 40, 40]
    >>> group_counts([ages], [["a", "a", "b", "b", "c", "d"]])
    GroupCounts(n_groups=4, unique=0)
    >>> group_counts([ages], [["a", "a", "b", "b", "c", "c"]])
    GroupCounts(n_groups=3, unique=1)
    """
    cells, homes = cell_numbers(columns), cell_numbers(groups)
    words = np.random.default_rng(0).integers(0, 2**64, int(cells.max()) + 1, dtype=np.uint64)
    sums = np.zeros(int(homes.max()) + 1, dtype=np.uint64)
    np.add.at(sums, homes, words[cells])
    return GroupCounts(len(sums), alone(sums))


def alone(words: Words) -> int:
    """How many numbers occur once."""
    return int((np.unique(words, return_counts=True)[1] == 1).sum())
