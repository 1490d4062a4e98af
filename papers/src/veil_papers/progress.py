"""How a run tells of its progress: a callback, and a bar on a terminal once it has taken a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and of how much."""
DELAY = 1.0


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A callback that draws a bar on standard error; silent where that is no terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task, began = bar.add_task("", total=None), time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        bar.update(task, description=what, completed=done, total=total)
        if time.monotonic() - began > DELAY:
            bar.start()

    try:
        yield report
    finally:
        bar.stop()
