"""The inner loops of one-pass moments, compiled.

A tile's row fits the first cache, and each loop below runs over it once, by index: that is what compiles to vector
instructions. Sums may be reordered by the compiler to use
vector instructions, in the same way for every tile on a processor of one kind.
"""

from __future__ import annotations

import numba
import numpy as np

from veil.data.blocks import Matrix, Vector

_REORDERED = {"reassoc", "contract"}
_FINITE = {"reassoc", "contract", "nnan", "ninf", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_REORDERED)
def _total(x: Vector) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


@numba.njit(cache=True, nogil=True, fastmath=_FINITE)
def _drift(x: Vector, mean: float) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] - mean
    return total


@numba.njit(cache=True, nogil=True, fastmath=_FINITE)
def _centred_squares(x: Vector, mean: float) -> float:
    total = 0.0
    for i in range(len(x)):
        centred = x[i] - mean
        total += centred * centred
    return total


@numba.njit(cache=True, nogil=True)
def finite_moments(block: Matrix, start: int, stop: int, out: Matrix) -> bool:
    """Mean and centred sum of squares of a tile's rows; False where a value is missing or infinite.

    ``block`` is contiguous, so that all tiles are read by the same instructions. A mean is corrected once for its own
    rounding.
    """
    n = stop - start
    for j in range(len(block)):
        x = block[j][start:stop]
        mean = _total(x) / n
        if not np.isfinite(mean):
            return False
        mean += _drift(x, mean) / n
        out[j, 0], out[j, 1] = mean, _centred_squares(x, mean)
    return True
