"""From random words to noise: inverse distribution functions, compiled.

One 64-bit word makes one draw. Its top bit is the sign and the other 63 bits the tail
probability, so both tails are resolved alike down to 2⁻⁶⁴ (9.1 standard deviations of a
normal). The normal quantile is Wichura's AS 241 (PPND16), accurate to about 1e-16 relative.

Noise is released on a public power-of-two grid g: ``y = g·(round(x/g) + round(r/g))``. A
double ``x + r`` would betray ``x`` in its last bits; on the grid the set of attainable
values is the same for every ``x`` (Mironov, 2012, on floating-point noise).
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Words
from veil.numerics.laws import LAWS

_HALF_STEP = 2.0**-65
_STEP = 2.0**-64
_MASK = np.uint64(2**63 - 1)
_STRIP = 1_024


# fmt: off
# Wichura (1988), numerator and denominator of each region, highest power first.
_CENTRE_TOP = (
    2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
    13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
)
_CENTRE_BOTTOM = (
    5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
    5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0,
)
_TAIL_TOP = (
    7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
    3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734,
)
_TAIL_BOTTOM = (
    1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
    0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0,
)
_FAR_TOP = (
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
    0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772,
)
_FAR_BOTTOM = (
    2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
    0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0,
)
# fmt: on


@numba.njit(cache=True, inline="always")
def _ratio(r: float, top: Any, bottom: Any) -> float:
    p, q = top[0], bottom[0]
    for k in range(1, 8):
        p = p * r + top[k]
        q = q * r + bottom[k]
    return float(p / q)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _normal(words: Words, out: npt.NDArray[np.float64]) -> None:
    """Standard normal draws, in strips that stay in the cache.

    Loops without branches are compiled to vector instructions: the centre's formula is applied to all, then the 15 % in
    the tails are gathered and done again.
    """
    place, tail, root = np.empty(_STRIP, np.int64), np.empty(_STRIP), np.empty(_STRIP)
    for start in range(0, len(words), _STRIP):
        n = min(_STRIP, len(words) - start)
        strip, draws = words[start : start + n], out[start : start + n]
        for i in range(n):
            tail[i] = _tail(strip[i])
            q = 0.5 - tail[i]
            draws[i] = q * _ratio(0.180625 - q * q, _CENTRE_TOP, _CENTRE_BOTTOM)
        count = 0
        for i in range(n):
            place[count] = i
            count += 0.5 - tail[i] > 0.425
        for k in range(count):
            root[k] = -math.log(tail[place[k]])
        for k in range(count):
            root[k] = math.sqrt(root[k])
            tail[k] = _ratio(root[k] - 1.6, _TAIL_TOP, _TAIL_BOTTOM)
        for k in range(count):
            draws[place[k]] = tail[k]
        for k in range(count):
            if root[k] > 5.0:
                draws[place[k]] = _ratio(root[k] - 5.0, _FAR_TOP, _FAR_BOTTOM)
        for i in range(n):
            draws[i] = draws[i] if strip[i] > _MASK else -draws[i]


@numba.njit(cache=True, inline="always")
def _tail(word: Any) -> float:
    """The tail probability in (0, ½] that a word's lower bits say."""
    return float(np.int64(word & _MASK)) * _STEP + _HALF_STEP


@numba.njit(cache=True, nogil=True)
def _draws(words: Words, law: int, out: npt.NDArray[np.float64]) -> None:
    """Draws of mean 0 and variance 1."""
    if law == 0:
        _normal(words, out)
        return
    for i in range(len(words)):
        tail = _tail(words[i])
        size = (0.5 - tail) * 3.4641016151377544 if law == 1 else -math.log(2.0 * tail) * 0.7071067811865476
        out[i] = size if words[i] > _MASK else -size


@numba.njit(cache=True, nogil=True)
def _add_on_grid(
    x: npt.NDArray[np.float64],
    words: Words,
    law: int,
    std: float,
    grid: float,
    sign: float,
    out: npt.NDArray[np.float64],
) -> None:
    _draws(words, law, out)
    per_step, per_unit = std / grid, 1.0 / grid
    for i in range(len(words)):
        out[i] = grid * (np.rint(x[i] * per_unit) + sign * np.rint(out[i] * per_step))


def standard_normal(words: Words) -> Matrix:
    """Standard normal draws, one per word."""
    return standard_draws(words, "normal")


def standard_draws(words: Words, law: str) -> Matrix:
    """Draws of mean 0 and variance 1 from a law of :data:`veil.numerics.laws.LAWS`, one per word."""
    out = np.empty(len(words))
    _draws(words, LAWS[law].code, out)
    return out


def open_uniform(words: Words) -> Matrix:
    """Uniform draws strictly between 0 and 1, one per word."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54)


def add_noise(
    x: Matrix, words: Words, law: str, std: float, grid: float, out: npt.NDArray[np.float64] | None = None
) -> Matrix:
    """``x`` plus noise of standard deviation ``std``, on the grid; NaN stays NaN."""
    noisy = np.empty(len(words)) if out is None else out
    _add_on_grid(x, words, LAWS[law].code, std, grid, 1.0, noisy)
    return noisy


def subtract_noise(y: Matrix, words: Words, law: str, std: float, grid: float) -> Matrix:
    """Undo :func:`add_noise` to within half a grid step."""
    out = np.empty(len(words))
    _add_on_grid(y, words, LAWS[law].code, std, grid, -1.0, out)
    return out


@numba.njit(cache=True, nogil=True)
def add_dither(x: npt.NDArray[np.float64], words: Words, width: float, out: npt.NDArray[np.float64]) -> None:
    """``x`` plus noise that is uniform over ``width`` about 0, one word for each."""
    for i in range(len(x)):
        out[i] = x[i] + width * (float(np.int64(words[i] >> np.uint64(11))) * 2.0**-53 + 2.0**-54 - 0.5)


def grid_for(std: float) -> float:
    """The public grid for noise of a standard deviation: a power of two at most std/2²⁰.

    Grids of ordinary columns are at most 1, so that integers stay on the grid.

    >>> grid_for(0.5) == 2.0**-21
    True
    """
    grid = 2.0 ** (math.floor(math.log2(std)) - 20)
    return min(grid, 1.0) if std < 2.0**46 else grid
