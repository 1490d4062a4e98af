"""The nearest released rows in what is known (A29): some of them for beliefs, or the one that is nearest."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from veil.attacks.inference.hidden import Beliefs, Hidden
from veil.data.blocks import Matrix

NEIGHBOURS: Final = 30
MOST_DIRECTIONS: Final = 8
"""Principal directions in which rows are compared: a search tree of many more is no faster than none."""

Rows = npt.NDArray[np.intp]


class Neighbours:
    """Released rows (N × q features of unit spread) that can be searched for the nearest."""

    def __init__(self, features: Matrix) -> None:
        self._centre, self._axes = features.mean(axis=0), np.eye(features.shape[1])
        if features.shape[1] > MOST_DIRECTIONS:
            centred = features - self._centre
            self._axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :MOST_DIRECTIONS]
        self._n = len(features)
        self._tree = cKDTree(self._turned(features))

    def _turned(self, features: Matrix) -> Matrix:
        return np.asarray((features - self._centre) @ self._axes)

    def nearest(self, at: Matrix, k: int, own: Rows | None = None) -> Rows:
        """The k nearest rows of each person; ``own`` are rows to be left out, one for each, −1 for none."""
        more = own is not None
        k = max(1, min(k, self._n - more))
        _, near = self._tree.query(self._turned(at), k=list(range(1, k + 1 + more)))
        if own is not None:
            # The row itself goes to the end, and the last one is dropped.
            order = np.argsort(near == own[:, None], axis=1, kind="stable")
            near = np.take_along_axis(near, order, axis=1)[:, :k]
        return np.asarray(near, dtype=np.intp)


def beliefs_of(column: Hidden, near: Rows) -> Beliefs:
    """The shares of the classes among some rows of each person; those among all where none of them has a value."""
    codes = column.codes[near]
    cells = np.where(codes >= 0, codes + column.n_classes * np.arange(len(near))[:, None], -1)
    counts = np.bincount(cells[cells >= 0], minlength=len(near) * column.n_classes)
    beliefs = counts.reshape(len(near), column.n_classes).astype(np.float32)
    size = beliefs.sum(axis=1, keepdims=True)
    return np.where(size > 0, beliefs / np.maximum(size, 1.0), column.shares())
