"""More signals than released columns: sparse signals draw lines in the release (A16).

*Model.* ``y = R z`` with R a k × d matrix, k < d, and independent z.

*What no linear filter can do.* Signals can be separated into at most k groups, and at most k − 1 of them can be
separated out (Cao and Liu 1996, quoted in Liu 2007, §5.4.4); with R from a continuous law, n > k suffices for none
at all (errata L-w: the theorem's n ≥ 2k is not needed). It is a statement about linear filters only.

*What sparsity allows.* If signals are mostly near zero, many records hold one large signal alone and lie on the line
of its column of R. The lines are modes of the records' directions (mean shift on the projective sphere), and given
them a record's signals are the solution of least ``Σ|z|`` (Laplace prior; Lewicki and Sejnowski 2000). Where no
lines stand out the data do not support it, and nothing is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from veil.attacks.rotation.thinning import thin_rows
from veil.attacks.separation.independence import MOST_RECORDS, whiten
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import row_order

WIDTH: Final = 0.05
"""Angle, in radians, within which records belong to one line; lines nearer than twice that are one."""

CONTRAST: Final = 2.0
"""A line must be this many times denser than its surroundings are, where an even spread has 1."""

SHARE: Final = 0.15
"""Least share of the strong records on a line, in units of 1/d: in many dimensions a few records always align."""

_WIDER: Final = 3.0
_STARTS: Final = 60
_STEPS: Final = 40


@dataclass(frozen=True, slots=True, eq=False)
class SparseSeparation:
    """Lines found in a release and the sparse signals along them.

    Attributes
    ----------
    signals
        N × m in arbitrary order, sign and scale; of variance 1.
    mixing
        k × m, one column per signal.
    contrast
        Per line, its density over that of its surroundings.
    """

    signals: Matrix
    mixing: Matrix
    contrast: Vector


def separate_sparse(y: Matrix, d: int, *, seed: int = 0) -> SparseSeparation | None:
    """Separate up to ``d`` sparse signals; None unless more lines stand out than the release has dimensions."""
    order = row_order(y)
    data = whiten(y[order])
    if data.rank < 2 or data.rank >= d:
        return None
    axes, contrast = lines(thin_rows(data.white, MOST_RECORDS), d, seed=seed)
    if axes.shape[1] <= data.rank:
        return None
    # Sparse signals rest at zero, which the release shows as its mode rather than its mean.
    origin = np.median(data.white, axis=0)
    signals = least_absolute(axes, data.white - origin)[np.argsort(order)]
    size = signals.std(axis=0)
    return SparseSeparation(signals / size, data.root @ (axes * size), contrast)


def lines(white: Matrix, d: int, *, seed: int = 0) -> tuple[Matrix, Vector]:
    """Directions in which a whitened release is densest: k × m unit columns, m ≤ ``d``, and their contrasts."""
    rng = np.random.default_rng(seed)
    centred = white - np.median(white, axis=0)
    length = np.linalg.norm(centred, axis=1)
    strong = length > np.median(length)
    unit = centred[strong] / length[strong, None]
    weight = np.minimum(length[strong], np.quantile(length, 0.99))
    weight = weight / weight.sum()
    candidates: list[tuple[float, float, Vector]] = []
    free = weight.copy()
    # Starts are drawn among records that no line has claimed, so that a weak line gets its turn.
    for _ in range(_STARTS + 4 * d):
        if not free.sum() > 0.0:
            break
        start = unit[rng.choice(len(unit), p=free / free.sum())]
        axis = _mode(unit, weight, start)
        free[_sine2(unit, start) < WIDTH**2] = 0.0
        share, contrast = _density(unit, weight, axis)
        apart = all(abs(float(axis @ other)) < np.cos(2.0 * WIDTH) for _, _, other in candidates)
        if share >= SHARE / d and contrast >= CONTRAST and apart:
            candidates.append((share, contrast, axis))
            free[_sine2(unit, axis) < (2.0 * WIDTH) ** 2] = 0.0
    densest = sorted(candidates, key=lambda line: -line[0])[:d]
    axes = np.array([axis for _, _, axis in densest]).reshape(-1, white.shape[1]).T
    return axes, np.array([contrast for _, contrast, _ in densest])


def least_absolute(mixing: Matrix, y: Matrix, *, steps: int = 50) -> Matrix:
    """For each row of ``y`` the s of least ``Σ|s|`` with ``mixing s = y``, by reweighted least squares."""
    size = float(np.abs(y).max(initial=1.0))
    signals = y @ np.linalg.pinv(mixing).T
    for _ in range(steps):
        weight = np.abs(signals) + 1e-8 * size
        gram = np.einsum("ij,nj,kj->nik", mixing, weight, mixing, optimize=True)
        signals = weight * (np.linalg.solve(gram, y[:, :, None])[:, :, 0] @ mixing)
    return np.asarray(signals)


def _mode(unit: Matrix, weight: Vector, axis: Vector) -> Vector:
    """Climb from ``axis`` to a mode of the directions, opposite ones being the same."""
    for _ in range(_STEPS):
        near = weight * np.exp(-_sine2(unit, axis) / (2.0 * WIDTH**2))
        following = np.linalg.eigh((unit * near[:, None]).T @ unit)[1][:, -1]
        still = abs(float(following @ axis)) > 1.0 - 1e-10
        axis = following
        if still:
            break
    return np.asarray(axis)


def _density(unit: Matrix, weight: Vector, axis: Vector) -> tuple[float, float]:
    """Share of the records on the axis, and its density over that within three widths of it."""
    sine2 = _sine2(unit, axis)
    near = float(weight @ np.exp(-sine2 / (2.0 * WIDTH**2)))
    around = float(weight @ np.exp(-sine2 / (2.0 * (_WIDER * WIDTH) ** 2)))
    return near, near / around * _WIDER ** (unit.shape[1] - 1)


def _sine2(unit: Matrix, axis: Vector) -> Vector:
    return np.asarray(1.0 - np.minimum((unit @ axis) ** 2, 1.0))
