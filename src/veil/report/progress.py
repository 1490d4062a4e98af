"""A progress bar on standard error: one line, only where somebody sees it, only after a second, never going back."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from veil.errors import InputError
from veil.progress import Progress, Watch, silent
from veil.report.escaping import visible
from veil.report.words import shortened

DELAY = 1.0
"""Seconds after which a bar is drawn."""
PAUSE = 0.2
WIDTH = 24
LONGEST_LABEL = 48


@contextmanager
def watched(
    progress: Watch, *, seconds: float | None = None, passes: Sequence[tuple[str, float]] = ()
) -> Iterator[Progress]:
    """A callback for the work inside: the owner's own, a bar for True, or a silent one.

    ``seconds`` is the budget, if there is one, and ``passes`` are the labels of work that is done in passes, with how
    much of the whole each is about; without them, what is reported is of the whole.
    """
    if progress is not True:
        if progress is not None and progress is not False and not callable(progress):
            raise InputError(f"progress must be True, a callback or None; got a {type(progress).__name__}")
        yield progress or silent
        return
    if not is_seen(sys.stderr):
        yield silent
        return
    bar = Bar(sys.stderr, seconds=seconds, passes=passes)
    try:
        yield bar
    finally:
        bar.stop()


def is_seen(stream: TextIO) -> bool:
    """Whether a stream is a terminal or a notebook, where a line can be drawn again."""
    with suppress(AttributeError, ValueError):
        if stream.isatty():
            return True
    return type(stream).__module__.startswith("ipykernel.")


class Bar:
    """Draws one line again and again: what is done, how much of the whole, the time, and what is left of the budget."""

    def __init__(
        self,
        stream: TextIO,
        *,
        seconds: float | None = None,
        passes: Sequence[tuple[str, float]] = (),
        delay: float = DELAY,
    ) -> None:
        self._stream, self._seconds, self._passes = stream, seconds, _places(passes)
        self._began, self._delay = time.monotonic(), delay
        self._label, self._share, self._drawn = "", 0.0, 0
        self._over = threading.Event()
        self._hand = threading.Thread(target=self._draw_on, daemon=True)
        self._hand.start()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Take in how far the work is; the share that is shown never falls."""
        begin, width = self._passes.get(what, (self._share, 0.0) if self._passes else (0.0, 1.0))
        within = min(done / total, 1.0) if total else 0.0
        self._label, self._share = what, max(self._share, min(begin + width * within, 1.0))

    def stop(self) -> None:
        """Take the line away."""
        self._over.set()
        self._hand.join()
        if self._drawn:
            self._write("\r" + " " * self._drawn + "\r")

    def line(self, elapsed: float, width: int) -> str:
        """What is drawn after so many seconds, in so many signs at most."""
        left = ""
        share = self._share
        if self._seconds is not None:
            left = f", {clock(max(self._seconds - elapsed, 0.0))} of {clock(self._seconds)} left"
            share = max(share, min(elapsed / self._seconds, 0.99)) if self._seconds > 0.0 else share
            self._share = share
        full = round(share * WIDTH)
        facts = f"{'█' * full}{'░' * (WIDTH - full)} {share:4.0%}".replace("%", " %") + f"  {clock(elapsed)}{left}"
        label = shortened(visible(self._label), LONGEST_LABEL)
        return shortened(f"{facts}  {label}" if label else facts, max(width - 1, 1))

    def _draw_on(self) -> None:
        if self._over.wait(self._delay):
            return
        while not self._over.wait(PAUSE):
            line = self.line(time.monotonic() - self._began, shutil.get_terminal_size().columns)
            self._write("\r" + line + " " * max(self._drawn - len(line), 0))
            self._drawn = len(line)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads any more: that is no reason to stop the work
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                self._stream.write(text.translate({ord("█"): "#", ord("░"): "-"}).encode("ascii", "replace").decode())
            self._stream.flush()


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, or hours.

    >>> clock(7.6), clock(75), clock(3675)
    ('0:08', '1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _places(passes: Sequence[tuple[str, float]]) -> Mapping[str, tuple[float, float]]:
    """Where each pass begins and how much it is, as shares of the whole.

    >>> _places([("reading", 1), ("writing", 3)])
    {'reading': (0.0, 0.25), 'writing': (0.25, 0.75)}
    """
    whole, begin, places = sum(size for _, size in passes), 0.0, {}
    for name, size in passes:
        places[name] = begin, size / whole
        begin += size / whole
    return places
