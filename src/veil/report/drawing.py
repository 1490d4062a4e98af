"""What every chart is drawn with: the frame, scales, markers and labels that keep apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from veil.report.markup import Content, Markup, el
from veil.report.words import goal as as_goal

N_STYLES = 6
CHARACTER = 6.4
"""Width of a character of chart text, about."""


def drawing(width: float, height: float, title: str, description: str, *content: Content, name: str) -> Markup:
    """An SVG image with its title and its description for people who do not see it."""
    return el(
        "svg",
        el("title", title, id=f"{name}-title"),
        el("desc", description, id=f"{name}-desc"),
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="chart",
    )


@dataclass(frozen=True)
class Area:
    """The inner rectangle of a chart and its scales."""

    left: float
    top: float
    width: float
    height: float
    x_max: float = 1.0
    y_max: float = 1.0

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def x(self, value: float) -> float:
        """Where a value lies from left to right; outside values at the edge."""
        return self.left + self.width * min(max(value / self.x_max, 0.0), 1.0)

    def y(self, value: float) -> float:
        """Where a value lies from bottom to top; outside values at the edge."""
        return self.bottom - self.height * min(max(value / self.y_max, 0.0), 1.0)


def reach(highest: float) -> tuple[float, list[float]]:
    """The end of a percentage axis that holds ``highest``, and its ticks.

    >>> reach(0.19)
    (0.2, [0.0, 0.05, 0.1, 0.15, 0.2])
    """
    scales = ((0.1, 0.02), (0.2, 0.05), (0.4, 0.1), (0.6, 0.1))
    end, step = next((scale for scale in scales if highest <= scale[0]), (1.0, 0.2))
    return end, [round(i * step, 4) for i in range(round(end / step) + 1)]


def level_grid(area: Area, ticks: list[float]) -> list[Markup]:
    """Horizontal rules with their percentages."""
    parts = []
    for tick in ticks:
        y = area.y(tick)
        parts.append(el("line", x1=area.left, x2=area.right, y1=y, y2=y, class_="grid" if tick else "axis"))
        parts.append(el("text", f"{tick * 100:g} %", x=area.left - 8, y=y + 4, text_anchor="end"))
    return parts


def share_axis(area: Area, name: str) -> list[Markup]:
    """A horizontal axis of shares from 0 to 100 % with its name."""
    parts = []
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        x = area.x(tick)
        parts.append(el("line", x1=x, x2=x, y1=area.bottom, y2=area.bottom + 5, class_="axis"))
        parts.append(el("text", f"{tick * 100:g} %", x=x, y=area.bottom + 19, text_anchor="middle"))
    middle, below = area.left + area.width / 2, area.bottom + 44
    return [*parts, el("text", name, x=middle, y=below, text_anchor="middle", class_="axis-name")]


def goal_line(area: Area, goal: float) -> list[Markup]:
    """The goal as a dashed rule with its name in the right margin."""
    y = area.y(goal)
    return [
        el("line", x1=area.left, x2=area.right, y1=y, y2=y, class_="goal"),
        el("text", "goal", x=area.right + 6, y=y - 1, class_="goal-name"),
        el("text", as_goal(goal), x=area.right + 6, y=y + 12, class_="goal-name"),
    ]


def _around(n: int, radius: float, turn: float = 0.0) -> Callable[[float, float], str]:
    def points(x: float, y: float) -> str:
        angles = [2 * math.pi * k / n + turn for k in range(n)]
        return " ".join(f"{x + radius * math.sin(a):.1f},{y - radius * math.cos(a):.1f}" for a in angles)

    return points


_OUTLINES = (
    _around(4, 6.6, math.pi / 4),
    _around(3, 7.0),
    _around(4, 6.8),
    _around(3, 7.0, math.pi),
    _around(6, 5.8),
)


def marker(index: int, x: float, y: float) -> Markup:
    """A candidate's marker: colour and shape."""
    style = index % N_STYLES
    if style == 0:
        return el("circle", cx=x, cy=y, r=5.4, class_=f"mark c{style}")
    return el("polygon", points=_OUTLINES[style - 1](x, y), class_=f"mark c{style}")


def wrapped(label: str, x: float, y: float, *, room: int) -> Markup:
    """A centred label on several lines of at most ``room`` characters where words allow it."""
    lines: list[str] = []
    for word in label.replace(" %", "\u00a0%").split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    spans = [el("tspan", line, x=x, dy=0 if i == 0 else 15) for i, line in enumerate(lines)]
    return el("text", spans, x=x, y=y, text_anchor="middle")


@dataclass(frozen=True)
class Box:
    """A rectangle that other labels must not cover."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def free_place(area: Area, x: float, y: float, width: float, taken: list[Box]) -> tuple[float, float, str]:
    """A place for a label beside a point: its x, its baseline and its anchor."""
    sides = ("start", "end") if x + 12 + width <= area.right else ("end", "start")
    places = [(side, y + 4) for side in sides] + [("middle", y - 20), ("middle", y + 24)]
    places += [(side, y + 4 + 15 * step) for step in (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6) for side in sides]
    starts = {"start": x + 12, "middle": x - width / 2, "end": x - 12 - width}
    anchors = {"start": x + 12, "middle": x, "end": x - 12}
    for side, baseline in places:
        box = Box(starts[side], baseline - 11, starts[side] + width, baseline + 3)
        inside = area.left - 8 <= box.left and box.right <= area.right + 50
        if not inside or box.top < area.top - 7 or box.bottom > area.bottom:
            continue
        if not any(box.meets(other) for other in taken):
            taken.append(box)
            return anchors[side], baseline, side
    return anchors[sides[0]], y + 4, sides[0]
