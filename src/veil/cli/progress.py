"""A progress bar on standard error: only on a terminal, only after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from veil.progress import Progress, silent
from veil.report.escaping import visible

DELAY = 1.0
MANY = 1_000


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A callback that draws a bar once the work has taken longer than :data:`DELAY` seconds."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    from veil.report.console import Terminal

    class Speed(ProgressColumn):
        """Rows per second, once they are many."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or 0.0
            return Text(f"{speed:,.0f} rows/s" if speed > MANY else "", style="progress.data.speed")

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Speed(),
        TimeRemainingColumn(),
        console=Terminal(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=None)
    began, drawn, doing = time.monotonic(), False, ""

    def report(what: str, done: int, total: int | None) -> None:
        nonlocal drawn, doing, task
        label = escape(visible(what))
        if label != doing:  # another pass has another speed
            doing = label
            bar.remove_task(task)
            task = bar.add_task(label, total=total)
        bar.update(task, description=label, completed=done, total=total)
        if not drawn and time.monotonic() - began > DELAY:
            drawn = True
            bar.start()

    try:
        yield report
    finally:
        if drawn:
            bar.stop()
