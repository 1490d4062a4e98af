"""The charts over all candidates: risk against knowledge, and risk against utility."""

from __future__ import annotations

import math

from veil.report.drawing import (
    CHARACTER,
    Area,
    Box,
    drawing,
    free_place,
    goal_line,
    level_grid,
    marker,
    reach,
    share_axis,
    wrapped,
)
from veil.report.folding import gains_no_more, in_words, level_names
from veil.report.markup import Markup, el
from veil.report.model import CandidateView, LevelView, ReportModel
from veil.report.values import Estimate
from veil.report.words import UTILITIES, gain, goal, letter, percent, shortened

WIDTH, WIDE, HEIGHT = 560.0, 860.0, 372.0
LEAST_SLOT = 74.0
"""Room for one knowledge level and its name."""
FEW_LEVELS = 4


def knowledge_curve(model: ReportModel) -> Markup | None:
    """The strongest attack's advantage by knowledge, one line per candidate; None without attacks.

    Levels with which nobody gains more than with the release alone are left out; :func:`left_out` names them.
    """
    if not _highest(model):
        return None
    places = _drawn(model)
    levels = [model.candidates[0].levels[j] for j in places]
    end, ticks = reach(max([1.4 * model.max_advantage, *_highest(model)]))
    width = max(WIDE if many_levels(model) else WIDTH, 104 + LEAST_SLOT * len(levels))
    area = Area(52, 22, width - 52 - 52, HEIGHT - 22 - 64, y_max=end)
    slot = area.width / len(levels)
    parts = [*level_grid(area, ticks)]
    for i, level in enumerate(levels):
        x = area.left + slot * (i + 0.5)
        parts.append(wrapped(level.knowledge.label, x, area.bottom + 19, room=max(7, int(slot / 7))))
        if i and not _continues(levels[i - 1], level):
            edge = area.left + slot * i
            parts.append(el("line", x1=edge, x2=edge, y1=area.top, y2=area.bottom, class_="divider"))
    parts += goal_line(area, model.max_advantage)
    gap = min(13.0, 0.72 * slot / len(model.candidates))
    for i, candidate in enumerate(model.candidates):
        shift = (i - (len(model.candidates) - 1) / 2) * gap
        at = [(area.left + slot * (j + 0.5) + shift, candidate.levels[place]) for j, place in enumerate(places)]
        parts.append(_line(i, at, area))
    sentences = [
        f"{letter(i)}, {c.label}: {'; '.join(in_words(c.levels[j]) for j in places)}."
        for i, c in enumerate(model.candidates)
    ]
    idle = left_out(model)
    sentences += [f"With {idle}, no attack gains more than with nothing."] if idle else []
    sentences.append(f"The goal is at most {goal(model.max_advantage)}.")
    title = "Advantage of the strongest attack by what the attacker knows"
    return drawing(width, HEIGHT, title, " ".join(sentences), *parts, name="knowledge-curve")


def many_levels(model: ReportModel) -> bool:
    """Whether the curve needs the whole width of the page."""
    return 104 + LEAST_SLOT * len(_drawn(model)) > WIDTH


def left_out(model: ReportModel) -> str:
    """The levels that the curve leaves out, in words; empty when it shows all."""
    shown = _drawn(model)
    return level_names([level.knowledge for j, level in enumerate(model.candidates[0].levels) if j not in shown])


def _drawn(model: ReportModel) -> list[int]:
    """The levels of the curve; all of them where there are few."""
    everything = range(len(model.candidates[0].levels))
    if len(everything) <= FEW_LEVELS:
        return list(everything)
    return [j for j in everything if not all(gains_no_more(c, j) for c in model.candidates)]


def _line(index: int, places: list[tuple[float, LevelView]], area: Area) -> Markup:
    style = f"c{index % 6}"
    parts: list[Markup] = []
    before: tuple[float, LevelView] | None = None
    for x, level in places:
        if before and _known(level.advantage) and _known(before[1].advantage) and _continues(before[1], level):
            y1, y2 = area.y(_value(before[1])), area.y(_value(level))
            parts.append(el("line", x1=before[0], x2=x, y1=y1, y2=y2, class_=f"thread {style}"))
        before = (x, level)
    for x, level in places:
        if level.advantage is not None and _known(level.advantage):
            low, high = area.y(level.advantage.low), area.y(level.advantage.high)
            bar = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
            parts.append(el("path", d=bar, class_=f"whisker {style}"))
            parts.append(marker(index, x, area.y(level.advantage.value)))
    return el("g", parts)


