"""Records with gaps, put together by which of their values are there: a pass adds up, nothing keeps a record.

All that the likelihood of a normal table with gaps needs of the records with the same gaps (a *pattern*) is their
weight, the sum of their values and that of the values' products (Little and Rubin 2020, section 11.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PatternSums:
    """Sums over the records of each pattern; a value that is missing counts as 0.

    Attributes
    ----------
    n_rows
        Records, those without any value among them.
    present
        Which values are there, one row per pattern; no pattern is without a value.
    count, weight
        Records of each pattern, and the sum of their weights.
    one, two
        Weighted sums of the values, P × d, and of their products, P × d × d.
    """

    n_rows: int
    present: Mask
    count: Vector
    weight: Vector
    one: Matrix
    two: Matrix

    def __add__(self, other: PatternSums) -> PatternSums:
        """Sums over both parts together."""
        present, order, starts = by_pattern(np.concatenate([self.present, other.present]))
        n_rows = self.n_rows + other.n_rows
        if not len(present):
            return PatternSums(n_rows, present, self.count, self.weight, self.one, self.two)

        def merged(first: Matrix, second: Matrix) -> Matrix:
            return np.asarray(np.add.reduceat(np.concatenate([first, second])[order], starts, axis=0))

        return PatternSums(
            n_rows,
            present,
            merged(self.count, other.count),
            merged(self.weight, other.weight),
            merged(self.one, other.one),
            merged(self.two, other.two),
        )

    def about(self, by: Vector) -> PatternSums:
        """The sums of the values less ``by``.

        >>> values, by = np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([1.0, 5.0])
        >>> moved, direct = pattern_sums(values).about(by), pattern_sums(values - by)
        >>> bool(np.allclose(moved.one, direct.one)), bool(np.allclose(moved.two, direct.two))
        (True, True)
        """
        by, n = np.where(self.present, by, 0.0), self.weight[:, None]
        mixed = by[:, :, None] * self.one[:, None, :]
        squares = n[:, :, None] * by[:, :, None] * by[:, None, :]
        two = self.two - mixed - mixed.transpose(0, 2, 1) + squares
        return replace(self, one=self.one - n * by, two=two)

    def times(self, factors: Vector) -> PatternSums:
        """The sums of the values times a factor for each column."""
        return replace(self, one=self.one * factors, two=self.two * np.outer(factors, factors))

    def of(self, places: Sequence[int]) -> PatternSums:
        """The sums of some of the columns; records without a value of theirs are left out.

        >>> sums = pattern_sums(np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]])).of([1])
        >>> sums.count.tolist(), sums.one.tolist(), sums.n_rows
        ([1.0], [[3.0]], 3)
        """
        at = list(places)
        there = self.present[:, at].any(axis=1)
        one, two = self.one[there][:, at], self.two[there][:, at][:, :, at]
        none = PatternSums(0, self.present[:0, at], self.count[:0], self.weight[:0], one[:0], two[:0])
        some = PatternSums(self.n_rows, self.present[there][:, at], self.count[there], self.weight[there], one, two)
        return some + none

    def to_json(self) -> dict[str, Any]:
        """The sums as JSON values; of the products the upper triangle, row by row."""
        upper = np.triu_indices(self.present.shape[1])
        return {
            "n_rows": self.n_rows,
            "present": ["".join("1" if there else "0" for there in row) for row in self.present.tolist()],
            "count": self.count.tolist(),
            "weight": self.weight.tolist(),
            "one": self.one.tolist(),
            "two": self.two[:, upper[0], upper[1]].tolist(),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], d: int) -> PatternSums:
        """Back from :meth:`to_json`, of d columns; ValueError for what is none."""
        present = np.array([[c == "1" for c in row] for row in raw["present"]], dtype=np.bool_).reshape(-1, d)
        count, weight = (np.array(raw[name], dtype=np.float64) for name in ("count", "weight"))
        one, upper = np.array(raw["one"], dtype=np.float64).reshape(-1, d), np.triu_indices(d)
        triangle = np.array(raw["two"], dtype=np.float64).reshape(-1, len(upper[0]))
        if not len(present) == len(count) == len(weight) == len(one) == len(triangle):
            raise ValueError("patterns")
        if not all(np.isfinite(each).all() for each in (count, weight, one, triangle)):
            raise ValueError("patterns")
        two = np.zeros((len(present), d, d))
        two[:, upper[0], upper[1]] = two[:, upper[1], upper[0]] = triangle
        return cls(int(raw["n_rows"]), present, count, weight, one, two)

    @property
    def n_used(self) -> int:
        """Records with a value."""
        return int(self.count.sum())

    @property
    def together(self) -> Matrix:
        """How many records have both of two values."""
        there = self.present.astype(np.float64)
        return np.asarray((there * self.count[:, None]).T @ there)


def by_pattern(present: Mask) -> tuple[Mask, Places, Places]:
    """The patterns that occur, the rows in their order, and where each pattern's begin.

    >>> patterns, order, starts = by_pattern(np.array([[1, 0], [1, 1], [1, 0]], dtype=bool))
    >>> patterns.astype(int).tolist(), order.tolist(), starts.tolist()
    ([[1, 0], [1, 1]], [0, 2, 1], [0, 2])
    """
    if not len(present):
        none = np.zeros(0, dtype=np.intp)
        return present, none, none
    packed = np.packbits(present, axis=1)
    rows, place = np.unique(packed, axis=0, return_inverse=True)
    place = place.reshape(-1)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(rows)))
    patterns = np.unpackbits(rows, axis=1, count=present.shape[1]).astype(np.bool_)
    return patterns, order, starts


def pattern_sums(values: Matrix, weights: Vector | None = None) -> PatternSums:
    """Sums over the records of an n × d matrix with NaN for what is missing; a record of weight 0 is left out.

    >>> sums = pattern_sums(np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]]))
    >>> sums.count.tolist(), sums.one.tolist()
    ([2.0, 1.0], [[5.0, 0.0], [2.0, 3.0]])
    """
    n_rows, present = len(values), ~np.isnan(values)
    weights = np.ones(n_rows) if weights is None else weights
    used = present.any(axis=1) & (weights > 0.0)
    values, present, weights = values[used], present[used], weights[used]
    patterns, order, starts = by_pattern(present)
    filled = np.where(present, values, 0.0)[order]
    weighted = filled * weights[order][:, None]
    ends = np.append(starts[1:], len(order))
    two = np.empty((len(patterns), values.shape[1], values.shape[1]))
    for p, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        two[p] = weighted[start:end].T @ filled[start:end]
    if not len(patterns):
        empty = np.zeros(0)
        return PatternSums(n_rows, patterns, empty, empty, np.zeros((0, values.shape[1])), two)
    weight = np.add.reduceat(weights[order], starts)
    return PatternSums(
        n_rows, patterns, (ends - starts).astype(np.float64), weight, np.add.reduceat(weighted, starts, axis=0), two
    )
