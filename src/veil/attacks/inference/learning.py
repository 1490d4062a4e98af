"""Learn hidden columns from known ones on the rows of a release, and choose for each the learner that serves it (A29).

Every learner gives beliefs in the classes of a column (:mod:`veil.attacks.inference.hidden`):

========== ==========================================================================================================
constant   the shares among all rows; of a number, the value within reach of most of them
forest     a random forest on what is known (:mod:`veil.attacks.inference.forest`)
neighbours the rows that are nearest in what is known
chain      a forest on what is known and on the beliefs in the columns before it, the most predictable first
nearest    the one row that is nearest; it is never chosen, and tells a release that remembers people
========== ==========================================================================================================

Released rows judge them, each without itself: the learner whose guesses hit most of their released values serves a
column, of those that are not clearly better the simplest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.attacks.inference.forest import Forest
from veil.attacks.inference.hidden import Beliefs, Hidden, summary
from veil.attacks.inference.neighbours import NEIGHBOURS, Neighbours, beliefs_of
from veil.data.blocks import Matrix, Vector

JUDGES: Final = 3_000
"""Released rows that learners are judged on."""
CLEARLY: Final = 1.5
"""Standard errors by which a learner must be better than a simpler one."""
TELLING: Final = 0.02
"""Advantage over the constant from which on beliefs in a column are passed on to the next ones."""

Rows = npt.NDArray[np.intp]


class Learner(StrEnum):
    """How the beliefs in a column come about; the simplest first."""

    CONSTANT = "constant"
    FOREST = "forest"
    NEIGHBOURS = "neighbours"
    CHAIN = "chain"
    NEAREST = "nearest"


@dataclass(eq=False)
class People:
    """People whose hidden columns are asked for.

    ``features`` are what trees look at and ``places`` where neighbours are looked for, a row for each person;
    ``own`` are released rows that are to be left out, one for each person, −1 for none.
    """

    features: Matrix
    places: Matrix
    own: Rows | None = None
    near: dict[int, Rows] = field(default_factory=dict, repr=False)
    summaries: dict[int, Matrix] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class Choice:
    """What serves a column: the learner, the aim of its guess, and which of the judging rows it hits."""

    learner: Learner
    aim: str
    right: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def hits(self) -> float:
        """The share of the judging rows that it hits."""
        return float(self.right.mean()) if len(self.right) else 0.0

    def beats(self, other: Choice) -> bool:
        """Whether it hits more rows than another, by more than :data:`CLEARLY` standard errors of the difference."""
        apart = int((self.right != other.right).sum())
        return bool(int(self.right.sum()) - int(other.right.sum()) > CLEARLY * apart**0.5)


class Inference:
    """What the rows of a release teach about hidden columns.

    Parameters
    ----------
    rows
        The released rows, with nothing left out.
    hidden
        The columns, on the same rows.
    only
        The one learner to use, for all columns; the best one for each by default.
    settled
        Learner and aim of columns by name, where they were chosen elsewhere.
    """

    def __init__(
        self,
        rows: People,
        hidden: Sequence[Hidden],
        only: Learner | None = None,
        settled: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        self._hidden, self._only, self._settled = tuple(hidden), only, dict(settled or {})
        n = len(rows.features)
        everybody = np.arange(n)
        self._rows = People(rows.features, rows.places, everybody)
        some = everybody[: min(JUDGES, n)]
        self._judges = People(rows.features[some], rows.places[some], some)
        self._index = Neighbours(rows.places)
        self._forests: dict[int, Forest] = {}
        self._chains: dict[int, tuple[Forest, tuple[int, ...]]] = {}
        self._constants = [self._tried(j, Learner.CONSTANT, "hit") for j in range(len(self._hidden))]
        self.choices = [self._best(j, self._plain()) for j in range(len(self._hidden))]
        if only in (None, Learner.CHAIN):
            self._chain()

    def _plain(self) -> tuple[Learner, ...]:
        """Learners that look at what is known alone."""
        if self._only is None:
            return Learner.FOREST, Learner.NEIGHBOURS
        return (Learner.FOREST if self._only is Learner.CHAIN else self._only,)

    def _best(self, j: int, learners: Sequence[Learner], former: Choice | None = None) -> Choice:
        """The first choice that no later one beats, from a former one or the constant on."""
        name, numeric = self._hidden[j].name, self._hidden[j].numeric
        if name in self._settled:
            learner, aim = self._settled[name]
            there = learner != Learner.CHAIN or j in self._chains
            return self._tried(j, Learner(learner) if there else Learner.FOREST, aim)
        best = former or (self._constants[j] if self._only is None else None)
        for learner in learners:
            for aim in ("hit",) if not numeric or learner is Learner.NEAREST else ("hit", "mean"):
                choice = self._tried(j, learner, aim)
                best = choice if best is None or choice.beats(best) else best
        return best or self._constants[j]

    def _tried(self, j: int, learner: Learner, aim: str) -> Choice:
        column, some = self._hidden[j], np.arange(len(self._judges.features))
        guess = self._guess(j, learner, aim, self._judges)
        return Choice(learner, aim, column.hits(guess, some)[column.codes[some] >= 0])

    def _chain(self) -> None:
        """Go through the columns once more, the most predictable first, with the beliefs in those before."""
        gains = [self._gain(j) for j in range(len(self._hidden))]
        before: list[int] = []
        for j in sorted(range(len(gains)), key=lambda j: -gains[j]):
            if before:
                features = np.column_stack([self._rows.features, *(self._summary(i, self._rows) for i in before)])
                self._chains[j] = Forest(features, self._hidden[j]), tuple(before)
                former = self.choices[j] if self._only is None else None
                self.choices[j] = self._best(j, (Learner.CHAIN,), former)
            if self._gain(j) > TELLING:
                before.append(j)

    def _gain(self, j: int) -> float:
        """The advantage of a column's choice over the constant."""
        constant = self._constants[j].hits
        return (self.choices[j].hits - constant) / max(1.0 - constant, 1e-9)

    def _summary(self, j: int, people: People) -> Matrix:
        if j not in people.summaries:
            people.summaries[j] = summary(self._hidden[j], self._beliefs(j, self.choices[j].learner, people))
        return people.summaries[j]

    def _beliefs(self, j: int, learner: Learner, people: People) -> Beliefs:
        column = self._hidden[j]
        if learner is Learner.CONSTANT:
            return np.broadcast_to(column.shares(), (len(people.features), column.n_classes))
        if learner is Learner.FOREST:
            if j not in self._forests:
                self._forests[j] = Forest(self._rows.features, column)
            return self._forests[j].beliefs(people.features, people.own)
        if learner is Learner.CHAIN:
            forest, before = self._chains[j]
            features = np.column_stack([people.features, *(self._summary(i, people) for i in before)])
            return forest.beliefs(features, people.own)
        return beliefs_of(column, self._near(people, 1 if learner is Learner.NEAREST else NEIGHBOURS))

    def _near(self, people: People, k: int) -> Rows:
        if k not in people.near:
            people.near[k] = self._index.nearest(people.places, k, people.own)
        return people.near[k]

    def _guess(self, j: int, learner: Learner, aim: str, people: People) -> Vector:
        """The guess of one column; the row that is nearest tells its own value, not what its class stands for."""
        column = self._hidden[j]
        if learner is Learner.CONSTANT and aim == "hit":
            return np.full(len(people.features), column.constant)
        guess = column.guess(self._beliefs(j, learner, people), aim)
        if learner is not Learner.NEAREST:
            return guess
        own = column.released[self._near(people, 1)[:, 0]]
        return np.where(np.isnan(own), guess, own)

    def guesses(self, people: People) -> Matrix:
        """The guess of every hidden column, P × h."""
        return np.column_stack([self._guess(j, each.learner, each.aim, people) for j, each in enumerate(self.choices)])
