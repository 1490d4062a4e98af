"""The rotation of a few columns that makes each look least like a normal one, by a search over angles.

A mixture of columns is nearer to a normal law than the columns are (the central limit theorem), so the negentropy
``½ log(2πe v) − H`` of columns, summed, is largest where they are not mixed. Entropies come from smoothed histograms,
or from m-spacings (Vasicek 1976) where these see far more: values that repeat. Pairs of columns are turned in their
plane, all angles tried, until no pair is better turned (Jacobi sweeps as in RADICAL, Learned-Miller and Fisher 2003).
Nothing is whitened, so columns may correlate, and what is known of their standard deviations bounds the angles: of two
correlated columns of equal variances, a turn makes one's larger.

Angles are multiples of a fixed step from axes that turn with the records, so that the answer hangs on the records
alone, and not on the axes that they are given in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from scipy.ndimage import gaussian_filter1d

from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import size_order

MOST_RECORDS: Final = 5_000
_FEW_RECORDS: Final = 1_500
_REACH, _BIN = 6.0, 0.025
"""The histogram in standard deviations: how far it reaches, and the width of its bins."""
_EQUAL: Final = 1e-6
"""Of a standard deviation: values nearer than this are equal."""
_REPEATED: Final = 1.0
"""Nats by which m-spacings must prefer other axes than histograms do."""
_SWEEPS: Final = 12
_STARTS: Final = 3
_OUTSIDE, _INSIDE = 20.0, 10.0
"""What a standard deviation costs, in nats, per share by which it is outside its limits, and squared from their
middle: where columns are normal and tell nothing, the middle is the best guess."""
_STEP: Final = float(np.pi / 60)
_ALL: Final = np.arange(360.0) * (_STEP / 12)
_COARSE: Final = np.arange(30.0) * _STEP
_FINE: Final = np.arange(-12.0, 13.0) * (_STEP / 12)


def smooth_entropy(columns: Matrix) -> Vector:
    """Entropy of each row of values (c × n) in units of its standard deviation, by a smoothed histogram.

    >>> rng = np.random.default_rng(0)
    >>> normal, flat = smooth_entropy(np.vstack([rng.normal(size=4000), rng.random(4000)]))
    >>> round(float(normal), 1), round(float(flat), 1)
    (1.4, 1.3)
    """
    c, n = columns.shape
    spread = columns.std(axis=1, keepdims=True)
    z = (columns - columns.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    n_bins = round(2 * _REACH / _BIN)
    place = np.clip(((z + _REACH) / _BIN).astype(np.intp), 0, n_bins - 1) + n_bins * np.arange(c)[:, None]
    share = np.bincount(place.ravel(), minlength=c * n_bins).reshape(c, n_bins) / n
    width = max(0.63 * n**-0.2 / _BIN, 1.0)
    density = gaussian_filter1d(share, width, axis=1, mode="constant") / _BIN
    return np.asarray(-(share * np.log(np.maximum(density, 1e-9))).sum(axis=1))


def spacing_entropy(columns: Matrix) -> Vector:
    """The same by m-spacings, m = √n; values that repeat make it very small.

    >>> rng = np.random.default_rng(0)
    >>> normal, counts = spacing_entropy(np.vstack([rng.normal(size=4000), rng.poisson(3, 4000)]))
    >>> round(float(normal), 1), bool(counts < -5)
    (1.4, True)
    """
    n = columns.shape[1]
    spread, m = columns.std(axis=1, keepdims=True), max(int(np.sqrt(n)), 1)
    ordered = np.sort(columns / np.where(spread > 0, spread, 1.0), axis=1)
    gaps = np.maximum(ordered[:, m:] - ordered[:, :-m], _EQUAL)
    return np.asarray(np.log(gaps * (n + 1) / m).mean(axis=1))


def own_frame(r: Matrix) -> Matrix:
    """Axes (as columns) that turn with the records, towards the side on which the far ones are.

    The eigenvectors of ``Σ |r|² r rᵀ`` (Cardoso 1989), which differ in length where variances do not.
    """
    centred = r - r.mean(axis=0)
    square = (centred**2).sum(axis=1)
    axes = np.linalg.eigh((centred * square[:, None]).T @ centred)[1]
    return np.asarray(axes * np.where(((centred @ axes) ** 3).sum(axis=0) < 0, -1.0, 1.0))


def least_entropy_axes(r: Matrix, limits: tuple[float, float] | None, *, seed: int = 0) -> Matrix:
    """Orthogonal axes (as columns) along which the columns of ``r`` (N × u) are least normal.

    ``limits``: the least and the greatest standard deviation that a column can have; None where nothing is known.
    """
    frame, u = own_frame(r), r.shape[1]
    turned = (r @ frame)[size_order(r)[: MOST_RECORDS if u == 2 else _FEW_RECORDS]]
    smooth, spaced = (_searched(turned, _Cost(entropy, limits), seed) for entropy in (smooth_entropy, spacing_entropy))
    cost = _Cost(spacing_entropy, limits)
    gain = cost((turned @ smooth).T).sum() - cost((turned @ spaced).T).sum()
    return np.asarray(frame @ (spaced if gain > _REPEATED else smooth))


def _searched(r: Matrix, cost: _Cost, seed: int) -> Matrix:
    """The axes of least cost: all angles for two columns, else sweeps from several starts."""
    u = r.shape[1]
    if u == 2:
        return _swept(r, np.eye(2), _ALL, cost, sweeps=1)
    rng = np.random.default_rng(seed)
    starts = [np.eye(u), *(np.linalg.qr(rng.standard_normal((u, u)))[0] for _ in range(_STARTS - 1))]
    ends = [_swept(r, start, _COARSE, cost) for start in starts]
    return _swept(r, min(ends, key=lambda axes: float(cost((r @ axes).T).sum())), _FINE, cost)


@dataclass(frozen=True)
class _Cost:
    """Entropy of columns (c × n) in their own units, and what speaks against their standard deviations."""

    entropy: Callable[[Matrix], Vector]
    limits: tuple[float, float] | None

    def __call__(self, columns: Matrix) -> Vector:
        cost = self.entropy(columns)
        if self.limits is None:
            return cost
        (low, high), own = self.limits, columns.std(axis=1)
        outside = np.maximum(low - own, 0.0) + np.maximum(own - high, 0.0)
        return np.asarray(cost + _OUTSIDE * outside + _INSIDE * (own - (low + high) / 2) ** 2)


def _swept(
    r: Matrix,
    start: Matrix,
    angles: Vector,
    cost: _Cost,
    *,
    sweeps: int = _SWEEPS,
) -> Matrix:
    """Axes after turns of all pairs, until no angle is better."""
    axes = start.copy()
    for _ in range(sweeps):
        turned = False
        for i, j in combinations(range(r.shape[1]), 2):
            angle = _best_angle(r @ axes[:, i], r @ axes[:, j], angles, cost)
            if angle:
                a, b = axes[:, i].copy(), axes[:, j].copy()
                axes[:, i], axes[:, j] = np.cos(angle) * a + np.sin(angle) * b, np.cos(angle) * b - np.sin(angle) * a
                turned = True
        if not turned:
            break
    return axes


def _best_angle(a: Vector, b: Vector, angles: Vector, cost: _Cost) -> float:
    """The angle at which two columns cost least; 0 where no other is better."""
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    costs = cost(cos * a + sin * b) + cost(cos * b - sin * a)
    best = int(np.argmin(costs))
    return float(angles[best]) if costs[best] < costs[angles == 0.0][0] - 1e-9 else 0.0
