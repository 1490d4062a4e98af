"""Turn a sample onto a release without knowing which record is which (A11, refinement).

*Model.* ``y_j = M x_j + t`` with ``M`` orthogonal (``t = 0`` unless a translation is allowed) and an
independent sample ``s_i`` of the same population, records as rows. Signs are not what limits the
attack of Liu 2007, §4.5: the error of the sample's eigenvectors is. Both functions here start from a
rough ``M`` and lower a mean of distances; both are reweighted Procrustes problems, solved by the polar
factor of ``Σ w_ij y_j s_iᵀ`` with ``w = 1/distance``, and neither ever raises its objective. With
``proper`` both keep to rotations (Kabsch's correction of the polar factor).

`energy_procrustes` lowers ``mean over i, j of ‖y_j − M s_i − t‖``, the part of the two-sample energy
statistic that depends on ``M``: it aligns the two distributions, and tolerates a poor start.

`nearest_procrustes` lowers ``mean over i of min over j of ‖y_j − M s_i − t‖``: it aligns records. It
needs a fair start and a release that is dense around the sample's records, and is then several times
more precise. Where values are whole numbers or rounded, many sample records have a twin in the
release; the objective has a cusp where twins meet, and the recovered ``M`` is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from veil.attacks.rotation.gray_code import Floats
from veil.attacks.rotation.thinning import check_pair, thin_pairs
from veil.errors import InputError

_FLOOR: Final = 1e-10  # shortest distance, relative to the records' lengths, that gets its own weight
_TILE_PAIRS: Final = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """An orthogonal map from sample to release, ``y ≈ M s + t``.

    Attributes
    ----------
    matrix, offset
        ``M`` (d × d) and ``t`` (d; zero unless a translation was allowed).
    history
        The objective at the start and after each accepted iteration; never rises.
    converged
        Whether it stopped because the relative fall went below ``tol``, not at ``max_iter``.
    """

    matrix: Floats
    offset: Floats
    history: tuple[float, ...]
    converged: bool

    @property
    def objective(self) -> float:
        """The mean distance reached."""
        return self.history[-1]

    def forward(self, s: Floats) -> Floats:
        """Private records to released ones."""
        return s @ self.matrix.T + self.offset

    def back(self, y: Floats) -> Floats:
        """Released records to private ones."""
        return (y - self.offset) @ self.matrix


@dataclass(frozen=True, slots=True)
class _Cloud:
    """Weighted pairs, summed: total weight, ``Σ w y``, ``Σ w s`` and ``Σ w y sᵀ``."""

    weight: float
    y: Floats
    s: Floats
    cross: Floats

    def solve(self, *, translation: bool, proper: bool) -> tuple[Floats, Floats]:
        """The orthogonal M and offset t of least ``Σ w ‖y − M s − t‖²``."""
        if not translation:
            return polar(self.cross, proper=proper), np.zeros(len(self.y))
        matrix = polar(self.cross - np.outer(self.y, self.s) / self.weight, proper=proper)
        return matrix, (self.y - matrix @ self.s) / self.weight


def polar(matrix: Floats, *, proper: bool = False) -> Floats:
    """The orthogonal matrix nearest to ``matrix``; with ``proper`` the nearest rotation.

    >>> polar(np.diag([3.0, -1.0]), proper=True).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    u, _, vt = np.linalg.svd(matrix)
    if proper and np.linalg.det(u) * np.linalg.det(vt) < 0:
        u[:, -1] = -u[:, -1]  # the direction of the least singular value costs least
    return np.asarray(u @ vt)


def energy_procrustes(
    y: Floats,
    s: Floats,
    start: Floats,
    *,
    offset: Floats | None = None,
    translation: bool = False,
    max_iter: int = 200,
    tol: float = 1e-8,
    max_pairs: int | None = 4_000_000,
    proper: bool = False,
) -> Fit:
    """Lower the mean distance between all released and all mapped sample records.

    Parameters
    ----------
    y, s
        Release and sample, records as rows. Without ``translation`` their origins must agree.
    start
        Orthogonal matrix to start from.
    translation, offset
        Fit an offset as well, starting from this one (by default from the one that maps mean to mean).
    max_iter, tol
        Stop after so many iterations, or when the objective falls by less than this share of itself.
    max_pairs
        Evenly spaced records are used where there are more pairs than this. Memory does not grow
        with the number of pairs.
    proper
        Only rotations; the start must be one.
    """
    y, s = thin_pairs(y, s, max_pairs)
    floor = _floor(y, s)
    pairs = len(y) * len(s)

    def step(matrix: Floats, shift: Floats) -> tuple[float, _Cloud]:
        mapped = s @ matrix.T + shift
        total, row, column = 0.0, np.zeros(y.shape[1]), np.zeros(len(s))
        cross = np.zeros((y.shape[1], s.shape[1]))
        for part in _tiles(y, len(s)):
            distance = cdist(part, mapped)
            total += float(distance.sum())
            np.maximum(distance, floor, out=distance)
            weight = np.reciprocal(distance, out=distance)
            pull = part.T @ weight
            cross += pull @ s
            row += pull.sum(axis=1)
            column += weight.sum(axis=0)
        return total / pairs, _Cloud(float(column.sum()), row, column @ s, cross)

    return _descend(step, y, s, start, offset, translation, max_iter, tol, proper)


