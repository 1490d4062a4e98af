"""The owner's goals: how much an attacker may gain, and how much utility must stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veil.arguments import number
from veil.auditing.grants import Level
from veil.errors import InputError
from veil.measures import Measure
from veil.report.words import knowing, listed, percent

if TYPE_CHECKING:
    from veil.auditing.rows import AuditRow

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


class Failure(str):
    """A goal that does not hold, in words; ``shown`` is False where it is only not shown to hold."""

    __slots__ = ("shown",)
    shown: bool

    def __new__(cls, text: str, *, shown: bool = True) -> Failure:
        """A failure with its text."""
        failure = super().__new__(cls, text)
        failure.shown = shown
        return failure


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
        number(self.max_advantage, "goals: max_advantage", least=0, most=1, rule="between 0 and 1")
        near = "above 0 and below 10 standard units, for example 0.1"
        number(self.tolerance, "goals: tolerance", least=1e-12, most=9.999, rule=near)
        if not isinstance(self.min_utility, Mapping):
            raise InputError("goals: min_utility must map utilities to numbers, for example {'distances': 0.9}")
        for name, least in self.min_utility.items():
            if name not in UTILITIES:
                raise InputError.from_unknown_name(
                    "utility of goals: min_utility", name, UTILITIES, parameter="min_utility"
                )
            number(least, f"goals: min_utility of {name!r}", least=0, most=1, rule="between 0 and 1")
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

    def check_against(self, levels: Sequence[Level]) -> None:
        """Refuse levels that are not granted."""
        known = [name for level in levels for name in (level.kind, level.label)]
        for name in self.against or ():
            if name not in known:
                raise InputError(
                    f"goals: against names the level {name!r}, which is not granted; granted are "
                    f"{', '.join(level.label for level in levels)}"
                )

    def failures(self, row: AuditRow, levels: Sequence[Level]) -> list[Failure]:
        """What an attack breaks, in words.

        Overall scores must be shown to be safe; a single column and far-out values must not be shown to
        be broken (with dozens of columns, some upper limit is always high).
        """
        if not self.counts(row.level, levels) or not row.states_values:
            return []
        by, most = f"{row.name} with {knowing(row.level)}", percent(self.max_advantage)
        broken = []
        scores = [("links", row.record)] if row.links else [("values", row.value), ("records", row.record)]
        for what, score in scores:
            if not score.advantage.high <= self.max_advantage:
                limit = percent(score.advantage.high)
                shown = score.advantage.low > self.max_advantage
                doubt = "" if shown else f"; {_runs(row)} cannot exclude it"
                text = f"{by}: advantage on {what} up to {limit}, over the goal of {most}{doubt}"
                broken.append(Failure(text, shown=shown))
        for what, part in ((f"column {row.worst_column!r}", row.column), ("far-out values", row.far_out)):
            if part is not None and not row.links and part.advantage.low > self.max_advantage:
                least = percent(part.advantage.low)
                broken.append(Failure(f"{by}: advantage on {what} at least {least}, over the goal of {most}"))
        return broken

    def untested(self, rows: Sequence[AuditRow], levels: Sequence[Level], part: str = "") -> list[Failure]:
        """A goal against which no attack was run does not hold: it was not tested."""
        run = [row.level for row in rows if row.states_values]
        bare = [u.label for u in levels if self.names(u) and not any(level.within(u) for level in run)]
        if not bare:
            return []
        where = f" on {part}" if part else ""
        text = (
            f"no attack was run{where} with the knowledge {listed(bare)}, so the privacy goal was not tested there; "
            "grant more, or name the knowledge that counts (against)"
        )
        return [Failure(text, shown=False)]

    def utility_failures(self, utility: Mapping[str, Measure]) -> list[Failure]:
        """Utilities under their goal, or not measured."""
        failures = []
        for name, least in self.min_utility.items():
            if name not in utility:
                text = f"utility {name} could not be measured; is there a target, and are there enough records?"
                failures.append(Failure(text))
            elif not utility[name] >= least:
                failures.append(Failure(f"utility {name} is {utility[name]:.2f}, under the goal of {least:.2f}"))
        return failures


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, Sequence) else [value]


def _runs(row: AuditRow) -> str:
    return f"{row.repetitions} runs" if row.repetitions > 1 else f"{row.n_scored:,} records"
