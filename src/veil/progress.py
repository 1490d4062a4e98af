"""How long-running work tells of its progress: a plain callback, silent by default."""

from __future__ import annotations

from typing import Protocol

PARTS = 1_000


class Progress(Protocol):
    """Called with what is being done, how much is done, and of how much (None when unknown)."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Report progress."""


Watch = Progress | bool | None
"""Who watches: a callback, True for a bar on standard error where somebody sees it, or nobody."""


def silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""


class Course:
    """Work in stages, each of one step or of steps whose number nobody knows yet, told as one share that never falls.

    A step is itself told by :class:`Progress`, and takes a ``share`` of what is left of its stage.

    >>> told = []
    >>> course = Course(lambda what, done, total: told.append((what, done, total)), stages=2)
    >>> course("read", 5, 10)
    >>> course.next_stage(share=0.5)
    >>> course("try", 1, 1)
    >>> course.next_step()
    >>> course("try", 1, 2)
    >>> told
    [('read', 250, 1000), ('try', 750, 1000), ('try', 812, 1000)]
    """

    def __init__(self, progress: Progress, stages: int = 1, share: float = 1.0) -> None:
        self._progress, self._stages = progress, max(stages, 1)
        self._stage, self._share, self._begun, self._reached = 0, share, 0.0, 0.0

    def next_stage(self, share: float = 1.0) -> None:
        """Go on to the next stage, whose steps take a share of what is left of it."""
        self._stage, self._share, self._begun = self._stage + 1, share, 0.0

    def next_step(self) -> None:
        """Go on to the next step of this stage."""
        self._begun += (1.0 - self._begun) * self._share

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Report how far a step is."""
        within = min(done / total, 1.0) if total else 0.0
        place = self._begun + (1.0 - self._begun) * self._share * within
        self._reached = max(self._reached, min((self._stage + place) / self._stages, 1.0))
        self._progress(what, int(PARTS * self._reached), PARTS)
