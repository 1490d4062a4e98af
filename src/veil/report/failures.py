"""Goals that do not hold, as typed values: which goal, by how much, against whom; each prints as one sentence.

An audit makes them, the report's model holds them, and the words are found here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from veil.report.values import AttackView, CopyKind, Estimate, KnowledgeView, Scored, State
from veil.report.words import count, goal, knowing, listed, percent, within


@dataclass(frozen=True)
class AdvantageOverGoal:
    """An attack gains more than the goal allows, or cannot be shown not to.

    ``scored`` says on what, ``column`` which one where it is one column or its largest values, and ``part`` which
    columns the attack guesses where it is on one part of a release. Scores are held to the upper end of ``advantage``,
    far-out and the largest values to the lower one. ``shown`` says that the goal is shown to break; where it is not,
    the ``repetitions``, or the ``n_scored`` records of the only one, are too few to exclude it.

    >>> from veil.report.values import Unit
    >>> alone = KnowledgeView("nothing", 0, Unit.NONE, "nothing")
    >>> gain = Estimate(0.04, 0.02, 0.061)
    >>> print(AdvantageOverGoal(AttackView("pca-attack"), alone, Scored.VALUES, "", gain, 0.05, False, 1, 1200))
    pca-attack with the release alone: advantage on values up to 6.1 %, over the goal of 5.0 %; 1,200 records cannot \
