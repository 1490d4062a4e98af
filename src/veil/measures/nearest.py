"""The nearest record to each person, in standard units: a sweep along one sorted column."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask

FAR: Final = 1e3
"""Errors of a value count up to here, in standard units: beyond, wrong is wrong, and one wrong code as wrong as any."""
SILENT: Final = 2.0
"""Squared error of a value that the guess leaves out when the nearest is chosen: that of a stranger's value."""
TIE: Final = 1e-12
_SMALL: Final = 5_000
_BLOCK: Final = 128

Rows = npt.NDArray[np.intp]


def nearest_records(
    truth: Array, records: Array, units: Array, tolerance: float, *, others: bool = False
) -> tuple[Rows, Array]:
    """Each person's nearest record, and the sum of squared errors in standard units.

    ``others`` says that row i of ``records`` is person i, who is left out.
    """
    counted = units > 0
    scale = np.where(counted, units, 1.0)
    present = ~np.isnan(truth)
    # About the middle of the column, a unit of 1 beside values of 1e9 loses no digits.
    centre = np.array([np.median(c[p]) if p.any() else 0.0 for c, p in zip(truth.T, present.T, strict=True)])
    with np.errstate(over="ignore"):
        x, g = (truth - centre) / scale, (records - centre) / scale
    # The sweep goes along one column: the fullest, and of equally full ones that with most values.
    fullness = [(c, -int(np.isnan(a).sum()), len(np.unique(a))) for c, a in zip(counted, x.T, strict=True)]
    first = max(range(len(fullness)), key=fullness.__getitem__)
    columns = np.r_[first, np.delete(np.arange(x.shape[1]), first)]
    g = g[:, columns]
    keyed = ~np.isnan(g[:, 0]) & counted[first]
    order = np.lexsort((*g.T[::-1], ~keyed))
    reach = np.where(counted, tolerance * (1.0 + 1e-9), 0.0)
    own = order if others else np.full(len(order), -1)
    nearest, square = _engine(len(x) * len(g))(
        np.ascontiguousarray(x[:, columns]),
        np.ascontiguousarray(g[order].T),
        int(keyed.sum()),
        counted[columns],
        reach[columns],
        own.astype(np.intp),
    )
    return order[nearest], square


def _engine(work: int) -> Callable[..., Any]:
    """The sweep itself for small work, which compiling it would not repay."""
    return _sweep if work <= _SMALL else _compiled()


@cache
def _compiled() -> Callable[..., Any]:
    from numba import njit

    compiled: Callable[..., Any] = njit(_sweep, cache=True, nogil=True, error_model="numpy")
    return compiled


def _sweep(x: Array, g: Array, n_keyed: int, counted: Mask, reach: Array, own: Rows) -> tuple[Rows, Array]:
    """The nearest column of ``g`` (d × m) to each row of ``x``; the first ``n_keyed`` columns of ``g`` rise in row 0.

    In blocks, outwards from the person's own place in that row until it alone is farther than the best; those without
    a key in full. A block is left as soon as all of it is farther.
    """
    n, d = x.shape
    m = g.shape[1]
    nearest, square = np.zeros(n, dtype=np.intp), np.full(n, np.inf)
    silent = np.isnan(g)
    quiet = np.array([silent[c].any() for c in range(d)])
    total = np.empty(_BLOCK)
    n_blocks = (n_keyed + _BLOCK - 1) // _BLOCK
    for i in range(n):
        blind = np.isnan(x[i, 0])
        key = 0.0 if blind else x[i, 0]
        right = 0 if blind else int(np.searchsorted(g[0, :n_keyed], key)) // _BLOCK
        left, rest = right - 1, n_keyed
        best, most = np.inf, -1
        while rest < m or left >= 0 or right < n_blocks:
            limit = best + TIE * (1.0 + best)
            if rest < m:
                start, stop = rest, min(rest + _BLOCK, m)
                rest = stop
            else:
                to_left = max(key - g[0, (left + 1) * _BLOCK - 1], 0.0) if left >= 0 else np.inf
                to_right = max(g[0, right * _BLOCK] - key, 0.0) if right < n_blocks else np.inf
                if not blind and min(min(to_left, to_right), FAR) ** 2 > limit:
                    break
                at = left if left >= 0 and (blind or to_left <= to_right) else right
                left, right = (left - 1, right) if at == left else (left, right + 1)
                start, stop = at * _BLOCK, min(at * _BLOCK + _BLOCK, n_keyed)
            size = stop - start
            total[:size] = 0.0
            for c in range(d):
                if counted[c] and not np.isnan(x[i, c]):
                    value = x[i, c]
                    if quiet[c]:
                        for b in range(size):
                            error = min((value - g[c, start + b]) ** 2, FAR * FAR)
                            total[b] += SILENT if silent[c, start + b] else error
                    else:
                        for b in range(size):
                            error = (value - g[c, start + b]) ** 2
                            total[b] += error if error < FAR * FAR else FAR * FAR
                if c % 3 == 2:
                    left_over = 0
                    for b in range(size):
                        left_over += total[b] <= limit
                    if left_over == 0:
                        break
            for b in range(size):
                limit = best + TIE * (1.0 + best)
                if total[b] > limit or own[start + b] == i:
                    continue
                hits = 0
                for c in range(d):
                    hits += abs(x[i, c] - g[c, start + b]) <= reach[c]
                # Clearly nearer, or as near and breaching more, or the first of equals.
                if total[b] < best - TIE * (1.0 + total[b]) or hits > most or (hits == most and start + b < nearest[i]):
                    nearest[i] = start + b
                    most = hits
                best = min(best, total[b])
        square[i] = best
    return nearest, square
