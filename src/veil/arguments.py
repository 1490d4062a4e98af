"""Checks of arguments: each returns the value in its right type, or one line names the parameter, the rule and the fix.

No message echoes what it was given: a value of a private table in the wrong place must not end up in a log. Shapes,
counts and names of types are all that is ever printed.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from veil.errors import InputError, nearest

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def whole(value: object, name: str, *, least: int = 0, most: int | None = None) -> int:
    """A whole number of at least ``least`` and, if given, at most ``most``.

    >>> whole(3, "repetitions", least=1)
    3
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):  # type: ignore[operator]
        reach = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise _refusal(name, f"a whole number {reach}", value)
    return int(value)  # type: ignore[call-overload, no-any-return]


def number(
    value: object,
    name: str,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    rule: str | None = None,
    infinite: bool = False,
    parameter: str | None = None,
) -> float:
    """A number from ``least`` to ``most``, both allowed; ``rule`` says it in other words.

    ``infinite=True`` lets an infinite number pass where the bounds do. ``parameter`` is what the error calls the
    parameter where ``name`` says more than that.

    >>> number(1, "tolerance", least=0)
    1.0
    >>> number(2, "overlap", least=0, most=1)
    Traceback (most recent call last):
    veil.errors.InputError: overlap must be a number from 0 to 1; got another number
    """
    size = _float(value)
    if size is None or not least <= size <= most or (math.isinf(size) and not infinite):
        raise _refusal(name, rule or _reach(least, most), value, parameter)
    return size


def choice(value: object, name: str, options: Iterable[str], *, parameter: str | None = None) -> str:
    """One of the words in ``options``.

    >>> choice("valeu", "level", ("value", "record"))
    Traceback (most recent call last):
    veil.errors.InputError: level must be one of 'value', 'record'; did you mean 'value'?
    """
    known = tuple(options)
    if isinstance(value, str) and value in known:
        return value
    rule = f"one of {', '.join(repr(str(option)) for option in known)}"
    near = nearest(value, known) if isinstance(value, str) else None
    if near is None:
        raise _refusal(name, rule, value, parameter)
    raise InputError(f"{name} must be {rule}; did you mean {near!r}?", parameter=parameter or name)


def flag(value: object, name: str, *, parameter: str | None = None) -> bool:
    """True or False, and nothing that only looks like it.

    >>> flag("no", "relative")
    Traceback (most recent call last):
    veil.errors.InputError: relative must be True or False; got a str
    """
    if not isinstance(value, bool | np.bool_):
        raise _refusal(name, "True or False", value, parameter)
    return bool(value)


def per_column(
    values: npt.ArrayLike, name: str, columns: int, *, least: float = -math.inf, above: float = -math.inf
) -> Array:
    """One finite number per column, at least ``least`` and greater than ``above``; a single number is repeated.

    >>> per_column(0.5, "scale", 3)
    array([0.5, 0.5, 0.5])
    """
    rule = f"one number or one per column ({columns})"
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be {rule}; pass numbers only", parameter=name) from None
    if row.ndim == 0:
        row = np.full(columns, float(row))
    if row.shape != (columns,):
        raise InputError(f"{name} must be {rule}; got shape {row.shape}", parameter=name)
    if count := int((~np.isfinite(row) | (row < least) | (row <= above)).sum()):
        reach = f" above {above:g}" if math.isfinite(above) else f" of at least {least:g}" if least > -math.inf else ""
        problem = f"{name} must be finite{reach}; {count} of {columns} are not, replace them"
        raise InputError(problem, parameter=name)
    return row


def numbers(value: object, name: str, *, rule: str, parameter: str | None = None) -> list[float]:
    """One number or several, as a sorted list without repetitions; all of them finite."""
    items = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) else [value]
    return sorted({number(item, name, rule=rule, parameter=parameter) for item in items})


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(value: Any, name: str) -> float:
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
            raise _refusal(name, rule, value)
        value = sum(float(amount) * _UNITS[unit or "s"] for amount, unit in parts)
    return number(value, name, least=1e-3, most=1e9, rule=rule)


def renamed(old: str, new: str, *, warn: bool = True) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function take a keyword by its former name as well, with a DeprecationWarning unless told otherwise.

    >>> @renamed("epsilon", "tolerance", warn=False)
    ... def near(distance, tolerance):
    ...     return distance <= tolerance
    >>> near(1.0, epsilon=2.0)
    True
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if old in kwargs:
                if new in kwargs:
                    raise InputError(f"{new}: is given twice, once as {old}, its former name; leave {old} out")
                if warn:
                    message = f"{function.__name__}: {old} is now {new}"
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def as_table(values: npt.ArrayLike, name: str, *, infinite: bool = False) -> Array:
    """``values`` as an N×d float array; a vector is one column, NaN is a missing value.

    ``infinite=True`` lets infinite entries pass (a guess may be infinitely wrong).
    """
    try:
        raw = np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        raise InputError(f"{name}: must be a table of numbers; pass rows of equal length") from None
    if raw.dtype.kind not in "biufO":
        raise InputError(f"{name}: must hold numbers, not {raw.dtype.name}; convert or drop other columns")
    try:
        table = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):  # numpy's own message quotes the cell
        raise InputError(f"{name}: must hold numbers only; convert or drop other columns") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise InputError(f"{name}: must have one or two dimensions, not {table.ndim}; pass records as rows")
    if table.size == 0:
        raise InputError(f"{name}: has shape {table.shape}; pass at least one record and one column")
    if not infinite and (count := int(np.isinf(table).sum())):
        raise InputError(f"{name}: holds {count} infinite value(s); use NaN for a missing value")
    return table


def as_pair(truth: npt.ArrayLike, guess: npt.ArrayLike, *, infinite: bool = False) -> tuple[Array, Array]:
    """Truth and guess, two tables of the same shape; ``infinite`` is about the guess."""
    x, guessed = as_table(truth, "truth"), as_table(guess, "guess", infinite=infinite)
    if x.shape != guessed.shape:
        raise InputError(f"guess: has shape {guessed.shape} where truth has {x.shape}; pass tables of one shape")
    return x, guessed


def _float(value: object) -> float | None:
    """A real number as a float, one too large for it as infinite; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _reach(least: float, most: float) -> str:
    if math.isinf(most):
        return "a finite number" if math.isinf(least) else f"a finite number of at least {least:g}"
    return f"a number of at most {most:g}" if math.isinf(least) else f"a number from {least:g} to {most:g}"


def _refusal(name: str, rule: str, value: object, parameter: str | None = None) -> InputError:
    return InputError(f"{name} must be {rule}; got {_shown(value)}", parameter=parameter or name)


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return repr(value)
    size = _float(value)
    if size is not None:
        return "NaN" if math.isnan(size) else "an infinite number" if math.isinf(size) else "another number"
    if isinstance(value, str):
        return "a str" if value else "an empty str"
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
