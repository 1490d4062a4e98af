"""A report leaves the house: as an HTML file, as JSON, as text, or in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from veil.report.html import page
from veil.report.json import as_json
from veil.report.model import ReportModel
from veil.report.terminal import plain_text, render
from veil.report.values import Edition
from veil.storage.atomic import write_private, write_public

if TYPE_CHECKING:
    from rich.console import Console


def write_html(model: ReportModel, path: Path) -> None:
    """Write the report as one self-contained HTML file; an existing report is replaced.

    The external edition holds nothing about single records; the internal one does, is marked
    confidential and readable by its owner only.
    """
    _write(model, path, page(model))


def write_json(model: ReportModel, path: Path) -> None:
    """Write the report's content as JSON; an existing file is replaced."""
    _write(model, path, as_json(model))


def as_text(model: ReportModel) -> str:
    """The report as plain text."""
    return plain_text(model)


def print_report(model: ReportModel, console: Console) -> None:
    """Print the report in a terminal."""
    render(model, console)


def _write(model: ReportModel, path: Path, content: str) -> None:
    # A header that is no valid text (a lone surrogate) is written as an escape, not refused.
    data = content.encode("utf-8", errors="backslashreplace")
    write = write_private if model.edition == Edition.INTERNAL else write_public
    write(path, data, replace=True)
