"""Whole numbers of any size: what counts as one, and the library that computes with them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from veil.errors import InputError, MissingExtraError


def gmp() -> Any:
    """The library gmpy2, loaded on first use.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        import gmpy2
    except ImportError:
        raise MissingExtraError("protocols need gmpy2: pip install 'veil[protocols]'") from None
    return gmpy2


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number by type; True, 2.0 and nan are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_vector(values: Any, name: str) -> list[int]:
    """A private vector of whole numbers; an error counts the offenders and shows none.

    >>> whole_vector((3, -4), "x")
    [3, -4]
    """
    listed = None
    if not isinstance(values, str | bytes | bytearray | dict | set | frozenset):
        try:
            listed = list(values)
        except TypeError:
            listed = None
    if listed is None:
        raise InputError(f"{name} must be a list or one-dimensional array of whole numbers; got a {_kind(values)}")
    if not listed:
        raise InputError(f"{name} must have at least one number")
    wrong = sum(not is_whole(value) for value in listed)
    if wrong:
        raise InputError(
            f"{name} must have whole numbers only, and {wrong} of {len(listed)} are not; "
            "scale and round them first, for example [round(100 * v) for v in values]"
        )
    return [int(value) for value in listed]


def bit(value: Any, name: str) -> int:
    """A private bit; an error does not show it."""
    if not is_whole(value) or value not in (0, 1):
        raise InputError(f"{name} must be 0 or 1, a whole number")
    return int(value)


def _kind(value: Any) -> str:
    return type(value).__name__
