"""Levels of knowledge folded: those with which nobody gains more, and neighbours that look alike.

An audit goes through about ten levels. Most of them change nothing for most methods, and ten equal lines hide the one
that matters; what is folded is still named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from veil.report.model import CandidateView, LevelView, RowView
from veil.report.words import STATES, gain, knowing, listed, percent

_AMOUNT = re.compile(r"([\d.]+(?: %)?) (.+)")


@dataclass(frozen=True)
class Fold:
    """Levels told together, by their places; ``no_more`` says that they gain no more than the release alone."""

    places: tuple[int, ...]
    label: str
    no_more: bool = False


def gains_no_more(candidate: CandidateView, place: int) -> bool:
    """Whether the attacker gains no more with a level than with the release alone, which is the first level."""
    alone, level = candidate.levels[0], candidate.levels[place]
    if place == 0 or alone.kind != "nothing" or level.state != alone.state:
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
        if last is not None and levels[last].kind == level.kind and all(alike(c, last, j) for c in candidates):
            groups[-1].append(j)
        else:
            groups.append([j])
    made = [Fold(tuple(g), level_names([levels[j].label for j in g], last="or")) for g in groups]
    if idle:
        made.insert(1, Fold(tuple(idle), level_names([levels[j].label for j in idle]), no_more=True))
    return made


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


def level_names(labels: Sequence[str], *, last: str = "and") -> str:
    """Levels in a few words, those of one kind together.

    >>> level_names(["1 known record", "2 known records", "5 known records", "0.5 % sample", "2 % sample"])
    '1, 2 and 5 known records; 0.5 % and 2 % samples'
    >>> level_names(["5 known records", "7 known records"], last="or")
    '5 or 7 known records'
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        found = _AMOUNT.fullmatch(label)
        noun = found[2].replace("records", "record").replace("columns", "column") if found else label
        groups.setdefault(noun, []).append(found[1] if found else "")
    said = []
    for noun, amounts in groups.items():
        if amounts == [""]:
            said.append(noun)
            continue
        many = len(amounts) > 1 or amounts[0] != "1"
        for one in ("record", "column"):
            noun = noun.replace(one, f"{one}s") if many else noun
        if len(amounts) > 1 and noun == "sample" and last == "and":
            noun = "samples"
        joined = f" {last} ".join([", ".join(amounts[:-1]), amounts[-1]]) if len(amounts) > 1 else amounts[0]
        said.append(f"{joined} {noun}")
    return "; ".join(said)


def part_that_breaks(candidate: CandidateView, place: int, most: float) -> str | None:
    """What breaks with a level where no overall advantage is over the goal: a column or far-out values; else None."""
    level = candidate.levels[place]
    if level.state != "breaks" or (level.advantage is not None and level.advantage.value > most):
        return None
    lower = {k.label for k in candidate.levels[: place + 1] if k.kind in ("nothing", level.kind)}
    rows = [row for row in candidate.rows if row.knowledge in lower]
    columns = [row for row in rows if row.column.advantage.low > most]
    if columns:
        return f"column {max(columns, key=lambda row: row.column.advantage.value).worst_column}"
    if any(_far_out(row) > most for row in rows):
        return "far-out values"
    return "a column or far-out values"


def _far_out(row: RowView) -> float:
    return row.far_out.advantage.low if row.far_out else -math.inf


def breaks_line(candidate: CandidateView) -> str:
    """The least knowledge that breaks a goal, for each kind, with the attack; or that none is shown to."""
    if candidate.breaks:
        said = [f"with {knowing(b.knowledge)} ({b.attack})" for b in candidate.breaks]
        return f"Breaks {'; '.join(said)}."
    least = {level.kind: level.label for level in reversed(candidate.levels) if level.state == "breaks"}
    if least:
        return f"Breaks with {listed([knowing(label) for label in reversed(least.values())])}."
    open_ends = [level.label for level in candidate.levels if level.state == "unproven"]
    if not open_ends:
        return "No goal is shown to break."
    if len(open_ends) == len(candidate.levels):
        return "No goal is shown to break, and none is shown to hold."
    return f"No goal is shown to break; not shown to hold with {level_names([_plain(k) for k in open_ends])}."


def _plain(label: str) -> str:
    return knowing(label) if label == "nothing" else label


def in_words(level: LevelView) -> str:
    """A level's state and gain, for people who do not see the chart."""
    gained = f" {gain(level.advantage.value)}" if level.advantage else ""
    return f"{level.label}{gained} ({STATES[level.state][1]})"
