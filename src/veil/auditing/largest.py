"""What guesses tell of the largest values of each column (:mod:`veil.measures.largest`), against the person absent.

*Control.* Who the largest are is often known to everybody: the richest, the largest firms. So the absent attacker knows
that he is asked about one of them, and says whatever tells most of them: one of his guesses of everybody
(:mod:`veil.auditing.absent`), or the constant that tells most of the other largest values, or of what the attack
guesses of these. Which of them is chosen in hindsight, to his advantage. So no constant gains anything, nor does a mean
of all that was coded, and a column whose largest values resemble each other leaves little to gain. Over several keys
the largest are the same people, so that an interval is over what keys do to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veil.attacks.knowledge import Rows
from veil.auditing.scores import Codes, Contrast, GuessScores, LargestScore, Mask, Score
from veil.data.blocks import Matrix, Vector
from veil.measures.largest import LargestRule, best_constants, constants_of_others, largest, told

FEWEST = 5
"""Largest values that a column must have to be scored."""


@dataclass(frozen=True)
class Asked:
    """The largest values among those that are asked for: the rows that have one, their values, and which these are.

    ``groups`` are the groups of these rows, for each column that is constant in some.
    """

    rows: Rows
    truth: Matrix
    most: Mask
    share: float
    groups: tuple[Codes | None, ...]

    def told(self, values: Matrix, at: slice | list[int] = slice(None)) -> Mask:
        """Which of them a guess of some columns of everybody tells."""
        return told(self.truth[:, at], values[self.rows], self.share) & self.most[:, at]

    def untold(self, guesses: Sequence[Matrix], values: Matrix, at: slice | list[int]) -> Mask:
        """What the absent attacker tells of some columns: by ``guesses`` of everybody, or by what others have.

        Others have their own largest values, and what the attack guesses of these, ``values``.
        """
        stated = values[self.rows]
        constants = [self._of_others(each[:, at], at) for each in (self.truth, np.where(self.most, stated, np.nan))]
        hits = np.stack([*(self.told(guess, at) for guess in guesses), *constants])
        return np.asarray(np.take_along_axis(hits, hits.sum(axis=1).argmax(axis=0)[None, None], axis=0)[0])

    def _of_others(self, values: Matrix, at: slice | list[int]) -> Mask:
        """Which of them are told by the constant that is near most values of others, who are in other groups."""
        truth, most = self.truth[:, at], self.most[:, at]
        constants = np.full(truth.shape, np.nan)
        for j, codes in enumerate(self._codes(at)):
            own = np.flatnonzero(most[:, j] & np.isfinite(values[:, j]))
            constants[own, j] = constants_of_others(values[own, j], self.share, codes[own])
        return told(truth, constants, self.share) & most

    def _codes(self, at: slice | list[int]) -> list[Codes]:
        alone = np.arange(len(self.rows))
        chosen = self.groups[at] if isinstance(at, slice) else [self.groups[j] for j in at]
        return [alone if codes is None else codes for codes in chosen]

    def rates(self, values: Matrix) -> Vector:
        """The share of them that a guess tells, by column."""
        return np.asarray(self.told(values).sum(axis=0) / np.maximum(self.most.sum(axis=0), 1))


class LargestValues:
    """The largest values of each column of a private table; those of categories are missing."""

    def __init__(
        self, truth: Matrix, rule: LargestRule, units: Vector, centre: Vector, groups: Sequence[Codes | None]
    ) -> None:
        self._truth, self._share, self._groups = truth, rule.share, tuple(groups)
        self._most = largest(truth, rule, units, centre, self._groups)

    @cached_property
    def baselines(self) -> tuple[Contrast, ...]:
        """What the best constant for them tells of them, by column, and how many there are."""
        asked = self.asked(self._truth, np.arange(len(self._truth)))
        hits = asked.told(best_constants(self._truth, self._most, self._share))
        return self.contrasts(asked, hits, hits)

    def asked(self, truth: Matrix, rows: Rows) -> Asked:
        """Those among the values ``truth`` of some rows of the table, of which some may be missing."""
        most = self._most[rows] & ~np.isnan(truth)
        top = np.flatnonzero(most.any(axis=1))
        groups = tuple(None if codes is None else codes[rows[top]] for codes in self._groups)
        return Asked(top, truth[top], most[top], self._share, groups)

    def contrasts(self, asked: Asked, present: Mask, absent: Mask) -> tuple[Contrast, ...]:
        """What is told of them by column; who share a value in a group count once."""
        return tuple(
            Contrast.of(p, a, m) if codes is None else Contrast.of_groups(p, a, m, codes)
            for p, a, m, codes in zip(present.T, absent.T, asked.most.T, asked.groups, strict=True)
        )

    def firsts(self, truth: Matrix, values: Matrix) -> Vector:
        """For each column whether the largest guess is of the largest value, or which share of equal ones; else NaN."""
        firsts = np.full(truth.shape[1], np.nan)
        for j in np.flatnonzero(self._most.any(axis=0)):
            guess, x = (column[:, j][~np.isnan(truth[:, j])] for column in (values, truth))
            if len(x):
                lead = guess == np.nanmax(guess) if not np.isnan(guess).all() else np.ones(len(x), dtype=np.bool_)
                firsts[j] = (x[lead] == x.max()).mean()
        return firsts

    def scores(
        self, guesses: Sequence[GuessScores], columns: Sequence[str], at: Rows, pool: Callable[..., Score]
    ) -> dict[str, LargestScore]:
        """The score on each column, in the order ``at``, that has enough; intervals allow for the number of columns."""
        nulls, lucks = (by_luck(guesses, name, len(columns)) for name in ("largest_nulls", "largest_lucks"))
        scored = [j for j in at if all(t.largest and t.largest[j].n >= FEWEST for t in guesses)]
        scores = {}
        for j in scored:
            baseline = self.baselines[j]
            score = pool(
                columns[j],
                [t.largest[j] for t in guesses],
                baseline.rate,
                null=float(nulls[j]),
                luck=float(lucks[j]),
                lifted=False,
                confidence=1.0 - 0.05 / len(scored),
            )
            first = float(np.mean([t.firsts[j] for t in guesses if t.firsts is not None]))
            scores[columns[j]] = LargestScore(score, baseline.n, first)
        return scores


def by_luck(guesses: Sequence[GuessScores], name: str, n_columns: int) -> Vector:
    """What guesses that say nothing get of each column by the matching, on average over the runs; else zeros."""
    known = [each for guess in guesses if (each := getattr(guess, name)) is not None]
    return np.asarray(np.mean(known or [np.zeros(n_columns)], axis=0))


def with_goals(pool: Callable[..., Score], goals: Mapping[str, float]) -> Callable[..., Score]:
    """A pool whose first argument names a column, which is held against its own goal where it has one."""

    def pooled_column(column: str, *arguments: object, **settings: object) -> Score:
        return pool(*arguments, **settings, **({"goal": goals[column]} if column in goals else {}))

    return pooled_column
