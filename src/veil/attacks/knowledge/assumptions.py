"""What anybody may assume without knowing anybody: independent columns, and rows in the order of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.attacks.knowledge.base import Knowledge, Rows, Source
from veil.attacks.knowledge.previous_releases import count_rows
from veil.errors import InputError, NotApplicableError
from veil.release.manifest import RowOrder
from veil.release.release import Release


class IndependentSignals(Knowledge):
    """The private columns are statistically independent of each other, and at most one is normal."""

    source = Source.FLAG
    file_help = "Assume that the private columns are independent."

    def describe(self) -> str:
        """That columns are independent."""
        return "that the columns are independent signals"


class TimeOrder(Knowledge):
    """The records' order in time.

    Parameters
    ----------
    order
        Rows of the release from the earliest to the latest; None when the release is in time order.
    """

    source = Source.FLAG
    file_help = "Assume that rows are in the order of time."

    def __init__(self, order: Any = None) -> None:
        self.order = None if order is None else np.asarray(order)
        if self.order is not None:
            if self.order.ndim != 1 or self.order.dtype.kind not in "iu":
                raise InputError("order must be a list of whole numbers: rows of the release, earliest first")
            if not np.array_equal(np.sort(self.order), np.arange(len(self.order))):
                raise InputError("order must name every row of the release once, counted from 0")

    def rows(self, release: Release) -> Rows:
        """The rows of a release from the earliest to the latest; where they were shuffled, nobody knows them."""
        if self.order is not None:
            return self.order
        if release.manifest.row_order is RowOrder.SHUFFLED:
            raise NotApplicableError("the rows were shuffled by a secret permutation: their order tells nothing")
        return np.arange(count_rows(release))

    def describe(self) -> str:
        """That the order is known."""
        return "the records' order in time"


ASSUMPTIONS: tuple[Knowledge, ...] = (IndependentSignals(), TimeOrder())
"""Granted at every level of an audit."""
