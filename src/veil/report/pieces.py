"""Pieces of an answer, lines and tables of :mod:`rich`, in a terminal, as plain text, or as HTML.

What is not an audit is rendered once, as pieces: a terminal prints them, ``repr`` gives them as text, and a notebook
shows the same words and numbers as HTML.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veil.report.console import Terminal
from veil.report.markup import Content, Markup, el, join, scrolling

TEXT_WIDTH = 100
Piece = Table | Text
_CLASSES = {
    "dim": "quiet",
    "bold": "strong",
    "bold red": "bad",
    "red": "bad",
    "green": "good",
    "yellow": "open",
}


def print_pieces(pieces: Sequence[Piece], console: Console) -> None:
    """Print the pieces, each after an empty line but for lines that follow each other."""
    last: Piece | None = None
    for piece in pieces:
        if not (isinstance(last, Text) and isinstance(piece, Text)):
            console.print()
        console.print(piece, highlight=False)
        last = piece


def plain_pieces(pieces: Sequence[Piece], width: int = TEXT_WIDTH) -> str:
    """The same as text without colours or control codes."""
    written = io.StringIO()
    console = Terminal(file=written, width=width, color_system=None, force_terminal=False, force_jupyter=False)
    print_pieces(pieces, console)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()).strip("\n")


def as_markup(pieces: Sequence[Piece]) -> Markup:
    """The same as HTML: a paragraph for every line, a table for every table."""
    return join([_table(piece) if isinstance(piece, Table) else _paragraph(piece) for piece in pieces])


def _paragraph(line: Text) -> Markup | None:
    return el("p", _phrases(line)) if line.plain.strip() else None


def _table(table: Table) -> Markup:
    """Headers, rows and the title, which stands above."""
    sides = ["num" if column.justify == "right" else None for column in table.columns]
    heads = [el("th", _cell(c.header), scope="col", class_=side) for c, side in zip(table.columns, sides, strict=True)]
    headed = table.show_header and any(str(column.header) for column in table.columns)
    rows = []
    for row, cells in zip_longest(table.rows, zip(*(column.cells for column in table.columns), strict=True)):
        first, *others = cells
        entries = [el("td", _cell(cell), class_=side) for cell, side in zip(others, sides[1:], strict=True)]
        rows.append(el("tr", el("th", _cell(first), scope="row"), entries, class_=_class(str(row.style or ""))))
    named = table.title if isinstance(table.title, Text) else Text(table.title or "")
    title = Text("\n").join(line for line in named.split("\n") if line.plain.strip())
    content = el(
        "table",
        el("caption", _phrases(title)) if title else None,
        el("thead", el("tr", heads)) if headed else None,
        el("tbody", rows),
    )
    return scrolling(content, title.plain.replace("\n", " ") or "Table")


def _cell(cell: object) -> Content:
    return _phrases(cell) if isinstance(cell, Text) else str(cell)


def _phrases(text: Text) -> Markup:
    """Text with its styles; line breaks stay."""
    lines = [[_phrase(phrase) for phrase in _divided(line)] for line in text.split("\n")]
    return join([[el("br") if i else None, *phrases] for i, phrases in enumerate(lines)])


def _divided(line: Text) -> Sequence[Text]:
    ends = sorted({end for span in line.spans for end in (span.start, span.end) if 0 < end < len(line)})
    return list(line.divide(ends))


def _phrase(phrase: Text) -> Content:
    name = _class(str([phrase.style, *(span.style for span in phrase.spans)][-1]))
    return el("span", phrase.plain, class_=name) if name else phrase.plain


def _class(style: str) -> str | None:
    return _CLASSES.get(style)
