"""A17 in matrix form: all records at once, turned into the ranges of their columns (Liu 2007, §5.3.4).

*Model.* ``Y = Z Mᵀ`` with records as rows and one orthogonal M for all. Known: the range of each column of Z. By the
paper's theorem 5.3.12 every Ẑ with ``Ẑ Ẑᵀ = Y Yᵀ`` is as probable as any other under a uniform prior; these are all
``Y Oᵀ`` with O orthogonal (with orthonormal columns, for a projection). *paper*: one is drawn, O uniform. A projection
keeps inner products only on average, so that no one O is the right one, and there is nothing better than the lengths.

*best*: the prior is uniform in the *box* of the ranges, so only those O count that turn every record into it. All
records share O, and the ends bind: where they are the table's own least and greatest values,

    max_i o_j·y_i = upper_j   and   min_i o_j·y_i = lower_j   for every column j

are 2d equations for the d(d−1)/2 angles of O. There are more of the first up to d = 4, and as many at d = 5: so few
columns are determined, by nothing but their ranges. Beyond that the box leaves a family of matrices, and the guess is
the mean over those that were found.

*Search.* Only records on the hull of Y matter; those that are extreme in one of many directions stand for it. From
random orthogonal starts, Gauss–Newton steps (Levenberg–Marquardt, along ``O ← exp(S) O``) reduce the squared misfit of
the ends and of records outside the box. The derivative of ``z_ij`` by the angle of the plane (a, b) is ``z_ib`` for
j = a and ``−z_ia`` for j = b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import expm

from veil.data.blocks import Matrix, Vector

STARTS: Final = 200
ROUNDS: Final = 4
"""Of as many starts each, until one fits, where the ends outnumber the angles."""
MOST_COLUMNS: Final = 9
"""That are searched: 18 ends for 36 angles. The ranges of more columns leave so many matrices that no mean tells more
than the lengths."""
STEPS: Final = 60
DIRECTIONS: Final = 1_200
MOST_POLISHED: Final = 40
POLISHES: Final = 6
LIKELY: Final = 0.01
FEW: Final = 3
"""Weight of a matrix, over that of the best, that counts; and how many of them are few enough to take one."""
_EXACT: Final = 1e-7
_SAME: Final = 1e-3
_LONGEST_TURN: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class TurnedBox:
    """The matrices that turn a release into a box.

    Attributes
    ----------
    matrix
        The mean of those found, or if they are few the one that most starts led to.
    n_matrices
        How many different ones there are; 0 if none fits, and ``matrix`` is then the one of least misfit.
    misfit
        Root mean square by which ends, and records outside the box, miss it, in units of the ranges.
    """

    matrix: Matrix
    n_matrices: int
    misfit: float


def turned_into_box(
    y: Matrix, lower: Vector, upper: Vector, *, grain: float = 0.0, sign: float = 0.0, seed: int = 0
) -> TurnedBox:
    """Search the orthogonal matrices O with ``y Oᵀ`` in the box, its ends attained.

    ``grain`` is how far a value may have been moved before it was turned, ``sign`` the determinant of O, 0 if unknown.
    """
    d, rng = y.shape[1], np.random.default_rng(seed)
    y = y[~np.isnan(y).any(axis=1)]
    hull = _extreme(y, rng)
    width = max(float(((upper - lower) ** 2).sum()), 1e-300)
    # With a dither each end, and each record near it, may be off by half a grain to either side.
    lower, upper = lower - grain / 2.0, upper + grain / 2.0
    allowed, spread = max(_EXACT**2 * width, d * grain**2), max(_EXACT**2 * width, grain**2 / 6.0)
    angles = d * (d - 1) // 2
    groups: list[_Group] = []
    for _ in range(ROUNDS if angles <= 2 * d else 1):
        for _ in range(STARTS):
            start = _haar(d, d, rng)
            if sign:
                start[0] *= sign * np.sign(np.linalg.det(start))
            _add(groups, *_fitted(hull, lower, upper, start), grain)
        groups.sort(key=lambda group: group.misfit)
        polished: list[_Group] = []
        for group in groups[:MOST_POLISHED]:
            _add(polished, *_polished(y, hull, lower, upper, group.matrix), grain, group.count)
        groups = sorted(polished, key=lambda group: group.misfit)
        least = groups[0].misfit
        if least <= allowed:
            break
    else:
        return TurnedBox(groups[0].matrix, 0, float(np.sqrt(least / width)))
    weights = np.array([np.exp(-(group.misfit - least) / (2.0 * spread)) for group in groups])
    n_likely = int((weights > LIKELY).sum())
    if n_likely <= FEW:
        matrix = max(groups[:n_likely], key=lambda group: group.count).matrix if not grain else groups[0].matrix
    else:
        matrix = np.einsum("g,gij->ij", weights / weights.sum(), np.array([group.matrix for group in groups]))
    return TurnedBox(matrix, n_likely, float(np.sqrt(least / width)))


@dataclass(slots=True, eq=False)
class _Group:
    """A matrix, the sum of its squared misses, and how many starts led to it."""

    matrix: Matrix
    misfit: float
    count: int = 1


def _add(groups: list[_Group], matrix: Matrix, misfit: float, grain: float, count: int = 1) -> None:
    """Count a matrix with those that it equals."""
    near = [group for group in groups if np.abs(group.matrix - matrix).max() < _SAME + grain]
    if not near:
        groups.append(_Group(matrix, misfit, count))
        return
    near[0].count += count
    if misfit < near[0].misfit:
        near[0].matrix, near[0].misfit = matrix, misfit


def _polished(y: Matrix, hull: Matrix, lower: Vector, upper: Vector, matrix: Matrix) -> tuple[Matrix, float]:
    """The matrix fitted with those records, too, that are extreme under it: the hull was drawn from directions."""
    for _ in range(POLISHES):
        z = y @ matrix.T
        hull = np.unique(np.vstack([hull, y[z.argmax(axis=0)], y[z.argmin(axis=0)]]), axis=0)
        before = float((_misses(hull @ matrix.T, lower, upper) ** 2).sum())
        matrix, misfit = _fitted(hull, lower, upper, matrix)
        if misfit > 0.5 * before:
            break
    return matrix, float((_misses(y @ matrix.T, lower, upper) ** 2).sum())


def drawn_matrix(d: int, k: int, seed: int) -> Matrix:
    """A d × k matrix with orthonormal columns, uniform (Haar): the paper's guess."""
    return _haar(d, k, np.random.default_rng(seed))


