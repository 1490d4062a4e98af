"""What verbs print: lines, JSON and rich tables, none of which a terminal obeys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veil.report.escaping import shown_json, visible, visible_json

if TYPE_CHECKING:
    from veil.report.console import Terminal


def print_line(text: str, *, err: bool = False) -> None:
    """One line on standard output or error."""
    click.echo(visible(text), err=err)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON; a text is JSON already."""
    click.echo(shown_json(value.rstrip("\n")) if isinstance(value, str) else visible_json(value, indent=indent))


def terminal() -> Terminal:
    """Where rich tables are printed."""
    from veil.report.console import Terminal

    return Terminal()


def check_page(output: Path | None) -> None:
    """Refuse a page that could not be written, before anything is computed."""
    if output is not None and output.suffix not in (".html", ".json"):
        raise click.UsageError(f"-o takes a name ending in .html or .json; got {output.name!r}")
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise click.UsageError(f"-o: {output} cannot be written; its folder must be there, and it must not be one")
