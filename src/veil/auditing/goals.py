"""The owner's goals: how much an attacker may gain, and how much utility must stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from veil.arguments import choice, number
from veil.auditing.grants import Level
from veil.auditing.rows import AuditRow
from veil.auditing.scores import Over, Score, estimate
from veil.errors import InputError
from veil.measures import Measure
from veil.release.models import Model
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
        The most an attack may gain, at its upper 95 % limit.
    tolerance
        How near a guess must be to count as a breach, in standard units of its column.
    min_utility
        The least utility, by name: distances, means, covariance, distribution, clusters, neighbours,
        classification, proportions.
    against
        Knowledge levels that count, by kind ("nothing", "pairs", "sample") or label
        ("5 known records"); all that are granted by default.
    over
        What a gain is counted over: ``"absent"``, what the same attacker would get right of the person without the
        person's row, or ``"constant"``, the best constant guess.
    """

    max_advantage: float = 0.05
    tolerance: float = 0.1
    min_utility: Mapping[str, float] = field(default_factory=dict)
    against: str | Sequence[str] | None = None
    over: str = Over.ABSENT

    def __post_init__(self) -> None:
        number(self.max_advantage, "goals: max_advantage", parameter="max_advantage", **_SHARE)
        object.__setattr__(self, "over", Over(choice(self.over, "goals: over", tuple(Over), parameter="over")))
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
        """What an attack breaks, or cannot be shown not to break.

        One rule decides the average and every column: the goal holds when the upper limit is under it, with limits
        that allow for the number of columns. A column that has too few records to show anything (:meth:`too_few`), and
        far-out values, must not be shown to break.
        """
        if not self.counts(row.level, levels) or not row.states_values:
            return []
        if row.links:
            return self._held(row, Scored.LINKS, row.record)
        broken = self._held(row, Scored.VALUES, row.value) + self._held(row, Scored.RECORDS, row.record)
        open_columns = [
            name for name, score in row.columns.items() if self._is_open(score) and not self._is_too_few(row, score)
        ]
        if open_columns:
            worst = max(
                open_columns, key=lambda name: (row.columns[name].advantage.low, row.columns[name].advantage.high)
            )
            broken.append(self._over(row, Scored.COLUMN, row.columns[worst], worst))
        if row.far_out is not None and row.far_out.advantage.low > self.max_advantage:
            broken.append(self._over(row, Scored.FAR_OUT, row.far_out))
        return broken

    def _is_open(self, score: Score) -> bool:
        return not score.advantage.high <= self.max_advantage

    def _is_too_few(self, row: AuditRow, score: Score) -> bool:
        """Whether even a release that says nothing could not be shown to hold: half the interval is over the goal."""
        unclear = score.advantage.high - float(score.advantage) > self.max_advantage
        return unclear and not row.one_matrix and score.advantage.low <= self.max_advantage

    def too_few(self, row: AuditRow) -> dict[str, int]:
        """Columns that the records are too few to show anything of, with about how many would do."""
        if not row.states_values:
            return {}
        return {
            name: int(row.n_scored * ((score.advantage.high - float(score.advantage)) / self.max_advantage) ** 2)
            for name, score in row.columns.items()
            if self.max_advantage > 0 and self._is_open(score) and self._is_too_few(row, score)
        }

    def _held(self, row: AuditRow, scored: Scored, score: Score) -> list[AdvantageOverGoal]:
        return [self._over(row, scored, score)] if self._is_open(score) else []

    def _over(self, row: AuditRow, scored: Scored, score: Score, column: str = "") -> AdvantageOverGoal:
        return AdvantageOverGoal(
            attack=row.view,
            knowledge=row.level.view,
            scored=scored,
            column=column,
            advantage=estimate(score.advantage),
            most=self.max_advantage,
            shown=score.advantage.low > self.max_advantage,
            repetitions=row.repetitions,
            n_scored=row.n_scored,
        )

    def untested(
        self, rows: Sequence[AuditRow], levels: Sequence[Level], model: Model, method: str = ""
    ) -> list[UntestedKnowledge]:
        """Levels whose knowledge no attack used: a goal does not hold there, it was not tested.

        Knowledge that can tell nothing about others through such a model (:meth:`veil.attacks.Knowledge.idle`) is
        tested by the release alone.
        """
        tested = [row.level for row in rows if row.states_values and row.tested]
        bare = [
            level.view
            for level in levels
            if self.names(level)
            and not level.knowledge.idle(model)
            and not any(lesser.kind == level.kind and lesser.amount <= level.amount for lesser in tested)
        ]
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