def _haar(d: int, k: int, rng: np.random.Generator) -> Matrix:
    q, r = np.linalg.qr(rng.standard_normal((d, k)))
    return np.asarray(q * np.sign(np.diag(r)))


def _extreme(y: Matrix, rng: np.random.Generator) -> Matrix:
    """Records that are the farthest out in some of many directions; all, where these are few."""
    directions = rng.standard_normal((y.shape[1], DIRECTIONS))
    if len(y) > DIRECTIONS // 4:
        along = y @ directions
        y = y[np.unique([along.argmax(axis=0), along.argmin(axis=0)])]
    return np.unique(y, axis=0)  # in an order of their own


def _misses(z: Matrix, lower: Vector, upper: Vector) -> Matrix:
    """By how much records miss the box, and each column's least and greatest its ends."""
    misses, column = np.minimum(z - lower, 0.0) + np.maximum(z - upper, 0.0), np.arange(z.shape[1])
    for place, end in ((z.argmax(axis=0), upper), (z.argmin(axis=0), lower)):
        misses[place, column] = z[place, column] - end
    return misses


def _fitted(y: Matrix, lower: Vector, upper: Vector, matrix: Matrix) -> tuple[Matrix, float]:
    """Levenberg–Marquardt steps from a start: the matrix, and the sum of its squared misses."""
    d = len(matrix)
    first, second = np.triu_indices(d, 1)
    z = y @ matrix.T
    misses, damping = _misses(z, lower, upper), 1e-3
    total = float((misses**2).sum())
    for _ in range(STEPS):
        row, column = np.nonzero(misses)
        if not len(row) or not len(first):
            break
        slope = (column[:, None] == first) * z[row][:, second] - (column[:, None] == second) * z[row][:, first]
        normal, gradient = slope.T @ slope, slope.T @ misses[row, column]
        before = total
        for _ in range(8):
            ridge = damping * (np.trace(normal) / len(normal) + 1e-12)
            step = np.linalg.solve(normal + ridge * np.eye(len(normal)), -gradient)
            step *= min(1.0, _LONGEST_TURN / max(float(np.abs(step).max()), 1e-300))
            turn = np.zeros((d, d))
            turn[first, second], turn[second, first] = step, -step
            turned = expm(turn) @ matrix
            here = y @ turned.T
            there = _misses(here, lower, upper)
            if (sum_there := float((there**2).sum())) < total:
                matrix, z, misses, total, damping = turned, here, there, sum_there, max(damping / 3, 1e-12)
                break
            damping *= 4.0
        if before - total <= 1e-9 * before:
            break
    return matrix, total
