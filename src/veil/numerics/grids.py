"""Grids: whether the numbers of a column are whole multiples of one grain, and of which.

Whole numbers and decimals are on a grid (in steps of 5 or 0.25 on a coarser one), so are numbers of 32 bits, answers
coded in any two values, and whole numbers in converted units or divided by a standard deviation. Decimals and binary
fractions are measured in whole numbers, exactly; other grids of up to :data:`MOST_REAL` steps by Euclid's algorithm on
real numbers. Grids of two stretches of rows add up, so that one pass over a table finds them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from veil.data.blocks import Matrix, Vector

MOST_REAL: Final = 2.0**20
"""Steps between the numbers of a grid that is neither of decimals nor of binary fractions."""
NEAR: Final = 2.0**-8
"""How far from whole such numbers may be, in steps."""
FEWEST: Final = 16
"""Numbers that it takes to tell such a grid from chance: two numbers are always on one."""
ROUNDING: Final = 2.0**-48
"""Of the largest number: how far decimals may be from where they should be."""
COARSE: Final = 1.0 / 3.0
"""Of a column's standard deviation: a grain above this makes dither of one grain add more than 1 % to its variance."""
_EQUAL, _LEAST = 2.0**-44, 2.0**-32
_MOST_EXACT: Final = 2.0**40
_DECIMAL: Final = np.array([10.0**digits for digits in range(13)])
_BINARY: Final = np.array([2.0**bits for bits in range(4, 53, 4)])


class Steps(NamedTuple):
    """The values of a column are ``origin + k·grain`` for whole k, with ``0 ≤ origin < grain``."""

    grain: float
    origin: float


@dataclass(frozen=True)
class Grid:
    """The grid of some rows of a column: its values times ``scale`` are ``origin + k·step``.

    Attributes
    ----------
    scale
        A power of 10 or 2, or their product; 0 for a grid of real numbers, which are not multiplied.
    step
        The greatest step; 0 where all values are equal, −1 where there is no grid.
    origin
        One of the values.
    reach
        The largest size of a value; −1 where there is none.
    """

    scale: int
    step: float
    origin: float
    reach: float

    def __add__(self, other: Grid) -> Grid:
        if self.step < 0 or other.step < 0:
            return NO_GRID
        if self.reach < 0 or other.reach < 0:
            return other if self.reach < 0 else self
        a, b = self, other
        if a.scale and b.scale:
            scale = math.lcm(a.scale, b.scale)
            a, b = a._at(scale), b._at(scale)
            if scale == 1 or max(a.reach, b.reach) < _MOST_EXACT:
                step = math.gcd(int(a.step), int(b.step), int(abs(a.origin - b.origin)))
                return Grid(scale, float(step), a.origin, max(a.reach, b.reach))
        return a._real()._with(b._real())

    def _at(self, scale: int) -> Grid:
        factor = scale // self.scale
        return Grid(scale, self.step * factor, self.origin * factor, self.reach * factor)

    def _real(self) -> Grid:
        if not self.scale:
            return self
        return Grid(0, self.step / self.scale, self.origin / self.scale, self.reach / self.scale)

    def _with(self, other: Grid) -> Grid:
        from veil.numerics.grids_compiled import real_gcd

        reach, step = max(self.reach, other.reach), self.step
        lengths = other.step, abs(self.origin - other.origin)
        for length in lengths:
            if length > _EQUAL * reach and step >= 0:
                step = real_gcd(step, length, _LEAST * reach, NEAR)
        return Grid(0, step, self.origin, reach) if step >= 0 and max(lengths) <= MOST_REAL * step else NO_GRID

    def steps(self, n: int, lowest: float, highest: float) -> Steps | None:
        """The grid of all n values of a column between these; None where it has none, or all are equal."""
        if self.step <= 0 or (not self.scale and n < FEWEST):
            return None
        if self.scale:
            origin = int(self.origin) % int(self.step)
            return Steps(self.step / self.scale, origin / self.scale)
        grain = (highest - lowest) / round((highest - lowest) / self.step)
        return Steps(float(grain), float(lowest - math.floor(lowest / grain) * grain))


NO_GRID: Final = Grid(1, -1.0, 0.0, 0.0)


def grid_of(values: Vector, reach: float | None = None) -> Grid:
    """The grid of a column's values, the largest size of which may be known; missing ones are on every grid.

    >>> grid_of(np.array([3.0, 2.5, 1.0])).steps(3, 1.0, 3.0)
    Steps(grain=0.5, origin=0.0)
    >>> grid_of(np.array([0.1, 2**0.5, np.pi])).steps(3, 0.1, np.pi) is None
    True
    """
    from veil.numerics.grids_compiled import real_step, scale_of, whole_step

    if reach is None:
        present = np.abs(values[~np.isnan(values)])
        reach = float(present.max(initial=-1.0))
    if reach < 0:
        return Grid(1, 0.0, 0.0, -1.0)
    out = np.empty(2)
    exact = 0.0 if reach >= _MOST_EXACT else ROUNDING * reach
    for scales, rounding in ((_DECIMAL, exact), (_BINARY, 0.0)):
        n_tried = bisect_left(scales, _MOST_EXACT / reach if reach > 0 else np.inf)
        if scales is _DECIMAL and reach < 2.0**53:  # whole numbers are exact up to here
            n_tried = max(n_tried, 1)
        at = scale_of(values, scales[:n_tried], rounding)
        if at >= 0:
            whole_step(values, scales[at], out)
            return Grid(int(scales[at]), float(out[1]), float(out[0]), reach * float(scales[at]))
    real_step(values, _EQUAL * reach, _LEAST * reach, MOST_REAL, NEAR, out)
    return Grid(0, float(out[1]), float(out[0]), reach) if out[1] >= 0 else NO_GRID


def grids_of(block: Matrix, reach: Vector) -> tuple[Grid, ...]:
    """The grid of each row of a d × n block, which holds a column; ``reach``: the largest size of its values."""
    sizes = np.where(np.isfinite(reach), reach, -1.0).tolist()
    return tuple(grid_of(column, size) for column, size in zip(block, sizes, strict=True))


def nearest_on_grid(values: Vector, steps: Steps) -> Vector:
    """The nearest values on a grid; decimals and binary fractions to the last bit.

    >>> nearest_on_grid(np.array([0.28, 0.71]), Steps(0.1, 0.0)).tolist()
    [0.3, 0.7]
    """
    nearest = np.asarray(steps.origin + np.rint((values - steps.origin) / steps.grain) * steps.grain)
    both = grid_of(np.array([steps.grain, steps.origin]))
    return np.asarray(np.rint(nearest * both.scale) / both.scale) if both.scale else nearest
