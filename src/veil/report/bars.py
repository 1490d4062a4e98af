"""Three bars: what a constant guess gets right, what the attacker would without the person's row, and what it does."""

from __future__ import annotations

import math

from veil.report.markup import Markup, el
from veil.report.values import Over, ScoreView
from veil.report.words import percent

WIDTH = 96.0
HEIGHT = 9.0
NAMES = {"constant": "constant guess", "absent": "person absent", "present": "person present"}
LEGEND = (
    "The three bars are what is guessed right: by the best constant guess, by the same attacker had the person’s own "
    "row not been there (absent), and by the attack (present)."
)


def three_bars(score: ScoreView, *, named: bool = False, links: bool = False) -> Markup:
    """The bars with their numbers; their names are for everybody where ``named``, else for screen readers alone.

    Of ``links`` between people and rows, the constant guess is a row at random.
    """
    rates = {"constant": score.baseline, "absent": score.control, "present": score.rate.value}
    names = {**NAMES, "constant": "random row"} if links else NAMES
    style = "trio named" if named else "trio"
    return el("ul", [_bar(kind, names[kind], rate, named=named) for kind, rate in rates.items()], class_=style)


def _bar(kind: str, name: str, rate: float, *, named: bool) -> Markup:
    share = 0.0 if math.isnan(rate) else min(max(rate, 0.0), 1.0)
    bar = el(
        "svg",
        el("rect", x=0, y=0, width=WIDTH, height=HEIGHT, class_="track"),
        el("rect", x=0, y=0, width=max(1.0, WIDTH * share), height=HEIGHT, class_=f"bar-{kind}") if share else None,
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    label = el("span", f"{name} ", class_="bar-name" if named else "unseen")
    return el("li", label, bar, el("b" if kind == "present" else "span", percent(rate), class_="num"))


def key() -> Markup:
    """What the bars are, from above, for the head of a table."""
    return el("span", [el("span", _swatch(kind), name, class_="key") for kind, name in NAMES.items()], class_="keys-of")


def _swatch(kind: str) -> Markup:
    shape = el("rect", x=0, y=0, width=10, height=10, class_=f"bar-{kind}")
    return el("svg", shape, viewBox="0 0 10 10", width=10, height=10, aria_hidden="true")


OVER = {
    Over.ABSENT: "over the same attacker with the person absent",
    Over.CONSTANT: "over the best constant guess",
}
"""What an advantage is counted over, after the word "gains"."""
ADVANTAGE = {Over.ABSENT: "Individual advantage", Over.CONSTANT: "Advantage over the constant"}
