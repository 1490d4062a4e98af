"""What a release teaches about somebody of a known group: what most others of the group are guessed to have."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Codes = npt.NDArray[np.intp]


def group_guesses(values: Matrix, groups: Codes, fold: Codes, n_folds: int, width: Vector) -> Matrix:
    """The middle of each column's fullest window among people of the same group in other folds; NaN where is none.

    ``values`` are guesses of N people, NaN where there is none; ``width`` is that of each column's window.
    """
    guesses = np.full(values.shape, np.nan)
    n_groups = int(groups.max()) + 1
    for j, column in enumerate(values.T):
        rows = np.flatnonzero(np.isfinite(column))
        order = rows[np.lexsort((column[rows], groups[rows]))]
        ends = np.searchsorted(groups[order], np.arange(n_groups + 1))
        middles = _fullest(column[order], fold[order], ends, n_folds, width[j])
        guesses[:, j] = middles[groups, fold]
    return guesses


@numba.njit(cache=True, nogil=True)
def _fullest(values: Vector, fold: Codes, ends: Codes, n_folds: int, width: float) -> Matrix:
    """For each group (``ends`` in the values, which rise within it) and fold the window with most others."""
    middles = np.full((len(ends) - 1, n_folds), np.nan)
    for g in range(len(ends) - 1):
        for f in range(n_folds):
            most, inside, low = 0, 0, ends[g]
            for high in range(ends[g], ends[g + 1]):
                if fold[high] == f:
                    continue
                inside += 1
                while values[low] < values[high] - width or fold[low] == f:
                    inside -= fold[low] != f
                    low += 1
                if inside > most:
                    most, middles[g, f] = inside, 0.5 * (values[low] + values[high])
    return middles
