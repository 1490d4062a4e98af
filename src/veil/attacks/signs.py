"""Which way does each eigenvector point? The sign search of the known-sample attack (A11).

Model. A release ``Y = X Mᵀ`` (records as rows, ``M`` orthogonal) and an independent sample ``S`` of
the same population have covariances with the same eigenvalues: ``Cov(Y) = W Λ Wᵀ`` and
``Cov(S) = Z Λ Zᵀ``, so ``M = W D Zᵀ`` for a diagonal matrix ``D`` of signs that second moments cannot
see (Liu 2007, section 4.5). With ``A = Y W`` and ``B = S Z`` the attack takes the ``D`` for which
``A`` and ``B D`` look most alike under the two-sample energy statistic. Of that statistic only the
cross term depends on ``D``::

    energy(D) = mean over i, j of ‖a_j − D b_i‖

Permutation p-values of the same statistic, which the paper maximises, tie; the statistic does not.

`exact_signs` visits all 2^d patterns, `greedy_signs` climbs down from a good start when d is too
large for that, and `choose_signs` picks between them. Each says how well its answer is identified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from veil.errors import InputError

Floats = NDArray[np.float64]

EXACT_LIMIT: Final = 13
"""Beyond this many columns `choose_signs` stops visiting every pattern."""

_TILE: Final = 2048
_ROOT_ERROR: Final = 1.2e-7  # twice the relative rounding error of a single-precision root


@dataclass(frozen=True, slots=True)
class SignChoice:
    """A sign pattern and how well the data identify it.

    Attributes
    ----------
    signs
        One +1 or −1 per column.
    energy
        Mean distance ``‖a_j − D b_i‖`` over the pairs used.
    runner_up
        The second lowest energy: over all patterns when ``method`` is ``"exact"``, over those one or
        two flips away when it is ``"greedy"``. Infinite if there is no other pattern.
    gap
        ``runner_up − energy`` in units of its standard error over sample records.
    margin
        Per column, the rise in energy from flipping that column alone in units of its standard
        error over sample records, the scarce side. A column whose sign is a coin toss has a margin
        distributed about as |N(0, 1)|: below 2 the sign is a guess.
    method
        ``"exact"`` or ``"greedy"``.
    """

    signs: Floats
    energy: float
    runner_up: float
    gap: float
    margin: Floats
    method: Literal["exact", "greedy"]

    def ambiguous(self, threshold: float = 2.0) -> NDArray[np.intp]:
        """Columns whose margin lies below ``threshold``."""
        return np.flatnonzero(~(self.margin >= threshold))


def choose_signs(
    a: Floats, b: Floats, *, limit: int = EXACT_LIMIT, max_pairs: int | None = 500_000
) -> SignChoice:
    """The best sign pattern: by `exact_signs` up to ``limit`` columns, by `greedy_signs` beyond.

    ``max_pairs`` bounds the work of the exact search (2^d roots per pair); see `thin_pairs`.

    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal([3.0, -2.0], [1.0, 2.0], (500, 2))
    >>> b = rng.normal([-3.0, -2.0], [1.0, 2.0], (40, 2))
    >>> choose_signs(a, b).signs
    array([-1.,  1.])
    """
    if check_pair(a, b)[0].shape[1] <= limit:
        return exact_signs(a, b, max_pairs=max_pairs)
    return greedy_signs(a, b)


def exact_signs(
    a: Floats, b: Floats, *, max_pairs: int | None = None, engine: Literal["numba", "numpy"] = "numba"
) -> SignChoice:
    """The pattern of lowest energy among all 2^d.

    Squared distances of a tile of pairs are computed once, then updated while the patterns are
    visited in Gray-code order: flipping sign r adds ``4 d_r a_rj b_ri``. That is one multiply-add and
    one root per pair and pattern. Squares and sums are in double precision, roots in single; every
    pattern within that rounding of the lowest is evaluated again in double precision.

    Parameters
    ----------
    a, b
        Release and sample in their eigenbases, records as rows.
    max_pairs
        Use at most about this many pairs of records; all of them by default.
    engine
        ``"numba"`` (compiled on first use, then cached on disk) or ``"numpy"``, the slow reference.
    """
    a, b = thin_pairs(a, b, max_pairs)
    columns = a.shape[1]
    if columns > 26:
        raise InputError(f"exact_signs: {columns} columns mean 2^{columns} patterns; use greedy_signs")
    energies = _gray_energies(a, b) if engine == "numba" else _table_energies(a, b)
    order = np.argsort(energies, kind="stable")
    close = np.count_nonzero(energies <= energies[order[0]] * (1 + _ROOT_ERROR))
    candidates = [gray_signs(int(code), columns) for code in order[: min(max(close, 2), 256)]]
    ranked = sorted(((_energy(a, b, signs), k) for k, signs in enumerate(candidates)))
    best = candidates[ranked[0][1]]
    second = candidates[ranked[1][1]] if len(ranked) > 1 else None
    return _choice(a, b, best, second, "exact")


def greedy_signs(
    a: Floats, b: Floats, *, max_pairs: int | None = 100_000, max_steps: int = 200
) -> SignChoice:
    """A pattern that no single flip and no pair of flips improves.

    Starts from the one-dimensional energy of each column alone, takes the best single flip while one
    helps, then the best pair of flips, and repeats. Cost per step d²/2 roots per pair of records.
    """
    a, b = thin_pairs(a, b, max_pairs)
    columns = a.shape[1]
    signs = _columnwise_signs(a, b)
    for _ in range(max_steps):
        energy = _energy(a, b, signs)
        flips = _flip_energies(a, b, signs, pairs=False)
        if flips.min() >= energy:
            flips = _flip_energies(a, b, signs, pairs=True)
        r, q = divmod(int(np.argmin(flips)), columns)
        if not flips[r, q] < energy * (1 - 1e-12):
            break
        signs = _flipped(signs, r, q)
    second = _flipped(signs, r, q) if columns > 0 else None
    return _choice(a, b, signs, second, "greedy")


def check_pair(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Both tables as finite float64 arrays of two dimensions with the same number of columns."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    for name, table in (("release", a), ("sample", b)):
        if table.ndim != 2 or table.size == 0:
            raise InputError(f"{name}: needs at least one record and one column, has shape {table.shape}")
        if not np.isfinite(table).all():
            raise InputError(f"{name}: {np.count_nonzero(~np.isfinite(table))} values are not finite")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"sample: has {b.shape[1]} columns, the release has {a.shape[1]}")
    return a, b


def thin_pairs(a: Floats, b: Floats, max_pairs: int | None) -> tuple[Floats, Floats]:
    """Evenly spaced records of both tables so that the pairs number at most about ``max_pairs``.

    The error of a mean over pairs goes as 1/N + 1/m, so the longer table is thinned first.
    """
    a, b = check_pair(a, b)
    if max_pairs is None or len(a) * len(b) <= max_pairs:
        return a, b
    if max_pairs < 1:
        raise InputError(f"max_pairs: must be at least 1, is {max_pairs}")
    side = max(math.isqrt(max_pairs), 1)
    keep_a = max(side, max_pairs // len(b)) if len(a) > side else len(a)
    keep_b = max(side, max_pairs // len(a)) if len(b) > side else len(b)
    return _spaced(a, keep_a), _spaced(b, keep_b)


def gray_signs(code: int, columns: int) -> Floats:
    """Signs of the ``code``-th pattern in Gray-code order; pattern 0 is all +1."""
    bits = code ^ (code >> 1)
    return np.array([-1.0 if bits >> r & 1 else 1.0 for r in range(columns)])


def _spaced(table: Floats, keep: int) -> Floats:
    if keep >= len(table):
        return table
    return table[(np.arange(keep) * len(table)) // keep]


def _energy(a: Floats, b: Floats, signs: Floats) -> float:
    return float(_record_energies(a, b * signs).mean())


def _record_energies(a: Floats, b: Floats) -> Floats:
    """Per sample record, the mean distance to the release."""
    rows = max(1, 2_000_000 // len(a))
    return np.concatenate([cdist(b[k : k + rows], a).mean(axis=1) for k in range(0, len(b), rows)])


def _choice(
    a: Floats, b: Floats, signs: Floats, second: Floats | None, method: Literal["exact", "greedy"]
) -> SignChoice:
    base = _record_energies(a, b * signs)
    margin = np.empty(len(signs))
    for r in range(len(signs)):
        margin[r] = _t_ratio(_record_energies(a, b * _flipped(signs, r, r)) - base)
    if second is None:
        return SignChoice(signs, float(base.mean()), math.inf, math.inf, margin, method)
    other = _record_energies(a, b * second)
    return SignChoice(signs, float(base.mean()), float(other.mean()), _t_ratio(other - base), margin, method)


def _t_ratio(differences: Floats) -> float:
    """Mean over its standard error; 0 if the mean is 0 or a single record leaves the error unknown."""
    mean = float(differences.mean())
    if mean == 0.0 or len(differences) < 2:
        return 0.0
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return mean / error if error > 0 else math.copysign(math.inf, mean)


def _flipped(signs: Floats, r: int, q: int) -> Floats:
    """``signs`` with columns r and q flipped; r alone if they are the same."""
    flipped = signs.copy()
    flipped[r] = -flipped[r]
    if q != r:
        flipped[q] = -flipped[q]
    return flipped


def _columnwise_signs(a: Floats, b: Floats) -> Floats:
    """Per column, the sign of lower one-dimensional energy; +1 on a tie."""
    return np.array(
        [
            1.0 if _energy(x, y, np.ones(1)) <= _energy(x, y, -np.ones(1)) else -1.0
            for x, y in ((a[:, [r]], b[:, [r]]) for r in range(a.shape[1]))
        ]
    )


def _tiles(a: Floats, b: Floats, tile: int = _TILE) -> Iterator[tuple[Floats, Floats]]:
    """Per tile of pairs, ``|a_j|² + |b_i|²`` (T) and ``a_rj b_ri`` (d × T)."""
    pairs = len(a) * len(b)
    for start in range(0, pairs, tile):
        i, j = np.divmod(np.arange(start, min(start + tile, pairs)), len(a))
        x, y = a[j], b[i]
        yield (x * x + y * y).sum(axis=1), np.ascontiguousarray((x * y).T)


def _flip_energies(a: Floats, b: Floats, signs: Floats, *, pairs: bool) -> Floats:
    """Energy after flipping r (diagonal) or r and q (above it); infinite where not evaluated."""
    columns = a.shape[1]
    total = np.zeros((columns, columns))
    for square, products in _tiles(a, b):
        turn = 4.0 * signs[:, None] * products
        start = square - 0.5 * turn.sum(axis=0)
        for r in range(columns):
            last = columns if pairs else r + 1
            moved = start + turn[r] + turn[r:last]
            moved[0] -= turn[r]
            total[r, r:last] += np.sqrt(np.maximum(moved, 0.0)).sum(axis=1)
    total /= len(a) * len(b)
    return np.where(total > 0, total, np.inf)


def _table_energies(a: Floats, b: Floats) -> Floats:
    """Energy of every pattern in Gray-code order, without numba."""
    patterns = np.array([gray_signs(code, a.shape[1]) for code in range(1 << a.shape[1])])
    total = np.zeros(len(patterns))
    for square, products in _tiles(a, b):
        for k in range(0, len(patterns), 512):
            squared = square - 2.0 * (patterns[k : k + 512] @ products)
            total[k : k + 512] += np.sqrt(np.maximum(squared, 0.0)).sum(axis=1)
    return total / (len(a) * len(b))


def _gray_energies(a: Floats, b: Floats) -> Floats:
    """Energy of every pattern in Gray-code order, compiled."""
    scale = max(float(np.abs(a).max()), float(np.abs(b).max())) or 1.0  # keeps roots in float32's range
    total = np.zeros(1 << a.shape[1])
    _compiled()(np.ascontiguousarray(a / scale), np.ascontiguousarray(b / scale), _TILE, total)
    return total * (scale / (len(a) * len(b)))


@cache
def _compiled() -> Callable[..., Any]:
    from numba import njit

    # Reassociation lets the sum vectorise; NaN and infinity cannot occur (inputs are checked).
    relaxed = {"reassoc", "contract", "nsz", "nnan", "ninf"}
    return njit(_gray_sweep, cache=True, nogil=True, error_model="numpy", fastmath=relaxed)  # type: ignore[no-any-return]


def _gray_sweep(a: Floats, b: Floats, tile: int, total: Floats) -> None:
    """Add, for each pattern in Gray-code order, the sum of distances over all pairs to ``total``."""
    n, columns = a.shape
    pairs = n * len(b)
    squared = np.empty(tile)
    turn = np.empty((columns, tile))
    signs = np.empty(columns)
    for start in range(0, pairs, tile):
        width = min(tile, pairs - start)
        for t in range(width):
            i = (start + t) // n
            j = start + t - i * n
            square = 0.0
            for r in range(columns):
                square += (a[j, r] - b[i, r]) ** 2
                turn[r, t] = 4.0 * a[j, r] * b[i, r]
            squared[t] = square
            total[0] += math.sqrt(square)
        signs[:] = 1.0
        for code in range(1, 1 << columns):
            r = 0
            while (code >> r) & 1 == 0:
                r += 1
            sign = signs[r]
            signs[r] = -sign
            row = turn[r]
            subtotal = 0.0
            for t in range(width):
                moved = squared[t] + sign * row[t]
                squared[t] = moved
                subtotal += math.sqrt(np.float32(moved if moved > 0.0 else 0.0))
            total[code] += subtotal
