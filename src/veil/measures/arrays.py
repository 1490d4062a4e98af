"""Checked input: an argument becomes a float table or a number, or one line says why it cannot.

No message here echoes what it was given: a table passed in the wrong place must not
end up in a log. Shapes, counts and type names are all that is ever printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from veil.errors import InputError

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


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


def as_number(
    value: object, name: str, *, least: float = -math.inf, most: float = math.inf, infinite: bool = False
) -> float:
    """One number in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name}: must be one number, not {type(value).__name__}; pass a float")
    number = float(value)
    if math.isnan(number) or not least <= number <= most or (math.isinf(number) and not infinite):
        raise InputError(f"{name}: must be a number in [{least:g}, {most:g}]; pass one in that range")
    return number


def as_count(value: object, name: str, *, least: int = 0, most: int | None = None) -> int:
    """One whole number in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name}: must be a whole number, not {type(value).__name__}; pass an int")
    count = int(value)
    if count < least or (most is not None and count > most):
        upper = "" if most is None else f" and at most {most}"
        raise InputError(f"{name}: must be at least {least}{upper}; pass a whole number in that range")
    return count


def as_choice(value: object, name: str, options: Sequence[str]) -> str:
    """One of ``options``."""
    if not isinstance(value, str) or value not in options:
        listed = " or ".join(repr(option) for option in options)
        raise InputError(f"{name}: is not known; pass {listed}")
    return value


def as_per_column(values: npt.ArrayLike, name: str, columns: int, *, least: float = -math.inf) -> Array:
    """One finite number per column; a single number is repeated."""
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: must hold numbers only; pass one number per column") from None
    if row.ndim == 0:
        row = np.full(columns, float(row))
    if row.shape != (columns,):
        raise InputError(f"{name}: has shape {row.shape} for {columns} column(s); pass one number per column")
    if count := int((~np.isfinite(row) | (row < least)).sum()):
        raise InputError(f"{name}: {count} of {columns} are not finite numbers of at least {least:g}; replace them")
    return row
