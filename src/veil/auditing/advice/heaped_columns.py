"""Numbers most of which are one value, such as a gain that is zero for nine in ten: their classes for responses (P16).

Additive noise that hides whether such a value is the frequent one leaves nothing of the others. Reported by class, the
frequent value stays the best guess of nearly everybody, while the shares of all classes are recovered. The frequent
value has a class of its own, and the values to either side of it are cut into classes of about as many records each, at
most a few and none of few records, between edges of one digit, or of two where one would merge classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Vector
from veil.numerics.rounding import two_digits

HEAPED = 0.5
"""The share of records from which one value is hidden by class."""
MOST_CLASSES = 4
"""Classes to one side of the frequent value."""
FEWEST_SHARE, FEWEST_RECORDS = 0.005, 20
"""Of the table's records, those that a class has at least."""


def heap_edges(column: Vector) -> list[float] | None:
    """The edges of the classes of a column, if one value has more than half of the records and the rest is spread.

    >>> gains = np.concatenate([np.zeros(900), np.linspace(100, 9_900, 100).round()])
    >>> heap_edges(gains)
    [1.0, 3000.0, 5000.0, 7000.0]
    """
    if np.isnan(column).any() or not len(column):
        return None
    values, counts = np.unique(column, return_counts=True)
    heap, fewest = float(values[counts.argmax()]), max(FEWEST_SHARE * len(column), FEWEST_RECORDS)
    if counts.max() <= HEAPED * len(column) or len(values) <= 2:
        return None
    below, above = column[column < heap], column[column > heap]
    edges = [*_cut(below, fewest), *([heap] if len(below) else [])]
    if len(above):
        after = _after(heap, above)
        edges += [after, *(edge for edge in _cut(above, fewest) if edge > after)]
    return edges if (_counts(column, edges) >= fewest).all() else None


def _after(heap: float, above: Vector) -> float:
    """An edge between the frequent value and nearly all above it: the next whole number, where all are whole."""
    if float(heap).is_integer() and (above == np.rint(above)).all():
        return heap + 1.0
    return heap + _digits(float(np.quantile(above - heap, 0.01)) / 2.0, 1)


def _cut(values: Vector, fewest: float) -> list[float]:
    """Edges between classes of about as many values each, as many classes as have enough."""
    for n_classes in range(min(MOST_CLASSES, int(len(values) / fewest)), 1, -1):
        cuts = np.quantile(values, np.arange(1, n_classes) / n_classes)
        for digits in (1, 2):
            edges = sorted({_digits(float(cut), digits) for cut in cuts})
            if len(edges) == n_classes - 1 and (_counts(values, edges) >= fewest).all():
                return edges
    return []


def _counts(values: Vector, edges: Sequence[float]) -> npt.NDArray[np.intp]:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


def _digits(value: float, digits: int) -> float:
    return two_digits(value) if digits == 2 else float(f"{value:.0e}")
