"""Distributions of two columns from counts between edges: quartiles and distances with a stated error, in one pass.

The edges are values of a sample of both columns, so that all cells hold about as much; below and above the sample they
go out to the extremes in steps that double. Counted are the values on each edge, those strictly between two edges, and
how far the latter fall short of the upper edge. Both distribution functions are then known on every edge, and their
integrals between edges too:

* a column of few distinct values lies on the edges altogether, and everything is exact;
* elsewhere a distance can be off only where the two functions may cross inside a cell, and by no more than is said.

All counts are of all values: the sample only says where to count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.measures.baselines import window_ends

MOST_EDGES, FEWEST_EDGES = 2048, 256
_ALL_EDGES = 1 << 16
_DOUBLINGS = 32


def edges_for(x: Vector, y: Vector, low: float, high: float, n_columns: int) -> Vector:
    """Where to count the values of two columns, from samples of both (NaN is missing) and their extremes."""
    values = np.concatenate([x, y])
    values = np.sort(values[~np.isnan(values)])
    if not low <= high:
        return np.zeros(1)
    if not values.size:
        values = np.array([low])
    most = min(MOST_EDGES, max(FEWEST_EDGES, _ALL_EDGES // n_columns))
    if len(np.unique(values)) > most:
        values = values[np.linspace(0, len(values) - 1, most).astype(np.intp)]
    reach = 2.0 ** -np.arange(_DOUBLINGS)
    outside = np.concatenate([values[0] + (low - values[0]) * reach, values[-1] + (high - values[-1]) * reach])
    edges = np.unique(np.concatenate([values, outside, [low, high]]))
    return np.asarray(edges[(edges >= low) & (edges <= high)])


@dataclass(frozen=True)
class Cells:
    """Counts of d pairs of columns, one pair after the other, the private columns in row 0 and the others in row 1.

    Attributes
    ----------
    on
        Values that equal an edge.
    below
        Values strictly between the edge before and this one.
    short
        How much the values between the edge before and this one fall short of this one, in all.
    """

    on: npt.NDArray[np.int64]
    below: npt.NDArray[np.int64]
    short: Matrix

    def __add__(self, other: Cells) -> Cells:
        """Counts of both parts."""
        return Cells(self.on + other.on, self.below + other.below, self.short + other.short)

    def column(self, edges: Sequence[Vector], j: int) -> ColumnCells:
        """What was counted of the j-th pair."""
        start = sum(map(len, edges[:j]))
        at = slice(start, start + len(edges[j]))
        return ColumnCells(edges[j], self.on[:, at], self.below[:, at], self.short[:, at])


def count_cells(edges: Sequence[Vector], values: Matrix) -> Cells:
    """Counts of the values of a block, given as 2d × n."""
    d, total = len(edges), sum(map(len, edges))
    counts, short = np.zeros((2, 2, total), dtype=np.int64), np.zeros((2, total))
    start = 0
    for j, of_pair in enumerate(edges):
        at = slice(start, start + len(of_pair))
        for side in (0, 1):
            counts[0, side, at], counts[1, side, at], short[side, at] = _counted(values[side * d + j], of_pair)
        start += len(of_pair)
    return Cells(counts[0], counts[1], short)


def _counted(values: Vector, edges: Vector) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Vector]:
    ordered = np.sort(values)
    ordered = ordered[: np.searchsorted(ordered, np.nan)]
    left, right = np.searchsorted(ordered, edges, "left"), np.searchsorted(ordered, edges, "right")
    below = np.diff(right, prepend=0) - (right - left)
    gaps = np.repeat(edges, np.diff(right, prepend=0)) - ordered
    short = np.zeros(len(edges))
    filled = below > 0
    if filled.any():
        # A value on an edge falls short of it by nothing, so whole stretches up to the next filled cell may be added.
        short[filled] = np.add.reduceat(gaps, (left - below)[filled])
    return right - left, below, short


@dataclass(frozen=True)
class ColumnCells:
    """The counts of one pair of columns."""

    edges: Vector
    on: npt.NDArray[np.int64]
    below: npt.NDArray[np.int64]
    short: Matrix

    @property
    def n(self) -> npt.NDArray[np.int64]:
        """How many values each column has."""
        return np.asarray(self.on.sum(axis=1) + self.below.sum(axis=1))

    @property
    def _shares(self) -> tuple[Matrix, Matrix]:
        """The shares of values below each edge, and up to it."""
        up_to = np.cumsum(self.on + self.below, axis=1)
        n = np.maximum(self.n, 1)[:, None]
        return (up_to - self.on) / n, up_to / n

    def quantile(self, q: float) -> tuple[float, float, float]:
        """numpy's quantile of the private column, with the least and greatest that it can be."""
        place = (int(self.n[0]) - 1) * q
        k = int(place)
        share = place - k
        lower, upper = self._ranked(k), self._ranked(min(k + 1, int(self.n[0]) - 1))
        value, low, high = (a + share * (b - a) for a, b in zip(lower, upper, strict=True))
        return value, low, high

    def _ranked(self, k: int) -> tuple[float, float, float]:
        """The k-th value in order, from 0: its likely place in the cell, and the cell's ends."""
        up_to = np.cumsum(self.on[0] + self.below[0])
        i = int(np.searchsorted(up_to, k, side="right"))
        before = k - int(up_to[i] - self.on[0, i] - self.below[0, i])
        high, count = float(self.edges[i]), int(self.below[0, i])
        if before >= count:
            return high, high, high
        low = float(self.edges[i - 1])
        return low + (high - low) * (before + 0.5) / count, low, high

    def kolmogorov(self) -> tuple[float, float]:
        """Largest difference of the distribution functions: as large as it is on the edges, and at most this large."""
        if not self.n.all():
            return np.nan, np.nan
        before, up_to = self._shares
        least = max(float(np.abs(share[0] - share[1]).max()) for share in (before, up_to))
        after = np.concatenate([np.zeros((2, 1)), up_to[:, :-1]], axis=1)
        inside = np.maximum(before[0] - after[1], before[1] - after[0])[self.below.any(axis=0)]
        return least, max(least, float(inside.max(initial=0.0)))

    def wasserstein(self) -> tuple[float, float]:
        """Integral of the absolute difference of the distribution functions: at least, and at most."""
        if not self.n.all():
            return np.nan, np.nan
        before, up_to = self._shares
        start, width = up_to[:, :-1], np.diff(self.edges)
        end, short = before[:, 1:], self.short[:, 1:] / self.n[:, None]
        net = width * (start[0] - start[1]) + (short[0] - short[1])
        over, under = (width * np.maximum(end[i] - start[1 - i], 0.0) for i in (0, 1))
        most = np.maximum(np.abs(net), np.minimum(net + 2.0 * under, 2.0 * over - net))
        exact = ~self.below[:, 1:].any(axis=0)
        return float(np.abs(net).sum()), float(np.where(exact, np.abs(net), most).sum())

    def fullest(self, reach: float) -> float:
        """The share of private values in the fullest window of twice this reach that begins on an edge."""
        if not self.n[0]:
            return np.nan
        before, up_to = (share[0] for share in self._shares)
        heights = np.stack([before, up_to], axis=1).ravel()
        return float((np.interp(window_ends(self.edges, reach), np.repeat(self.edges, 2), heights) - before).max())
