"""Which of the rows that were learned from another row is like, by what is public of it (A28).

What others say of a row depends on the row by its public value alone: rows of one value, or those near it in the order
of a public number. So another row gets the prediction of a row that was learned from and has the same value, or the
nearest one. That prediction was made without the row's own noise, and with about as many others as the block's row has,
up to the widest window (:mod:`veil.attacks.posterior.relatives`). It needs many rows of each value, and a relation that
does not bend more finely than the rows that were learned from show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.posterior.observations import Codes, Shown
from veil.data.blocks import Vector, to_float

Rows = npt.NDArray[np.intp]
FEWEST_ALIKE = 50
"""Rows of a value, on average, from which one of them stands for all."""
KNOTS = 4_096
"""Places along a public number that are kept."""


@dataclass(frozen=True, eq=False)
class Alike:
    """``rows`` that stand for others, and the place among them of the one that each of other rows is like."""

    rows: Rows
    find: Callable[[Shown], Rows]

    def numbers(self, prediction: Vector) -> Callable[[Shown], Vector]:
        """How a prediction of numbers is read for other rows."""
        return partial(_taken_numbers, self.find, prediction[self.rows])

    def codes(self, codes: Codes) -> Callable[[Shown], Codes]:
        """How a predicted state is read for other rows."""
        return partial(_taken_codes, self.find, codes[self.rows])


def of_values(name: str, array: pa.Array, codes: Codes) -> Alike | None:
    """Rows of one public value; None where values have few rows each.

    ``codes`` say which rows have the same value, a missing one among them. A value that was not seen has the prediction
    of the rarest.
    """
    values, rows, counts = np.unique(codes, return_index=True, return_counts=True)
    if len(codes) < FEWEST_ALIKE * len(values):
        return None
    listing = array.take(pa.array(rows))
    return Alike(rows.astype(np.intp), partial(_place, name, listing, int(counts.argmin())))


def along(name: str, values: Vector, rows: Rows) -> Alike:
    """Rows in the order of a public number, of which some are kept as knots."""
    knots = rows[np.linspace(0, len(rows) - 1, min(KNOTS, len(rows))).astype(np.intp)]
    return Alike(knots, partial(_nearest, name, values[knots]))


def _place(name: str, listing: pa.Array, otherwise: int, shown: Shown) -> Rows:
    at: Rows = pc.index_in(shown.public[name], value_set=listing).fill_null(otherwise).to_numpy().astype(np.intp)
    return at


def _nearest(name: str, knots: Vector, shown: Shown) -> Rows:
    """The middle one of the knots that have a value, or the next one; missing values stand last."""
    values = to_float(shown.public[name], name)
    low, high = np.searchsorted(knots, values, side="left"), np.searchsorted(knots, values, side="right")
    at = np.where(high > low, (low + high - 1) // 2, low)
    return np.minimum(at, len(knots) - 1).astype(np.intp)


def _taken_numbers(find: Callable[[Shown], Rows], numbers: Vector, shown: Shown) -> Vector:
    return np.asarray(numbers[find(shown)])


def _taken_codes(find: Callable[[Shown], Rows], codes: Codes, shown: Shown) -> Codes:
    return np.asarray(codes[find(shown)])
