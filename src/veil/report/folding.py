"""Levels of knowledge folded: those with which nobody gains more, and neighbours that look alike.

An audit goes through about ten levels. Most of them change nothing for most methods, and ten equal lines hide the one
that matters; what is folded is still named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from veil.report.failures import AdvantageOverGoal
from veil.report.model import CandidateView, LevelView, NotRunView, RowView
from veil.report.values import KnowledgeView, Scored, State, Unit
from veil.report.words import STATES, gain, knowing, listed, percent


@dataclass(frozen=True)
class Fold:
    """Levels told together, by their places; ``no_more`` says that they gain no more than the release alone."""

    places: tuple[int, ...]
    label: str
    no_more: bool = False


def gains_no_more(candidate: CandidateView, place: int) -> bool:
    """Whether the attacker gains no more with a level than with the release alone, which is the first level."""
    alone, level = candidate.levels[0], candidate.levels[place]
    if place == 0 or alone.knowledge.kind != "nothing" or level.state != alone.state:
        return False
    if level.state in (State.NOT_TESTED, State.OUT_OF_TIME):  # nobody knows
        return False
    if alone.advantage is None or level.advantage is None:
        return alone.advantage is level.advantage
    if level.strongest == alone.strongest and level.advantage == alone.advantage:
        return True
    return level.advantage.value <= 0 and alone.advantage.value <= 0 and shown_limit(level) == shown_limit(alone)


def shown_limit(level: LevelView) -> str:
    """The highest upper limit with a level, as it is shown; empty where there is none.

    A limit below nothing is shown as 0 %.
    """
    return "" if level.upper is None or math.isnan(level.upper) else percent(max(0.0, level.upper))


def folded(candidates: Sequence[CandidateView], alike: Callable[[CandidateView, int, int], bool]) -> list[Fold]:
    """The levels in their order, folded where that is right for every candidate.

    Levels with which nobody gains more come second, after the release alone. Neighbours of one kind are told together
    where they are ``alike``.
    """
    levels = candidates[0].levels
    idle = [j for j in range(len(levels)) if all(gains_no_more(c, j) for c in candidates)]
    groups: list[list[int]] = []
    for j, level in enumerate(levels):
        if j in idle:
            continue
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and levels[last].knowledge.kind == level.knowledge.kind
            and all(alike(c, last, j) for c in candidates)
        ):
            groups[-1].append(j)
        else:
            groups.append([j])
    folds = [Fold(tuple(g), level_names([levels[j].knowledge for j in g], last="or")) for g in groups]
    if idle:
        folds.insert(1, Fold(tuple(idle), level_names([levels[j].knowledge for j in idle]), no_more=True))
    return folds


def looks_alike(candidate: CandidateView, one: int, other: int) -> bool:
    """Whether two levels have the same state and the same limit."""
    a, b = candidate.levels[one], candidate.levels[other]
    return a.state == b.state and shown_limit(a) == shown_limit(b) and _over(a) == _over(b)


def reads_alike(candidate: CandidateView, one: int, other: int) -> bool:
    """Whether two levels also have the same attack and the same advantage."""
    a, b = candidate.levels[one], candidate.levels[other]
    return looks_alike(candidate, one, other) and a.strongest == b.strongest and a.advantage == b.advantage


def _over(level: LevelView) -> str:
    return "" if level.advantage is None else "gain" if level.advantage.value > 0 else "no gain"


def level_names(levels: Sequence[KnowledgeView], *, last: str = "and", alone: bool = False) -> str:
    """Levels in a few words, those of one kind together; with ``alone``, nothing is said as the release alone.

    >>> pairs = [KnowledgeView("pairs", k, Unit.RECORDS, f"{k} known records", noun="known records") for k in (2, 5)]
    >>> samples = [KnowledgeView("sample", s, Unit.SHARE, f"{s:.1%} sample", "a", "sample") for s in (0.005, 0.02)]
    >>> level_names([*pairs, *samples])
    '2 and 5 known records; 0.5 % and 2 % samples'
    >>> level_names(pairs, last="or")
    '2 or 5 known records'
    """
    kinds: dict[str, list[KnowledgeView]] = {}
    for level in levels:
        named = replace(level, label=knowing(level)) if alone and level.kind == "nothing" else level
        kinds.setdefault(level.kind, []).append(named)
    return "; ".join(_together(same, last) for same in kinds.values())


def _together(levels: Sequence[KnowledgeView], last: str) -> str:
    """Levels of one kind: their amounts, and the noun that they have."""
    largest = max(levels, key=lambda level: level.amount)
    amounts = [_amount(level) for level in levels]
    if len(levels) == 1 or not largest.noun:
        return f" {last} ".join(level.label for level in levels)
    plural = "s" if largest.unit == Unit.SHARE and last == "and" else ""
    return f"{', '.join(amounts[:-1])} {last} {amounts[-1]} {largest.noun}{plural}"


def _amount(level: KnowledgeView) -> str:
    return f"{level.amount * 100:g} %" if level.unit == Unit.SHARE else f"{level.amount:g}"


def part_that_breaks(candidate: CandidateView, place: int, most: float) -> str | None:
    """What breaks with a level where no overall advantage is over the goal: a column, its largest or far-out values."""
    level = candidate.levels[place]
    if level.state != State.BREAKS or (level.advantage is not None and level.advantage.value > most):
        return None
    below = [lower.knowledge for lower in candidate.levels[: place + 1]]
    lower = [known for known in below if known.kind in ("nothing", level.knowledge.kind)]
    rows = [row for row in candidate.rows if row.knowledge in lower]
    columns = [row for row in rows if row.column.advantage.low > most]
    if columns:
        return f"column {max(columns, key=lambda row: row.column.advantage.value).worst_column}"
    if any(_far_out(row) > most for row in rows):
        return "far-out values"
    told = [f for row in rows for f in row.failures if f.shown and isinstance(f, AdvantageOverGoal) and f.column]
    if told:
        first = max(told, key=lambda failure: failure.advantage.low - failure.most)
        return f"{'largest of' if first.scored == Scored.LARGEST else 'column'} {first.column}"
    return "a column, far-out or the largest values"


def _far_out(row: RowView) -> float:
    return row.far_out.advantage.low if row.far_out else -math.inf


def breaks_line(candidate: CandidateView) -> str:
    """The least knowledge that breaks a goal, for each kind, with the attack; or that none is shown to."""
    if candidate.breaks:
        ways = [f"with {knowing(b.knowledge)} ({b.attack.name})" for b in candidate.breaks]
        return f"Breaks {'; '.join(ways)}."
    least = {
        level.knowledge.kind: level.knowledge for level in reversed(candidate.levels) if level.state == State.BREAKS
    }
    if least:
        return f"Breaks with {listed([knowing(known) for known in reversed(least.values())])}."
    ends = {
        "not shown to hold with": State.UNPROVEN,
        "not tested:": State.NOT_TESTED,
        "out of time:": State.OUT_OF_TIME,
    }
    open_ends = {
        words: [level.knowledge for level in candidate.levels if level.state == state] for words, state in ends.items()
    }
    if len(open_ends["not shown to hold with"]) == len(candidate.levels):
        return "No goal is shown to break, and none is shown to hold."
    doubts = [f"{words} {level_names(known, alone=True)}" for words, known in open_ends.items() if known]
    return f"{'; '.join(['No goal is shown to break', *doubts])}."


def not_run(view: NotRunView) -> str:
    """An attack that could not run, with which knowledge, and why."""
    return f"{view.attack.name} with {listed([knowing(known) for known in view.knowledge])}: {view.reason}"


def in_words(level: LevelView) -> str:
    """A level's state and gain, for people who do not see the chart."""
    gained = f" {gain(level.advantage.value)}" if level.advantage else ""
    return f"{level.knowledge.label}{gained} ({STATES[level.state][1]})"
