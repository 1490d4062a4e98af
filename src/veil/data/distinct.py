"""How many different values there are, and how often each occurs, in constant memory.

*Model.* Of all different values those are kept whose keyed 64-bit hash is below 2^(64−l): a sample of the *values*,
each with probability p = 2⁻ˡ however often it occurs, so that the occurrences of a value that is kept are counted from
the first to the last. When more than :data:`CAP` are kept, l grows by one and the sample halves (adaptive sampling,
Wegman; Flajolet 1990). Up to :data:`CAP` different values everything is exact.

*Estimates.* The number of values is that of the sample by 2ˡ: unbiased, with a standard error of about 1.20/√CAP of
itself, 0.47 %. A sum over values of a weight w (such as the records that are alone: w = 1 for a value that occurs once)
is Σw of the sample by 2ˡ; its variance is estimated by Σw²(1 − p)/p², the binomial one for weights of 0 and 1.

Which l a table ends with, and so each estimate, depends on its values and the key alone, not on the order in which they
were read or added up: the kept values of a part are never fewer than those that the whole keeps of it.

>>> words = np.random.default_rng(0).integers(2**64, size=1000, dtype=np.uint64)
>>> sample = sampled(words, cap=100) + sampled(words, cap=100)
>>> sample.level, sample.exact, 700 < sample.n_values < 1300
(4, False, True)
>>> bool((sample.sizes == 2).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Vector, Words, values_of
from veil.data.hashing import column_hashes

CAP = 65_536


class Estimate(NamedTuple):
    """A number and its standard error, None where the number is exact."""

    value: int
    error: float | None = None


@dataclass(frozen=True)
class DistinctSample:
    """The values whose hashes are below 2^(64 − level), sorted; and, where they are counted, how often each occurs.

    ``totals`` are sums of the weights of the records that have each value, where these have weights.
    """

    hashes: Words
    sizes: npt.NDArray[np.int64] | None = None
    level: int = 0
    cap: int = CAP
    totals: Vector | None = None

    @property
    def exact(self) -> bool:
        """Whether all values are kept."""
        return not self.level

    @property
    def n_values(self) -> int:
        """How many different values there are, or an unbiased estimate of that."""
        return len(self.hashes) << self.level

    def records_in_cells_below(self, k: int) -> Estimate:
        """How many records have a value that fewer than ``k`` records have."""
        assert self.sizes is not None  # noqa: S101 - cells are counted
        small = self.sizes[self.sizes < k].astype(np.float64)
        share = 0.5**self.level
        error = None if self.exact else float(np.sqrt((small**2).sum() * (1 - share))) / share
        return Estimate(int(small.sum()) << self.level, error)

    def without(self, value: np.uint64) -> DistinctSample:
        """The same sample without one value."""
        at = int(np.searchsorted(self.hashes, value))
        if at == len(self.hashes) or self.hashes[at] != value:
            return self
        sizes = None if self.sizes is None else np.delete(self.sizes, at)
        totals = None if self.totals is None else np.delete(self.totals, at)
        return DistinctSample(np.delete(self.hashes, at), sizes, self.level, self.cap, totals)

    def __add__(self, other: DistinctSample) -> DistinctSample:
        level = max(self.level, other.level)
        one, two = self.at(level), other.at(level)
        hashes = np.concatenate([one.hashes, two.hashes])
        order = np.argsort(hashes, kind="stable")  # two sorted runs: one merge
        hashes = hashes[order]
        first = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
        sizes = _added(one.sizes, two.sizes, order, first)
        totals = _added(one.totals, two.totals, order, first)
        return DistinctSample(hashes[first], sizes, level, self.cap, totals)._within_cap()

    def at(self, level: int) -> DistinctSample:
        """The same sample at a level that is not lower."""
        if level == self.level:
            return self
        n = int(np.searchsorted(self.hashes, np.uint64(1 << (64 - level))))
        # Copies: a slice would hold the memory of what was let go.
        sizes = None if self.sizes is None else self.sizes[:n].copy()
        totals = None if self.totals is None else self.totals[:n].copy()
        return DistinctSample(self.hashes[:n].copy(), sizes, level, self.cap, totals)

    def _within_cap(self) -> DistinctSample:
        sample = self
        while len(sample.hashes) > sample.cap:
            sample = sample.at(sample.level + 1)
        return sample


def _added(a: Any, b: Any, order: npt.NDArray[np.intp], first: npt.NDArray[np.intp]) -> Any:
    """Counts of two samples by their merged values."""
    if a is None or b is None:
        return None
    both = np.concatenate([a, b])[order]
    return np.add.reduceat(both, first) if len(first) else both


def sampled(hashes: Words, *, weights: Vector | None = None, cap: int = CAP) -> DistinctSample:
    """The sample of some records' values, with counts, and with sums of their weights."""
    if weights is None:
        values, sizes = np.unique(hashes, return_counts=True)
        return DistinctSample(values, sizes, cap=cap)._within_cap()
    values, at, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    totals = np.bincount(at, weights=weights, minlength=len(values)).astype(np.float64)
    return DistinctSample(values, sizes, cap=cap, totals=totals)._within_cap()


def sampled_values(hashes: Words, *, cap: int = CAP) -> DistinctSample:
    """The sample of values, which are sorted and given once each, without counts."""
    return DistinctSample(hashes, cap=cap)._within_cap()


@dataclass(frozen=True)
class IntegerRun:
    """Whether some integers, in their order, are all different.

    They are for certain where each is larger than the one before, or where a sample holds all of them; otherwise the
    sample tells: where none of its n values occurs twice, fewer than 3/n of all values do, with 95 % confidence.

    Attributes
    ----------
    sample
        Values so far, without counts.
    repeats
        Whether one is known to be missing or to have occurred before.
    ends
        The first and the last, as long as each is larger than the one before.
    """

    sample: DistinctSample
    repeats: bool = False
    ends: tuple[int, int] | None = None

    @property
    def certain(self) -> bool:
        """Whether what is said of repetitions is exact."""
        return self.repeats or self.sample.exact or self.ends is not None

    def __add__(self, other: IntegerRun) -> IntegerRun:
        if self.repeats or other.repeats:
            return REPEATED
        both = self.sample + other.sample
        if len(both.hashes) < len(self.sample.at(both.level).hashes) + len(other.sample.at(both.level).hashes):
            return REPEATED
        ends = None
        if self.ends is not None and other.ends is not None and self.ends[1] < other.ends[0]:
            ends = self.ends[0], other.ends[1]
        return IntegerRun(both, ends=ends)


REPEATED = IntegerRun(DistinctSample(np.empty(0, dtype=np.uint64)), repeats=True)


def integer_run(values: pa.Array, key: int, *, cap: int = CAP) -> IntegerRun:
    """What a stretch of integers says about repetitions; a missing one counts as repeated."""
    if values.null_count or not pa.types.is_integer(values.type):
        return REPEATED
    numbers, hashes = values_of(values), np.unique(column_hashes(values, key))
    if len(hashes) < len(numbers):
        return REPEATED
    ascends = bool((numbers[1:] > numbers[:-1]).all())
    return IntegerRun(sampled_values(hashes, cap=cap), ends=(int(numbers[0]), int(numbers[-1])) if ascends else None)
