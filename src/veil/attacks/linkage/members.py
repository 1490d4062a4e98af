"""A32: link households by all of their members, and members within them (Fu, Christen and Boot 2011).

*Model.* With L_ei the likelihood ratio of a person and a row (:mod:`veil.attacks.linkage.likelihood`), a household of s
people and a group of t rows have the mean over all ways to give different rows to different people::

    Λ_hg = (max(s, t) − min(s, t))! / max(s, t)! · Σ_σ Π_e L_eσ(e) ,

a permanent, times the ratio of sizes (:mod:`veil.attacks.linkage.sizes`), and times the ratio of the columns that are
constant within groups in both tables (a region, an income with one noise per group), which all members tell once.
Permanents of more than :data:`MOST_MEMBERS` rows or people are Bethe's approximation (Vontobel 2013), with B the matrix
that scaling by rows and columns makes of L (Sinkhorn), whose lines sum to one::

    ln Σ_σ Π_e L_eσ(e) ≈ Σ B ln(L/B) + Σ (1 − B) ln(1 − B) ;

the fewer are filled up by members of whom nothing is known, with ratios of 1.

Households are weighed against each other as people are in A22 (:mod:`veil.attacks.linkage.search`). Within the most
probable group each member gets the row of the most probable assignment; its probability is that of the group times the
share of the permanent of ways in which it is the person's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.optimize import linear_sum_assignment

from veil.attacks.findings import Links
from veil.attacks.knowledge import ExternalTable
from veil.attacks.linkage.evidence import Evidence
from veil.attacks.linkage.likelihood import Clue
from veil.attacks.linkage.search import BLOCK, HELD, add_up, posterior
from veil.attacks.linkage.sizes import size_ratios
from veil.attacks.linkage.unknown import LEAST_STRANGERS
from veil.data.blocks import Matrix, Vector, one_array
from veil.data.groups import constant_in
from veil.errors import NotApplicableError
from veil.release.models import PseudonymModel
from veil.release.release import Release

Rows = npt.NDArray[np.intp]

MOST_MEMBERS = 6
"""People or rows up to which all ways to pair them are summed."""
ROUNDS = 20
"""Scalings by rows and columns of larger ones."""
_NEGLIGIBLE = -30.0


@dataclass(frozen=True, eq=False)
class Members:
    """The members of some groups, one group after another: ``order`` are their rows, ``starts`` where each begins."""

    order: Rows
    starts: Rows

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Members:
        """By the values of a column; who has none is alone."""
        array = one_array(column)
        indices = array.indices if pa.types.is_dictionary(array.type) else array.dictionary_encode().indices
        codes = indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        alone = codes < 0
        codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) > 0, True])
        return cls(order, starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Rows:
        """How many members each group has."""
        return np.diff(self.starts)


def link_households(release: Release, external: ExternalTable) -> Links:
    """Link the people of an external table to rows of a release, household by household."""
    name, released = _groups(release, external)
    table = external.table
    people, rows = Members.of(table.column(name)), Members.of(release.table.read([released]).column(0))
    if len(people) == table.num_rows or len(rows) == len(rows.order):
        raise NotApplicableError("no group of the release, or none of the external table, has two members")
    shared = Evidence(release, ExternalTable(table.drop_columns([name]))).columns
    constant = _constant(release, table, (name, released), shared)
    sorted_table = table.take(pa.array(people.order))
    own = _clues(release, sorted_table, [column for column in shared if column not in constant])
    first = sorted_table.take(pa.array(people.starts[:-1]))
    of_groups = _clues(release, first, constant)
    if not own and not of_groups:
        raise NotApplicableError("members cannot be compared: methods that do not tell rows apart hide all columns")
    households = _Households(people, rows, own, of_groups)
    found = households.linked()
    return replace(found, columns=(*shared, name))


def _groups(release: Release, external: ExternalTable) -> tuple[str, str]:
    """The column of groups in the external table, and its pseudonyms in the release."""
    there = set(external.table.column_names)
    for part in release.manifest.parts:
        if isinstance(part.model, PseudonymModel):
            for name, released in zip(part.names, part.released, strict=True):
                if name in there and len(there) > 1:
                    return name, released
    raise NotApplicableError("the external table does not say who belongs together, by a column of groups")


def _constant(release: Release, table: pa.Table, groups: tuple[str, str], shared: Sequence[str]) -> list[str]:
    """Columns that are constant within groups in both tables."""
    same = [name for name in shared if name in release.table.schema.names]
    ours = constant_in(table, [groups[0]], same).groups
    there = constant_in(release.table.read([groups[1], *same]), [groups[1]], same).groups
    return [name for name in same if name in ours and name in there]


def _clues(release: Release, table: pa.Table, columns: Sequence[str]) -> list[Clue]:
    return Evidence(release, ExternalTable(table.select(list(columns)))).clues() if columns else []


class _Households:
    """Households beside the groups of a release; people and their clues are in the order of households."""

    def __init__(self, people: Members, rows: Members, own: Sequence[Clue], of_groups: Sequence[Clue]) -> None:
        self._people, self._rows, self._own, self._of_groups = people, rows, own, of_groups
        self._sizes = size_ratios(people.sizes, rows.sizes)

    def linked(self) -> Links:
        """The most probable row of everybody."""
        m, n = len(self._people), len(self._rows)
        share = min(1.0, n / m)
        each = share / max(n - 1, 1)
        top, mass = np.zeros(n), np.full(n, max(1.0 - (m - 1) * each, LEAST_STRANGERS))
        held: list[Matrix] | None = [] if m * n <= HELD else None
        for _, scores, _ in self._blocks():
            add_up(scores + np.log(each), top, mass)
            if held is not None:
                held.append(scores)
        others = top + np.log(mass)
        count = len(self._people.order)
        links = Links(np.full(count, -1, dtype=np.intp), np.zeros(count), np.zeros(count), ())
        for households, scores, pairs in self._blocks(held):
            groups, probability, present = posterior(scores, others, each, share)
            base = self._people.starts[households.start]
            for k, g in enumerate(groups.tolist()):
                a, b = self._people.starts[households.start + k : households.start + k + 2]
                whose = self._people.order[a:b]
                links.present[whose] = present[k]
                links.probability[whose] = probability[k]
                if g >= 0:
                    c, d = self._rows.starts[g : g + 2]
                    at, to, shares = assigned(pairs[a - base : b - base, c:d])
                    links.rows[whose[at]] = self._rows.order[c:d][to]
                    links.probability[whose[at]] *= shares
        return links

    def _blocks(self, held: Sequence[Matrix] | None = None) -> Iterator[tuple[slice, Matrix, Matrix]]:
        """Some households with their ratios against all groups, and those of their members against all rows.

        The former may be ``held`` from an earlier pass, block by block.
        """
        kept = iter(held or ())
        starts, order = self._people.starts, self._rows.order
        height = max(1, BLOCK // len(order))
        first = 0
        while first < len(self._people):
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + height, side="right")) - 1)
            people, households = slice(starts[first], starts[last]), slice(first, last)
            pairs = np.zeros((starts[last] - starts[first], len(order)))
            for clue in self._own:
                pairs += clue.score(people)
            pairs = np.ascontiguousarray(pairs[:, order])
            scores = next(kept, None)
            yield households, self._scores(households, pairs) if scores is None else scores, pairs
            first = last

    def _scores(self, households: slice, pairs: Matrix) -> Matrix:
        """Log-ratios of some households and all groups."""
        scores, starts = self._sizes(households), self._people.starts[households.start : households.stop + 1]
        for clue in self._of_groups:
            scores += clue.score(households)[:, self._rows.order[self._rows.starts[:-1]]]
        add_groups(pairs, starts - starts[0], self._rows.starts, scores)
        return scores


def assigned(scores: Matrix) -> tuple[Rows, Rows, Vector]:
    """The most probable pairs of people and rows of one group, and the probability of each.

    >>> at, to, shares = assigned(np.log([[0.9, 0.1], [0.1, 0.9]]))
    >>> to.tolist(), shares.round(3).tolist()  # 0.81 of 0.82
    ([0, 1], [0.988, 0.988])
    """
    if scores.shape[0] > scores.shape[1]:
        rows, people, probabilities = assigned(scores.T)
        return people, rows, probabilities
    at, to = linear_sum_assignment(scores, maximize=True)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(np.maximum(scores - top, _NEGLIGIBLE))
    if max(scores.shape) > MOST_MEMBERS:
        return at, to, weights[at, to] / weights.sum(axis=1)[at]
    whole = permanent(weights)
    shares = [
        weights[e, i] * permanent(np.delete(np.delete(weights, e, axis=0), i, axis=1)) / whole
        for e, i in zip(at, to, strict=True)
    ]
    return at, to, np.minimum(np.array(shares), 1.0)


def permanent(weights: Matrix) -> float:
    """The sum over all ways to pair each of the fewer lines with another of the more, of the products of their weights.

    >>> permanent(np.array([[1.0, 2.0], [3.0, 4.0]])), permanent(np.array([[1.0, 2.0, 5.0]]))
    (10.0, 8.0)
    """
    few = weights if weights.shape[0] <= weights.shape[1] else weights.T
    return float(_permanent(np.ascontiguousarray(few), *few.shape)) if few.size else 1.0


@numba.njit(cache=True, nogil=True)
def _permanent(weights: Matrix, k: int, t: int) -> float:
    """Over subsets of the t columns, those of the first lines after another: the first k lines."""
    if k <= 2:  # (Σ a)(Σ b) − Σ ab, without a second line Σ a
        first, second, both = 0.0, 0.0, 0.0
        for i in range(t):
            first += weights[0, i]
            second += weights[k - 1, i]
            both += weights[0, i] * weights[k - 1, i]
        return first if k == 1 else first * second - both
    sums = np.zeros(1 << t)
    sums[0] = 1.0
    for e in range(k):
        # From many to few: a subset is filled from those with one element less, which come from the line before.
        for subset in range((1 << t) - 1, -1, -1):
            total, size, left = 0.0, 0, subset
            while left:
                size += 1
                left &= left - 1
            if size == e + 1:
                for i in range(t):
                    if subset & (1 << i):
                        total += weights[e, i] * sums[subset & ~(1 << i)]
                sums[subset] = total
    whole = 0.0
    for subset in range(1 << t):
        size, left = 0, subset
        while left:
            size += 1
            left &= left - 1
        if size == k:
            whole += sums[subset]
    return whole


@numba.njit(cache=True, nogil=True)
def _bethe(weights: Matrix, free: int) -> float:
    """ln of the mean over all ways, by Bethe's approximation; so many lines of ones stand for ``free`` columns."""
    k, n = weights.shape
    column, slack = np.ones(n), 1.0
    line = np.ones(k)
    for _ in range(ROUNDS):
        for e in range(k):
            line[e] = 1.0 / (weights[e] * column).sum()
        slack = free / column.sum()
        for i in range(n):
            column[i] = 1.0 / ((weights[:, i] * line).sum() + slack)
    value = -math.lgamma(n + 1.0)
    for i in range(n):
        for e in range(k):
            share = min(max(weights[e, i] * line[e] * column[i], 1e-300), 1.0 - 1e-12)
            value += share * math.log(weights[e, i] / share) + (1.0 - share) * math.log1p(-share)
        if free:
            share = min(max(slack * column[i] / free, 1e-300), 1.0 - 1e-12)
            value += free * (-share * math.log(share) + (1.0 - share) * math.log1p(-share))
    return value


