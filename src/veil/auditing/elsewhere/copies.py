"""Copies of private records among released rows, counted before any attack and whatever the order of rows.

*Equal records* are paired one by one (:mod:`veil.auditing.elsewhere.equal`).

*Changed copies.* A value x_ij tells −ln p nats, p being the share of private records that agree with it in that column;
a record tells their sum I_i. A changed copy is a row that agrees with it in at least seven tenths of I_i. Information
is used, and not the number of cells, because methods that leave frequent values as they are (zeros, usual categories)
would otherwise look like copies.

*Near records.* A record is near where a row is within the tolerance in root mean square of standard units, as the judge
counts a record breach.

*Chance.* For both, the same is counted for strangers: each person against the *other* private records. If the rows were
fresh draws of the population, as many people would be found among N − 1 rows (by exchangeability). Of m ≠ N − 1 rows,
the longer list is thinned: a person with n matches among l meets one among k < l of them with probability
1 − C(l−n, k)/C(l, k). With b people found by the release alone and c by chance alone, b of b + c is then binomial with
probability 1/2 under fresh draws (McNemar 1947). People who resemble each other are found together, so both are divided
by the mean number of those who do. By all m rows at most m/(N − 1) times as many are found by chance, since
1 − (1 − p)^m is concave in m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, hypergeom

from veil import measures
from veil.auditing.elsewhere.columns import Pairs
from veil.auditing.elsewhere.equal import SAME, EqualRecords, equal_records
from veil.data.blocks import Matrix, Vector
from veil.measures.units import scored_columns
from veil.report.failures import CopiedRecords
from veil.report.values import CopyKind

SHARE = 0.7
"""Share of what a record tells that a changed copy has."""
LEVEL = 0.001
"""Probability at which changed and near copies are more than chance."""
EQUAL_LEVEL = 0.005
"""The same for equal records, which numbers with noise never are."""
FEWEST = 5
"""Equal records that are enough where no private record has an equal."""
FINE = 0.3
"""Near records within this share of the tolerance are copies whatever the goal: noise of any use is wider."""
MOST_PAIRS = 1e8
"""Pairs of a person and a row that are compared; of larger tables, some people are."""
CODE_UNIT = 1e-9

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Coincidences:
    """People who are found among the rows, beside what chance explains.

    ``n_people`` were looked for, ``n_found`` of them are found among the rows, ``n_chance`` would be among as many
    strangers; ``alone`` and ``by_chance`` count those that only the release and only chance finds, of as many rows as
    others. ``resembling`` is how many are found together.
    """

    n_people: int
    n_found: int
    n_chance: float
    alone: int
    by_chance: int
    resembling: float

    @property
    def p_value(self) -> float:
        """The probability of as many among fresh draws."""
        alone, by_chance = (math.floor(each / self.resembling) for each in (self.alone, self.by_chance))
        return float(binom.sf(alone - 1, alone + by_chance, 0.5)) if alone else 1.0

    @property
    def advantage_low(self) -> float:
        """The lower 95 % limit of (found − chance)/(1 − chance), one found alone and one by chance added."""
        n, gain = self.n_people + 2, self.alone - self.by_chance
        spread = self.alone + self.by_chance + 2 - gain**2 / n
        rest = max(1.0 - self.n_chance / self.n_people, 1e-9)
        return (gain - 1.96 * math.sqrt(max(spread, 0.0) * self.resembling)) / n / rest

    @property
    def beyond_chance(self) -> bool:
        """Whether fresh draws would not show as many."""
        return self.p_value <= LEVEL


@dataclass(frozen=True)
class Copies:
    """What the rows of a release have in common with private records.

    ``equal`` are whole records, ``changed`` those with at least seven tenths of what they tell; ``near`` are within the
    tolerance, ``fine`` within three tenths of it.
    """

    equal: EqualRecords
    changed: Coincidences
    near: Coincidences
    fine: Coincidences

    def failures(self, max_advantage: float) -> tuple[CopiedRecords, ...]:
        """The clearest way in which the release holds private records; none where it does not, beyond chance.

        Equal records are never what a goal allows. Near ones may be: noise leaves some within the tolerance, and the
        goal says how many.
        """
        changed = self.changed.beyond_chance and self.changed.n_chance <= 0.5 * self.changed.n_found
        if self._has_equal and not (changed and self.changed.n_found > 1.5 * self.equal.n_pairs):
            n, pairs, chance = self.equal.n_records, self.equal.n_pairs, self.equal.n_chance
            return (CopiedRecords(CopyKind.WHOLE, pairs, n, n, round(chance, 1)),)
        if changed:
            return (self._failure(CopyKind.MOST, self.changed),)
        if self.fine.beyond_chance or (self.near.beyond_chance and self.near.advantage_low > max_advantage):
            return (self._failure(CopyKind.NEAR, self.near),)
        return ()

    @property
    def _has_equal(self) -> bool:
        """Whether fresh draws would not have as many equal; where no record has an equal, few or all are enough."""
        if self.equal.n_chance == 0 and self.equal.n_pairs >= min(FEWEST, self.equal.n_records):
            return True
        return self.equal.p_value <= EQUAL_LEVEL and self.equal.n_pairs > self.equal.n_chance

    def _failure(self, kind: CopyKind, people: Coincidences) -> CopiedRecords:
        n_rows = self.equal.n_records
        return CopiedRecords(kind, people.n_found, people.n_people, n_rows, round(people.n_chance, 1))


def copies(pairs: Pairs, scored: npt.NDArray[np.bool_], tolerance: float) -> Copies | None:
    """Compare private records with released rows; None where there is nothing to compare.

    ``scored`` are the private columns. Of the others nobody said whether they are private; an equal record is equal in
    the private ones or in all, and a changed copy has seven tenths of what the private ones tell as well as of all.
    """
    x, y = pairs.private, pairs.values
    n, m = len(x), len(y)
    if not scored.any() or n < 2 or not m:
        return None
    steps = np.array([_step(a, b, codes) for a, b, codes in zip(x.T, y.T, pairs.categorical, strict=True)])
    equal = min(
        (
            equal_records(x[:, use], y[:, use], steps[use])
            for use in ([scored] if scored.all() else [scored, scored | True])
        ),
        key=lambda each: each.p_value,
    )
    slack = np.maximum(steps, np.where(pairs.categorical, 0.0, SAME * np.nanmax(np.abs(x), axis=0, initial=0.0)))
    information = np.column_stack([_information(a, s) for a, s in zip(x.T, slack, strict=True)])
    people = np.flatnonzero(information[:, scored].sum(axis=1) > 0)
    if not len(people):
        return None
    most = max(1, int(MOST_PAIRS // (n + m)))
    if len(people) > most:
        people = np.sort(np.random.default_rng(0).choice(people, most, replace=False))
    order = np.argsort(-information.mean(axis=0))  # telling columns first: most pairs are left at once
    agree, near = _compiled()
    known = (_ordered(x, order), _ordered(information, order), scored[order], slack[order])
    counts = [agree(*known, _ordered(each, order), people, others) for each, others in ((y, False), (x, True))]
    units = np.where(pairs.categorical, CODE_UNIT, measures.standard_units(x))
    used = scored & scored_columns(units)
    unit, centre = np.where(units > 0, units, 1.0), np.nanmedian(x, axis=0)
    z, rows = (np.ascontiguousarray(((each - centre) / unit)[:, used]) for each in (x, y))
    close = [
        [near(z, each, people, reach**2, others) for each, others in ((rows, False), (z, True))]
        for reach in (tolerance, FINE * tolerance)
    ]
    return Copies(equal, *(_coincidences(*each, n=n, m=m) for each in (counts, *close)))


def _ordered(values: Matrix, order: npt.NDArray[np.intp]) -> Matrix:
    return np.ascontiguousarray(values[:, order])


def _coincidences(rows: Counts, others: Counts, *, n: int, m: int) -> Coincidences:
    """People with a match among the rows, and among as many of the others: numbers of matches of each person."""
    rng = np.random.default_rng(0)
    hit, met = _thinned(rows, m, n - 1, rng), _thinned(others, n - 1, m, rng)
    chance = min(max(1.0, m / (n - 1)) * float(met.sum()), float(len(rows)))
    resembling = 1.0 + float(others.mean())
    alone, by_chance = int((hit & ~met).sum()), int((met & ~hit).sum())
    return Coincidences(len(rows), int((rows > 0).sum()), chance, alone, by_chance, resembling)


def _thinned(matches: Counts, length: int, most: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Who meets a match among at most so many of a list, given everybody's matches in all of it."""
    if length <= most:
        return matches > 0
    return np.asarray(rng.random(len(matches)) < 1.0 - hypergeom.pmf(0, length, matches, most))


