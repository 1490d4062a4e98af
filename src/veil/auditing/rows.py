"""The rows of an audit: one attack with one level of knowledge each, gathered by perturbation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from veil.auditing.grants import Level
from veil.auditing.membership import Membership
from veil.auditing.scores import LargestScore, Score
from veil.measures import Measure
from veil.report.failures import AdvantageOverGoal, Failure, UntestedKnowledge
from veil.report.model import Picture
from veil.report.remarks import ReleasedKeys
from veil.report.values import AttackView, Scored


@dataclass(frozen=True)
class AuditRow:
    """One attack on one perturbation with one level of knowledge.

    ``value`` and ``record`` are the scores per value and per record, ``worst_column`` the column with the highest
    advantage, ``far_out`` the score on far-out values (None for fewer than ten), ``nrmse`` the root-mean-square error
    in standard units (a constant guess of the mean has about 1), ``columns`` the score on each column, and ``largest``
    that on the largest values of each column that has enough of them.
    ``tested`` says that the attack used the knowledge of its level, and ``kinds`` how many kinds of knowledge and
    assumptions it needed. ``target`` names the methods of the parts that were
    attacked, where a release has several. ``one_matrix`` says that the attack succeeds or fails on all records alike,
    so that its interval is over repetitions. Where the attack ``links`` people to rows instead of guessing values,
    every score is that of its links. ``seconds`` differ between audits that are otherwise equal, and are not compared.
    """

    perturbation: str
    attack: str
    catalogue: str
    attack_words: str
    level: Level
    value: Score
    record: Score
    worst_column: str
    column: Score
    far_out: Score | None
    nrmse: float
    ambiguity: str
    repetitions: int
    n_scored: int
    seconds: float = field(compare=False)
    failures: tuple[AdvantageOverGoal, ...] = ()
    picture: Picture | None = field(default=None, repr=False)
    records: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    up_to: tuple[str, ...] = ()
    part: int = 0
    target: tuple[str, ...] = ()
    columns: dict[str, Score] = field(default_factory=dict, repr=False)
    largest: dict[str, LargestScore] = field(default_factory=dict, repr=False)
    tested: bool = True
    links: bool = False
    one_matrix: bool = False
    n_far_out: int = 0
    kinds: int = 0

    @property
    def column_gains(self) -> dict[str, float]:
        """The advantage on each column, without intervals."""
        return {name: float(score.advantage) for name, score in self.columns.items()}

    @property
    def states_values(self) -> bool:
        """Whether the guess states values: one that leaves the scale open is matched by the judge, and not counted."""
        return "scale" not in self.up_to

    @property
    def view(self) -> AttackView:
        """The attack, and what it was on where a release has several parts."""
        return AttackView(self.attack, self.target)

    @property
    def name(self) -> str:
        """Both in a few words."""
        return self.view.name

    @property
    def knowledge(self) -> str:
        """The knowledge level, in a few words."""
        return self.level.label

    @property
    def advantage(self) -> Measure:
        """The higher of the advantages per value and per record."""
        return self.record.advantage if self.scored is Scored.RECORDS else self.value.advantage

    @property
    def scored(self) -> Scored:
        """What the advantage is on: links, or the higher one of values and records."""
        if self.links:
            return Scored.LINKS
        return Scored.RECORDS if self.record.advantage > self.value.advantage else Scored.VALUES

    @property
    def upper(self) -> float:
        """The higher upper limit of the advantages per value and per record, which goals are held against."""
        ends = (self.value.advantage.high, self.record.advantage.high)
        return math.nan if any(map(math.isnan, ends)) else max(ends)

    @property
    def passed(self) -> bool:
        """Whether every goal holds against this attack."""
        return not self.failures

    @property
    def broken(self) -> tuple[AdvantageOverGoal, ...]:
        """The goals that the attack is shown to break; the other failures are goals not shown to hold."""
        return tuple(failure for failure in self.failures if failure.shown)


@dataclass(frozen=True)
class Skipped:
    """An attack that was not run, and why.

    ``applies`` says that it has a theory for the method, ``late`` that the time had run out.
    """

    attack: str
    level: Level
    reason: str
    applies: bool = True
    late: bool = False
    target: tuple[str, ...] = ()

    @property
    def view(self) -> AttackView:
        """The attack, and what it was to be on where a release has several parts."""
        return AttackView(self.attack, self.target)

    @property
    def knowledge(self) -> str:
        """The knowledge level, in a few words."""
        return self.level.label


@dataclass(frozen=True)
class Break:
    """The least knowledge of one kind with which a goal is shown to break, and the attack that does it."""

    level: Level
    attack: str
    target: tuple[str, ...] = ()

    @property
    def view(self) -> AttackView:
        """The attack, and what it was on where a release has several parts."""
        return AttackView(self.attack, self.target)

    @property
    def name(self) -> str:
        """Both in a few words."""
        return self.view.name


@dataclass(frozen=True)
class Candidate:
    """One perturbation under audit: its rows, its utility, what it fails, the knowledge that no attack used, and what
    is told about who is in the table."""

    label: str
    method: str
    catalogue: str
    guarantee: str
    threat: str
    rows: tuple[AuditRow, ...]
    skipped: tuple[Skipped, ...]
    levels: tuple[Level, ...]
    utility: dict[str, Measure]
    other_failures: tuple[Failure, ...]
    breaks: tuple[Break, ...] = ()
    untested: tuple[UntestedKnowledge, ...] = ()
    membership: Membership | None = None
    keys: ReleasedKeys | None = None

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Every goal that does not hold; each prints as a sentence."""
        return tuple(f for row in self.rows for f in row.failures) + self.other_failures

    @property
    def passed(self) -> bool:
        """Whether every goal holds."""
        return not self.failures

    @property
    def worst(self) -> AuditRow | None:
        """The strongest attack found, at any level; None when no attack applies."""
        return strongest_of([r for r in self.rows if r.states_values])

    def strongest(self, level: Level) -> AuditRow | None:
        """The strongest attack with this knowledge or less of the same kind."""
        return strongest_of([r for r in self.rows if r.level.within(level) and r.states_values])

    @property
    def searched(self) -> tuple[Level, ...]:
        """Levels that were not granted, and that a search for the least that breaks came to."""
        return tuple(each.level for each in self.breaks if each.level not in self.levels)


def strongest_of(
    rows: Sequence[AuditRow], gain: Callable[[AuditRow], float] = lambda row: row.advantage
) -> AuditRow | None:
    """The strongest of the rows, by one of their advantages; None without any.

    Of rows with advantages that reports show as equal, the simplest: that with the fewest kinds of knowledge, then the
    smallest error as reports show it, then the first, as in the catalogue. A row whose attack did not use the knowledge
    of its level counts only where the attack did not run with less: it would be named for what it did not use.
    """
    used = {(row.attack, row.target) for row in rows if row.tested}
    named = [row for row in rows if row.tested or (row.attack, row.target) not in used]
    return max(named, key=lambda row: (_shown(gain(row)), -row.kinds, -round(row.nrmse, 2)), default=None)


def _shown(gain: float) -> float:
    """An advantage with the digits that reports have; what is not a number comes last."""
    return -math.inf if math.isnan(gain) else round(float(gain), 3)