@numba.njit(cache=True, nogil=True)
def add_groups(pairs: Matrix, people: Rows, rows: Rows, out: Matrix) -> None:
    """Add ln Λ of every household and group, from the ratios of their members."""
    most = max(len(pairs), pairs.shape[1])
    tops, small = np.empty(most), np.empty((MOST_MEMBERS, MOST_MEMBERS))
    for h in range(len(people) - 1):
        a, s = people[h], people[h + 1] - people[h]
        for g in range(len(rows) - 1):
            c, t = rows[g], rows[g + 1] - rows[g]
            k, n, turned, best = min(s, t), max(s, t), s > t, 0.0
            for e in range(k):
                top = -np.inf
                for i in range(n):
                    top = max(top, pairs[a + i, c + e] if turned else pairs[a + e, c + i])
                tops[e] = top
                best += top
            if best <= _NEGLIGIBLE:
                out[h, g] += best
                continue
            weights, ways = small if n <= MOST_MEMBERS else np.empty((k, n)), 0.0
            for e in range(k):
                ways += math.log(n - e)
                for i in range(n):
                    score = pairs[a + i, c + e] if turned else pairs[a + e, c + i]
                    weights[e, i] = math.exp(max(score - tops[e], _NEGLIGIBLE))
            if n <= MOST_MEMBERS:
                out[h, g] += best + math.log(max(_permanent(weights, k, n), 1e-300)) - ways
            else:
                out[h, g] += best + _bethe(weights, n - k)
