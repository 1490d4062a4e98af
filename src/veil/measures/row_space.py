"""What a disclosed projection matrix gives away: the sparse vectors of its row space (M15; Liu 2007, 5.4.4–5.4.5).

*Model.* ``y = R x``, R is k × n with k < n. *Known*: R and y (A15). Every linear equation about x that follows is a
vector of R's row space, with as many unknowns as it has non-zeros.

* R is *l-secure* when each has at least l + 1. For a continuous law l = n − rank(R) with probability 1.
* An attribute is *determined* when its unit vector is in the row space: its value is then known exactly. The paper's
  "no element can be recovered" needs a continuous law: a sparse R determines one in 66 % of draws (n = 6, k = 3,
  s = 3; errata L-ae). P8 redraws such matrices.
* R is *l-row decomposable* when the row space has l vectors whose supports are non-empty, disjoint and cover all
  columns (Definition 5.4.2): linear filters then split the attributes into l groups. Each support has at least
  l_secure + 1 columns, so a matrix of a continuous law is two-row decomposable only when n ≤ 2k − 2.

These are about exact linear equations. Statistics and value ranges say more (A15, A21; errata L-x).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, number, whole
from veil.errors import InputError
from veil.measures.measure import Measure

_ZERO = 1e-9  # of a residual's length, where every vector has length at most 1
_ROUNDS = 64
_SMALL = 20_000


def determined_attributes(matrix: npt.ArrayLike, *, tolerance: float = 1e-7) -> npt.NDArray[np.intp]:
    """The attributes whose unit vector lies in the row space: those with leverage [R⁺R]_jj = 1.

    ``tolerance`` bounds the distance of the unit vector from the row space, √(1 − leverage).

    >>> determined_attributes([[1, 0, 1, 0], [1, 0, -1, 0]]).tolist()
    [0, 2]
    """
    limit = number(tolerance, "tolerance", least=0.0, most=1.0)
    _, null = _bases(matrix)
    return np.flatnonzero(np.linalg.norm(null, axis=1) <= limit)


def l_secure(matrix: npt.ArrayLike, *, budget: int = 5_000_000) -> Measure:
    """The largest l for which R is l-secure: the fewest non-zeros in a non-zero vector of the row space, minus one.

    Finding it takes a search over sets of columns. Within ``budget`` sets the answer is exact; beyond, ``low`` is
    what was proved, which is also the value, and ``high`` comes from the sparsest vector that was found.

    >>> l_secure([[1, 0, 2, 3], [0, 1, 1, 1]])
    2 [2, 2] higher is private
    """
    most = whole(budget, "budget", least=1)
    rows, null = _bases(matrix)
    n, rank = rows.shape
    fewest = _sparsest_found(rows)
    by_flats = math.comb(n, rank - 1)
    by_sets = sum(math.comb(n, size) for size in range(1, fewest))
    if by_flats <= min(most, by_sets):
        exact = n - int(_engine(_most_zeros, by_flats * rows.size)(rows, _ZERO))
        return Measure(exact - 1.0, higher_is="private")
    proved, visited = 0, 0
    for size in range(1, fewest):  # no smaller set of columns holds a vector
        visited += math.comb(n, size)
        if visited > most:
            break
        if _engine(_holds_vector, visited * null.size)(null, size, _ZERO):
            fewest = size
            break
        proved = size
    return Measure(float(proved), low=float(proved), high=float(fewest - 1), higher_is="private")


def row_decomposable(matrix: npt.ArrayLike, l: int, *, budget: int = 200_000) -> bool:  # noqa: E741
    """Whether linear filters can split the attributes into ``l`` groups (Definition 5.4.2, Theorem 5.4.2).

    Exact: columns are put into groups one by one, and a branch ends when a column lies in the span of the other
    groups. Refused when that takes more than ``budget`` steps.

    >>> row_decomposable([[1, 1, 0, 0], [0, 0, 1, 1]], 2), row_decomposable([[1, 2, 3, 4], [1, 4, 9, 16]], 2)
    (True, False)
    """
    groups, most = whole(l, "l", least=1), whole(budget, "budget", least=1)
    rows, _ = _bases(matrix)
    n, rank = rows.shape
    if groups > rank or bool((np.linalg.norm(rows, axis=1) <= _ZERO).any()):
        return False
    if groups == 1:
        return True
    if groups * (l_secure(matrix).low + 1.0) > n:
        return False
    steps = 0

    def place(column: int, labels: list[int], outside: list[Array]) -> bool:
        """``outside[g]``: all columns' residuals from the span of the placed columns of other groups than g."""
        nonlocal steps
        opened = max(labels, default=-1) + 1
        if groups - opened > n - column:
            return False
        if column == n:
            return True
        steps += 1
        if steps > most:
            raise InputError(f"matrix: has too many columns ({n}) to search within {most} steps; raise budget")
        for group in range(min(opened + 1, groups)):
            if np.linalg.norm(outside[group][column]) <= _ZERO:
                continue
            grown = [r if g == group else _without(r, column) for g, r in enumerate(outside)]
            placed = [*labels, group]
            if all(np.linalg.norm(grown[g][j]) > _ZERO for j, g in enumerate(placed)) and place(
                column + 1, placed, grown
            ):
                return True
        return False

    return place(0, [], [rows] * groups)


