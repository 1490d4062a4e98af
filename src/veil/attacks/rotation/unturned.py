"""Pairs of normalized columns turned back by their variances, or by their ranges (A27).

A rotation of columns i and j is ``y_i = z_i cosθ + z_j sinθ``, ``y_j = −z_i sinθ + z_j cosθ``.

*z-scores* have variance exactly 1, and a rotation keeps the sum of a pair's variances: columns with ``s_ii + s_jj = 2``
are a pair, and ``tan 2θ = (s_ii − 1)/s_ij`` turns it back, up to quarter turns. An odd column out was turned with one
that had been turned before: a triple whose variances add up to 3, and whose outer angle has two solutions.

*Columns from 0 to 1* lie in a square: the angle is one at which both reach from 0 to 1 exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Final

import numpy as np

from veil.data.blocks import Matrix, Vector

EXACT: Final = 1e-8
"""How far variances and ends of ranges may be from what they must be by rounding."""

Turned = Callable[[Matrix, tuple[int, ...]], list[Matrix]]


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that were turned together, and all that they may have been (n × 2 or n × 3 each)."""

    columns: tuple[int, ...]
    candidates: list[Matrix]


def unturned(y: Matrix, normalize: str) -> list[Group] | None:
    """Groups of released columns with what they were before; None where they do not fall into pairs."""
    turned = _variances if normalize == "zscore" else _ranges
    d = y.shape[1]
    options = {pair: turned(y, pair) for pair in combinations(range(d), 2)}
    pairs = {pair: candidates for pair, candidates in options.items() if candidates}
    for triple in [()] if d % 2 == 0 else list(combinations(range(d), 3)):
        rest = [j for j in range(d) if j not in triple]
        matching = _matching(rest, pairs)
        if matching is None:
            continue
        groups = [Group(pair, pairs[pair]) for pair in matching]
        if not triple:
            return groups
        candidates = list(_triples(y, triple, turned, normalize))
        if candidates:
            return [*groups, Group(triple, candidates)]
    return None


def _matching(left: list[int], pairs: dict[tuple[int, int], list[Matrix]]) -> list[tuple[int, int]] | None:
    """All columns in pairs, of the possible ones."""
    if not left:
        return []
    first, others = left[0], left[1:]
    for other in others:
        if (first, other) in pairs:
            rest = _matching([j for j in others if j != other], pairs)
            if rest is not None:
                return [(first, other), *rest]
    return None


def _back(a: Vector, b: Vector, angle: float) -> Matrix:
    """Two columns turned back by an angle."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.column_stack([cos * a - sin * b, sin * a + cos * b])


def _variances(y: Matrix, pair: tuple[int, ...]) -> list[Matrix]:
    """The four quarter turns at which both columns have variance 1; none where the sum of variances is not 2."""
    a, b = y[:, pair[0]], y[:, pair[1]]
    (s_aa, s_ab), (_, s_bb) = np.cov(a, b, ddof=0)
    if abs(s_aa + s_bb - 2.0) > EXACT or max(abs(s_aa - 1.0), abs(s_ab)) < EXACT:
        return []
    angle = 0.5 * np.arctan2(s_aa - 1.0, s_ab)
    return [_back(a, b, angle + turn * np.pi / 2) for turn in range(4)]


def _angles_of_range(a: Vector, b: Vector) -> list[float]:
    """Angles at which the first of two columns, turned back, reaches from 0 to 1.

    Seen from the origin at an angle φ and a distance r, a point comes to ``r cos(θ + φ)``. The greatest value is 1, and
    a corner of the hull has it.
    """
    corners = _hull(np.column_stack([a, b]))
    distance, seen = np.hypot(*corners.T), np.arctan2(corners[:, 1], corners[:, 0])
    far = distance >= 1.0 - EXACT
    open_angle = np.arccos(np.minimum(1.0 / distance[far], 1.0))
    angles = np.concatenate([-seen[far] + open_angle, -seen[far] - open_angle])
    turned = corners[:, :1] * np.cos(angles) - corners[:, 1:] * np.sin(angles)
    misses = np.maximum(np.abs(turned.min(axis=0)), np.abs(turned.max(axis=0) - 1.0))
    return [float(angle) for angle in angles[misses < EXACT]]


def _hull(points: Matrix) -> Matrix:
    """The corners of the hull of points; all of them where they lie on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def _ranges(y: Matrix, pair: tuple[int, ...]) -> list[Matrix]:
    """The turns at which both columns reach from 0 to 1."""
    a, b = y[:, pair[0]], y[:, pair[1]]
    backs = [_back(a, b, angle) for angle in _angles_of_range(a, b)]
    return [back for back in backs if max(np.abs(back.min(axis=0)).max(), np.abs(back.max(axis=0) - 1.0).max()) < EXACT]


def _triples(y: Matrix, triple: tuple[int, ...], turned: Turned, normalize: str) -> Iterator[Matrix]:
    """What three columns may have been: the last one was turned with the first of a pair that was turned before."""
    if normalize == "zscore" and abs(y[:, list(triple)].var(axis=0).sum() - 3.0) > EXACT:
        return
    for last, first, partner in permutations(triple):
        a, b = y[:, last], y[:, first]
        for angle in _outer_angles(a, b) if normalize == "zscore" else _angles_of_range(a, b):
            outer = _back(a, b, angle)
            inner = np.column_stack([outer[:, 1], y[:, partner]])
            for pair in turned(inner, (0, 1)):
                columns = {last: outer[:, 0], first: pair[:, 0], partner: pair[:, 1]}
                yield np.column_stack([columns[j] for j in triple])


def _outer_angles(a: Vector, b: Vector) -> list[float]:
    """Angles at which the first of two columns, turned back, has variance 1."""
    (s_aa, s_ab), (_, s_bb) = np.cov(a, b, ddof=0)
    reach = np.hypot((s_aa - s_bb) / 2, s_ab)
    if reach < EXACT or abs(1.0 - (s_aa + s_bb) / 2) > reach:
        return []
    phase, open_angle = np.arctan2(-s_ab, (s_aa - s_bb) / 2), np.arccos((1.0 - (s_aa + s_bb) / 2) / reach)
    return [float((phase + sign * open_angle) / 2 + turn * np.pi) for sign in (1, -1) for turn in (0, 1)]
