"""The owner's goals: how much an attacker may gain, and how much utility must stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from veil.auditing.grants import Level
from veil.errors import InputError
from veil.schema import check_known_columns

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
