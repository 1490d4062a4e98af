"""Answers in a notebook: fragments of HTML without scripts or requests, readable on light and on dark pages.

A fragment styles nothing but what is inside it. Text is the page's own; a sign and a word say what a colour says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from veil.report.markup import Content, Markup, el
from veil.report.pieces import Piece, as_markup
from veil.report.words import shortened

LONGEST_SETTING = 200
"""Signs of a setting that is shown; what is longer is data, not a setting."""


def fragment(kind: str, title: Content, *content: Content) -> str:
    """A fragment that says what it is, with its style."""
    head = el("p", el("span", kind, class_="kind"), title, class_="title")
    return str(el("div", el("style", _style()), head, *content, class_="veil"))


def fragment_of(kind: str, pieces: Sequence[Piece]) -> str:
    """Pieces as a fragment; the first one is the title."""
    title, *others = pieces
    return fragment(kind, str(title), as_markup(others))


def settings_fragment(name: str, settings: Mapping[str, Any]) -> str:
    """What has learned nothing yet: its parameters."""
    rows = [
        el("tr", el("th", key, scope="row"), el("td", shortened(repr(value), LONGEST_SETTING)))
        for key, value in settings.items()
    ]
    table = el("table", el("tbody", rows)) if rows else None
    return fragment("Not fitted", name, table, el("p", "It has not seen a release: call fit(release).", class_="quiet"))


def _style() -> Markup:
    css = resources.files("veil.report").joinpath("notebook.css").read_text(encoding="utf-8")
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return Markup(re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", css)).strip())
