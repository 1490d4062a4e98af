"""Columns of whole numbers, as known values tell."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix

FEWEST_KNOWN: Final = 5
"""Known values that must all be whole: of numbers with one decimal, as many are in one case of 100,000."""


def known_whole(records: Matrix) -> npt.NDArray[np.bool_]:
    """Which columns hold whole numbers, since all known values of theirs do.

    A type does not always say so: a count with gaps is often a column of floats.

    >>> known_whole(np.array([[1.0, 0.5]] * 5)).tolist()
    [True, False]
    """
    known = np.isfinite(records)
    values = np.where(known, records, 0.0)
    return np.asarray((known.sum(axis=0) >= FEWEST_KNOWN) & (values == np.rint(values)).all(axis=0))
