"""The owner's goals: how much an attacker may gain, and how much utility must stay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from veil.arguments import choice, number, whole
from veil.auditing import goal_words
from veil.auditing.goal_limits import SHARE, limits_by_column, limits_by_score
from veil.auditing.grants import Level
from veil.auditing.membership import Membership
from veil.auditing.rows import AuditRow
from veil.auditing.scores import Score, estimate
from veil.errors import InputError
from veil.measures import Measure
from veil.measures.largest import USUAL_LARGEST, LargestRule
from veil.release.models import Model
from veil.report.failures import AdvantageOverGoal, MembershipOverGoal, UntestedKnowledge, UtilityUnderGoal
from veil.report.values import OF_COLUMNS, AttackView, Over, Scored

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
    on
        What counts, with the most that an attack may gain on it: "values", "records", "column", "links", "far-out
        values" and "largest values". Names alone have ``max_advantage``, and so has everything by default.
    columns
        The most that an attack may gain on single columns, whatever the others have: one number for a column's values
        and its largest values, or one each, as ``{"column": 0.02, "largest values": 0.1}``.
    n_largest, largest_share
        How many of the largest values of a column are looked at, and how near a guess tells one, as a share of the
        value (:mod:`veil.measures.largest`).
    max_membership
        The most that an attack may gain in telling who is in the table, as TPR − FPR at its upper 95 % limit; None for
        no goal (:mod:`veil.auditing.membership` says why that is the default).

    Examples
    --------
    >>> goals = Goals.from_words("no record with more than 1 % advantage", "means at least 90 %")
    >>> goals == Goals(max_advantage=0.01, on="records", min_utility={"means": 0.9})
    True
    >>> Goals().words()
    ('no breach within 0.1 standard units with more than 5 % advantage over an absent person',)
    """

    max_advantage: float = 0.05
    tolerance: float = 0.1
    min_utility: Mapping[str, float] = field(default_factory=dict)
    against: str | Sequence[str] | None = None
    over: str = Over.ABSENT
    on: str | Sequence[str] | Mapping[str, float | None] | None = None
    max_membership: float | None = None
    columns: Mapping[str, float | Mapping[str, float | None] | None] = field(default_factory=dict)
    n_largest: int = USUAL_LARGEST.n
    largest_share: float = USUAL_LARGEST.share

    @classmethod
    def from_words(cls, *sentences: str) -> Goals:
        """Goals from sentences (:mod:`veil.auditing.goal_words`); :meth:`words` says them again."""
        return cls(**goal_words.settings(sentences, UTILITIES))

    def words(self) -> tuple[str, ...]:
        """These goals as sentences."""
        return goal_words.sentences(
            self.limits,
            tolerance=self.tolerance,
            over=self.over,
            against=self._named(),
            least=self.min_utility,
            membership=self.max_membership,
            columns=self.column_limits,
            largest=self.largest,
        )

    @property
    def largest(self) -> LargestRule:
        """Which values are the largest of a column, and how near a guess tells one."""
        return LargestRule(self.n_largest, self.largest_share)

    @property
    def column_limits(self) -> dict[str, dict[Scored, float]]:
        """The most that an attack may gain on single columns."""
        return {
            name: {Scored(each): float(limit or 0.0) for each, limit in limits.items()}
            for name, limits in self.columns.items()
            if isinstance(limits, Mapping)
        }

    def limit(self, scored: Scored, column: str = "") -> float:
        """The most that an attack may gain on something, of one column if it is of columns; infinite without a goal."""
        return self.column_limits.get(column, {}).get(scored, self.limits.get(scored, math.inf))

    @property
    def strictest(self) -> float:
        """The least that any goal allows an attack to gain."""
        return min([self.max_advantage, *(most for each in self.column_limits.values() for most in each.values())])

    @property
    def limits(self) -> dict[Scored, float]:
        """The most that an attack may gain on each of what counts."""
        if isinstance(self.on, Mapping):
            return {Scored(risk): float(limit or 0.0) for risk, limit in self.on.items()}
        return dict.fromkeys(Scored, float(self.max_advantage))

    def _named(self) -> tuple[str, ...]:
        return tuple(self.against or ())

    def __post_init__(self) -> None:
        number(self.max_advantage, "goals: max_advantage", parameter="max_advantage", **SHARE)
        if self.max_membership is not None:
            number(self.max_membership, "goals: max_membership", parameter="max_membership", **SHARE)
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
            number(least, f"goals: min_utility of {name!r}", parameter="min_utility", **SHARE)
        if isinstance(self.against, str):
            object.__setattr__(self, "against", (self.against,))
        if isinstance(self.against, Sequence) and not len(self.against):
            raise InputError("goals: against is empty, so nothing would count; leave it out for all that is granted")
        if self.against is not None and not all(isinstance(a, str) for a in _listed(self.against)):
            raise InputError("goals: against must name knowledge levels, for example ['pairs']")
        if self.against is not None:
            object.__setattr__(self, "against", tuple(self.against))
        largest = number(self.largest_share, "goals: largest_share", parameter="largest_share", **SHARE)
        object.__setattr__(self, "largest_share", largest)
        object.__setattr__(self, "n_largest", whole(self.n_largest, "n_largest", least=5))
        object.__setattr__(self, "columns", limits_by_column(self.columns, float(self.max_advantage)))
        if self.on is not None:
            self._set_limits()

    def _set_limits(self) -> None:
        """Write ``on`` as limits by name; where everything has the same, that is ``max_advantage``, and no more."""
        limits = limits_by_score(self.on, self.max_advantage, columns=bool(self.columns))
        same = len(limits) == len(Scored) and len(set(limits.values())) == 1
        least = [*limits.values()] or [most for each in self.column_limits.values() for most in each.values()]
        object.__setattr__(self, "max_advantage", min(least))
        object.__setattr__(self, "on", None if same else limits)

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

    def check_against(self, levels: Sequence[Level], columns: Sequence[str]) -> None:
        """Refuse levels that are not granted, columns that are not perturbed, and a goal on links without any."""
        for name in self.columns:
            if name not in columns:
                raise InputError.from_unknown_name("perturbed column of goals: columns", name, columns)
        links = isinstance(self.on, Mapping) and Scored.LINKS in self.on
        if links and not any(level.knowledge.needs_outside for level in levels):
            raise InputError(
                "goals: on names links, and no level grants an external table; give columns the role quasi or public, "
                "or leave links out",
                parameter="on",
            )
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
        that allow for the number of columns. A column that has too few records to show anything (:meth:`too_few`),
        far-out values and the few largest values of a column must not be shown to break.
        """
        if not self.counts(row.level, levels) or not row.states_values:
            return []
        if row.links:
            return self._held(row, Scored.LINKS, row.record)
        broken = self._held(row, Scored.VALUES, row.value) + self._held(row, Scored.RECORDS, row.record)
        open_columns = {
            name: score
            for name, score in row.columns.items()
            if self._is_open(Scored.COLUMN, score, name) and not self._is_too_few(row, name, score)
        }
        broken += self._worst(row, Scored.COLUMN, open_columns)
        if row.far_out is not None and row.far_out.advantage.low > self.limit(Scored.FAR_OUT):
            broken.append(self._over(row, Scored.FAR_OUT, row.far_out))
        return broken + self._worst(row, Scored.LARGEST, self.told_largest(row))

    def told_largest(self, row: AuditRow) -> dict[str, Score]:
        """Columns of which an attack is shown to tell more of the largest values than the goal allows."""
        scores = {name: each.score for name, each in row.largest.items() if each.counts}
        return {n: score for n, score in scores.items() if score.advantage.low > self.limit(Scored.LARGEST, n)}

    def _worst(self, row: AuditRow, scored: Scored, scores: Mapping[str, Score]) -> list[AdvantageOverGoal]:
        """The column that is furthest over its goal."""

        def over(name: str) -> tuple[float, float]:
            most, advantage = self.limit(scored, name), scores[name].advantage
            return advantage.low - most, advantage.high - most

        return [self._over(row, scored, scores[name], name) for name in [max(scores, key=over)]] if scores else []

    def _is_open(self, scored: Scored, score: Score, column: str = "") -> bool:
        most = self.limit(scored, column)
        return most < math.inf and not score.advantage.high <= most

    def _is_too_few(self, row: AuditRow, name: str, score: Score) -> bool:
        """Whether even a release that says nothing could not be shown to hold: half the interval is over the goal."""
        most = self.limit(Scored.COLUMN, name)
        unclear = score.advantage.high - float(score.advantage) > most
        return unclear and not row.one_matrix and score.advantage.low <= most

    def is_in_doubt(self, row: AuditRow) -> bool:
        """Whether a column of few records, or some of few values, seem to break a goal and more keys could show it."""
        few = [(s, self.limit(Scored.COLUMN, n)) for n, s in row.columns.items() if self._is_too_few(row, n, s)]
        few += [(row.far_out, self.limit(Scored.FAR_OUT))] if row.far_out is not None else []
        few += [(each.score, self.limit(Scored.LARGEST, name)) for name, each in row.largest.items() if each.counts]
        return any(float(score.advantage) > most for score, most in few)

    def too_few(self, row: AuditRow) -> dict[str, int]:
        """Columns that the records are too few to show anything of, with about how many would do."""
        if not row.states_values:
            return {}
        return {
            name: int(row.n_scored * ((score.advantage.high - float(score.advantage)) / most) ** 2)
            for name, score in row.columns.items()
            if (most := self.limit(Scored.COLUMN, name))
            and self._is_open(Scored.COLUMN, score, name)
            and self._is_too_few(row, name, score)
        }

    def _held(self, row: AuditRow, scored: Scored, score: Score) -> list[AdvantageOverGoal]:
        return [self._over(row, scored, score)] if self._is_open(scored, score) else []

    def _over(self, row: AuditRow, scored: Scored, score: Score, column: str = "") -> AdvantageOverGoal:
        most = self.limit(scored, column)
        return AdvantageOverGoal(
            attack=row.view,
            knowledge=row.level.view,
            scored=scored,
            column=column,
            advantage=estimate(score.advantage),
            most=most,
            shown=score.advantage.low > most,
            repetitions=row.repetitions,
            n_scored=row.n_scored,
            part=tuple(row.columns) if row.target and scored not in OF_COLUMNS else (),
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

    def membership_failures(self, membership: Membership | None) -> list[MembershipOverGoal]:
        """What is told about who is in the table, where it is over the goal, not shown to be under it, or unknown."""
        most = self.max_membership
        if most is None:
            return []
        roc = None if membership is None else membership.alone
        if membership is None or roc is None:
            return [MembershipOverGoal(None, None, most, False, 0, "" if membership is None else membership.reason)]
        if roc.advantage.high <= most:
            return []
        n, shown = membership.n_members + membership.n_strangers, roc.advantage.low > most
        return [MembershipOverGoal(AttackView(membership.attack), estimate(roc.advantage), most, shown, n)]

    def utility_failures(self, utility: Mapping[str, Measure]) -> list[UtilityUnderGoal]:
        """Utilities under their goal, or not measured."""
        return [
            UtilityUnderGoal(name, estimate(utility[name]) if name in utility else None, least)
            for name, least in self.min_utility.items()
            if name not in utility or not utility[name] >= least
        ]


def as_goals(goals: Any) -> Goals:
    """Goals from an object, from one sentence or several, or the usual ones."""
    if goals is None or isinstance(goals, Goals):
        return Goals() if goals is None else goals
    if isinstance(goals, str):
        return Goals.from_words(goals)
    if isinstance(goals, Sequence):
        return Goals.from_words(*goals)
    raise InputError("goals must be a veil.Goals object, or sentences such as 'no record with more than 5 % advantage'")


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, Sequence) else [value]
