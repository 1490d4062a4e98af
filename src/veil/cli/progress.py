"""A progress bar on standard error: only on a terminal, only after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from veil.progress import Progress, silent

DELAY = 1.0


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A callback that draws a bar once the work has taken longer than :data:`DELAY` seconds."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("")
    began, shown = time.monotonic(), False

    def report(what: str, done: int, total: int | None) -> None:
        nonlocal shown
        bar.update(task, description=what, completed=done, total=total)
        if not shown and time.monotonic() - began > DELAY:
            shown = True
            bar.start()

    try:
        yield report
    finally:
        if shown:
            bar.stop()
