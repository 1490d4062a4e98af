"""The rotation of unknown columns that lines a release up with a sample, known columns included.

``r = Q z``; of everybody in the release the columns ``known`` are known too, and of a sample both. The mean distance
between all records ``(known, r)`` and ``(s_known, Q s)`` is what the two-sample energy statistic says about Q.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.spatial.distance import cdist

from veil.attacks.columns.least_entropy import own_frame
from veil.attacks.rotation.alignment import align_sample
from veil.attacks.rotation.procrustes import polar
from veil.attacks.rotation.thinning import thin_pairs
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import size_order

_PAIRS: Final = 200_000
_SOME: Final = 2_000
_REFITS: Final = 16


def turned_to_sample(
    r: Matrix, s: Matrix, known: Matrix, s_known: Matrix, *, proper: bool = False, white: bool = False
) -> tuple[Matrix, Matrix]:
    """The orthogonal Q of least mean distance between records ``(known, r)`` and ``(s_known, Q s)``; how sure it is.

    Reweighted Procrustes steps lower the mean distance, from the alignment without known columns (A11; of white
    columns, which have no principal axes, from that of fourth moments), and from that of cross moments with them. The
    second matrix is the symmetric factor of the mean of refits to resampled samples: 1 where they agree, 0 where they
    cancel.
    """
    if white:  # residuals that known columns say nothing about
        starts = [own_frame(r) @ own_frame(s).T]
    else:
        means = [np.column_stack([np.ones(len(t)), k]).T @ t / len(t) for t, k in ((r, known), (s, s_known))]
        aligned = align_sample(r, s, replicates=8, proper=proper).matrix
        starts = [aligned, polar(means[0].T @ means[1], proper=proper)]
    left, right = size_order(np.hstack([r, known])), np.arange(len(s))
    fits = [_lowered(r[left], s[right], known[left], s_known[right], q, proper=proper) for q in starts]
    best = min(fits, key=lambda fit: fit[1])[0]
    rng = np.random.default_rng(0)
    refits = []
    for _ in range(_REFITS):
        drawn = rng.integers(0, len(s), len(s))
        options = [
            _lowered(r[left], s[drawn], known[left], s_known[drawn], q, proper=proper, most=20_000) for q, _ in fits
        ]
        refits.append(min(options, key=lambda fit: fit[1])[0])
    _, size, axes = np.linalg.svd(np.mean(refits, axis=0))
    return best, np.asarray((axes.T * size) @ axes)


def _lowered(
    r: Matrix, s: Matrix, known: Matrix, s_known: Matrix, q: Matrix, *, proper: bool, most: int = _PAIRS
) -> tuple[Matrix, float]:
    """Q after reweighted Procrustes steps, and its mean distance."""
    a, b = thin_pairs(np.hstack([known, r]), np.hstack([s_known, s]), most)
    k = known.shape[1]
    apart, before = cdist(a[:, :k], b[:, :k], "sqeuclidean"), np.inf
    floor = 1e-10 * max(float(np.abs(a).max()), 1e-300)
    for _ in range(100):
        distance = np.sqrt(apart + cdist(a[:, k:], b[:, k:] @ q.T, "sqeuclidean"))
        mean = float(distance.mean())
        if before - mean <= 1e-9 * mean:
            break
        before = mean
        q = polar(a[:, k:].T @ (1.0 / np.maximum(distance, floor)) @ b[:, k:], proper=proper)
    return q, before


def record_energies(r: Matrix, s: Matrix, known: Matrix, s_known: Matrix, q: Matrix) -> Vector:
    """For each record of the sample, its mean distance from the release under Q."""
    a, b = np.hstack([known, r]), np.hstack([s_known, s @ q.T])
    return np.asarray(cdist(b, a[size_order(a)[:_SOME]]).mean(axis=1))