def _step(x: Vector, y: Vector, codes: bool) -> float:
    """What a released column was rounded to, where the private one was not and it is little; else 0."""
    x, y = x[np.isfinite(x)], y[np.isfinite(y)]
    if codes or not len(x) or not len(y):
        return 0.0
    for digits in range(-6, 9):  # from coarse to fine
        step = 10.0**-digits
        if _on_grid(y, step).all():
            return step if _on_grid(x, step).mean() < 0.5 and step <= 0.3 * float(x.std()) else 0.0
    return 0.0


def _on_grid(values: Vector, step: float) -> npt.NDArray[np.bool_]:
    steps = values / step
    return np.asarray(np.abs(steps - np.rint(steps)) <= 1e-9 * (1.0 + np.abs(steps)))


def _information(x: Vector, slack: float) -> Vector:
    """What each value tells, in nats: minus the logarithm of the share of records that agree with it."""
    known = ~np.isnan(x)
    present = np.sort(x[known])
    agreeing = np.searchsorted(present, x[known] + slack, "right") - np.searchsorted(present, x[known] - slack, "left")
    information = np.zeros(len(x))
    information[known] = -np.log(np.maximum(agreeing, 1) / max(len(present), 1))
    return information


def _agreeing(
    x: Matrix,
    information: Matrix,
    scored: npt.NDArray[np.bool_],
    slack: Vector,
    rows: Matrix,
    people: npt.NDArray[np.intp],
    others: bool,
) -> Counts:
    """For each person, the rows that agree in a share of what the record tells, overall and on the scored columns."""
    counts = np.zeros(len(people), dtype=np.int64)
    d = x.shape[1]
    for k in range(len(people)):
        i = people[k]
        spare, spare_scored = 0.0, 0.0
        for j in range(d):
            spare += information[i, j]
            spare_scored += information[i, j] if scored[j] else 0.0
        spare, spare_scored = spare * (1.0 - SHARE) + 1e-9, spare_scored * (1.0 - SHARE) + 1e-9
        for r in range(len(rows)):
            if others and r == i:
                continue
            left, left_scored = spare, spare_scored
            for j in range(d):
                if information[i, j] > 0.0 and not abs(x[i, j] - rows[r, j]) <= slack[j]:
                    left -= information[i, j]
                    if scored[j]:
                        left_scored -= information[i, j]
                    if left < 0.0 or left_scored < 0.0:
                        break
            if left >= 0.0 and left_scored >= 0.0:
                counts[k] += 1
    return counts


def _near(x: Matrix, rows: Matrix, people: npt.NDArray[np.intp], reach: float, others: bool) -> Counts:
    """For each person, the rows within a mean square of ``reach`` over the values that the person has."""
    counts = np.zeros(len(people), dtype=np.int64)
    d = x.shape[1]
    for k in range(len(people)):
        i = people[k]
        present = 0
        for j in range(d):
            present += x[i, j] == x[i, j]
        limit = reach * present * (1.0 + 1e-9)
        for r in range(len(rows)):
            if others and r == i:
                continue
            square, within = 0.0, present > 0
            for j in range(d):
                if x[i, j] == x[i, j]:
                    error = x[i, j] - rows[r, j]
                    square += error * error
                    if not square <= limit:
                        within = False
                        break
            counts[k] += within
    return counts


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from numba import njit

    return njit(_agreeing, cache=True, nogil=True), njit(_near, cache=True, nogil=True)
