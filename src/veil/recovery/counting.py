"""One-pass histograms whose range need not be known beforehand, and that add up.

Bins have a power-of-two width and are aligned to multiples of it. When there would be too many,
neighbours are merged in pairs: exact, because the coarse grid is made of whole fine bins.
:class:`GridCounts` holds all bins between the extremes, over one attribute or more, and its last
width depends on the extremes alone. :class:`FineCounts` holds the bins of one attribute that have a
value in them, so that a few far-out values cost a few bins and no accuracy elsewhere; its last width
depends on the set of values alone. Blocks of any size and order give the same counts.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.errors import InputError

Counts = npt.NDArray[np.int64]
_PER_SCALE = 16
_DENSE = 2**18
FINE_BINS = 2**14
"""Most bins with a value in them that :class:`FineCounts` holds; a quarter of a megabyte."""


def first_step(scale: float) -> float:
    """The width that bins start at: a power of two, a 16th of the noise's standard deviation or less."""
    return 2.0 ** (math.floor(math.log2(scale)) - int(math.log2(_PER_SCALE)))


def _check_size(low: float, high: float, step: float, name: str) -> None:
    if not max(abs(low), abs(high)) / step < 2.0**62:
        raise InputError(
            f"column {name!r}: some released values are infinite, or so large that the noise is nothing beside them; "
            "leave the column out"
        )


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


def repeated(values: Vector, times: Counts, scale: float, name: str, most: int) -> FineCounts:
    """Counts of values that each stand for a whole number of values; one that stands for none is left out.

    >>> fine = repeated(np.array([0.1, 5.0, np.nan]), np.array([3, 0, 2]), 1.0, "x", 16)
    >>> fine.places.tolist(), fine.counts.tolist(), fine.n_missing
    ([1], [3], 1)
    """
    plain = fine_counts(values[(times > 0) | np.isnan(values)], scale, name, most)
    if not len(plain.places):
        return plain
    there = ~np.isnan(values) & (times > 0)
    places = np.floor(values[there] / plain.step).astype(np.int64)
    held = np.searchsorted(plain.places, places)
    counts = np.zeros(len(plain.places), dtype=np.int64)
    np.add.at(counts, held, times[there])
    return replace(plain, counts=counts)


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
        self._finest = [first_step(scale) for scale in scales]
        self._steps = list(self._finest)
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

    @classmethod
    def of_fine(cls, fine: FineCounts, most: int) -> GridCounts:
        """The grid on which :meth:`update` would have counted the same values; ``most`` is that of ``fine`` or less."""
        table = cls([fine.scale], most, [fine.name])
        table.n_missing = fine.n_missing
        if len(fine.places):
            table._cover(0, fine.low, fine.high)
            places = _widened(fine.places, fine.step, table._steps[0]) - table._origins[0]
            np.add.at(table.counts, places, fine.counts)
        return table

    def update(self, block: Matrix, times: Counts | None = None) -> None:
        """Count the records of a block, one row per attribute; each record of several ``times``, if given."""
        if len(block) > 1:
            complete = ~np.isnan(block).any(axis=0)
            self.n_missing += int(block.shape[1] - complete.sum())
            used = complete if times is None else complete & (times > 0)
            block, times = block[:, used], None if times is None else times[used]
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
        if times is None:
            self.counts += np.bincount(flat, minlength=self.counts.size).reshape(self.counts.shape)
        else:
            np.add.at(self.counts.reshape(-1), flat, times)

    def __add__(self, other: GridCounts) -> GridCounts:
        """Counts of both parts together, on the wider grid; of the same attributes."""
        joined, part = copy.deepcopy(self), copy.deepcopy(other)
        joined.n_missing += part.n_missing
        if not part.counts.size:
            return joined
        for axis in range(part.counts.ndim):
            joined._cover(axis, float(part.low[axis]), float(part.high[axis]))
            while part._steps[axis] < joined._steps[axis]:
                part._coarsen(axis)
        starts = [theirs - ours for theirs, ours in zip(part._origins, joined._origins, strict=True)]
        places = tuple(slice(start, start + k) for start, k in zip(starts, part.counts.shape, strict=True))
        joined.counts[places] += part.counts
        return joined

    def _cover(self, axis: int, low: float, high: float) -> None:
        """Make the grid reach from ``low`` to ``high`` along an attribute."""
        _check_size(low, high, self._finest[axis], self._names[axis])
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


