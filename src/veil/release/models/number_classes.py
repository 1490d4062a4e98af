"""Classes of a column of numbers that is reported by class: the edges between them, and the number each stands as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.data.blocks import Vector


@dataclass(frozen=True, eq=False)
class NumberClasses:
    """Classes ``[e_i, e_{i+1})`` of a column of numbers; the outer ones are open.

    Attributes
    ----------
    edges
        The inner edges, rising.
    numbers
        What each class is released as: a number that lies in it.
    """

    edges: Vector
    numbers: Vector

    @classmethod
    def of(cls, edges: Vector, categories: Sequence[Any]) -> NumberClasses:
        """The classes of a column of a model, without its missing value."""
        return cls(edges, np.array([value for value in categories if value is not None], dtype=np.float64))

    @property
    def fit(self) -> bool:
        """Whether edges rise, and every number lies in its class."""
        finite = np.isfinite(self.edges).all() and np.isfinite(self.numbers).all()
        if not finite or not len(self.edges) or not (np.diff(self.edges) > 0).all():
            return False
        return np.array_equal(places_in(self.edges, self.numbers), np.arange(len(self.edges) + 1))

    def codes(self, values: Vector) -> Vector:
        """The places of the classes that private values lie in, counted from 0; missing ones stay missing."""
        return np.where(np.isnan(values), np.nan, places_in(self.edges, values))

    def numbered(self, values: Vector) -> Vector:
        """The numbers that private values are released as, if they are reported truly; missing ones stay missing.

        >>> classes = NumberClasses(np.array([1.0, 5000.0]), np.array([0.0, 3000.0, 12000.0]))
        >>> classes.numbered(np.array([0.0, 4999.0, np.nan, 5000.0])).tolist()
        [0.0, 3000.0, nan, 12000.0]
        """
        return np.where(np.isnan(values), np.nan, self.numbers[places_in(self.edges, values)])

    def distribution(self, shares: Vector) -> tuple[Vector, Vector]:
        """Points of the distribution function of classes with these shares, which is straight between them.

        In each class the values are spread evenly to either side of its number, so that this is their mean. An outer
        class ends as far beyond its number as the edge lies before it.

        >>> classes = NumberClasses(np.array([10.0]), np.array([8.0, 20.0]))
        >>> [points.tolist() for points in classes.distribution(np.array([0.5, 0.5]))]
        [[6.0, 8.0, 10.0, 20.0, 30.0], [0.0, 0.25, 0.5, 0.75, 1.0]]
        """
        first, last = 2.0 * self.numbers[0] - self.edges[0], 2.0 * self.numbers[-1] - self.edges[-1]
        ends = np.r_[first, self.edges, last]
        width, before = np.diff(ends), self.numbers - ends[:-1]
        # The share s below the number leaves the mean there: s·(−before) + (1 − s)·(width − before) = 0.
        below = shares * np.divide(width - before, width, out=np.ones_like(width), where=width > 0)
        starts = np.r_[0.0, np.cumsum(shares)[:-1]]
        points, heights = np.column_stack([ends[:-1], self.numbers]).ravel(), np.column_stack([starts, starts + below])
        return np.r_[points, ends[-1]], np.r_[heights.ravel(), float(np.sum(shares))]


def places_in(edges: Vector, values: Vector) -> Vector:
    """The class of each value, counted from 0; that of a missing one is without meaning."""
    return np.asarray(np.searchsorted(edges, values, side="right"))
