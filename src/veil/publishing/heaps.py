"""Heaps behind noise: values that many records share, and between which noisy values they are to be found again.

*Model.* ``y = x + r`` with the law of r public, and x a mixture of atoms at given values, the heaps, and of anything
else. The mixture of largest likelihood (:mod:`veil.numerics.deconvolution`) says which share of the records each heap
holds, and how many lie below it. Noise keeps the order of records on average, so the noisy values of these ranks are
released as the heap: its released share is then the one that was recovered, and no two heaps overlap.

Which values heap is counted in the private table: those that a tenth of its records share, and at least 20. Of a method
with a formal guarantee that is no public fact: there heaps are those that the owner names. How large a heap is, and
where its limits are, comes from noisy values alone, so that a guarantee stays.

Behind strong noise an atom is hard to tell from a peak around it. The iteration starts from heaps of a fifth and stops
when a step gains little, so that a share between the least and the greatest that the data allow is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veil.data.blocks import Block, Matrix, Vector, to_float
from veil.numerics.deconvolution import LEAST_GAIN, estimates
from veil.numerics.laws import LAWS, NoiseLaw, is_law
from veil.publishing.parts import FittedPart
from veil.publishing.second_pass import Releasing
from veil.recovery.counting import FineCounts, fine_counts
from veil.release.models import AdditiveModel, MechanismModel
from veil.release.plausible import Heap

LEAST_SHARE, FEWEST_RECORDS = 0.1, 20
"""What a heap holds at least, of the records and of their number."""
_KEPT = 60
"""Values that are counted at a time: none that a tenth of the records have is lost."""
_BINS, _PLACES, _MOST_STEPS = 2_048, 600, 1_000
_START = 0.2
_APART = 0.25
"""Standard deviations of the noise within which of a heap everything counts as it."""
_TAIL = 0.005
"""A share that is as good as none: a heap with no more beyond it has no limit there."""


@dataclass(frozen=True)
class Frequent:
    """Values that may be frequent among n, with counts that are too low by at most n over 61 (Misra and Gries 1982).

    Summaries of parts add up to one of the whole (Agarwal, Cormode, Huang, Phillips, Wei and Yi 2013).
    """

    n: int
    counts: dict[float, int]

    @classmethod
    def of(cls, values: Vector) -> Frequent:
        """Of some values; missing ones are left out of the counts."""
        known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        return cls(len(values), _fewer(dict(zip(known.tolist(), counts.tolist(), strict=True))))

    def __add__(self, other: Frequent) -> Frequent:
        """Of both parts together."""
        both = {v: self.counts.get(v, 0) + other.counts.get(v, 0) for v in {**self.counts, **other.counts}}
        return Frequent(self.n + other.n, _fewer(both))

    def heaps(self) -> tuple[float, ...]:
        """The values that a tenth of the records have."""
        least = max(LEAST_SHARE * self.n, FEWEST_RECORDS)
        return tuple(sorted(value for value, count in self.counts.items() if count >= least))


def _fewer(counts: dict[float, int]) -> dict[float, int]:
    """The largest counts, less what the first one beyond them has."""
    if len(counts) <= _KEPT:
        return counts
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    beyond = ordered[_KEPT][1]
    return {value: count - beyond for value, count in ordered[:_KEPT] if count > beyond}


@dataclass(frozen=True)
class HeapColumn:
    """A private number that is released with noise of a known law; ``heaps`` are given, or None to be counted."""

    name: str
    released: str
    law: NoiseLaw
    heaps: tuple[float, ...] | None


@dataclass(frozen=True)
class HeapCounts:
    """For each column the frequent private values, where they are counted, and its noisy values."""

    frequent: tuple[Frequent | None, ...]
    noisy: tuple[FineCounts, ...]

    def __add__(self, other: HeapCounts) -> HeapCounts:
        """Of both parts together."""
        frequent = tuple(
            None if a is None or b is None else a + b for a, b in zip(self.frequent, other.frequent, strict=True)
        )
        return HeapCounts(frequent, tuple(a + b for a, b in zip(self.noisy, other.noisy, strict=True)))


def heap_columns(
    parts: Sequence[FittedPart], given: Mapping[str, tuple[float, ...]], wanted: Sequence[str]
) -> list[HeapColumn]:
    """The columns of which heaps are ``given`` or wanted, by released names."""
    columns = []
    for part in parts:
        model = part.perturbation.model_
        if not isinstance(model, AdditiveModel) or not is_law(model.distribution):
            continue
        for j, (name, released) in enumerate(zip(part.columns, part.released, strict=True)):
            if released not in given and released not in wanted:
                continue
            heaps = given.get(released)
            law = NoiseLaw(model.distribution, float(np.sqrt(model.covariance[j, j])))
            if law.scale > 0.0 and (heaps is not None or not isinstance(model, MechanismModel)):
                columns.append(HeapColumn(name, released, law, heaps))
    return columns


def count_heaps(columns: Sequence[HeapColumn], releasing: Releasing, block: Block) -> HeapCounts:
    """The counts of a block."""
    noisy = releasing.batch(block).batch
    frequent = [Frequent.of(to_float(block.column(c.name), c.name)) if c.heaps is None else None for c in columns]
    counted = [
        fine_counts(to_float(noisy.column(c.released), c.released), c.law.scale, c.released, _BINS) for c in columns
    ]
    return HeapCounts(tuple(frequent), tuple(counted))


def heap_limits(
    columns: Sequence[HeapColumn], counts: HeapCounts, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[Heap, ...]]:
    """By column its heaps, and between which noisy values each is released."""
    found = {}
    for column, frequent, noisy in zip(columns, counts.frequent, counts.noisy, strict=True):
        heaps = column.heaps if frequent is None else frequent.heaps()
        if heaps and len(noisy.places):
            limits = limits_of(noisy, column.law, heaps, bounds.get(column.released, (-np.inf, np.inf)))
            if limits:
                found[column.released] = limits
    return found


def limits_of(
    noisy: FineCounts, law: NoiseLaw, heaps: Sequence[float], bounds: tuple[float, float]
) -> tuple[Heap, ...]:
    """Each heap with the noisy values between which it is released; one that proves to hold too few is left out.

    Of 60 % at zero, behind noise as wide as the rest, 57 % are released as zero: the iteration stops early.

    >>> rng = np.random.default_rng(0)
    >>> x = np.where(rng.random(20_000) < 0.6, 0.0, rng.gamma(4.0, 1.0, 20_000))
    >>> y = x + rng.normal(0.0, 1.0, 20_000)
    >>> ((heap, low, high),) = limits_of(fine_counts(y, 1.0, "y"), NoiseLaw("normal", 1.0), [0.0], (0.0, np.inf))
    >>> low, round(float((y <= high).mean()), 2)
    (None, 0.57)
    """
    lower, upper = noisy.edges()
    places, weights = _mixture(noisy, law, np.array(sorted(heaps)), bounds)
    below = np.concatenate([[0.0], np.cumsum(weights)])
    ranks, limits = np.cumsum(noisy.counts) / noisy.counts.sum(), list[Heap]()
    for heap in sorted(heaps):
        at = int(np.searchsorted(places, heap))
        if weights[at] < LEAST_SHARE / 2:
            continue
        ends = [
            float(np.interp(share, np.append(0.0, ranks), np.append(lower[0], upper))) for share in below[at : at + 2]
        ]
        low = None if below[at] < _TAIL else _rounded(min(ends[0], heap))
        high = None if below[at + 1] > 1.0 - _TAIL else _rounded(max(ends[1], heap))
        limits.append((float(heap), low, high))
    return tuple(limits)


def _mixture(noisy: FineCounts, law: NoiseLaw, heaps: Vector, bounds: tuple[float, float]) -> tuple[Vector, Vector]:
    """Places in order, the heaps among them, and the probability of each."""
    lower, upper = noisy.edges()
    low, high = max(noisy.low, bounds[0]), min(noisy.high, bounds[1])
    step = max(law.scale / 2.0, (high - low) / _PLACES)
    others = np.arange(low, high + step, step)
    near = np.abs(others[:, None] - heaps).min(axis=1) < _APART * law.scale
    others = others[~near]
    places = np.concatenate([heaps, others])
    order = np.argsort(places, kind="stable")
    heaped = np.full(len(heaps), min(_START, 0.5 / len(heaps)))
    start = np.concatenate([heaped, np.full(len(others), (1.0 - heaped.sum()) / max(len(others), 1))])
    places, start = places[order], start[order] / start.sum()
    kernel = _kernel(law, lower, upper, places)
    counts = noisy.counts.astype(np.float64)
    before = -np.inf
    for count, each in enumerate(estimates(counts, start, kernel.__matmul__, kernel.T.__matmul__)):
        if each.log_likelihood - before < LEAST_GAIN or count == _MOST_STEPS:
            break
        before = each.log_likelihood
    return places, np.asarray(each.weights / each.weights.sum())


def _kernel(law: NoiseLaw, lower: Vector, upper: Vector, places: Vector) -> Matrix:
    """The chance of each noisy bin given each place."""
    unit = LAWS[law.distribution]
    wide = np.maximum(upper - lower, 1e-9 * law.scale)
    ends = [unit.cdf((end[:, None] - places) / law.scale) for end in (lower, lower + wide)]
    return np.ascontiguousarray(np.maximum(ends[1] - ends[0], 0.0))


def _rounded(limit: float) -> float:
    """A limit to four digits."""
    return float(f"{limit:.4g}")
