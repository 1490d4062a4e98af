"""The charts of one candidate: original against guess, and what utility is left."""

from __future__ import annotations

import math

from veil.report.drawing import drawing
from veil.report.markup import Markup, el
from veil.report.model import Picture
from veil.report.values import Estimate
from veil.report.words import UTILITIES, count, goal, percent, shortened

N_SHADES = 8
SIDE = 300.0


def shade(number: int, largest: int) -> int:
    """The shade of a cell, 1 to 8, on a square-root scale.

    >>> [shade(n, 1000) for n in (10, 250, 1000)]
    [1, 4, 8]
    """
    return max(1, math.ceil(N_SHADES * math.sqrt(number / largest)))


def heat_map(picture: Picture, *, name: str, attack: str, smallest: int) -> Markup:
    """Original (left to right) against guess (bottom to top), a stronger colour where more values are."""
    left, top = 46.0, 14.0
    low, high, bins = picture.edges[0], picture.edges[-1], len(picture.counts)
    largest = max((c for row in picture.counts for c in row), default=0)

    def at(value: float) -> float:
        return SIDE * (value - low) / (high - low)

    parts = [el("rect", x=left, y=top, width=SIDE, height=SIDE, class_="field")]
    for tick in range(math.ceil(low), math.floor(high) + 1):
        x, y = left + at(tick), top + SIDE - at(tick)
        number = f"{tick}".replace("-", "−")
        parts.append(el("line", x1=x, x2=x, y1=top, y2=top + SIDE, class_="grid"))
        parts.append(el("line", x1=left, x2=left + SIDE, y1=y, y2=y, class_="grid"))
        parts.append(el("text", number, x=x, y=top + SIDE + 18, text_anchor="middle"))
        parts.append(el("text", number, x=left - 8, y=y + 4, text_anchor="end"))
    cells = [
        el("path", d=path, class_=f"h{step}")
        for step in range(1, N_SHADES + 1)
        if (path := _cells_of(picture, step, largest))
    ]
    scale = f"translate({left:g} {top + SIDE:g}) scale({SIDE / bins:.4f} {-SIDE / bins:.4f})"
    parts.append(el("g", cells, transform=scale, class_="cells"))
    parts.append(el("line", x1=left, y1=top + SIDE, x2=left + SIDE, y2=top, class_="diagonal"))
    parts.append(
        el(
            "text",
            "Original, standard units",
            x=left + SIDE / 2,
            y=top + SIDE + 40,
            text_anchor="middle",
            class_="axis-name",
        )
    )
    middle = top + SIDE / 2
    parts.append(
        el(
            "text",
            "Guess, standard units",
            transform=f"translate(13 {middle:g}) rotate(-90)",
            text_anchor="middle",
            class_="axis-name",
        )
    )
    parts += _legend(left, top + SIDE + 56, largest, smallest)
    title = f"Original values against the guesses of {attack}"
    return drawing(left + SIDE + 14, top + SIDE + 100, title, _picture_in_words(picture), *parts, name=name)


def _cells_of(picture: Picture, step: int, largest: int) -> str:
    """One path over all cells of a shade; neighbours above each other are one rectangle."""
    path = []
    for i, row in enumerate(picture.counts):
        shades = [shade(c, largest) if c else 0 for c in row]
        j = 0
        while j < len(shades):
            run = j
            while run < len(shades) and shades[run] == step:
                run += 1
            if run > j:
                path.append(f"M{i} {j}h1v{run - j}h-1z")
            j = max(run, j + 1)
    return "".join(path)


def _legend(left: float, top: float, largest: int, smallest: int) -> list[Markup]:
    if not largest:
        return []
    width = 18.0
    parts: list[Markup] = [el("text", "Values in a cell", x=left, y=top + 11)]
    start = left + SIDE - N_SHADES * width
    for step in range(1, N_SHADES + 1):
        parts.append(el("rect", x=start + (step - 1) * width, y=top, width=width, height=13, class_=f"h{step} swatch"))
    half = round(largest / 4)
    parts.append(el("text", count(smallest), x=start, y=top + 28, text_anchor="start"))
    if half > 2 * smallest:
        parts.append(el("text", count(half), x=start + N_SHADES * width / 2, y=top + 28, text_anchor="middle"))
    parts.append(el("text", count(largest), x=start + N_SHADES * width, y=top + 28, text_anchor="end"))
    return parts


def near_diagonal(picture: Picture) -> float | None:
    """The share of the values shown that lie in a cell on the diagonal or next to it."""
    cells = [(abs(i - j) <= 1, c) for i, row in enumerate(picture.counts) for j, c in enumerate(row)]
    shown = sum(c for _, c in cells)
    return sum(c for near, c in cells if near) / shown if shown else None


def _picture_in_words(picture: Picture) -> str:
    share = near_diagonal(picture)
    if share is None:
        return "Every cell is empty: each holds too few values to be shown."
    return (
        f"{percent(share)} of the values shown lie on the diagonal, where the guess is right, or in a cell next to it."
    )


def utility_bars(utility: dict[str, Estimate], goals: dict[str, float], *, name: str, label: str) -> Markup:
    """One bar per utility, with its interval and its goal."""
    height, left, width = 27.0, 190.0, 156.0
    right = left + width + (136 if goals.keys() & utility.keys() else 56)
    parts: list[Markup] = []
    descriptions: list[str] = []
    for i, (key, value) in enumerate(utility.items()):
        middle = 14 + i * height
        least = goals.get(key)
        words = UTILITIES.get(key, key)
        number = percent(value.value)
        parts.append(el("text", shortened(words, 30), x=0, y=middle + 4, class_="use"))
        parts.append(el("text", number, x=left + width + 54, y=middle + 4, text_anchor="end", class_="number"))
        parts.append(el("rect", x=left, y=middle - 5, width=width, height=10, class_="track"))
        if not math.isnan(value.value):
            parts.append(el("rect", x=left, y=middle - 5, width=width * _unit(value.value), height=10, class_="bar"))
            if value.high - value.low > 0.02:
                ends = f"M{left + width * _unit(value.low):.1f} {middle:g}H{left + width * _unit(value.high):.1f}"
                parts.append(el("path", d=ends, class_="whisker spread"))
        if least is not None:
            x = left + width * _unit(least)
            parts.append(el("line", x1=x, x2=x, y1=middle - 9, y2=middle + 9, class_="goal-tick"))
            held = f"{'✓' if value.value >= least else '✕'} goal {goal(least)}"
            parts.append(el("text", held, x=right, y=middle + 4, text_anchor="end", class_="goal-name"))
            number += f" ({held})"
        descriptions.append(f"{words} {number}")
    bottom = 4 + len(utility) * height
    return drawing(right, bottom, f"Utility of {label}", "; ".join(descriptions) + ".", *parts, name=name)


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)
