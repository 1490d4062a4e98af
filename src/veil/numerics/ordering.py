"""Orders that records and names decide themselves, however they are listed and in any units.

A file may list the same records and columns in any order. What is drawn, dealt into folds or thinned by number would
change with it, so it is done in one of these orders:

* `by_name` for columns, `row_order` for rows whose columns are in a given order;
* `size_order` for rows where axes mean nothing, because the method turns or mixes them.

Orders of rows are sorted and then shuffled: as random as independent records come, so that the first rows, or every
second one, are a fair part of all. The records seed the shuffling: by one fixed seed all tables of one length would
share their luck.

Other units round differently. Where what follows amplifies that, numbers are rounded first
(:func:`veil.numerics.rounding.binary_digits`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix

Order = npt.NDArray[np.intp]
_SEEDING: Final = 64
"""Rows whose values seed the shuffling."""
_GRAIN: Final = 2.0**-20
"""Of a standard deviation, to which these are rounded: other units change less."""


def by_name(names: Sequence[str]) -> Order:
    """Columns in the order of their names.

    >>> by_name(["b", "c", "a"]).tolist()
    [2, 0, 1]
    """
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.intp)


def is_odd(order: Order) -> bool:
    """Whether an order turns a rotation of columns into a reflection.

    >>> is_odd(np.array([1, 0, 2])), is_odd(np.array([1, 2, 0]))
    (True, False)
    """
    return bool(np.linalg.det(np.eye(len(order))[order]) < 0)


def row_order(table: npt.NDArray[Any]) -> Order:
    """A shuffled order of rows that depends on their values alone; units do not matter, the order of columns does.

    >>> import numpy as np
    >>> table = np.array([[2.0, 1.0], [1.0, 5.0], [1.0, 3.0]])
    >>> bool((table[row_order(table)] == table[::-1][row_order(table[::-1])]).all())
    True
    """
    n, d = table.shape
    order, width = np.arange(n), 1
    while d:
        order = np.lexsort(table[:, :width].T[::-1])
        # Mostly few columns tell all rows apart; each doubling looks at as many again.
        if width >= d or not _neighbours_tie(table[order, :width]):
            break
        width *= 2
    return _shuffled(order, table)


def size_order(table: Matrix) -> Order:
    """A shuffled order of rows that rotations and translations leave as it is: by their distance from the mean.

    Different records at one distance, as in tables of whole numbers, are told apart by how far they lie towards the
    side on which the far ones are.
    """
    centred = table - table.mean(axis=0)
    square = (centred**2).sum(axis=1)
    side = square @ centred / max(float(square.sum()), float(np.finfo(np.float64).tiny))
    key = square + centred @ side
    return _shuffled(np.argsort(key, kind="stable"), key[:, None])


def _shuffled(order: Order, table: npt.NDArray[Any]) -> Order:
    """Sorted rows in an order drawn by a seed made of some of their values."""
    if len(order) < 2:
        return order
    values = np.nan_to_num(table[order].astype(np.float64))
    values -= np.median(values, axis=0)
    unit = np.abs(values).mean(axis=0)
    some = values[np.linspace(0, len(order) - 1, min(len(order), _SEEDING)).astype(np.intp)]
    grains = np.rint(some / np.where(unit > 0, unit, 1.0) / _GRAIN)
    seed = np.frombuffer(hashlib.sha256((grains + 0.0).tobytes()).digest(), dtype=np.uint32)
    return order[np.random.default_rng(seed).permutation(len(order))]


def _neighbours_tie(rows: npt.NDArray[Any]) -> bool:
    above, below = rows[:-1], rows[1:]
    return bool(((above == below) | ((above != above) & (below != below))).all(axis=1).any())
