"""The owner's goals: how much an attacker may gain, and how much utility must stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from veil.arguments import number
from veil.auditing.grants import Level
from veil.auditing.rows import AuditRow
from veil.auditing.scores import Score, estimate
from veil.errors import InputError
from veil.measures import Measure
from veil.report.failures import AdvantageOverGoal, UntestedKnowledge, UtilityUnderGoal
from veil.report.values import Scored

UTILITIES = (
    "distances",
    "means",
    "covariance",
    "distribution",
    "clusters",
    "neighbours",
    "classification",
    "proportions",
)


_SHARE: dict[str, Any] = {"least": 0, "most": 1, "rule": "between 0 and 1"}


@dataclass(frozen=True)
class Goals:
    """Thresholds that a release must keep.

    Parameters
    ----------
    max_advantage
        The most an attack may gain over the best constant guess, at its upper 95 % limit.
    tolerance
        How near a guess must be to count as a breach, in standard units of its column.
    min_utility
        The least utility, by name: distances, means, covariance, distribution, clusters, neighbours,
        classification, proportions.
    against
        Knowledge levels that count, by kind ("nothing", "pairs", "sample") or label
        ("5 known records"); all that are granted by default.
    """

    max_advantage: float = 0.05
    tolerance: float = 0.1
    min_utility: Mapping[str, float] = field(default_factory=dict)
    against: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        number(self.max_advantage, "goals: max_advantage", parameter="max_advantage", **_SHARE)
        near = "above 0 and below 10 standard units, for example 0.1"
        number(self.tolerance, "goals: tolerance", least=1e-12, most=9.999, rule=near, parameter="tolerance")
        if not isinstance(self.min_utility, Mapping):
            raise InputError("goals: min_utility must map utilities to numbers, for example {'distances': 0.9}")
        for name, least in self.min_utility.items():
            if name not in UTILITIES:
                raise InputError.from_unknown_name(
                    "utility of goals: min_utility", name, UTILITIES, parameter="min_utility"
                )
            number(least, f"goals: min_utility of {name!r}", parameter="min_utility", **_SHARE)
        if isinstance(self.against, str):
            object.__setattr__(self, "against", (self.against,))
        if isinstance(self.against, Sequence) and not len(self.against):
            raise InputError("goals: against is empty, so nothing would count; leave it out for all that is granted")
        if self.against is not None and not all(isinstance(a, str) for a in _listed(self.against)):
            raise InputError("goals: against must name knowledge levels, for example ['pairs']")

    def names(self, level: Level) -> bool:
        """Whether the owner set a goal against this knowledge level."""
        return self.against is None or level.kind in self.against or level.label in self.against

    def counts(self, level: Level, levels: Sequence[Level]) -> bool:
        """Whether an attack with this knowledge counts: somebody with more knowledge can run it too."""
        return any(level.within(upper) for upper in levels if self.names(upper))

    def among(self, levels: Sequence[Level]) -> Goals:
        """These goals for an audit that grants other levels: against those of them that it grants, or nothing."""
        if self.against is None:
            return self
        named = {name for level in levels for name in (level.kind, level.label)}
        return replace(self, against=tuple(name for name in self.against if name in named) or (levels[0].kind,))

    def check_against(self, levels: Sequence[Level]) -> None:
        """Refuse levels that are not granted."""
        known = [name for level in levels for name in (level.kind, level.label)]
        for name in self.against or ():
            if name not in known:
                raise InputError(
                    f"goals: against names the level {name!r}, which is not granted; granted are "
                    f"{', '.join(level.label for level in levels)}"
                )

    def failures(self, row: AuditRow, levels: Sequence[Level]) -> list[AdvantageOverGoal]:
        """What an attack breaks.

        Overall scores must be shown to be safe; a single column and far-out values must not be shown to
        be broken (with dozens of columns, some upper limit is always high).
        """
        if not self.counts(row.level, levels) or not row.states_values:
            return []
        if row.links:
            return self._overall(row, Scored.LINKS, row.record)
        broken = self._overall(row, Scored.VALUES, row.value) + self._overall(row, Scored.RECORDS, row.record)
        for scored, score in ((Scored.COLUMN, row.column), (Scored.FAR_OUT, row.far_out)):
            if score is not None and score.advantage.low > self.max_advantage:
                broken.append(self._over(row, scored, score))
        return broken

    def _overall(self, row: AuditRow, scored: Scored, score: Score) -> list[AdvantageOverGoal]:
        return [] if score.advantage.high <= self.max_advantage else [self._over(row, scored, score)]

    def _over(self, row: AuditRow, scored: Scored, score: Score) -> AdvantageOverGoal:
        return AdvantageOverGoal(
            attack=row.view,
            knowledge=row.level.view,
            scored=scored,
            column=row.worst_column if scored == Scored.COLUMN else "",
            advantage=estimate(score.advantage),
            most=self.max_advantage,
            shown=score.advantage.low > self.max_advantage,
            repetitions=row.repetitions,
            n_scored=row.n_scored,
        )

    def untested(self, rows: Sequence[AuditRow], levels: Sequence[Level], method: str = "") -> list[UntestedKnowledge]:
        """A goal against which no attack was run does not hold: it was not tested."""
        run = [row.level for row in rows if row.states_values]
        bare = [u.view for u in levels if self.names(u) and not any(level.within(u) for level in run)]
        return [UntestedKnowledge(tuple(bare), method)] if bare else []

    def utility_failures(self, utility: Mapping[str, Measure]) -> list[UtilityUnderGoal]:
        """Utilities under their goal, or not measured."""
        return [
            UtilityUnderGoal(name, estimate(utility[name]) if name in utility else None, least)
            for name, least in self.min_utility.items()
            if name not in utility or not utility[name] >= least
        ]


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, Sequence) else [value]
