"""Whole numbers of any size: what counts as one, and the library that computes with them."""

from __future__ import annotations

from collections.abc import Sequence
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


def is_vector(values: Any) -> bool:
    """Whether this is a list, tuple or other sequence, or a one-dimensional array or series; text and bytes are not."""
    if isinstance(values, str | bytes | bytearray | memoryview):
        return False
    shape = getattr(values, "shape", None)
    return isinstance(values, Sequence) if shape is None else isinstance(shape, tuple) and len(shape) == 1


def whole_vector(values: Any, name: str) -> list[int]:
    """A private vector of whole numbers; an error counts the offenders and shows none.

    >>> whole_vector((3, -4), "x")
    [3, -4]
    """
    if not is_vector(values):
        raise InputError(f"{name} must be a list or one-dimensional array of whole numbers; got a {_kind(values)}")
    listed = list(values)
    if not listed:
        raise InputError(f"{name} must have at least one number")
    wrong = sum(not is_whole(value) for value in listed)
    if wrong:
        raise InputError(
            f"{name} must have whole numbers only, as integers, and {wrong} of {len(listed)} are not; floats such as "
            "2.0 become integers by [round(v) for v in values], and others are scaled first, for example "
            "[round(100 * v) for v in values]"
        )
    return [int(value) for value in listed]


def bit(value: Any, name: str) -> int:
    """A private bit; an error does not show it."""
    if not is_whole(value) or value not in (0, 1):
        raise InputError(f"{name} must be 0 or 1, a whole number")
    return int(value)


def public_bound(value: Any, name: str) -> int:
    """A declared bound on absolute values."""
    if not is_whole(value) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1")
    return int(value)


def shown(value: Any) -> str:
    """A public number for a repr; one with many digits by its length.

    >>> shown(1000), shown(10**5000)
    ('1000', '<16610 bits>')
    """
    if not is_whole(value):
        return f"<{_kind(value)}>"
    number = int(value)
    return str(number) if number.bit_length() <= 64 else f"<{number.bit_length()} bits>"


def _kind(value: Any) -> str:
    return type(value).__name__
