"""The answer of advice in words: why a setting is recommended, or which one comes nearest and what it misses."""

from __future__ import annotations

from collections.abc import Sequence

from veil.auditing import Goals
from veil.auditing.advice.result import Point
from veil.auditing.advice.setting_trials import RUNS, Tried
from veil.report.words import listed, percent


def recommendation(tried: Tried, goals: Goals) -> str:
    """Why a setting is recommended: its risk, what it keeps, and the strongest attack."""
    utilities = [f"{name} {percent(value)}" for name, value in tried.utilities.items()]
    return (
        f"Over {tried.runs} keys the risk stays under {percent(tried.limit)} with "
        f"{99 if tried.runs == RUNS else 95} % confidence, and the goal is {percent(goals.max_advantage)}. "
        f"It keeps {listed(utilities)}. The strongest attack: {tried.words}."
    )


def nearest_miss(points: Sequence[Point], goals: Goals) -> Point:
    """The setting that misses the goals by the least share of them, summed over risk and utilities."""

    def shortfall(point: Point) -> float:
        over = max(0.0, point.risk / max(goals.max_advantage, 1e-3) - 1.0)
        asked = goals.min_utility.items()
        return over + sum(max(0.0, 1.0 - point.utilities.get(n, 0.0) / max(u, 1e-9)) for n, u in asked)

    return min(points, key=shortfall)


def miss(near: Point, goals: Goals) -> str:
    """What a setting misses."""
    wants = [
        f"{name} {percent(near.utilities.get(name, 0.0))} where {percent(least)} is asked"
        for name, least in goals.min_utility.items()
    ]
    return (
        f"{near.label}: risk {percent(near.risk)} where at most {percent(goals.max_advantage)} is allowed"
        f"{', ' + listed(wants) if wants else ''}"
    )


def outdone(label: str, utility: float, best: str, best_utility: float) -> str:
    """Why a family is not tried further: it is expected to keep less than a setting that was accepted."""
    return (
        f"expected to keep the goals from {label} on, where the utility is {percent(utility)}; {best} keeps "
        f"{percent(best_utility)}"
    )
