"""The inner loops of the search for a grid, compiled; a column of full precision ends them at its first values."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from veil.data.blocks import Vector

_STRIP = 256


@numba.njit(cache=True, nogil=True, inline="always")
def _off(x: Vector, scale: float, allowed: float) -> int:
    """How many numbers are not whole at a scale; a missing one is."""
    count = 0
    for i in range(len(x)):
        steps = x[i] * scale
        count += abs(steps - np.rint(steps)) > allowed
    return count


@numba.njit(cache=True, nogil=True)
def scale_of(x: Vector, scales: Vector, rounding: float) -> int:
    """The first scale at which all numbers are whole up to ``rounding`` times the scale; −1 where there is none."""
    at, start = 0, 0
    while start < len(x):
        n = 8 if start == 0 else _STRIP
        strip = x[start : start + n]
        while at < len(scales) and _off(strip, scales[at], rounding * scales[at]):
            at += 1
        if at == len(scales):
            return -1
        start += n
    return at


@numba.njit(cache=True, nogil=True)
def whole_step(x: Vector, scale: float, out: Any) -> None:
    """Of numbers that are whole at a scale: the first and the greatest step."""
    origin, step, first = 0.0, 0.0, True
    for i in range(len(x)):
        if np.isnan(x[i]):
            continue
        n = np.rint(x[i] * scale)
        if first:
            origin, first = n, False
        apart = abs(n - origin)
        if step > 0.0 and apart / step == np.rint(apart / step):
            continue
        a, b = np.int64(step), np.int64(apart)
        while b != 0:
            a, b = b, a % b
        step = float(a)
        if step == 1.0:
            break
    out[0], out[1] = origin, step


@numba.njit(cache=True, nogil=True)
def real_gcd(a: float, b: float, least: float, near: float) -> float:
    """The greatest real number of which both are whole multiples, up to a share ``near`` of it; −1 below ``least``."""
    if a < b:
        a, b = b, a
    while b > 0.0:
        if b < least:
            return -1.0
        steps = np.rint(a / b)
        rest = abs(a - steps * b)
        if rest <= near * b:
            return float(a / steps)
        a, b = b, rest
    return a


@numba.njit(cache=True, nogil=True)
def real_step(x: Vector, equal: float, least: float, most: float, near: float, out: Any) -> None:
    """The first number and the greatest step; −1 where the step is below ``least`` or there are over ``most`` of them.

    Numbers apart by at most ``equal`` are one.
    """
    origin, step, far, first = 0.0, 0.0, 0.0, True
    for i in range(len(x)):
        if np.isnan(x[i]):
            continue
        if first:
            origin, first = x[i], False
        apart = abs(x[i] - origin)
        if apart <= equal:
            continue
        if step > 0.0:
            steps = apart / step
            if abs(steps - np.rint(steps)) <= near and steps > 0.5:
                if apart > far:  # the longest stretch says best how long a step is
                    far, step = apart, apart / np.rint(steps)
                continue
        step, far = real_gcd(step, apart, least, near), max(far, apart)
        if step < 0.0 or far > most * step:
            step = -1.0
            break
    out[0], out[1] = origin, step
