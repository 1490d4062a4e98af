"""The nearest released record of a point, and the pull of all released records on one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from veil.attacks.rotation.gray_code import Floats

Singles = npt.NDArray[np.float32]
_LEAF: Final = 32
_TILE: Final = 1024


class RecordTree:
    """Released records, to be searched for the nearest one.

    The tree stands in the release's principal axes, in which far fewer of its leaves come into question.
    """

    def __init__(self, records: Floats) -> None:
        self.records = np.asarray(records, dtype=np.float64)
        self._axes = np.linalg.eigh(self.records.T @ self.records)[1][:, ::-1]
        self._tree = KDTree(self.records @ self._axes, leafsize=_LEAF)

    def nearest(self, points: Floats, *, slack: float = 0.0) -> tuple[Floats, npt.NDArray[np.intp]]:
        """Distances to the nearest records, and their rows; with ``slack``, to some at most that share farther."""
        distances, rows = self._tree.query(points @ self._axes, eps=slack)
        return np.asarray(distances), np.asarray(rows)


def pulls(y: Floats | Singles, points: Floats, floor: float) -> tuple[float, Floats, Floats]:
    """The sum of all distances between records ``y`` (d × n) and points (m × d), and what pulls on each point.

    Per point, ``Σ w_j`` (m) and ``Σ w_j y_j`` (m × d) with ``w_j = 1/distance``, and no distance less than ``floor``.
    Records in single precision are compared in it.
    """
    weights, pull = np.zeros(len(points)), np.zeros(points.shape)
    work = np.empty(min(_TILE, y.shape[1]), dtype=y.dtype)
    total = _compiled()(y, np.ascontiguousarray(points, dtype=y.dtype), y.dtype.type(floor), work, weights, pull)
    return float(total), weights, pull


@cache
def _compiled() -> Callable[..., Any]:
    from numba import njit

    # Reassociation lets the sums vectorise; NaN and infinity cannot occur in finite input.
    relaxed = {"reassoc", "contract", "nsz", "nnan", "ninf"}
    compiled: Callable[..., Any] = njit(_pulls, cache=True, nogil=True, error_model="numpy", fastmath=relaxed)
    return compiled


def _pulls(y: Any, points: Any, floor: Any, work: Any, weights: Floats, pull: Floats) -> float:
    """Point by point, on tiles of records that stay in the cache."""
    columns, n = y.shape
    tile, total = len(work), 0.0
    nought, one = np.zeros(1, dtype=y.dtype)[0], np.ones(1, dtype=y.dtype)[0]  # in the precision of the records
    for start in range(0, n, tile):
        stop = min(start + tile, n)
        width = stop - start
        square = work[:width]
        for i in range(len(points)):
            square[:] = nought
            for r in range(columns):
                row, place = y[r, start:stop], points[i, r]
                for t in range(width):
                    gap = row[t] - place
                    square[t] += gap * gap
            subtotal, weight = nought, nought
            for t in range(width):
                distance = math.sqrt(square[t])
                subtotal += distance
                square[t] = one / max(distance, floor)
                weight += square[t]
            total += subtotal
            weights[i] += weight
            for r in range(columns):
                row, moment = y[r, start:stop], nought
                for t in range(width):
                    moment += square[t] * row[t]
                pull[i, r] += moment
    return total
