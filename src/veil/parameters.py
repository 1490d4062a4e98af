"""Checks of parameters: one line that names the parameter, the rule and the fix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from veil.errors import InputError


def whole_number(value: Any, name: str, *, least: int = 0) -> int:
    """A whole number of at least ``least``.

    >>> whole_number(3, "repetitions", least=1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}; got {_shown(value)}")
    return int(value)


def number(value: Any, name: str, *, low: float, high: float, rule: str) -> float:
    """A number between ``low`` and ``high``, both allowed; ``rule`` says it in words."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise InputError(f"{name} must be {rule}; got {_shown(value)}")
    return float(value)


def numbers(value: Any, name: str, *, rule: str) -> list[float]:
    """One number or several, as a sorted list without repetitions; none of them NaN."""
    items = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, Real) or math.isnan(item):
            raise InputError(f"{name} must be {rule}; got {_shown(item)}")
    return sorted({float(item) for item in items})


def _shown(value: Any) -> str:
    plain = isinstance(value, int | float | None) or (isinstance(value, str) and not value)
    return repr(value) if plain else f"a {type(value).__name__}"
