"""Directions along which many records agree: columns that heap, behind a rotation.

*Model.* ``r = Q z (+ τ)`` exactly, Q orthogonal. Where a share p of the records has one value of column j, these lie in
a hyperplane ``q_j · r = c``, and a continuous law has no other that holds more than a few. u records of the heap span
it, so that of random sets of u records p^u do (Fischler and Bolles 1981, RANSAC). Its normal is Q's column, exactly; of
a heap that dither blurs, to the dither over the spread of the heap's records. What is orthogonal to it holds the other
columns, turned, and is searched again. A sum of two columns that heap is constant where both are; these records lie in
more than one hyperplane, and do not count. Of several directions the one with the least entropy is the column's.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from veil.attacks.columns.least_entropy import spacing_entropy
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import size_order

MOST_RECORDS: Final = 1_500
LEAST_SHARE: Final = 0.05
"""Of the records; a smooth density has some 0.002 as near to a hyperplane."""
_NEAR: Final = 1e-3
"""Of the records' spread: how near to a hyperplane a record lies on it."""
_DRAWS: Final = 2_000
_COMPARED: Final = 12
"""Hyperplanes that hold most, of which the columns' is chosen."""
_APART: Final = 10.0
"""Times nearness: how far a heap must reach in every direction of its hyperplane."""
_REFINEMENTS: Final = 8
_KEPT: Final = 0.9


def heap_axes(r: Matrix) -> Matrix:
    """Orthonormal directions (u × c) along which r (N × u) heaps, perhaps none.

    >>> rng = np.random.default_rng(0)
    >>> z = np.column_stack([np.where(rng.random(500) < 0.4, 0.0, rng.normal(size=500)), rng.normal(size=(500, 2))])
    >>> q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> axes = heap_axes(z @ q.T)
    >>> axes.shape, bool(np.abs(np.abs(axes[:, 0] @ q[:, 0]) - 1.0) < 1e-12)
    ((3, 1), True)
    """
    u = r.shape[1]
    left, found = np.eye(u), np.empty((u, 0))
    ordered = r[size_order(r)]
    while left.shape[1] > 1:
        axis = _heap_axis(ordered @ left)
        if axis is None:
            break
        found = np.column_stack([found, left @ axis])
        left = np.linalg.qr(np.hstack([found, np.eye(u)]))[0][:, found.shape[1] : u]
    return found


def _heap_axis(r: Matrix) -> Vector | None:
    """The direction in which records in a fair order heap most clearly."""
    some, u = r[:MOST_RECORDS], r.shape[1]
    near = _NEAR * float(np.sqrt(some.var(axis=0).mean()))
    if len(some) <= u or not near > 0.0:
        return None
    sets = some[np.random.default_rng(0).integers(0, len(some), (_DRAWS, u))]
    normals = np.linalg.svd(sets[:, 1:] - sets[:, :1])[2][:, -1]
    places = np.einsum("ij,ij->i", sets[:, 0], normals)
    held = (np.abs(some @ normals.T - places) <= near).sum(axis=0)
    most = np.argsort(-held, kind="stable")[:_COMPARED]
    tried = [_refined(r, normals[i], places[i], near) for i in most if held[i] >= LEAST_SHARE * len(some)]
    axes = [axis for axis in tried if axis is not None]
    if not axes:
        return None
    return axes[int(np.argmin(spacing_entropy((some @ np.column_stack(axes)).T)))]


def _refined(r: Matrix, axis: Vector, place: float, near: float) -> Vector | None:
    """The normal of the hyperplane through all records of a heap; None where these do not span one.

    As long as nearly all stay within a tenth of what is near, others that happen to be so near are left out.
    """
    held = 0
    for _ in range(_REFINEMENTS):
        heap = r[np.abs(r @ axis - place) <= near]
        if len(heap) < LEAST_SHARE * len(r):
            return None
        if len(heap) < _KEPT * held:
            break
        centre = heap.mean(axis=0)
        spread, axes = np.linalg.eigh((heap - centre).T @ (heap - centre) / len(heap))
        if spread[1] <= (_APART * near) ** 2:
            return None
        axis, place, held, near = axes[:, 0], float(centre @ axes[:, 0]), len(heap), near / 10.0
    return np.asarray(axis)
