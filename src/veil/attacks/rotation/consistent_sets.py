"""Known records and rows that agree in all lengths and distances: the search behind A10.

A table of candidate rows per record (by length from an origin, out of a sorted list), then depth first on the record
with the fewest, striking out what disagrees with each choice, and giving up a branch that cannot be as good as the
best set. Records that fit nowhere drop out. With lengths that hardly repeat this takes O(N log N); many records of
nearly one length, or a coarse release, take a search that the budget ends.

With a translation there is no origin. A pair of records is sought by its distance among all N²/2 pairs of rows (the
pair whose distance is rarest; another when its records turn out to be absent), then, where it has many hits, a third
record that makes the triangle; each hit gives an origin. Two records alone can always be exchanged. More than ``HITS``
triangles to try or ``ORIGINS`` origins to follow (more where rows are few) are cut short: coarse releases of many rows
are safe from *this* search only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.ordering import size_order

Rows = npt.NDArray[np.intp]
Pairs = tuple[tuple[int, int], ...]

ORIGINS = 1_000
LENGTHS = 10_000_000
FEW = 50
HITS = 20_000_000
PAIRS = 8
MOST_SETS = 64
STAGE = 12
MOST_ROWS = 50_000


@dataclass
class ConsistentSets:
    """A search for the largest sets of known records with rows that agree.

    ``best`` holds the largest sets found, each as (record, row) pairs in the order of records; ``complete`` says
    whether none can be missing. ``tolerance`` is the largest error of a row, as a length; ``budget`` the number of
    choices left to try; ``least`` the size from which a set counts; rows not farther apart than ``grain`` are one
    point: duplicates of a record stay equal when they are rotated and rounded.
    """

    known: Matrix
    released: Matrix
    tolerance: float
    budget: int
    least: int
    best: list[Pairs] = field(default_factory=list)
    complete: bool = True
    grain: float = 0.0

    def __post_init__(self) -> None:
        self.grain = 1e-9 * float(np.abs(self.released).max(initial=0.0))

    def from_zero(self) -> None:
        """Match by lengths and distances. Where that takes too long, match the rarest lengths first, then the rest."""
        zero = np.zeros(self.known.shape[1])
        budget = self.budget
        self.from_origin(zero, zero, ())
        if self.complete or len(self.known) <= STAGE:
            return
        candidates = self._candidates(zero, zero, self.tolerance)
        rare = sorted(candidates, key=lambda i: len(candidates[i]))[:STAGE]
        first = ConsistentSets(self.known[rare], self.released, self.tolerance, budget, self.least)
        first.from_origin(zero, zero, ())
        for matched in first.best[:FEW]:
            self.budget = budget // FEW
            self.from_origin(zero, zero, tuple((rare[record], row) for record, row in matched))

    def from_origin(self, origin: Vector, place: Vector, fixed: Pairs) -> None:
        """Match by lengths from a known point ``origin`` at the released place ``place``, and by distances.

        ``fixed`` pairs are taken as given.
        """
        candidates = self._candidates(origin, place, (2.0 if fixed else 1.0) * self.tolerance)
        for record, row in fixed:
            candidates.pop(record, None)
            candidates = self._agreeing(candidates, record, row)
        self._extend(fixed, candidates)

    def _candidates(self, origin: Vector, place: Vector, allowed: float) -> dict[int, Rows]:
        """Per record the rows that are as far from ``place`` as it is from ``origin``, where there are any."""
        known = np.linalg.norm(self.known - origin, axis=1)
        released = np.linalg.norm(self.released - place, axis=1)
        order = np.argsort(released, kind="stable")
        ends = np.searchsorted(released[order], [known - allowed, np.nextafter(known + allowed, np.inf)])
        return {i: order[low:high] for i, (low, high) in enumerate(ends.T) if high > low}

    def from_pairs(self) -> None:
        """Match without an origin: every place where a pair of known records may lie gives one."""
        n = len(self.released)
        if n > MOST_ROWS:
            raise NotApplicableError(
                f"the release has {n} rows; with a translation all pairs of rows are compared, "
                f"which is done for at most {MOST_ROWS}: attack a part of it"
            )
        enough = max(3, (len(self.known) + 1) // 2)
        for tried, (i, j) in enumerate(self._rare_pairs()):
            if self.best and len(self.best[0]) >= enough:
                break
            if tried == PAIRS:
                self.complete = False
                break
            places = self._places(i, j)
            hits: list[Pairs] = [((i, a),) for a in np.unique(places[:, 0]).tolist()]
            if len(hits) > FEW and len(self.known) > 2:
                k = max((k for k in range(len(self.known)) if k not in (i, j)), key=lambda k: self._apart(i, k))
                hits = self._triangles(i, j, k, places)
            most = max(ORIGINS, LENGTHS // n)  # each costs n lengths
            if len(hits) > most:
                self.complete = False
            for fixed in hits[:most]:
                self.from_origin(self.known[i], self.released[fixed[0][1]], fixed)

    def _apart(self, i: int, j: int) -> float:
        return float(np.linalg.norm(self.known[i] - self.known[j]))

    def _places(self, i: int, j: int) -> Rows:
        """Ordered pairs of rows that may be records i and j, sorted by the first."""
        pairs = pairs_at_distance(self.released, self._apart(i, j), 2.0 * self.tolerance)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        return both[np.argsort(both[:, 0], kind="stable")]

    def _triangles(self, i: int, j: int, k: int, places: Rows) -> list[Pairs]:
        """Rows that may be records i, j and k: pairs for i and j joined with pairs for i and k on i's row."""
        others = self._places(i, k)
        low, high = (np.searchsorted(others[:, 0], places[:, 0], side=side) for side in ("left", "right"))
        counts = high - low
        total = int(counts.sum())
        if total > HITS:
            self.complete = False
            return []
        first = np.repeat(np.arange(len(places)), counts)
        second = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)
        a, b, c = places[first, 0], places[first, 1], others[second, 1]
        distances = np.linalg.norm(self.released[b] - self.released[c], axis=1)
        good = np.abs(distances - self._apart(j, k)) <= 2.0 * self.tolerance
        return [((i, x), (j, y), (k, z)) for x, y, z in zip(*(part[good].tolist() for part in (a, b, c)), strict=True)]

    def _rare_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of known records, those whose distance is rare among rows first and each record once before twice."""
        pairs = list(combinations(range(len(self.known)), 2))
        if not pairs or len(self.released) < 2:
            return
        sample = self.released[size_order(self.released)[:500]]
        distances = np.sort(np.linalg.norm(sample[:, None] - sample[None], axis=2)[np.triu_indices(len(sample), 1)])
        apart = np.array([np.linalg.norm(self.known[i] - self.known[j]) for i, j in pairs])
        width = 0.01 * float(distances[-1]) + 2.0 * self.tolerance
        common = np.searchsorted(distances, apart + width) - np.searchsorted(distances, apart - width)
        # Equal records say nothing about where they are.
        waiting = [pairs[k] for k in np.argsort(common, kind="stable") if apart[k] > 4.0 * self.tolerance]
        while waiting:
            used: set[int] = set()
            later = []
            for i, j in waiting:
                if used & {i, j}:
                    later.append((i, j))
                else:
                    used |= {i, j}
                    yield i, j
            waiting = later

    def _extend(self, matched: Pairs, candidates: dict[int, Rows]) -> None:
        """All ways to go on from ``matched`` that may be as good as the best; ``candidates`` agree with it."""
        reach = len(matched) + len(candidates)
        least = len(self.best[0]) if self.best else self.least
        if reach < least or (reach == least and len(self.best) >= MOST_SETS):
            return
        if not candidates:
            self._keep(matched)
            return
        if self.budget <= 0:
            self.complete = False
            self._keep(matched)
            return
        record = min(candidates, key=lambda i: len(candidates[i]))
        rest = {i: rows for i, rows in candidates.items() if i != record}
        tried: list[int] = []
        for row in candidates[record].tolist():
            place = self.released[row]
            if tried and (np.linalg.norm(self.released[tried] - place, axis=1) <= self.grain).any():
                continue  # the same point again
            tried.append(row)
            self.budget -= 1
            self._extend((*matched, (record, row)), self._agreeing(rest, record, row))
        self._extend(matched, rest)

    def _agreeing(self, candidates: dict[int, Rows], record: int, row: int) -> dict[int, Rows]:
        """Candidates at the right distance from a row that was chosen for a record."""
        if not candidates:
            return {}
        owners = list(candidates)
        rows = np.concatenate([candidates[i] for i in owners])
        counts = [len(candidates[i]) for i in owners]
        apart = np.linalg.norm(self.known[owners] - self.known[record], axis=1)
        distances = np.linalg.norm(self.released[rows] - self.released[row], axis=1)
        wanted = np.repeat(apart, counts)
        good = np.abs(distances - wanted) <= 2.0 * self.tolerance
        good &= (rows != row) | (wanted <= self.grain)  # one row for two records only when they are equal
        parts = np.split(good, np.cumsum(counts)[:-1])
        agreeing = {i: candidates[i][part] for i, part in zip(owners, parts, strict=True)}
        return {i: rows for i, rows in agreeing.items() if len(rows)}

    def _keep(self, matched: Pairs) -> None:
        matching = tuple(sorted(matched))
        if len(matching) < (len(self.best[0]) if self.best else self.least):
            return
        if not self.best or len(matching) > len(self.best[0]):
            self.best = [matching]
        elif not any(self._same(matching, other) for other in self.best):
            self.best.append(matching)

    def _same(self, one: Pairs, two: Pairs) -> bool:
        """Whether two matchings say the same: equal records, and rows that are one point."""
        if [record for record, _ in one] != [record for record, _ in two]:
            return False
        gap = self.released[[row for _, row in one]] - self.released[[row for _, row in two]]
        return bool((np.linalg.norm(gap, axis=1) <= self.grain).all())

    def errors(self, matched: Pairs, *, translated: bool) -> Matrix:
        """By how much each length and distance of the rows differs from that of their records."""
        records, rows = (np.array(part, dtype=np.intp) for part in zip(*matched, strict=True))
        z, y = self.known[records], self.released[rows]
        if not translated:
            z, y = (np.vstack([part, np.zeros(part.shape[1])]) for part in (z, y))
        here, there = (np.linalg.norm(part[:, None] - part[None], axis=2) for part in (z, y))
        return np.asarray(np.abs(here - there))


def pairs_at_distance(points: Matrix, distance: float, tolerance: float) -> Rows:
    """Pairs i < j of rows whose distance differs from ``distance`` by at most ``tolerance``: m × 2; O(N²)."""
    centred = points - points.mean(axis=0)
    squares = (centred**2).sum(axis=1)
    # Squared distances from products lose digits; what they let through is checked again.
    slack = 1e-13 * float(squares.max(initial=0.0))
    low, high = max(0.0, distance - tolerance) ** 2 - slack, (distance + tolerance) ** 2 + slack
    near_pairs: list[Rows] = []
    high_block, wide = 256, 4096
    for start in range(0, len(points), high_block):
        tall = slice(start, start + high_block)
        for across in range(start, len(points), wide):
            broad = slice(across, across + wide)
            square = centred[tall] @ (-2.0 * centred[broad].T)
            square += squares[tall, None]
            square += squares[broad]
            near = (square >= low) & (square <= high)
            if near.any():
                i, j = np.nonzero(near)
                near_pairs.append(np.column_stack([i + start, j + across])[i + start < j + across])
    pairs: Rows = np.concatenate(near_pairs) if near_pairs else np.empty((0, 2), dtype=np.intp)
    apart = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return np.asarray(pairs[np.abs(apart - distance) <= tolerance])
