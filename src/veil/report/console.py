"""A terminal that shows text and never obeys it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from veil.report.escaping import visible

if TYPE_CHECKING:
    from rich.console import JustifyMethod

_HARD_SPACE = "\u00a0"  # ours: it keeps a percent sign with its number


class Terminal(Console):
    """A console whose every piece of text is :func:`~veil.report.escaping.visible`, wherever it came from.

    Names belong through :func:`shown` all the same, so that columns of a table are measured as they are printed.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed; styles and line breaks are this program's own."""
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else segment._replace(text="\n".join(map(legible, segment.text.split("\n"))))
            )


def legible(sentence: str) -> str:
    """A sentence of ours that may quote names, on one line; hard spaces stay."""
    return _HARD_SPACE.join(map(visible, sentence.split(_HARD_SPACE)))


def shown(name: object, style: str = "") -> Text:
    """A name from a file as text for a table: on one line, and without markup."""
    return Text(visible(name), style=style)


def grid(*titles: str | Text, side: JustifyMethod = "right", caption: str = "") -> Table:
    """A table without lines: names on the left, numbers on the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    if caption:
        table.title, table.title_justify, table.title_style = Text(caption), "left", ""
    table.add_column(titles[0], overflow="fold")
    for title in titles[1:]:
        table.add_column(title, justify=side, no_wrap=side == "right")
    return table
