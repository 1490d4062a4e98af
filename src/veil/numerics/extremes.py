"""The spread of a column without the values that dominate it.

A standard deviation u that is published tells a lone far-out value v to who knows the spread w of the others: with a
share s of the variance, ``(v − mean)² = s N u² = N (u² − (1 − s) w²)``, so relative errors e of u and f of w become
``√(e² + (1 − s)² f²)/s`` in v. Two digits leave e = 1.3 % on average; with f = 4.5 %, a third of the variance tells v
within 10 %. A value that makes up more, and is more than six standard deviations of the others away (normal columns
hardly have one: 2·10⁻⁹ of values), is left out, then the next one, up to :data:`MOST` at either end.

One pass keeps the ends of a column apart from the moments of the rest, so that nothing is lost by subtraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.numerics.moments import Moments

MOST: Final = 8
"""Values at either end that are kept apart where a block has far ones."""
SHARE: Final = 1.0 / 3.0
"""Of the variance: what one value may make up."""
FAR: Final = 6.0
"""Standard deviations of the others."""
FEWEST: Final = 10
"""Rows below which every value makes up much of the variance."""
_PLAIN: Final = 64
"""Blocks of more rows, without a value further than 8 deviations, keep one value at either end."""


class _Sums(NamedTuple):
    """Count, mean and centred sum of squares."""

    n: int
    mean: float
    squares: float

    def __add__(self, other: object) -> _Sums:
        assert isinstance(other, _Sums)  # noqa: S101 - a tuple's own addition is not meant
        n = self.n + other.n
        if not n:
            return self
        shift = other.mean - self.mean
        mean = self.mean + shift * other.n / n
        return _Sums(n, mean, self.squares + other.squares + shift**2 * self.n * (other.n / n))

    def without(self, value: float) -> _Sums:
        """Without one value that is not far."""
        if self.n < 2:
            return _Sums(0, 0.0, 0.0)
        away = value - self.mean
        left = self.squares - away**2 * self.n / (self.n - 1)
        return _Sums(self.n - 1, self.mean - away / (self.n - 1), max(left, 0.0))


def _sums(values: Vector) -> _Sums:
    if not len(values):
        return _Sums(0, 0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # squares that are not finite name no value
        mean = float(values.mean())
        return _Sums(len(values), mean, float(((values - mean) ** 2).sum()))


class Spread(NamedTuple):
    """A standard deviation, the number of values that it leaves out, and the share of the variance of the largest."""

    std: float
    left_out: int
    share: float


@dataclass(frozen=True)
class Extremes:
    """Some rows of a column: the smallest values in ascending and the largest in descending order, and the rest."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    rest: _Sums

    def __add__(self, other: Extremes) -> Extremes:
        low, high = sorted(self.low + other.low), sorted(self.high + other.high, reverse=True)
        rest = self.rest + other.rest + _sums(np.array(low[MOST:] + high[MOST:]))
        return Extremes(tuple(low[:MOST]), tuple(high[:MOST]), rest)

    def spread(self) -> Spread | None:
        """The standard deviation without the values that dominate it; None where none does."""
        low, high, share = list(self.low), list(self.high), 0.0
        left_out = 0
        while low or high:
            total = self.rest + _sums(np.array(low + high))
            if total.n < FEWEST or not np.isfinite(total.squares):
                return None
            from_high = not low or bool(high and abs(high[0] - total.mean) >= abs(low[0] - total.mean))
            value = high[0] if from_high else low[0]
            others = self.rest + _sums(np.array(low + high[1:] if from_high else low[1:] + high))
            part = (value - total.mean) ** 2 / total.squares if total.squares > 0 else 0.0
            if not (part > SHARE and (value - others.mean) ** 2 > FAR**2 * others.squares / others.n):
                break
            (high if from_high else low).pop(0)
            left_out, share = left_out + 1, max(share, part)
        if not left_out:
            return None
        total = self.rest + _sums(np.array(low + high))
        return Spread(float(np.sqrt(total.squares / total.n)), left_out, share)


def extremes_of(block: Matrix, moments: Moments) -> tuple[Extremes, ...]:
    """The extremes of each row of a d × n block without missing values, which holds a column."""
    parts = []
    for j, column in enumerate(block):
        n, mean, squares = len(column), float(moments.mean[j]), float(moments.centred_squares[j])
        low, high = float(moments.minimum[j]), float(moments.maximum[j])
        if n > _PLAIN and max(high - mean, mean - low) ** 2 * n <= 64.0 * squares < np.inf:
            parts.append(Extremes((low,), (high,), _Sums(n, mean, squares).without(low).without(high)))
            continue
        size = min(MOST, n // 2)
        ordered = np.sort(column)
        ends = ordered[:size], ordered[n - size :][::-1]
        parts.append(Extremes(tuple(ends[0].tolist()), tuple(ends[1].tolist()), _sums(ordered[size : n - size])))
    return tuple(parts)