def _continues(lower: LevelView, upper: LevelView) -> bool:
    """Whether the upper level holds all that the lower one does; other levels are not joined."""
    return lower.knowledge.kind in ("nothing", upper.knowledge.kind)


def _known(estimate: Estimate | None) -> bool:
    return estimate is not None and not math.isnan(estimate.value)


def _value(level: LevelView) -> float:
    return level.advantage.value if level.advantage else math.nan


def _highest(model: ReportModel) -> list[float]:
    highs = [level.advantage.high for c in model.candidates for level in c.levels if level.advantage]
    return [high for high in highs if not math.isnan(high)]


def utility_axis(model: ReportModel) -> tuple[tuple[str, ...], float | None]:
    """The uses on the frontier's horizontal axis, and the goal for them where there is exactly one."""
    uses = model.uses
    return uses, model.min_utility.get(uses[0]) if len(uses) == 1 else None


def frontier(model: ReportModel) -> Markup | None:
    """Risk against utility, one point per candidate; None when nothing can be placed."""
    names, least = utility_axis(model)
    placed = [
        (i, candidate, useful, candidate.strongest.advantage)
        for i, candidate in enumerate(model.candidates)
        if (useful := model.utility(candidate)) is not None
        and candidate.strongest is not None
        and _known(candidate.strongest.advantage)
    ]
    if not placed:
        return None
    end, ticks = reach(max(1.4 * model.max_advantage, *(a.value for *_, a in placed)))
    area = Area(52, 22, WIDTH - 52 - 52, HEIGHT - 22 - 64, y_max=end)
    top, left = area.y(model.max_advantage), area.x(least or 0.0)
    parts = [el("rect", x=left, y=top, width=area.right - left, height=area.bottom - top, class_="zone")]
    parts += level_grid(area, ticks)
    name = UTILITIES.get(names[0], names[0]) if len(names) == 1 else f"mean of {len(names)} utilities"
    parts += share_axis(area, f"Utility: {name}")
    parts += goal_line(area, model.max_advantage)
    if least is not None:
        parts.append(el("line", x1=left, x2=left, y1=area.top, y2=area.bottom, class_="goal"))
        parts.append(
            el("text", f"goal {goal(least)}", x=left, y=area.top - 6, text_anchor="middle", class_="goal-name")
        )
    parts += _points(
        placed, area, [Box(area.left, top - 1, area.right, top + 1), Box(left - 40, 0, left + 40, area.top)]
    )
    sentences = [f"{letter(i)}, {c.label}: utility {percent(u)}, {gain(a.value)}." for i, c, u, a in placed]
    title = "Advantage of the strongest attack against utility"
    return drawing(WIDTH, HEIGHT, title, " ".join(sentences), *parts, name="frontier")


def _points(placed: list[tuple[int, CandidateView, float, Estimate]], area: Area, kept_free: list[Box]) -> list[Markup]:
    parts: list[Markup] = []
    taken = [Box(area.x(u) - 8, area.y(a.value) - 8, area.x(u) + 8, area.y(a.value) + 8) for _, _, u, a in placed]
    taken += kept_free
    for i, candidate, useful, advantage in placed:
        x, y = area.x(useful), area.y(advantage.value)
        label = f"{letter(i)} {shortened(candidate.label, 34)}"
        text_x, baseline, anchor = free_place(area, x, y, CHARACTER * len(label), taken)
        if anchor != "middle" and abs(baseline - 4 - y) > 16:
            end = text_x - 3 if anchor == "start" else text_x + 3
            parts.append(el("line", x1=x, y1=y, x2=end, y2=baseline - 4, class_="leader"))
        parts.append(el("text", label, x=text_x, y=baseline, text_anchor=anchor, class_="point-name"))
    parts += [marker(i, area.x(u), area.y(a.value)) for i, _, u, a in placed]
    return parts
