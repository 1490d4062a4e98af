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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.attacks.rotation.gray_code import Floats
from veil.attacks.rotation.record_tree import RecordTree, pulls
from veil.attacks.rotation.thinning import check_pair, thin_pairs
from veil.errors import InputError

_FLOOR: Final = 1e-10  # shortest distance, relative to the records' lengths, that gets its own weight
_ON: Final = 1e-6  # how far from a record, relative to the records' lengths, counts as on it
_CLOSE: Final = 1e-4  # how far twins may turn a map that they determine
_FARTHEST: Final = 4.0  # how far steps are extrapolated at first, and by what that grows and shrinks


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
    single: bool = False,
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
    single
        Measure distances in single precision, in half the time: where ``tol`` is 1e-7 or more.
    """
    y, s = thin_pairs(y, s, max_pairs)
    floor = _floor(y, s)
    pairs = len(y) * len(s)
    # About their mean, single precision holds the differences of records that lie far from the origin.
    centre = y.mean(axis=0) if single else np.zeros(y.shape[1])
    rows = np.ascontiguousarray((y - centre).T)
    columns = rows.astype(np.float32) if single else rows

    def step(matrix: Floats, shift: Floats) -> tuple[float, _Cloud]:
        total, weights, pull = pulls(columns, s @ matrix.T + (shift - centre), floor)
        pull += weights[:, None] * centre
        return total / pairs, _Cloud(float(weights.sum()), pull.sum(axis=0), weights @ s, pull.T @ s)

    return _descend(step, y, s, start, offset, translation, max_iter, tol, proper)


def nearest_procrustes(
    y: Floats | RecordTree,
    s: Floats,
    start: Floats,
    *,
    offset: Floats | None = None,
    translation: bool = False,
    max_iter: int = 500,
    tol: float = 1e-9,
    proper: bool = False,
    slack: float = 0.0,
) -> Fit:
    """Lower the mean distance from each mapped sample record to the nearest released one.

    Parameters as in `energy_procrustes`; ``y`` may be a tree built before. With ``slack``, a record that is at most
    that share farther may be taken for the nearest.
    """
    tree = y if isinstance(y, RecordTree) else RecordTree(check_pair(y, s)[0])
    records, s = check_pair(tree.records, s)
    floor = _floor(records, s)

    def step(matrix: Floats, shift: Floats) -> tuple[float, _Cloud]:
        distance, nearest = tree.nearest(s @ matrix.T + shift, slack=slack)
        weight = 1.0 / np.maximum(distance, floor)
        pulled = weight[:, None] * records[nearest]
        cloud = _Cloud(float(weight.sum()), pulled.sum(axis=0), weight @ s, pulled.T @ s)
        return float(distance.mean()), cloud

    # Where records meet their twins the objective has a cusp, which steps that go further would miss.
    return _descend(step, records, s, start, offset, translation, max_iter, tol, proper, further=False)


def nearest_distances(tree: RecordTree, fit: Fit, s: Floats) -> Floats:
    """Per sample record, how far its image is from the nearest released record."""
    return tree.nearest(fit.forward(s))[0]


def twins(tree: RecordTree, fit: Fit, s: Floats) -> int:
    """How many sample records fall on a released record, to a millionth of the records' lengths.

    Records drawn from a continuous law never do. A count above the number of columns shows that the
    map is exact, up to a symmetry of the grid that the values lie on.
    """
    return int(np.count_nonzero(_fallen(tree, fit, s)[0]))


def snapped(tree: RecordTree, fit: Fit, s: Floats, *, translation: bool = False, proper: bool = False) -> Fit:
    """The map by twins alone, to rounding; the same as before where they leave some of it open."""
    on, rows = _fallen(tree, fit, s)
    y, s = tree.records[rows[on]], s[on]
    cloud = _Cloud(float(len(s)), y.sum(axis=0), s.sum(axis=0), y.T @ s)
    matrix, shift = cloud.solve(translation=translation, proper=proper) if len(s) else (fit.matrix, fit.offset)
    near = float(np.abs(matrix - fit.matrix).max()) < _CLOSE
    return Fit(matrix, shift, fit.history, fit.converged) if near else fit


def _fallen(tree: RecordTree, fit: Fit, s: Floats) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Which sample records fall on a released one, and the nearest row of each."""
    scale = float(np.sqrt(np.mean(np.sum(s * s, axis=1))))
    distances, rows = tree.nearest(fit.forward(s))
    return distances <= _ON * scale, rows


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
    *,
    further: bool = True,
) -> Fit:
    """Repeat ``step`` and solve, and keep the last map that did not raise the objective.

    With ``further``, every second step is extrapolated from the two before it (squared extrapolation; Varadhan and
    Roland 2008) where that lowers the objective: reweighted problems come near their solution fast and then creep.
    """
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
    here = matrix, shift
    value, cloud = step(*here)
    history, reach, steps = [value], _FARTHEST, 0
    while steps < max_iter:
        first = cloud.solve(translation=translation, proper=proper)
        value, ahead = step(*first)
        steps += 1
        if value > history[-1]:  # rounding: the majorised objective differs by the floor
            return Fit(*here, tuple(history), converged=True)
        history.append(value)
        if history[-2] - value <= tol * value:
            return Fit(*first, tuple(history), converged=True)
        if steps == max_iter:
            return Fit(*first, tuple(history), converged=False)
        if not further:
            here, cloud = first, ahead
            continue
        far, farthest = _extrapolated(here, first, ahead.solve(translation=translation, proper=proper), reach, proper)
        value, beyond = step(*far)
        steps += 1
        if value <= history[-1]:
            history.append(value)
            here, cloud, reach = far, beyond, reach * (_FARTHEST if farthest else 1.0)
        else:
            here, cloud, reach = first, ahead, max(reach / _FARTHEST, 1.0)
    return Fit(*here, tuple(history), converged=False)


def _extrapolated(
    start: tuple[Floats, Floats],
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    reach: float,
    proper: bool,
) -> tuple[tuple[Floats, Floats], bool]:
    """Where two steps lead if they go on as they began, and whether that is as far as it may go.

    With differences r and then r + v, ``start + 2 a r + a² v`` for ``a = ‖r‖/‖v‖``, from 1 (the second step itself) to
    ``reach``.
    """
    r = first[0] - start[0]
    v = second[0] - first[0] - r
    size = float(np.linalg.norm(v))
    a = min(max(float(np.linalg.norm(r)) / size, 1.0), reach) if size > 0.0 else 1.0
    matrix, shift = (
        here + 2.0 * a * (there - here) + a * a * (last - 2.0 * there + here)
        for here, there, last in zip(start, first, second, strict=True)
    )
    return (polar(matrix, proper=proper), shift), a >= reach


def _floor(y: Floats, s: Floats) -> float:
    scale = max(float(np.abs(y).max()), float(np.abs(s).max()))
    return _FLOOR * scale or 1.0
