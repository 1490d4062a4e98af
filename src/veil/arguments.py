"""Checks of parameters: one line that names the parameter, the rule and the fix."""

from __future__ import annotations

import math
import re
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
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= _float(value) <= high:
        raise InputError(f"{name} must be {rule}; got {_shown(value)}")
    return float(value)


def _float(value: Any) -> float:
    """A number as a float; one too large for it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def numbers(value: Any, name: str, *, rule: str) -> list[float]:
    """One number or several, as a sorted list without repetitions; none of them NaN."""
    items = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, Real) or not math.isfinite(_float(item)):
            raise InputError(f"{name} must be {rule}; got {_shown(item)}")
    return sorted({float(item) for item in items})


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) > 10**20:
        return "a number with many digits"
    plain = isinstance(value, int | float | None) or (isinstance(value, str) and not value)
    return repr(value) if plain else f"a {type(value).__name__}"


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(value: Any, parameter: str) -> float:
    """Seconds from a number or a text such as "90", "90s", "2m" or "1h30m".

    >>> duration("2m", "budget"), duration("1h30m", "budget"), duration(20, "budget")
    (120.0, 5400.0, 20.0)
    """
    rule = 'a time above 0, in seconds or as "90s", "2m" or "1h30m"'
    if isinstance(value, str):
        text = value.strip().lower()
        parts = re.findall(r"(\d+(?:\.\d+)?)([smh]?)", text)
        bare = len(parts) > 1 and not all(unit for _, unit in parts)
        if not parts or bare or "".join(amount + unit for amount, unit in parts) != text or len(text) > 20:
            raise InputError(f"{parameter} must be {rule}")
        value = sum(float(amount) * _UNITS[unit or "s"] for amount, unit in parts)
    return number(value, parameter, low=1e-3, high=1e9, rule=rule)
