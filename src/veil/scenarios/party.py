"""One side of a protocol."""

from __future__ import annotations

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


def expect(message: Any, kind: type, sender: str) -> None:
    """Refuse a message of another kind than the protocol's step has."""
    if not isinstance(message, kind):
        raise InputError(f"expected the {kind.__name__} of {sender}; got a {type(message).__name__}")
