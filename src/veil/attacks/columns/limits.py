"""Columns turned until each reaches from its least to its greatest value.

Each column's two ends are two equations for the rotation. For two columns all angles are tried, with and without a
reflection; of more, pairs are turned until no turn brings the ends nearer, from where other evidence begins.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np

from veil.data.blocks import Matrix, Vector

EXACT: Final = 1e-6
"""Of a standard deviation: ends that are nearer than this are met."""
_SWEEPS: Final = 20
_ANGLES: Final = 720
_REFINEMENTS: Final = 6


def turned_to_limits(values: Matrix, limits: Matrix, *, origin: bool) -> tuple[Matrix, float]:
    """Columns (N × u) turned to reach between ``limits`` (u × 2), and how far their ends are from them.

    Without ``origin`` only the widths are compared. The distance is the root mean square over columns and ends, in
    standard deviations.
    """
    values = values.copy()
    spread = np.sqrt(values.var(axis=0).mean()) or 1.0
    before = np.inf
    for _ in range(_SWEEPS):
        for i, j in combinations(range(values.shape[1]), 2):
            turn = _best_turn(_hull(values[:, [i, j]]), limits[[i, j]], origin=origin)
            values[:, [i, j]] = values[:, [i, j]] @ turn
        now = float(np.sqrt(_miss(values.min(axis=0), values.max(axis=0), limits, origin).mean() / 2)) / spread
        if now >= before * (1 - 1e-3) or now < EXACT:
            before = min(now, before)
            break
        before = now
    return values, before


def _best_turn(points: Matrix, limits: Matrix, *, origin: bool) -> Matrix:
    """The turn of two columns (2 × 2, with or without a reflection) that brings their ends nearest to the limits."""
    best, least = np.eye(2), np.inf
    for flip in (1.0, -1.0):
        angles, step = np.arange(_ANGLES) * (2 * np.pi / _ANGLES), 2 * np.pi / _ANGLES
        for _ in range(_REFINEMENTS):
            turns = np.array([[np.cos(angles), -flip * np.sin(angles)], [np.sin(angles), flip * np.cos(angles)]])
            turned = np.einsum("nk,kca->nca", points, turns)
            miss = _miss(turned.min(axis=0).T, turned.max(axis=0).T, limits, origin).sum(axis=-1)
            place = int(np.argmin(miss))
            if miss[place] < least:
                least, best = float(miss[place]), turns[:, :, place]
            angles, step = angles[place] + np.linspace(-step, step, 41), step / 20
    return best


def _miss(low: Vector, high: Vector, limits: Matrix, origin: bool) -> Vector:
    """Squared distances of both ends from their limits, or of the width from theirs, by column."""
    if origin:
        return np.asarray((low - limits[:, 0]) ** 2 + (high - limits[:, 1]) ** 2)
    return np.asarray(((high - low) - (limits[:, 1] - limits[:, 0])) ** 2)


def _hull(points: Matrix) -> Matrix:
    """The corners of the hull of points; all of them where they lie on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points
