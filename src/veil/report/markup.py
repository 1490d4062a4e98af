"""HTML and SVG as text that is escaped and balanced by construction.

Every string that is not already :class:`Markup` is escaped when it becomes part of an element,
so text from a table cannot become code, and elements close because :func:`el` closes them.

>>> el("p", "a < b ", el("b", "& c"), class_="note")
'<p class="note">a &lt; b <b>&amp; c</b></p>'
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from veil.report.words import clean

_CHILDLESS = {"meta", "br", "hr", "wbr"}
_SHAPES = {"path", "line", "rect", "circle", "polygon"}


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Content = str | int | None | Iterable["Content"]


def text(content: str) -> Markup:
    """Text as HTML: escaped, without steering characters, the percent sign kept with its number.

    >>> text("2 % <b>")
    '2\\xa0% &lt;b&gt;'
    """
    return Markup(html.escape(clean(content), quote=True).replace(" %", "\u00a0%"))


def join(*content: Content) -> Markup:
    """Pieces one after the other; None is nothing, what is not markup is escaped."""
    return Markup("".join(_piece(piece) for piece in content))


def _piece(piece: Content) -> str:
    if piece is None:
        return ""
    if isinstance(piece, Markup):
        return piece
    if isinstance(piece, str | int):
        return text(str(piece))
    return join(*piece)


def el(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """An element. ``class_`` is class, other underscores are hyphens; None and False leave an attribute out."""
    head = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _CHILDLESS:
        return Markup(f"<{name}{head}>")
    body = join(*content)
    if not body and name in _SHAPES:
        return Markup(f"<{name}{head}/>")
    return Markup(f"<{name}{head}>{body}</{name}>")


def scrolling(content: Markup, label: str) -> Markup:
    """A table or chart that scrolls sideways on a narrow screen, also by keyboard."""
    return el("div", content, class_="scroll", role="region", aria_label=label, tabindex=0)


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    key = key.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {key}"
    if isinstance(value, float):
        value = f"{value:.1f}".removesuffix(".0")
    return f' {key}="{html.escape(clean(str(value)), quote=True)}"'
