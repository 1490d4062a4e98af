"""The owner's goals: how much an attacker may gain, and how much utility must stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veil.auditing.grants import Level
from veil.errors import InputError
from veil.measures import Measure
from veil.report.words import knowing, percent
from veil.schema import check_known_columns

if TYPE_CHECKING:
    from veil.auditing.result import AuditRow

UTILITIES = ("distances", "covariance", "clusters", "neighbours", "classification")


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
        The least utility, by name: distances, covariance, clusters, neighbours, classification.
    against
        Knowledge levels that count, by kind ("nothing", "pairs", "sample") or label
        ("5 known records"); all that are granted by default.
    """

    max_advantage: float = 0.05
    tolerance: float = 0.1
    min_utility: Mapping[str, float] = field(default_factory=dict)
    against: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.max_advantage <= 1:
            raise InputError("goals: max_advantage must be between 0 and 1")
        if not 0 < self.tolerance < 10:
            raise InputError("goals: tolerance must be between 0 and 10 standard units, for example 0.1")
        check_known_columns(self.min_utility, UTILITIES, "goals: min_utility")
        for name, least in self.min_utility.items():
            if not 0 <= least <= 1:
                raise InputError(f"goals: min_utility of {name!r} must be between 0 and 1")

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

    def failures(self, row: AuditRow, levels: Sequence[Level]) -> list[str]:
        """What an attack breaks, in words.

        Overall scores must be shown to be safe; a single column and far-out values must not be shown to
        be broken (with dozens of columns, some upper limit is always high).
        """
        if not self.counts(row.level, levels):
            return []
        by, most = f"{row.attack} with {knowing(row.knowledge)}", percent(self.max_advantage)
        broken = []
        for what, score in (("values", row.value), ("records", row.record)):
            if not score.advantage.high <= self.max_advantage:
                shown = "" if score.advantage > self.max_advantage else f", not shown safe by {_runs(row)}"
                limit = percent(score.advantage.high)
                broken.append(f"{by}: advantage on {what} up to {limit}, over the goal of {most}{shown}")
        for what, part in ((f"column {row.worst_column!r}", row.column), ("far-out values", row.far_out)):
            if part is not None and part.advantage.low > self.max_advantage:
                least = percent(part.advantage.low)
                broken.append(f"{by}: advantage on {what} at least {least}, over the goal of {most}")
        return broken

    def untested(self, rows: Sequence[AuditRow], levels: Sequence[Level]) -> list[str]:
        """A goal against which no attack was played does not hold: it was not tested."""
        if any(self.counts(row.level, levels) for row in rows):
            return []
        return ["no attack was played at the knowledge levels that count, so the privacy goal was not tested"]

    def utility_failures(self, utility: Mapping[str, Measure]) -> list[str]:
        """Utilities under their goal, or not measured."""
        failures = []
        for name, least in self.min_utility.items():
            if name not in utility:
                failures.append(
                    f"utility {name} could not be measured; is there a target, and are there enough records?"
                )
            elif not utility[name] >= least:
                failures.append(f"utility {name} is {utility[name]:.2f}, under the goal of {least:.2f}")
        return failures


def _runs(row: AuditRow) -> str:
    return f"{row.repetitions} runs" if row.repetitions > 1 else "so few records"
