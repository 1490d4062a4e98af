"""Whether the order of rows tells something: sorted columns, and neighbouring rows that resemble each other.

*Numbers* (and dates). With r the correlation of a value with that of the next row, ``Σ(xᵢ₊₁ − xᵢ)² / 2m s² ≈ 1 − r``
over the m pairs of neighbours (von Neumann 1941). Of rows in a random order r is −1/(n − 1), with a variance of about
1/n whatever the values are (Wald and Wolfowitz 1943).

*Other cells.* The share e of neighbours that are equal, beyond what chance makes equal: ``(e − Σp²)/(1 − Σp²)`` with
the shares p of the values; 0 in a random order, 1 where all rows are alike.

A stretch of rows keeps its first and its last row, so that stretches add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector, Words

FEWEST_PAIRS = 20
RESEMBLING = 0.1
"""Neighbours resemble each other from this correlation on, if chance makes that of less than 1 in 10,000 tables."""
CHANCE = 4.0


@dataclass(frozen=True)
class Neighbours:
    """Of some rows in their order, how neighbours differ.

    Attributes
    ----------
    first, last
        The numbers of the first and the last row, NaN where missing.
    first_words, last_words
        Their cells, as keyed hashes.
    n_pairs, squares
        By column of numbers: pairs of neighbours that are both there, and the sum of their squared differences.
    falls, rises
        Of these, how many fall and rise.
    equal, n_rows
        By column of cells: pairs that are equal; and rows.
    """

    first: Vector
    last: Vector
    first_words: Words
    last_words: Words
    n_pairs: npt.NDArray[np.int64]
    squares: Vector
    falls: npt.NDArray[np.int64]
    rises: npt.NDArray[np.int64]
    equal: npt.NDArray[np.int64]
    n_rows: int

    def __add__(self, other: Neighbours) -> Neighbours:
        seam = neighbours_of(
            np.column_stack([self.last, other.first]), np.column_stack([self.last_words, other.first_words])
        )
        return Neighbours(
            self.first,
            other.last,
            self.first_words,
            other.last_words,
            self.n_pairs + seam.n_pairs + other.n_pairs,
            self.squares + seam.squares + other.squares,
            self.falls + seam.falls + other.falls,
            self.rises + seam.rises + other.rises,
            self.equal + seam.equal + other.equal,
            self.n_rows + other.n_rows,
        )

    def sorting(self, j: int) -> str | None:
        """Whether the numbers of a column ascend or descend from the first row to the last."""
        falls, rises = int(self.falls[j]), int(self.rises[j])
        if self.n_pairs[j] < FEWEST_PAIRS or (falls and rises) or not (falls or rises):
            return None
        return "descending" if falls else "ascending"

    def correlation(self, j: int, variance: float) -> float | None:
        """Of a column of numbers with this variance, the correlation of neighbours; None where chance may make it."""
        m = int(self.n_pairs[j])
        if not (variance > 0 and np.isfinite(self.squares[j])):
            return None
        return _beyond_chance(1.0 - float(self.squares[j]) / (2.0 * m * variance) if m else 0.0, m)

    def equality(self, j: int, chance: float) -> float | None:
        """The same of other cells, two of which are equal by chance with the probability ``chance``."""
        m = self.n_rows - 1
        return _beyond_chance((int(self.equal[j]) / m - chance) / (1.0 - chance), m) if m and chance < 1.0 else None


def _beyond_chance(r: float, n_pairs: int) -> float | None:
    return r if n_pairs >= FEWEST_PAIRS and r > max(RESEMBLING, CHANCE / math.sqrt(n_pairs)) else None


def neighbours_of(matrix: Matrix, words: Words) -> Neighbours:
    """What a block says: its numbers, d × n, and the hashes of its other cells, k × n.

    >>> rows = neighbours_of(np.array([[1.0, 2.0, 2.0, 5.0]]), np.array([[7, 7, 7, 8]], dtype=np.uint64))
    >>> rows.squares.tolist(), rows.rises.tolist(), rows.equal.tolist()
    ([10.0], [2], [2])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(matrix, axis=1)
        there = ~np.isnan(steps)
        squares = np.where(there, steps, 0.0)
        squares *= squares
        return Neighbours(
            matrix[:, 0],
            matrix[:, -1],
            words[:, 0],
            words[:, -1],
            there.sum(axis=1),
            squares.sum(axis=1),
            (steps < 0).sum(axis=1),
            (steps > 0).sum(axis=1),
            (words[:, 1:] == words[:, :-1]).sum(axis=1),
            matrix.shape[1],
        )
