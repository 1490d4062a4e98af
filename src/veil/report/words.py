"""The words of the report: numbers as people write them, and the terms in plain language."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Protocol

from veil.report.values import State

MISSING = "–"
MOST_NAMES = 3
LARGEST = 1e9
"""From here on numbers are written with a power of ten."""
_DIRECTION_MARKS = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def percent(share: float) -> str:
    """A share as a percentage with one digit, never rounded to nothing or to everything.

    >>> percent(0.1437), percent(1), percent(0.0002), percent(0.9999), percent(-0.029)
    ('14.4 %', '100 %', '<0.1 %', '>99.9 %', '−2.9 %')
    """
    if math.isnan(share):
        return MISSING
    if share < 0:
        return "0 %" if share > -0.0005 else f"−{percent(-share)}"
    if 0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    return f"{_number(share)} %"


def goal(share: float) -> str:
    """A share that the owner chose, as it was given.

    >>> goal(0.05), goal(0.125)
    ('5 %', '12.5 %')
    """
    return f"{share * 100:.6g} %"


def interval(low: float, high: float) -> str:
    """Two ends of an interval of shares.

    >>> interval(0.1034, 0.1876), interval(-0.011, 0.0584), interval(0.9918, 1)
    ('10.3 to 18.8 %', '−1.1 to 5.8 %', '99.2 to 100 %')
    """
    if math.isnan(low) or math.isnan(high):
        return MISSING
    return f"{_number(low)} to {_number(high)} %"


def _number(share: float) -> str:
    digits = f"{abs(share) * 100:.1f}"
    if digits in ("0.0", "100.0"):
        digits = digits.removesuffix(".0")
    return f"−{digits}" if share < 0 and digits != "0" else digits


def gain(advantage: float) -> str:
    """An advantage; one that is not above zero is no gain.

    >>> gain(0.35), gain(-0.02)
    ('35.0 %', 'no gain')
    """
    return "no gain" if advantage <= 0 else percent(advantage)


def units(error: float) -> str:
    """An error in standard units.

    >>> units(0.34312), units(0.00004), units(0.0), units(float("nan"))
    ('0.34', '<0.01', '0.00', '–')
    """
    if math.isnan(error):
        return MISSING
    return "<0.01" if 0 < error < 0.005 else f"{error:.2f}"


def digits(number: float, n: int = 4) -> str:
    """A number with so many significant digits: in groups of three, or with a power of ten where it is far from one.

    >>> digits(17070.42), digits(17.0), digits(-0.000123456), digits(0.0), digits(float("nan"))
    ('17,070', '17.00', '−0.0001235', '0', '–')
    >>> digits(1.5e9, 2), digits(0.5, 2), digits(-1234567.0, 3)
    ('1.5e+09', '0.50', '−1,230,000')
    """
    if math.isnan(number):
        return MISSING
    rounded = float(f"{number:.{n}g}")
    size = abs(rounded)
    plain = size < LARGEST and size >= 10.0**n
    written = f"{size:,.0f}" if plain or not size else f"{size:#.{n}g}".rstrip(".").replace(".e", "e")
    return f"−{written}" if rounded < 0 else written


def count(number: int) -> str:
    """A whole number in groups of three.

    >>> count(17070)
    '17,070'
    """
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "column"), counted(30, "column")
    ('1 column', '30 columns')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


class Level(Protocol):
    """What has a kind of knowledge and a label."""

    @property
    def kind(self) -> str:
        """The kind of knowledge."""

    @property
    def label(self) -> str:
        """The level in a few words."""

    @property
    def article(self) -> str:
        """What stands before the label in a sentence, if anything."""


def knowing(level: Level) -> str:
    """A knowledge level after the word "with".

    >>> from veil.report.values import KnowledgeView, Unit
    >>> knowing(KnowledgeView("nothing", 0, Unit.NONE, "nothing"))
    'the release alone'
    >>> knowing(KnowledgeView("sample", 0.02, Unit.SHARE, "2 % sample", "a"))
    'a 2 % sample'
    """
    return "the release alone" if level.kind == "nothing" else f"{level.article} {level.label}".strip()


def compared(control: float, baseline: float) -> str:
    """What an attacker would get right without the person's own row, and by a constant guess.

    >>> compared(0.09, 0.08)
    "without the person's own row it would get 9.0 %, a constant guess 8.0 %"
    >>> compared(0.08, 0.08)
    "without the person's own row it would get 8.0 %, no more than a constant guess"
    """
    absent, constant = percent(control), percent(baseline)
    guess = "no more than a constant guess" if absent == constant else f"a constant guess {constant}"
    return f"without the person's own row it would get {absent}, {guess}"


def within(columns: Sequence[str]) -> str:
    """Where an attack guesses, if it guesses only some of the columns.

    >>> within(["sex"]), within(["sex", "age"]), within("abcde"), within([])
    (" in column 'sex'", " in columns 'sex' and 'age'", ' in 5 columns', '')
    """
    if not columns:
        return ""
    if len(columns) > MOST_NAMES:
        return f" in {len(columns)} columns"
    return f" in column{'s' if len(columns) > 1 else ''} {listed([repr(name) for name in columns])}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def few(names: Sequence[str]) -> str:
    """The first few names in a sentence, and how many more there are.

    >>> few(["a", "b", "c", "d", "e"]), few(["a", "b"]), few([])
    ('a, b, c and 2 more', 'a and b', 'nothing')
    """
    if len(names) > MOST_NAMES + 1:
        return f"{', '.join(names[:MOST_NAMES])} and {count(len(names) - MOST_NAMES)} more"
    return listed(names) if names else "nothing"


def letter(index: int) -> str:
    """The letter that stands for a candidate in charts.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    head, tail = divmod(index, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


def shortened(text: str, length: int) -> str:
    """At most ``length`` characters, with an ellipsis where something is left out.

    >>> shortened("additive noise (scale 0.5)", 14)
    'additive nois…'
    """
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def clean(text: str) -> str:
    """Text from outside without characters that could steer a terminal or turn a line around.

    >>> clean("age\\x1b[31m\\u202e")
    'age�[31m�'
    """
    return "".join("�" if _steers(c) else c for c in text)


def _steers(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTION_MARKS


STATES = {
    State.HOLDS: ("✓", "holds"),
    State.BREAKS: ("✕", "breaks"),
    State.UNPROVEN: ("?", "not shown safe"),
    State.NO_ATTACK: ("–", "no attack applies"),
    State.NOT_TESTED: ("◇", "not tested"),
    State.OUT_OF_TIME: ("◷", "out of time"),
    State.NOT_COUNTED: ("○", "not counted"),
}

UTILITIES = {
    "distances": "distances between records",
    "means": "means of the columns",
    "covariance": "covariances of the columns",
    "distribution": "distributions of the columns",
    "clusters": "clusters found",
    "neighbours": "nearest neighbours",
    "classification": "accuracy of a classifier",
    "proportions": "shares of the categories",
}