def _without(residuals: Array, column: int) -> Array:
    """Residuals after one more column joined the span."""
    length = float(np.linalg.norm(residuals[column]))
    if length <= _ZERO:
        return residuals
    direction = residuals[column] / length
    return residuals - np.outer(residuals @ direction, direction)


def _bases(matrix: npt.ArrayLike) -> tuple[Array, Array]:
    """Orthonormal bases of the row space (n × rank) and of the null space (n × (n − rank)), one row per attribute."""
    table = as_table(matrix, "matrix")
    if np.ndim(matrix) != 2 or np.isnan(table).any():
        raise InputError("matrix: must be a k × n table without missing values; pass the projection matrix")
    _, size, right = np.linalg.svd(table, full_matrices=True)
    rank = int((size > 1e-12 * size[0] * max(table.shape)).sum())
    if rank == 0:
        raise InputError("matrix: holds zeros only; pass the projection matrix")
    return np.ascontiguousarray(right[:rank].T), np.ascontiguousarray(right[rank:].T)


def _sparsest_found(rows: Array) -> int:
    """Fewest non-zeros among vectors that vanish on many columns, from reduced forms on random column orders."""
    n, rank = rows.shape
    fewest: int = n - rank + 1
    generator = np.random.default_rng(0)
    for _ in range(_ROUNDS):
        chosen = _independent(rows[generator.permutation(n)], rank)
        if chosen is not None:
            fewest = min(fewest, int((np.abs(chosen) > _ZERO).sum(axis=0).min()))
    return fewest


def _independent(rows: Array, rank: int) -> Array | None:
    """The row space in the basis that is the identity on the first independent columns; None if badly conditioned."""
    chosen: list[int] = []
    residuals = rows
    for column in range(len(rows)):
        if np.linalg.norm(residuals[column]) > 1e-6:
            residuals = _without(residuals, column)
            chosen.append(column)
            if len(chosen) == rank:
                return np.asarray(rows @ np.linalg.inv(rows[chosen]))
    return None


def _engine(kernel: Callable[..., Any], work: int) -> Callable[..., Any]:
    """The kernel itself for small work, which compiling it would not repay."""
    return kernel if work <= _SMALL else _compiled(kernel)


@cache
def _compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    compiled: Callable[..., Any] = njit(kernel, cache=True, nogil=True)
    return compiled


def _holds_vector(null: Array, size: int, zero: float) -> bool:
    """Whether some ``size`` columns hold a row-space vector: their rows of the null-space basis are dependent.

    No smaller set may. Depth first, with the rows' residuals from the span of those chosen at each depth.
    """
    n, width = null.shape
    if size > width:
        return True
    residuals = np.empty((size, n, width))
    residuals[0] = null
    chosen = np.full(size, -1)
    depth = 0
    while depth >= 0:
        here = residuals[depth]
        if depth == size - 1:
            first = chosen[depth - 1] + 1 if depth > 0 else 0
            for j in range(first, n):
                square = 0.0
                for c in range(width):
                    square += here[j, c] ** 2
                if square <= zero * zero:
                    return True
            depth -= 1
            continue
        previous = chosen[depth]
        chosen[depth] = previous + 1 if previous >= 0 else (chosen[depth - 1] + 1 if depth > 0 else 0)
        i = chosen[depth]
        if i > n - (size - depth):
            chosen[depth] = -1
            depth -= 1
            continue
        square = 0.0
        for c in range(width):
            square += here[i, c] ** 2
        below = residuals[depth + 1]
        for j in range(i + 1, n):
            along = 0.0
            for c in range(width):
                along += here[j, c] * here[i, c]
            along /= square
            for c in range(width):
                below[j, c] = here[j, c] - along * here[i, c]
        depth += 1
    return False


def _most_zeros(rows: Array, zero: float) -> int:
    """The most columns on which a non-zero row-space vector vanishes: the largest set that spans rank − 1 dimensions.

    Depth first over independent sets of rank − 1 columns, with all columns' residuals from their span.
    """
    n, rank = rows.shape
    residuals = np.empty((rank, n, rank))
    residuals[0] = rows
    chosen = np.full(rank, -1)
    best, depth = 0, 0
    while depth >= 0:
        here = residuals[depth]
        if depth == rank - 1:
            zeros = 0
            for j in range(n):
                square = 0.0
                for c in range(rank):
                    square += here[j, c] ** 2
                if square <= zero * zero:
                    zeros += 1
            best = max(best, zeros)
            depth -= 1
            continue
        previous = chosen[depth]
        chosen[depth] = previous + 1 if previous >= 0 else (chosen[depth - 1] + 1 if depth > 0 else 0)
        i = chosen[depth]
        if i > n - (rank - 1 - depth):
            chosen[depth] = -1
            depth -= 1
            continue
        square = 0.0
        for c in range(rank):
            square += here[i, c] ** 2
        if square <= zero * zero:
            continue
        below = residuals[depth + 1]
        for j in range(n):
            along = 0.0
            for c in range(rank):
                along += here[j, c] * here[i, c]
            along /= square
            for c in range(rank):
                below[j, c] = here[j, c] - along * here[i, c]
        depth += 1
    return best
