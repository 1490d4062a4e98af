"""The principal axes of release and sample, and the orthogonal map that turns one onto the other (A11).

Liu 2007, §4.5, is `spectral_start` with ``centred=True``: eigenvectors of the covariances, with signs by energy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veil.attacks.rotation.gray_code import Floats
from veil.attacks.rotation.signs import Parity, SignChoice, choose_signs, rough_signs
from veil.attacks.rotation.thinning import check_pair


def spectral_start(
    y: Floats,
    s: Floats,
    *,
    centred: bool = False,
    robust: bool = False,
    search: Callable[..., SignChoice] = choose_signs,
    proper: bool = False,
) -> tuple[Floats, SignChoice]:
    """``M̂ = W D Zᵀ`` from eigenvectors of both tables, with signs ``D`` by energy.

    Eigenvectors of covariances if ``centred``, of second moments about the origin otherwise; if
    ``robust``, of the records' directions alone (spatial signs), in which a far-out record counts as
    any other. The signs are always searched in the coordinates given, which for centred tables leaves
    only skewness to tell them. ``proper`` keeps to rotations.
    """
    y, s = check_pair(y, s)
    w, z, parity = _both_axes(y, s, centred, robust, proper)
    choice = search(y @ w, s @ z, parity=parity)
    return np.asarray((w * choice.signs) @ z.T), choice


def rough_start(y: Floats, s: Floats, *, max_pairs: int, centred: bool = False, proper: bool = False) -> Floats:
    """The map of `spectral_start` with signs from a short search (`rough_signs`), which nothing is said about."""
    w, z, parity = _both_axes(y, s, centred, robust=False, proper=proper)
    signs = rough_signs(y @ w, s @ z, max_pairs=max_pairs, parity=parity)
    return np.asarray((w * signs) @ z.T)


def _both_axes(y: Floats, s: Floats, centred: bool, robust: bool, proper: bool) -> tuple[Floats, Floats, Parity]:
    """Principal axes of release and sample, and the product of the signs between them if it is known."""
    w, z = principal_axes(y, centred, robust), principal_axes(s, centred, robust)
    if not proper:
        return w, z, None
    return w, z, 1 if np.linalg.det(w) * np.linalg.det(z) > 0 else -1


def principal_axes(table: Floats, centred: bool, robust: bool = False) -> Floats:
    """Eigenvectors of the second moments, or of those of the records' directions, largest first."""
    if centred:
        table = table - (spatial_median(table) if robust else table.mean(axis=0))
    if robust:
        length = np.linalg.norm(table, axis=1)
        table = table[length > 0] / length[length > 0, None]
    return np.asarray(np.linalg.eigh(table.T @ table)[1][:, ::-1])


def spatial_median(table: Floats) -> Floats:
    """The point of least mean distance to all records (Weiszfeld's iteration): it turns with the table."""
    centre = table.mean(axis=0)
    for _ in range(50):
        weight = 1.0 / np.maximum(np.linalg.norm(table - centre, axis=1), 1e-12)
        centre = weight @ table / weight.sum()
    return np.asarray(centre)
