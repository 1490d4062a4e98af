"""One side of a protocol."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from veil.errors import InputError, KeyRefusedError
from veil.secret import MASK


class Party:
    """One side of a protocol: shows nothing of what it holds, and is never pickled or copied.

    A copy would be a second party with the same random numbers, and two answers with the same ones give secrets away.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({MASK})"

    def __reduce__(self) -> Any:
        name = type(self).__name__
        raise KeyRefusedError(f"{name} holds secrets and is never pickled or copied; exchange its messages instead")


class OneTimeParty(Party):
    """A party for one run of a protocol, which takes its steps one at a time and in the process that made it.

    Two threads, or a process and its fork, could otherwise take the same step twice with the same random numbers.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One step. The process is looked at before the lock, which a fork may have copied while it was held."""
        if os.getpid() != self._process:
            name = type(self).__name__
            raise InputError(
                f"this {name} was made in another process; make a new one for each transfer, after the fork"
            )
        with self._turn:
            yield


def expect(message: Any, kind: type, sender: str) -> None:
    """Refuse a message of another kind than the protocol's step has."""
    if not isinstance(message, kind):
        raise InputError(f"expected the {kind.__name__} of {sender}; got a {type(message).__name__}")