exclude it
    """

    attack: AttackView
    knowledge: KnowledgeView
    scored: Scored
    column: str
    advantage: Estimate
    most: float
    shown: bool
    repetitions: int
    n_scored: int
    part: tuple[str, ...] = ()
    kind: Literal["advantage"] = field(default="advantage", init=False)

    def __str__(self) -> str:
        """Which attack gains how much on what, with which knowledge."""
        place = f"column {self.column!r}"
        what = {Scored.COLUMN: place, Scored.LARGEST: f"the largest values of {place}"}.get(
            self.scored, f"{self.scored}{within(self.part)}"
        )
        gain = self.advantage
        reach = f"at least {percent(gain.low)}" if self.shown else f"up to {percent(gain.high)}"
        evidence = f"{self.repetitions} runs" if self.repetitions > 1 else f"{self.n_scored:,} records"
        doubt = "" if self.shown else f"; {evidence} cannot exclude it"
        by = f"{self.attack.name} with {knowing(self.knowledge)}"
        return f"{by}: advantage on {what} {reach}, over the goal of {percent(self.most)}{doubt}"


@dataclass(frozen=True)
class UntestedKnowledge:
    """No attack used some knowledge that counts, on a release or on the part with one ``method`` of it."""

    knowledge: tuple[KnowledgeView, ...]
    method: str = ""
    shown: bool = field(default=False, init=False)
    kind: Literal["untested"] = field(default="untested", init=False)

    def __str__(self) -> str:
        """With which knowledge, and what to do."""
        where = f" on {self.method}" if self.method else ""
        if all(known.kind == "nothing" for known in self.knowledge):
            return f"no attack was run{where} with the release alone, so the privacy goal was not tested"
        return (
            f"no attack{where} used the knowledge {listed([known.label for known in self.knowledge])}, so the privacy "
            "goal was not tested there; name the knowledge that counts (against), or grant other knowledge"
        )


@dataclass(frozen=True)
class OutOfTime:
    """Attacks that were not run because the time was over.

    >>> print(OutOfTime(3))
    3 attacks were not run: give the audit more time
    """

    n_attacks: int
    shown: bool = field(default=False, init=False)
    kind: Literal["out of time"] = field(default="out of time", init=False)

    def __str__(self) -> str:
        """How many, and what to do."""
        were = "attack was" if self.n_attacks == 1 else "attacks were"
        return f"{self.n_attacks:,} {were} not run: give the audit more time"


@dataclass(frozen=True)
class MembershipOverGoal:
    """Who is in the table is told better than the goal allows, or not shown not to be; None where nobody tried.

    >>> print(MembershipOverGoal(AttackView("membership-attack"), Estimate(0.2, 0.15, 0.25), 0.05, True, 400))
    membership-attack tells who is in the table with an advantage of at least 15.0 %, over the goal of 5.0 %
    """

    attack: AttackView | None
    advantage: Estimate | None
    most: float
    shown: bool
    n_people: int
    reason: str = ""
    kind: Literal["membership"] = field(default="membership", init=False)

    def __str__(self) -> str:
        """Which attack tells it how well, or why none was run."""
        if self.attack is None or self.advantage is None:
            why = f": {self.reason}" if self.reason else ""
            return f"no attack was run on who is in the table, so the goal on membership was not tested{why}"
        gain = self.advantage
        reach = f"at least {percent(gain.low)}" if self.shown else f"up to {percent(gain.high)}"
        doubt = "" if self.shown else f"; {self.n_people:,} people cannot exclude it"
        return (
            f"{self.attack.name} tells who is in the table with an advantage of {reach}, over the goal of "
            f"{percent(self.most)}{doubt}"
        )


@dataclass(frozen=True)
class UtilityUnderGoal:
    """A utility is under its goal, or could not be measured (None).

    >>> print(UtilityUnderGoal("distances", Estimate(0.7, 0.6, 0.8), 0.9))
    utility distances is 0.70, under the goal of 0.90
    """

    utility: str
    value: Estimate | None
    least: float
    shown: bool = field(default=True, init=False)
    kind: Literal["utility"] = field(default="utility", init=False)

    def __str__(self) -> str:
        """Which utility, and by how much."""
        if self.value is None:
            return f"utility {self.utility} could not be measured; is there a target, and are there enough records?"
        return f"utility {self.utility} is {self.value.value:.2f}, under the goal of {self.least:.2f}"


COPIED = {
    CopyKind.WHOLE: "as they are, up to rounding",
    CopyKind.MOST: "with few of their cells changed",
    CopyKind.NEAR: "to within the tolerance",
    CopyKind.OTHER_UNITS: "in other units",
}


@dataclass(frozen=True)
class CopiedRecords:
    """A release holds private records, more than the ``n_by_chance`` that have an equal among other people.

    ``n_compared`` of the ``n_rows`` private records were looked for.

    >>> print(CopiedRecords(CopyKind.WHOLE, 300, 300, 300, 0.0))
    300 of 300 private records are in the release as they are, up to rounding; 0 would be by chance
    """

    how: CopyKind
    n_copied: int
    n_compared: int
    n_rows: int
    n_by_chance: float
    shown: bool = field(default=True, init=False)
    kind: Literal["copies"] = field(default="copies", init=False)

    def __str__(self) -> str:
        """How many, how, and what chance explains."""
        sample = "" if self.n_compared == self.n_rows else " that were looked for"
        return (
            f"{self.n_copied:,} of {self.n_compared:,} private records{sample} are in the release {COPIED[self.how]}; "
            f"{self.n_by_chance:,.0f} would be by chance"
        )


Failure = AdvantageOverGoal | MembershipOverGoal | UntestedKnowledge | OutOfTime | UtilityUnderGoal | CopiedRecords
"""A goal that does not hold; ``shown`` is False where it is only not shown to hold."""


@dataclass(frozen=True)
class TooFewRecords:
    """A column of which the records are too few to show that the goal holds, whatever the method; a larger table could.

    >>> print(TooFewRecords("income", 1000, 2400, 0.05))
    1,000 records cannot show 5 % in column 'income'; about 2,400 could
    """

    column: str
    n_records: int
    n_needed: int
    most: float

    def __str__(self) -> str:
        """How many there are, and how many could show it."""
        return (
            f"{count(self.n_records)} records cannot show {goal(self.most)} in column {self.column!r}; about "
            f"{count(self.n_needed)} could"
        )


@dataclass(frozen=True)
class Verdict:
    """How one candidate fares: the privacy goals against every attack that counts, and whether it is useful enough.

    ``least`` is the least knowledge with which a privacy goal is shown to break, ``reason`` the failure that decides.
    """

    privacy: State
    useful: bool = True
    least: KnowledgeView | None = None
    reason: Failure | None = None
