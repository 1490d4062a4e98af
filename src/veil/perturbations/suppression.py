"""Which cells of small combinations are suppressed, so that each released combination is that of k records or more.

*Model.* A missing cell is a value of its own: whoever knows all keys of all people knows which rows can be a person's,
and rows that are alike cannot be told apart, so that k of them leave a chance of 1/k at most. (Counting a missing cell
as equal to every value, as it is often done, asks for less: a person who is unique in the population is then found
although rows of *other* people would fit.)

*Search.* Finding the fewest cells is NP-hard (Meyerson and Williams 2004). Sets of columns are tried from the smallest
on, among equally large ones those of the least important columns first. Records in small cells that would be together
in cells of k or more without a set's columns lose these. The fewer than k records that are left at last join the cell
that costs the fewest cells: it and they lose the columns in which they differ. Equal costs are decided by keyed words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Words

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
MOST_COLUMNS = 12


def suppressed_cells(codes: Codes, counts: Codes, k: int, order: Sequence[int], words: Words) -> Mask:
    """Of each combination, the cells that are suppressed.

    Parameters
    ----------
    codes
        Combinations × columns; −1 for a cell that is missing already.
    counts
        Records of each combination, ``k`` or more in all.
    k
        Least records of a released combination.
    order
        The columns from the first to be suppressed to the last.
    words
        A random word for each combination, which decide between equal costs.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [2, 0]])
    >>> suppressed_cells(codes, np.array([3, 1, 1, 1]), 2, [0, 1], np.arange(4, dtype=np.uint64)).tolist()
    [[False, True], [False, True], [True, False], [True, False]]
    """
    hidden = np.zeros(codes.shape, dtype=np.bool_)
    pending = np.flatnonzero(_sizes(codes, counts) < k)
    for size in range(1, codes.shape[1] + 1):
        for chosen in combinations(order, size):
            if not len(pending):
                return hidden
            rest = np.delete(np.arange(codes.shape[1]), chosen)
            enough = _sizes(codes[pending][:, rest], counts[pending]) >= k
            hidden[np.ix_(pending[enough], np.array(chosen))] = True
            pending = pending[~enough]
    waiting = np.isin(np.arange(len(codes)), pending)
    for left in pending.tolist():
        _join(codes, counts, hidden, left, waiting, words)
        waiting[left] = False
    return hidden


def _join(codes: Codes, counts: Codes, hidden: Mask, left: int, waiting: Mask, words: Words) -> None:
    """Let a combination that is left share the released values of the cell that costs the fewest cells."""
    shown = np.where(hidden, -1, codes)
    differ = (shown != codes[left]) & (shown >= 0)
    own = (shown != codes[left]) & (codes[left] >= 0)
    whole = _sizes(shown, np.where(differ.any(axis=1), counts, 0))
    cost = whole * differ.sum(axis=1) + counts[left] * own.sum(axis=1)
    cost = np.where(waiting, np.iinfo(np.int64).max, cost)
    best = np.flatnonzero(cost == cost.min())
    host = int(best[np.argmin(words[best])])
    mates = np.flatnonzero((shown == shown[host]).all(axis=1) & ~waiting)
    hidden[mates] |= differ[host]
    hidden[left] = (shown[host] != codes[left]) | differ[host]


def _sizes(codes: Codes, counts: Codes) -> Codes:
    """How many records are alike with each combination."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        _, cells = np.unique(cells * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)
    return np.asarray(np.bincount(cells, weights=counts).astype(np.int64)[cells])
