"""What a search has found so far: settings with their risk and utility, and why methods were rejected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veil.attacks.knowledge import Unit
from veil.auditing import Candidate, Goals
from veil.auditing.advice.result import Point
from veil.auditing.advice.setting_trials import Tried, gains
from veil.auditing.advice.wording import shortfall
from veil.auditing.memory import candidate_words
from veil.publishing.plan import Plan
from veil.report.words import knowing


class Findings:
    """The settings that were tried against the goals; ``rejected`` says per method why it is not recommended."""

    def __init__(self, goals: Goals) -> None:
        self._goals = goals
        self._points: list[tuple[Plan, Point]] = []
        self.rejected: dict[str, str] = {}

    def utility(self, tried: Tried) -> float:
        """The mean of the utilities that the goals name, or of all; what was not measured is nothing kept."""
        return self.kept(tried.candidate)

    def kept(self, candidate: Candidate) -> float:
        """The same of a candidate."""
        names = self.utilities()
        return float(np.mean([candidate.utility.get(name, 0.0) for name in names])) if names else 0.0

    def utilities(self) -> tuple[str, ...]:
        """The utilities that count: those that the goals name, or all that were measured."""
        if self._goals.min_utility:
            return tuple(self._goals.min_utility)
        measured = [name for _, point in self._points for name in point.utilities]
        return tuple(dict.fromkeys(measured)) or ("distances", "means", "covariance", "distribution", "clusters")

    def note(self, tried: Tried, method: str, strength: float | None, *, confirmed: bool | None = None) -> None:
        """Take in a setting that was tried; the last word on it stands."""
        within = tried.limit <= self._goals.max_advantage
        short = self._goals.utility_failures(tried.candidate.utility)
        few = "on one key" if tried.runs == 1 else f"on {tried.runs} keys"
        how = few if confirmed is None else f"confirmed over {tried.runs} keys" if confirmed else "not confirmed"
        reason = f"{how}: {tried.words}"
        same = candidate_words(tried.plan)
        self._points = [each for each in self._points if candidate_words(each[0]) != same]
        self._points.append(
            (
                tried.plan,
                Point(
                    label=tried.candidate.label,
                    method=method,
                    strength=strength,
                    risk=tried.limit,
                    utility=math.nan,
                    utilities=tried.utilities,
                    passed=(within if confirmed is None else confirmed) and not short,
                    why=str(short[0]) if within and short else reason,
                ),
            )
        )

    def note_candidate(self, plan: Plan, candidate: Candidate, why: str) -> None:
        """Take in a method that a few keys broke."""
        worst = candidate.worst
        gain = float(worst.advantage) if worst is not None else math.nan
        values = {name: float(value) for name, value in candidate.utility.items()}
        point = Point(candidate.label, candidate.method, None, gain, math.nan, values, False, why)
        self._points.append((plan, point))

    def points(self) -> tuple[Point, ...]:
        """Every setting with its utility, by method and strength."""
        return tuple(sorted((point for _, point in self._known()), key=lambda p: (p.method, p.strength or 0.0)))

    def useful(self, wanted: Mapping[str, float]) -> list[Point]:
        """The settings that keep so much."""
        return [p for _, p in self._points if all(p.utilities.get(n, 0.0) >= u for n, u in wanted.items())]

    def nearest(self) -> tuple[Plan, Point] | None:
        """The setting that misses the goals by the least share of them, summed over risk and utilities."""
        return min(self._known(), key=lambda each: shortfall(each[1], self._goals), default=None)

    def _known(self) -> list[tuple[Plan, Point]]:
        names = self.utilities()
        means = [float(np.mean([p.utilities.get(n, 0.0) for n in names])) for _, p in self._points]
        return [(plan, replace(p, utility=mean)) for (plan, p), mean in zip(self._points, means, strict=True)]


def tested(tried: Tried) -> bool:
    """Whether every level of knowledge that counts was attacked."""
    return all(failure.shown for failure in tried.candidate.other_failures)


def broken_words(candidate: Candidate) -> str:
    """Why a method was rejected: the least knowledge that breaks it, and what comes of it.

    For a privacy officer: "30 known records recover every value".
    """
    least = candidate.breaks[0]
    rows = [
        r
        for r in candidate.rows
        if r.level.kind == least.level.kind and (r.attack, r.target) == (least.attack, least.target)
    ]
    row = max(rows, key=lambda r: float(r.advantage), default=None)
    if row is None:
        return f"breaks with {knowing(least.level)} ({least.name})"
    at = "" if row.level == least.level else f"breaks with {knowing(least.level)}; "
    if float(row.value.rate) >= 0.995 and not row.links:
        verb = "recover" if row.level.knowledge.unit is Unit.RECORDS and row.level.amount > 1 else "recovers"
        return f"{at}{knowing(row.level)} {verb} every value ({row.name})"
    return f"{at or 'breaks: '}{gains(row)}"
