"""Windows over masses on a grid, compiled: which one of the score's width holds most (A28).

Running sums tell what a window holds. Those of several records stand side by side, one in each lane of a vector
register.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Codes = npt.NDArray[np.int64]
LANES = 4
"""Rows that are done side by side, one in each lane of a vector register."""
TIE = 1e-9
"""Windows that hold as much as the best, up to this, count alike: the middle of them is taken."""


@numba.njit(cache=True, nogil=True)
def running_sums(bins: Matrix, sums: Matrix, low: int, high: int) -> None:
    """Running sums of the bins from ``low`` on, up to ``high``; one variable for each lane stays in a register."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    sums[low, :] = 0.0
    for i in range(low, high):
        a += bins[i, 0]
        b += bins[i, 1]
        c += bins[i, 2]
        d += bins[i, 3]
        sums[i + 1, 0], sums[i + 1, 1], sums[i + 1, 2], sums[i + 1, 3] = a, b, c, d


@numba.njit(cache=True, nogil=True)
def best_windows(mass: Matrix, place: Vector, stop: Codes, sums: Matrix, means: Vector, best: Vector) -> None:
    """Of each lane's masses the running sums, the mean times the total and what the best window holds."""
    running_sums(mass, sums, 0, len(mass))
    means[:], best[:] = 0.0, -1.0
    for b in range(len(mass)):
        for r in range(LANES):
            means[r] += mass[b, r] * place[b]
            best[r] = max(best[r], sums[stop[b], r] - sums[b, r])


@numba.njit(cache=True, nogil=True)
def window_ends(place: Vector, widths: Vector, reach: float) -> Codes:
    """Behind which bin a window of half-width ``reach`` ends that begins with each; a wide bin is a window."""
    stop, end, widest = np.empty(len(place), dtype=np.int64), 0, 2.0 * reach + 1e-6 * reach
    for b in range(len(place)):
        while end < len(place) and place[end] - place[b] + widths[b] <= widest:
            end += 1
        end = max(end, b + 1)
        stop[b] = end
    return stop


@numba.njit(cache=True, nogil=True)
def window(mass: Vector, total: float, place: Vector, widths: Vector, reach: float, out: Vector) -> None:
    """The window of half-width ``reach`` that holds most: its middle, its share, and the mean of all."""
    stop, sums, mean, best = window_ends(place, widths, reach), np.zeros(len(mass) + 1), 0.0, -1.0
    for b in range(len(mass)):
        sums[b + 1] = sums[b] + mass[b]
        mean += mass[b] * place[b]
    for b in range(len(mass)):
        best = max(best, sums[stop[b]] - sums[b])
    out[0] = window_place(mass, sums, stop, place, best, reach)
    out[1], out[2] = best / total, mean / total


@numba.njit(cache=True, nogil=True)
def window_place(mass: Vector, sums: Vector, stop: Codes, place: Vector, best: float, reach: float) -> float:
    """The middle of the first windows that hold as much as the best one, or the middle of what they hold."""
    middle, ties, first, last = 0.0, 0, -1, -1
    for b in range(len(mass)):
        if sums[stop[b]] - sums[b] >= best * (1.0 - TIE):
            middle += 0.5 * (place[b] + place[stop[b] - 1])
            ties += 1
            if first < 0:
                first, last = b, stop[b] - 1
        elif ties:
            break
    # A window whose content is narrow is named by it: a heap, or a value that is known better than the grid.
    centre, held, square = 0.0, 0.0, 0.0
    for b in range(first, last + 1):
        centre += mass[b] * place[b]
        held += mass[b]
    if held > 0.0:
        centre /= held
        for b in range(first, last + 1):
            square += mass[b] * (place[b] - centre) ** 2
        if square / held < 0.0625 * reach * reach:
            return centre
    return middle / ties
