"""One-pass histograms whose range need not be known beforehand.

Bins have a power-of-two width and are aligned to multiples of it. When a value falls so far out
that there would be too many bins, neighbours are merged in pairs: exact, because the coarse grid
is made of whole fine bins. The last width depends on the extremes alone, so blocks of any size
and order give the same counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from veil.blocks import Matrix
from veil.errors import InputError

Vector = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_PER_SCALE = 16


@numba.njit(cache=True, nogil=True)
def _extent(x: Vector) -> tuple[float, float, int]:
    low, high, n_missing = np.inf, -np.inf, 0
    for value in x:
        if np.isnan(value):
            n_missing += 1
        else:
            low = min(low, value)
            high = max(high, value)
    return low, high, n_missing


@numba.njit(cache=True, nogil=True)
def _count(x: Vector, per_step: float, origin: float, counts: Counts) -> None:
    for value in x:
        if not np.isnan(value):
            counts[int(math.floor(value * per_step) - origin)] += 1


class GridCounts:
    """Counts of records on a grid over one or more attributes, block by block.

    Parameters
    ----------
    scales
        The noise's standard deviation of each attribute: bins start at a 16th of it or less.
    most
        Largest number of bins along an attribute; wider bins are used when they would be more.
    names
        How messages call the attributes.

    Attributes
    ----------
    counts
        One axis per attribute.
    n_missing
        Records left out because a value of theirs is missing.
    low, high
        Extremes of each attribute.
    """

    def __init__(self, scales: Sequence[float], most: int, names: Sequence[str]) -> None:
        self._steps = [2.0 ** (math.floor(math.log2(scale)) - int(math.log2(_PER_SCALE))) for scale in scales]
        self._origins = [0] * len(self._steps)
        self._most = most
        self._names = list(names)
        self.counts: Counts = np.zeros((0,) * len(self._steps), dtype=np.int64)
        self.n_missing = 0
        self.low = np.full(len(self._steps), np.inf)
        self.high = np.full(len(self._steps), -np.inf)

    @property
    def n_counted(self) -> int:
        """Records counted so far."""
        return int(self.counts.sum())

    def edges(self, axis: int = 0) -> Vector:
        """The bins' edges along an attribute."""
        steps = np.arange(self.counts.shape[axis] + 1, dtype=np.float64)
        return np.asarray((steps + self._origins[axis]) * self._steps[axis])

    def update(self, block: Matrix) -> None:
        """Count the records of a block, one row per attribute."""
        if len(block) > 1:
            complete = ~np.isnan(block).any(axis=0)
            self.n_missing += int(block.shape[1] - complete.sum())
            block = block[:, complete]
        for axis, row in enumerate(block):
            low, high, n_missing = _extent(row)
            self.n_missing += n_missing
            if n_missing == len(row):
                return
            self._cover(axis, low, high)
        if len(block) == 1:
            _count(block[0], 1.0 / self._steps[0], float(self._origins[0]), self.counts)
            return
        places = [
            (np.floor(row / step) - origin).astype(np.intp)
            for row, step, origin in zip(block, self._steps, self._origins, strict=True)
        ]
        flat = np.ravel_multi_index(tuple(places), self.counts.shape)
        self.counts += np.bincount(flat, minlength=self.counts.size).reshape(self.counts.shape)

    def _cover(self, axis: int, low: float, high: float) -> None:
        """Make the grid reach from ``low`` to ``high`` along an attribute."""
        if not max(abs(low), abs(high)) / self._steps[axis] < 2.0**62:
            raise InputError(
                f"column {self._names[axis]!r}: some released values are infinite, or so large that the noise is "
                "nothing beside them; leave the column out"
            )
        self.low[axis], self.high[axis] = min(low, self.low[axis]), max(high, self.high[axis])
        while math.floor(self.high[axis] / self._steps[axis]) - self._first(axis) >= self._most:
            self._coarsen(axis)
        first, last = self._first(axis), math.floor(self.high[axis] / self._steps[axis])
        held = self.counts.shape[axis]
        if not held or first < self._origins[axis] or last >= self._origins[axis] + held:
            before = self._origins[axis] - first if held else 0
            pads = [(0, 0)] * self.counts.ndim
            pads[axis] = (before, last - first + 1 - held - before)
            self.counts = np.pad(self.counts, pads)
            self._origins[axis] = first

    def _first(self, axis: int) -> int:
        return math.floor(float(self.low[axis]) / self._steps[axis])

    def _coarsen(self, axis: int) -> None:
        """Merge bins 2k and 2k + 1 of an attribute."""
        origin, held = self._origins[axis], self.counts.shape[axis]
        if held:
            starts = [0, *range(1 if origin % 2 else 2, held, 2)]
            self.counts = np.add.reduceat(self.counts, starts, axis=axis)
        self._origins[axis] = origin // 2
        self._steps[axis] *= 2.0
