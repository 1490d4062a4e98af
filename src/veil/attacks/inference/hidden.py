"""A hidden column as classes: what is learned is how probable each of them is, and the guess is what hits most (A29).

A category has its own classes. A number with few different values has one for each; another is cut into classes as wide
as the tolerance, each standing for its median, so that a value that heaps stands for itself. With p the beliefs in the
classes, the guess is the class whose neighbours within the tolerance are most probable together, or the middle between
classes where it has more of them within the tolerance, or the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.measures.units import standard_unit, standard_units

MOST_CLASSES: Final = 64
TAIL: Final = 0.005
"""Share of the values at either end that is one class."""
SAME: Final = 1e-9
"""Of the reach: by how much rounding may exceed it."""
HEAPED: Final = 3.0
"""Standard deviations of noise that the quartiles of one heap are at most apart behind it; a normal law's are 1.35."""
REACHES: Final = (0.98, 1.0)
"""Of the reach: what may be a hit, each as likely, since a judge's unit may be a little smaller than the release's."""
EQUAL: Final = 1e-5
"""Shares that differ by less are one: they are sums in single precision."""

Codes = npt.NDArray[np.int64]
Beliefs = npt.NDArray[np.float32]
"""Probabilities of the classes, one row for each person."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """A column that is not known of people.

    Attributes
    ----------
    name
        The private column's name.
    codes
        The class of every released row; −1 where it has no value.
    released
        The released values themselves, or what their class stands for; NaN where there is none.
    values
        What each class stands for, rising; codes for categories.
    reach
        How near a guess must be; 0 for categories.
    """

    name: str
    codes: Codes
    released: Vector
    values: Vector
    reach: float

    @property
    def numeric(self) -> bool:
        """Whether classes are places on a line."""
        return self.reach > 0.0

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.values)

    @cached_property
    def _places(self) -> Vector:
        """What may be guessed: the classes first, then the middle of every window that begins at one."""
        return np.concatenate([self.values, *(_middles(self.values, share * self.reach) for share in REACHES)])

    @cached_property
    def _near(self) -> npt.NDArray[np.float32]:
        """How probably each class is within reach of each place."""
        apart = np.abs(self.values[:, None] - self._places)
        within = [apart <= share * self.reach * (1.0 + SAME) for share in REACHES]
        return np.asarray(np.mean(within, axis=0, dtype=np.float32))

    def guess(self, beliefs: Beliefs, aim: str) -> Vector:
        """The value that is most probably within reach (``"hit"``), or the mean of a number (``"mean"``)."""
        if aim == "mean":
            return np.asarray(beliefs.astype(np.float64) @ self.values)
        if not self.numeric:
            return np.asarray(self.values[_first_of_most(beliefs)])
        return np.asarray(self._places[_first_of_most(beliefs @ self._near)])

    @cached_property
    def constant(self) -> float:
        """The value that is within reach of most released ones."""
        guess = float(self.guess(self.shares()[None], "hit")[0])
        if not self.numeric:
            return guess
        ordered = np.sort(self.released[~np.isnan(self.released)])
        reaches = [share * self.reach for share in REACHES]
        fullest = [_middles(ordered, reach)[_held(ordered, reach).argmax()] for reach in reaches]
        apart = {place: np.abs(ordered - place) for place in (guess, *map(float, fullest))}
        limits = [reach * (1.0 + SAME) for reach in reaches]
        return max(apart, key=lambda place: sum(int((apart[place] <= limit).sum()) for limit in limits))

    def hits(self, guess: Vector, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Which of the rows a guess of their released values gets right."""
        return np.asarray(np.abs(guess - self.released[rows]) <= self.reach * (1.0 + SAME))

    def shares(self) -> Beliefs:
        """The share of each class among the rows."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=self.n_classes)
        return (counts / max(int(counts.sum()), 1)).astype(np.float32)

    def taken(self, rows: npt.NDArray[np.intp]) -> Hidden:
        """The same classes on some rows."""
        return Hidden(self.name, self.codes[rows], self.released[rows], self.values, self.reach)


def _held(rising: Vector, reach: float) -> Codes:
    """How many values the window of twice a reach holds that begins at each."""
    last = np.searchsorted(rising, rising + 2.0 * reach * (1.0 + SAME), side="right")
    return np.asarray(last - np.arange(len(rising)))


def _middles(rising: Vector, reach: float) -> Vector:
    """The middle of what each of these windows holds."""
    last = np.arange(len(rising)) + _held(rising, reach) - 1
    return np.asarray(0.5 * (rising + rising[last]))


def _first_of_most(shares: Beliefs) -> npt.NDArray[np.intp]:
    """The largest share of each row; the first of those that are equal but for rounding, which depends on the row."""
    return np.asarray((shares >= shares.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1))


def of_numbers(name: str, released: Vector, tolerance: float, noise: float = 0.0) -> Hidden:
    """A column of numbers; ``tolerance`` in its standard units, as they are without the ``noise`` on it.

    >>> column = of_numbers("hours", np.array([40.0, 40.0, 38.0, np.nan]), 0.1)
    >>> column.codes.tolist(), column.values.tolist()
    ([1, 1, 0, -1], [38.0, 40.0])
    """
    there = ~np.isnan(released)
    present = released[there]
    reach = tolerance * _unit(present, noise) if len(present) else 0.0
    values, classes = np.unique(present, return_inverse=True)
    if len(values) > MOST_CLASSES:
        low, high = np.quantile(present, (TAIL, 1.0 - TAIL))
        width = max(reach, (high - low) / (MOST_CLASSES - 2))
        bins = np.clip(np.floor((present - low) / width), -1, np.ceil((high - low) / width))
        _, classes = np.unique(bins, return_inverse=True)
        values = np.array([np.median(present[classes == k]) for k in range(int(classes.max()) + 1)])
    codes = np.full(len(released), -1, dtype=np.int64)
    codes[there] = classes
    return Hidden(name, codes, released, values, max(reach, float(np.finfo(np.float64).tiny)))


def _unit(present: Vector, noise: float) -> float:
    """The standard unit of a column behind noise; quartiles that are no further apart than noise are one heap's."""
    if not noise > 0.0:
        return float(standard_units(present[:, None])[0])
    low, high = np.percentile(present, (25.0, 75.0))
    # A variance cannot be told more closely than its sampling error.
    least = noise**2 * float(np.sqrt(2.0 / len(present)))
    deviation = float(np.sqrt(max(float(present.var()) - noise**2, least)))
    return standard_unit(deviation, float(high - low) if high - low > HEAPED * noise else 0.0)


def of_codes(name: str, codes: Codes, values: Vector, reach: float = 0.0) -> Hidden:
    """A column of categories, or with a ``reach`` of classes that stand for numbers; −1 is missing."""
    released = np.append(values, np.nan)[codes]
    return Hidden(name, codes, released, values, reach)


def summary(column: Hidden, beliefs: Beliefs, most: int = 4) -> Matrix:
    """Beliefs in a few numbers for the next column: the mean class of a number, the likeliest categories' shares."""
    if column.numeric:
        return np.asarray(beliefs @ np.arange(column.n_classes, dtype=np.float32))[:, None].astype(np.float64)
    likely = np.argsort(-column.shares(), kind="stable")[: min(most, max(column.n_classes - 1, 1))]
    return beliefs[:, likely].astype(np.float64)
