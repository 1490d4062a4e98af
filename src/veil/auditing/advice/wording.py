"""The answer of advice in words: why a setting is recommended, or which one comes nearest and what it misses."""

from __future__ import annotations

from collections.abc import Sequence

from veil.auditing import Goals
from veil.auditing.advice.result import Point
from veil.auditing.advice.setting_trials import Tried
from veil.perturbations.local_suppression import LocalSuppression
from veil.publishing.plan import Plan
from veil.report.words import listed, percent

SHUFFLED = (
    "The rows are released in a secret order, which the key knows: neighbouring rows of the table resemble each other, "
    "and their order would tell what the noise hides."
)
USEFUL = {"means": 0.95, "covariance": 0.8, "distribution": 0.9}
"""What a release should keep to be of use, where the goals do not say it."""
MOST_IN_PROOF = 6
"""Settings that a proof lists."""


def recommendation(tried: Tried, goals: Goals, points: Sequence[Point]) -> str:
    """Why a setting is recommended: its risk, what it keeps, and the strongest attack.

    Where it keeps little, what stands against settings that keep more.
    """
    little = not goals.min_utility and any(tried.utilities.get(n, u) < u for n, u in USEFUL.items())
    utilities = [f"{name} {percent(value)}" for name, value in tried.utilities.items()]
    return (
        f"Over up to {tried.runs} keys the risk stays under {percent(tried.limit)} with "
        f"{percent(tried.confidence)} confidence, and the goal is {percent(goals.max_advantage)}. "
        f"It keeps {listed(utilities)}. The strongest attack: {tried.words}."
        f"{' ' + SHUFFLED if tried.plan.shuffle else ''}{keys_words(tried.plan)}"
        f"{proof(points, goals) if little else ''}"
    )


def keys_words(plan: Plan) -> str:
    """What becomes of the keys, where a plan recodes them; nothing where it does not."""
    for columns, method in plan.parts:
        if isinstance(method, LocalSuppression) and columns:
            named = listed([repr(name) for name in columns])
            return (
                f" Unchanged, {named} tell whose row is whose: they are recoded, and cells suppressed, until every "
                f"combination is that of {method.k} records. Classes of your own, or a hierarchy for categories, may "
                "lose less (GlobalRecoding, LocalSuppression)."
            )
    return ""


def shortfall(point: Point, goals: Goals) -> float:
    """By what share of them a setting misses the goals, summed over risk and utilities."""
    over = max(0.0, point.risk / max(goals.max_advantage, 1e-3) - 1.0)
    asked = goals.min_utility.items()
    return over + sum(max(0.0, 1.0 - point.utilities.get(n, 0.0) / max(u, 1e-9)) for n, u in asked)


def proof(points: Sequence[Point], goals: Goals) -> str:
    """What stands against every setting that keeps the utilities asked for, or the usual ones: the strongest attack.

    Nothing is said where one of them was shown to hold.
    """
    measured = {name for point in points for name in point.utilities}
    wanted = {name: least for name, least in (goals.min_utility or USEFUL).items() if name in measured}
    if not wanted:
        return ""
    asked = listed([f"{name} {percent(least)}" for name, least in wanted.items()])
    useful = [p for p in points if all(p.utilities.get(n, 0.0) >= u for n, u in wanted.items())]
    if not useful:
        return f" No setting that was tried keeps {asked}."
    if any(point.passed for point in useful):
        return ""
    rising = sorted(useful, key=lambda point: point.risk)
    lines = [f"{p.label}: risk up to {percent(min(p.risk, 1.0))} ({p.why})" for p in rising[:MOST_IN_PROOF]]
    keep = "1 keeps" if len(useful) == 1 else f"{len(useful)} keep"
    return (
        f" Of {len(points)} settings, {keep} {asked}, and {'it was not' if len(useful) == 1 else 'none of them was'} "
        f"shown to keep the goal of {percent(goals.max_advantage)}: {'; '.join(lines)}."
    )


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


def uncertain(name: str, kept: float, least: float) -> str:
    """Why a setting that keeps a utility on average is not recommended: another audit might see less."""
    return f"{name} is {percent(kept)} on average, and with other keys perhaps {percent(least)}"


def outdone(label: str | None, utility: float, best: str, best_utility: float) -> str:
    """Why something is not tried further: it keeps less than a setting that was accepted.

    Of a family, ``label`` is the setting from which on it is expected to keep the goals.
    """
    until = "few keys do not break it, and" if label is None else f"expected to keep the goals from {label} on, where"
    return f"{until} the utility is {percent(utility)}; {best} keeps {percent(best_utility)}"


def by_theory(label: str, gain: float) -> str:
    """Why a family is not tried: its own law tells too much of one column."""
    return (
        f"even as {label}, whoever knows the distribution of one column gains {percent(gain)} on it, by the law of the "
        "noise alone"
    )


def stronger_by_theory(more: float) -> str:
    """Why independent noise is not tried where noise similar to the data holds."""
    return (
        f"columns tell each other, so that it must be {more:.1f} times as strong as noise with the data's correlations"
    )