@dataclass(frozen=True, eq=False)
class FineCounts:
    """Counts of one attribute's values in fine bins, of which only those that have a value are held.

    Attributes
    ----------
    name, scale
        How messages call the attribute, and the noise's standard deviation: bins start at a 16th of it or less.
    most
        Largest number of bins held; wider bins are used when values would lie in more.
    step, places, counts
        The bins' width; bin ``places[i]`` is ``[places[i], places[i] + 1) · step`` and holds ``counts[i]`` values.
    n_missing
        Missing values, which were left out.
    low, high
        The extremes.
    """

    name: str
    scale: float
    most: int
    step: float
    places: Counts
    counts: Counts
    n_missing: int
    low: float
    high: float

    @property
    def n_counted(self) -> int:
        """Values counted."""
        return int(self.counts.sum())

    def __add__(self, other: FineCounts) -> FineCounts:
        """Counts of both parts together; of the same attribute."""
        step = max(self.step, other.step)
        places = np.concatenate([_widened(part.places, part.step, step) for part in (self, other)])
        step, places, counts = _fitted(step, places, np.concatenate([self.counts, other.counts]), self.most)
        return replace(
            self,
            step=step,
            places=places,
            counts=counts,
            n_missing=self.n_missing + other.n_missing,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )

    def edges(self) -> tuple[Vector, Vector]:
        """Between what two numbers the values of each bin lie."""
        lower = self.places * self.step
        return np.maximum(lower, self.low), np.minimum(lower + self.step, self.high)


def fine_counts(values: Vector, scale: float, name: str, most: int = FINE_BINS) -> FineCounts:
    """Count some values of an attribute; NaN stands for a missing one.

    >>> fine = fine_counts(np.array([0.1, 0.11, 5.0, np.nan]), 1.0, "x")
    >>> fine.step, fine.places.tolist(), fine.counts.tolist(), fine.n_missing
    (0.0625, [1, 80], [2, 1], 1)
    """
    step = first_step(scale)
    low, high, n_missing = _extent(values)
    places = counts = np.zeros(0, dtype=np.int64)
    if n_missing < len(values):
        _check_size(low, high, step, name)
        first, last = math.floor(low / step), math.floor(high / step)
        if last - first < _DENSE:
            dense = np.zeros(last - first + 1, dtype=np.int64)
            _count(values, 1.0 / step, float(first), dense)
            held = np.flatnonzero(dense)
            places, counts = held + first, dense[held]
        else:
            every = np.floor(values[~np.isnan(values)] / step).astype(np.int64)
            places, counts = np.unique(every, return_counts=True)
    step, places, counts = _fitted(step, places, counts, most)
    return FineCounts(name, scale, most, step, places, counts, n_missing, low, high)


def _widened(places: Counts, step: float, wider: float) -> Counts:
    """The wider bins that bins are part of; both widths are powers of two."""
    return places >> int(math.log2(wider / step))


def _fitted(step: float, places: Counts, counts: Counts, most: int) -> tuple[float, Counts, Counts]:
    """Each bin once, in order; as wide as it takes to have no more than ``most``."""
    order = np.argsort(places, kind="stable")
    places, counts = _joined(places[order], counts[order])
    while len(places) > most:
        places, counts = _joined(places >> 1, counts)
        step *= 2.0
    return step, places, counts


def _joined(places: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Counts of equal neighbours added up."""
    if not len(places):
        return places, counts
    starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    return places[starts], np.add.reduceat(counts, starts)
