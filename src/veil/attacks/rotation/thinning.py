"""Release and sample as tables that can be compared, and fewer of their records where pairs would be too many."""

from __future__ import annotations

import math

import numpy as np

from veil.attacks.rotation.gray_code import Floats
from veil.errors import InputError


def check_pair(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Release and sample as finite float64 matrices with the same number of columns."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    for name, table in (("release", a), ("sample", b)):
        if table.ndim != 2 or table.size == 0:
            raise InputError(f"{name}: needs at least one record and one column, has shape {table.shape}")
        if not np.isfinite(table).all():
            raise InputError(f"{name}: {np.count_nonzero(~np.isfinite(table))} values are not finite")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"sample: has {b.shape[1]} columns, the release has {a.shape[1]}")
    return a, b


def thin_pairs(a: Floats, b: Floats, max_pairs: int | None) -> tuple[Floats, Floats]:
    """Evenly spaced records of both tables, so that their pairs number at most ``max_pairs``.

    The variance of a mean over pairs goes as 1/N + 1/m, so the longer table is thinned first.
    """
    a, b = check_pair(a, b)
    if max_pairs is None or len(a) * len(b) <= max_pairs:
        return a, b
    if max_pairs < 1:
        raise InputError(f"max_pairs: must be at least 1, is {max_pairs}")
    side = math.isqrt(max_pairs)
    return (
        thin_rows(a, max(side, max_pairs // len(b))),
        thin_rows(b, max(side, max_pairs // len(a))),
    )


def thin_rows(table: Floats, keep: int) -> Floats:
    """``keep`` evenly spaced records, or all of them if there are fewer."""
    return table if keep >= len(table) else table[(np.arange(keep) * len(table)) // keep]
