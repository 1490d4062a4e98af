"""How long-running work tells of its progress: a plain callback, silent by default."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with what is being done, how much is done, and of how much (None when unknown)."""

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Report progress."""


def silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""
