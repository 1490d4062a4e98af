"""The energy of all 2^d sign patterns at the price of one flip each.

For records ``a_j`` and ``b_i`` in d dimensions and a diagonal sign matrix ``D``::

    energy(D) = mean over i, j of √s_ij,    s_ij = |a_j|² + |b_i|² − 2 Σ_r d_r a_rj b_ri

Two neighbours in Gray-code order differ in one sign, and flipping sign r adds ``4 d_r a_rj b_ri`` to
``s_ij``. With a tile of pairs in the outer loop the squared distances stay in the cache while every
pattern is visited: one multiply-add and one root per pair and pattern.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from veil.errors import InputError

Floats = npt.NDArray[np.float64]
Engine = Literal["numba", "numpy"]

TILE: Final = 2048
"""Pairs per tile."""

ROOT_ERROR: Final = 2.0**-24
"""Relative rounding error of the compiled engine's roots, which are taken in single precision."""

MOST_COLUMNS: Final = 24


def gray_signs(code: int, columns: int) -> Floats:
    """Signs of the ``code``-th pattern in Gray-code order; pattern 0 is all +1.

    >>> [gray_signs(code, 2).tolist() for code in range(4)]
    [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
    """
    bits = code ^ (code >> 1)
    return np.array([-1.0 if bits >> r & 1 else 1.0 for r in range(columns)])


def pattern_energies(a: Floats, b: Floats, *, engine: Engine = "numba") -> Floats:
    """Mean distance ``‖a_j − D b_i‖`` over all pairs, for each pattern D in Gray-code order.

    Squares and sums are in double precision; ``"numba"`` (compiled on first use, then cached on disk)
    takes each root to 2⁻²⁴, ``"numpy"`` to full precision and some thirty times slower.
    """
    columns = a.shape[1]
    if columns > MOST_COLUMNS:
        raise InputError(f"sample: {columns} columns have 2^{columns} sign patterns; at most {MOST_COLUMNS}")
    if engine == "numba":
        scale = max(float(np.abs(a).max()), float(np.abs(b).max())) or 1.0  # roots fit a float32
        total = np.zeros(1 << columns)
        _compiled_sweep()(np.ascontiguousarray(a / scale), np.ascontiguousarray(b / scale), TILE, total)
        return total * (scale / (len(a) * len(b)))
    if engine == "numpy":
        return _table_energies(a, b)
    raise InputError(f"engine: must be 'numba' or 'numpy', is {engine!r}")


def pair_tiles(a: Floats, b: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Per tile of T pairs: ``|a_j|² + |b_i|²`` (T) and ``a_rj b_ri`` (d × T)."""
    pairs = len(a) * len(b)
    for start in range(0, pairs, TILE):
        i, j = np.divmod(np.arange(start, min(start + TILE, pairs)), len(a))
        x, y = a[j], b[i]
        yield (x * x + y * y).sum(axis=1), np.ascontiguousarray((x * y).T)


def _table_energies(a: Floats, b: Floats) -> Floats:
    patterns = np.array([gray_signs(code, a.shape[1]) for code in range(1 << a.shape[1])])
    total = np.zeros(len(patterns))
    for square, products in pair_tiles(a, b):
        for k in range(0, len(patterns), 512):
            squared = square - 2.0 * (patterns[k : k + 512] @ products)
            total[k : k + 512] += np.sqrt(np.maximum(squared, 0.0)).sum(axis=1)
    return total / (len(a) * len(b))


@cache
def _compiled_sweep() -> Callable[..., Any]:
    from numba import njit

    # Reassociation lets the sums vectorise; NaN and infinity cannot occur in finite, scaled input.
    relaxed = {"reassoc", "contract", "nsz", "nnan", "ninf"}
    compiled: Callable[..., Any] = njit(_gray_sweep, cache=True, nogil=True, error_model="numpy", fastmath=relaxed)
    return compiled


def _gray_sweep(a: Floats, b: Floats, tile: int, total: Floats) -> None:
    """Add to ``total``, per pattern in Gray-code order, the sum of distances over all pairs."""
    n, columns = a.shape
    pairs = n * len(b)
    squared = np.empty(tile)
    turn = np.empty((columns, tile))
    signs = np.empty(columns)
    for start in range(0, pairs, tile):
        width = min(tile, pairs - start)
        for t in range(width):
            i = (start + t) // n
            j = start + t - i * n
            square = 0.0
            for r in range(columns):
                square += (a[j, r] - b[i, r]) ** 2
                turn[r, t] = 4.0 * a[j, r] * b[i, r]
            squared[t] = square
            total[0] += math.sqrt(square)
        signs[:] = 1.0
        for code in range(1, 1 << columns):
            r = 0
            while (code >> r) & 1 == 0:
                r += 1
            sign = signs[r]
            signs[r] = -sign
            row = turn[r]
            subtotal = 0.0
            for t in range(width):
                moved = squared[t] + sign * row[t]
                squared[t] = moved
                subtotal += math.sqrt(np.float32(moved if moved > 0.0 else 0.0))
            total[code] += subtotal