def nearest_procrustes(
    y: Floats | KDTree,
    s: Floats,
    start: Floats,
    *,
    offset: Floats | None = None,
    translation: bool = False,
    max_iter: int = 500,
    tol: float = 1e-9,
    proper: bool = False,
) -> Fit:
    """Lower the mean distance from each mapped sample record to the nearest released one.

    Parameters as in `energy_procrustes`; ``y`` may be a tree built before.
    """
    tree = y if isinstance(y, KDTree) else KDTree(check_pair(y, s)[0])
    records, s = check_pair(tree.data, s)
    floor = _floor(records, s)

    def step(matrix: Floats, shift: Floats) -> tuple[float, _Cloud]:
        distances, nearest = tree.query(s @ matrix.T + shift)
        distance = np.asarray(distances)
        weight = 1.0 / np.maximum(distance, floor)
        pulled = weight[:, None] * records[nearest]
        cloud = _Cloud(float(weight.sum()), pulled.sum(axis=0), weight @ s, pulled.T @ s)
        return float(distance.mean()), cloud

    return _descend(step, records, s, start, offset, translation, max_iter, tol, proper)


def nearest_distances(tree: KDTree, fit: Fit, s: Floats) -> Floats:
    """Per sample record, how far its image is from the nearest released record."""
    return np.asarray(tree.query(fit.forward(s))[0])


def twins(tree: KDTree, fit: Fit, s: Floats, *, tol: float = 1e-6) -> int:
    """How many sample records fall on a released record, to ``tol`` of the records' lengths.

    Records drawn from a continuous law never do. A count above the number of columns shows that the
    map is exact, up to a symmetry of the grid that the values lie on.
    """
    scale = float(np.sqrt(np.mean(np.sum(s * s, axis=1))))
    return int(np.count_nonzero(nearest_distances(tree, fit, s) <= tol * scale))


def _descend(
    step: Callable[[Floats, Floats], tuple[float, _Cloud]],
    y: Floats,
    s: Floats,
    start: Floats,
    offset: Floats | None,
    translation: bool,
    max_iter: int,
    tol: float,
    proper: bool,
) -> Fit:
    """Repeat ``step`` and solve; keep the last map that did not raise the objective."""
    columns = y.shape[1]
    matrix = np.asarray(start, dtype=np.float64)
    if matrix.shape != (columns, columns) or np.abs(matrix.T @ matrix - np.eye(columns)).max() > 1e-6:
        raise InputError(f"start: must be an orthogonal {columns} × {columns} matrix")
    if proper and np.linalg.det(matrix) < 0:
        raise InputError("start: must be a rotation, with determinant 1, where only rotations are fitted")
    if max_iter < 0:
        raise InputError(f"max_iter: must not be negative, is {max_iter}")
    if not translation:
        shift = np.zeros(columns)
    else:
        shift = y.mean(axis=0) - matrix @ s.mean(axis=0) if offset is None else np.asarray(offset, float)
    value, cloud = step(matrix, shift)
    history = [value]
    for _ in range(max_iter):
        candidate = cloud.solve(translation=translation, proper=proper)
        value, cloud = step(*candidate)
        if value > history[-1]:  # rounding: the majorised objective differs by the floor
            return Fit(matrix, shift, tuple(history), converged=True)
        matrix, shift = candidate
        history.append(value)
        if history[-2] - value <= tol * value:
            return Fit(matrix, shift, tuple(history), converged=True)
    return Fit(matrix, shift, tuple(history), converged=False)


def _floor(y: Floats, s: Floats) -> float:
    scale = max(float(np.abs(y).max()), float(np.abs(s).max()))
    return _FLOOR * scale or 1.0


def _tiles(y: Floats, width: int) -> Iterator[Floats]:
    rows = max(1, _TILE_PAIRS // width)
    for k in range(0, len(y), rows):
        yield y[k : k + rows]
