"""The report: a frozen model cut to an edition, and its renderers.

Computation and rendering are strangers: renderers read only the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from veil.atomic import write_private, write_public
from veil.report.html import page
from veil.report.json import as_json
from veil.report.model import ReportModel, build_model
from veil.report.terminal import plain_text, render

if TYPE_CHECKING:
    from rich.console import Console

    from veil.auditing.result import Audit

__all__ = ["ReportModel", "as_text", "build_model", "print_audit", "write_html", "write_json"]


def write_html(audit: Audit, path: str | Path, *, internal: bool = False) -> None:
    """Write the report as one self-contained HTML file; an existing report is replaced.

    The external edition holds nothing about single records; the internal one does, is marked
    confidential and readable by its owner only.
    """
    _write(path, page(build_model(audit, internal=internal)), internal=internal)


def write_json(audit: Audit, path: str | Path, *, internal: bool = False) -> None:
    """Write the report's content as JSON; an existing file is replaced."""
    _write(path, as_json(build_model(audit, internal=internal)), internal=internal)


def as_text(audit: Audit) -> str:
    """The report as plain text."""
    return plain_text(build_model(audit))


def print_audit(audit: Audit, console: Console) -> None:
    """Print the report in a terminal."""
    render(build_model(audit), console)


def _write(path: str | Path, content: str, *, internal: bool) -> None:
    # A header that is no valid text (a lone surrogate) is written as an escape, not refused.
    data = content.encode("utf-8", errors="backslashreplace")
    (write_private if internal else write_public)(Path(path), data, replace=True)
