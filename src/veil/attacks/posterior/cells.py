"""The posterior of single cells, compiled: candidates' weights become a density on a grid, and that a guess (A28).

Of a column j the candidates of a group k have the posterior means ``a_ik + b_c``, with ``a = G z`` of the record and
``b = (I − G) m`` of the candidate, and one common variance. Weights are laid on a grid at b, blurred by that variance
(three boxes, whose sum is nearly normal; a group of one candidate exactly), and read at a + b. Then come the column's
own law of noise, its marginal and its range, as logarithms on the grid; and the window of the wanted width that holds
most of it.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Codes = npt.NDArray[np.int64]
SMALL = 1e-7
"""Weights that are left out."""
TIE = 1e-9
"""Windows that hold as much as the best, up to this, count alike: the middle of them is taken."""


@numba.njit(cache=True, nogil=True)
def number_guesses(
    weights: Matrix,
    first: Codes,
    shifts: Matrix,
    centres: Vector,
    left: Vector,
    start: float,
    step: float,
    place: Vector,
    shape: Vector,
    tilt: Vector,
    own: Vector,
    own_reach: float,
    factor: Vector,
    ends: Matrix,
    observed: Vector,
    sigma: float,
    reach: float,
    widths: Vector,
    out: Matrix,
) -> None:
    """Hit, its probability and the mean of one column, for the rows of a block (``out`` n × 3).

    ``weights`` n × m, candidates of group k from ``first[k]`` to ``first[k + 1]``; ``shifts`` n × K, ``centres`` m and
    ``left`` K standard deviations, in the working scale. ``shape`` is the column's marginal on
    the grid, ``tilt`` multiplies the density. ``own`` is the
    ratio of the noise's law to the normal one over ±``own_reach``, empty where it is normal; ``factor`` (E r, √Var r,
    τ) of combined noise, ``ends`` (n × 2) of classes, else empty; ``widths`` are those of the grid's bins. NaN where
    nothing is left.
    """
    size = len(place)
    density, bins, other = np.empty(size), np.empty(size), np.empty(size)
    steps, last = (centres - start) / step, size - 1.001
    for i in range(len(weights)):
        density[:] = 0.0
        for k in range(len(first) - 1):
            a, s = shifts[i, k], left[k]
            if first[k + 1] - first[k] == 1:
                w = weights[i, first[k]]
                if w > SMALL:
                    _add_normal(density, w, (a + centres[first[k]] - start) / step, s / step)
                continue
            bins[:] = 0.0
            low, high, shift = size, -1, a / step
            for c in range(first[k], first[k + 1]):
                w = weights[i, c]
                if w <= SMALL:
                    continue
                at = min(max(shift + steps[c], 0.0), last)
                b = int(at)
                share = w * (at - b)
                bins[b] += w - share
                bins[b + 1] += share
                low, high = min(low, b), max(high, b + 1)
            if high >= 0:
                _blur(bins, other, s / step, low, high)
                for b in range(size):
                    density[b] += bins[b]
        total = 0.0
        for b in range(size):
            if density[b] <= 0.0:
                continue
            ratio, x = tilt[b], start + b * step
            if ratio > 0.0 and len(own):
                at = ((observed[i] - x) / own_reach + 1.0) * 0.5 * (len(own) - 1)
                at = min(max(at, 0.0), len(own) - 1.001)
                k = int(at)
                ratio *= own[k] + (at - k) * (own[k + 1] - own[k])
            if ratio > 0.0 and len(factor):
                variance = max((x * factor[1]) ** 2 + factor[2] ** 2, 1e-12 * (sigma * factor[0]) ** 2)
                normal, exact = (observed[i] - x) / sigma, (observed[i] - x) * factor[0]
                ratio *= math.exp(min(0.5 * normal * normal - 0.5 * exact * exact / variance, 200.0))
                ratio /= math.sqrt(variance)
            if ratio > 0.0 and len(ends):
                normal = (observed[i] - x) / sigma
                ratio = ratio * math.exp(0.5 * normal * normal) if ends[i, 0] <= place[b] < ends[i, 1] else 0.0
            density[b] *= ratio
            total += density[b]
        if total <= 1e-250 and len(ends):  # no candidate reaches into the class: what is usual there
            total = 0.0
            for b in range(size):
                density[b] = shape[b] if ends[i, 0] <= place[b] < ends[i, 1] else 0.0
                total += density[b]
        if total > 1e-250:
            window(density, total, place, widths, reach, out[i])
        else:
            out[i, :] = np.nan


@numba.njit(cache=True, nogil=True)
def marginal(
    weights: Vector, first: Codes, centres: Vector, left: Vector, start: float, step: float, size: int
) -> Vector:
    """The candidates' own distribution of a column, on its grid."""
    density, bins, other = np.zeros(size), np.empty(size), np.empty(size)
    for k in range(len(first) - 1):
        if first[k + 1] - first[k] == 1:
            _add_normal(density, weights[first[k]], (centres[first[k]] - start) / step, left[k] / step)
            continue
        bins[:] = 0.0
        for c in range(first[k], first[k + 1]):
            at = min(max((centres[c] - start) / step, 0.0), size - 1.001)
            b = int(at)
            bins[b] += weights[c] * (b + 1 - at)
            bins[b + 1] += weights[c] * (at - b)
        _blur(bins, other, left[k] / step, 0, size - 1)
        density += bins
    return density


@numba.njit(cache=True, nogil=True)
def _add_normal(density: Vector, weight: float, middle: float, deviation: float) -> None:
    """Add a normal curve; one narrower than the grid is laid on the two points beside it."""
    size = len(density)
    if deviation < 0.4:
        at = min(max(middle, 0.0), size - 1.001)
        b = int(at)
        density[b] += weight * (b + 1 - at)
        density[b + 1] += weight * (at - b)
        return
    # From the nearest point on, each value follows from the one before by a ratio that itself falls evenly.
    nearest = min(max(int(middle + 0.5), 0), size - 1)
    away, fall = (nearest - middle) / deviation, math.exp(-1.0 / (deviation * deviation))
    peak = weight / (deviation * math.sqrt(2.0 * math.pi)) * math.exp(-0.5 * away * away)
    for side in (1, -1):
        value, ratio = peak, math.exp(-(0.5 / deviation + side * away) / deviation)
        b = nearest + side
        if side == 1:
            density[nearest] += peak
        while 0 <= b < size and value > 1e-25 * weight:
            value *= ratio
            ratio *= fall
            density[b] += value
            b += side


@numba.njit(cache=True, nogil=True)
def _blur(bins: Vector, other: Vector, deviation: float, low: int, high: int) -> None:
    """Three boxes with fractional ends whose variances add up to a normal's (Gwosdek et al. 2011)."""
    if deviation < 0.1:
        return
    variance = deviation * deviation / 3.0
    inner = int((math.sqrt(12.0 * variance + 1.0) - 1.0) / 2.0)
    edge = (2 * inner + 1) * (inner * (inner + 1) - 3.0 * variance) / (6.0 * (variance - (inner + 1) ** 2))
    scale, size = 1.0 / (2 * inner + 1 + 2.0 * edge), len(bins)
    low, high = max(low - 3 * (inner + 1), 0), min(high + 3 * (inner + 1), size - 1)
    for _ in range(3):
        running = 0.0
        for b in range(low, min(low + inner, high + 1)):
            running += bins[b]
        for b in range(low, high + 1):
            if b + inner <= high:
                running += bins[b + inner]
            if b - inner - 1 >= low:
                running -= bins[b - inner - 1]
            ends = 0.0
            if b + inner + 1 <= high:
                ends += bins[b + inner + 1]
            if b - inner - 1 >= low:
                ends += bins[b - inner - 1]
            other[b] = max(scale * (running + edge * ends), 0.0)
        for b in range(low, high + 1):
            bins[b] = other[b]


@numba.njit(cache=True, nogil=True)
def window(mass: Vector, total: float, place: Vector, widths: Vector, reach: float, out: Vector) -> None:
    """The window of half-width ``reach`` that holds most: its middle, its share, and the mean of all."""
    size = len(mass)
    wide, slack = 2.0 * reach, 1e-6 * reach
    end, inside, best, mean = 0, 0.0, -1.0, 0.0
    for b in range(size):
        mean += mass[b] * place[b]
    for b in range(size):
        while end < size and place[end] - place[b] + widths[b] <= wide + slack:
            inside += mass[end]
            end += 1
        if end == b:  # a bin wider than the window
            inside += mass[b]
            end += 1
        best = max(best, inside)
        inside -= mass[b]
    end, inside, middle, ties = 0, 0.0, 0.0, 0
    first, last = -1, -1
    for b in range(size):
        while end < size and place[end] - place[b] + widths[b] <= wide + slack:
            inside += mass[end]
            end += 1
        if end == b:
            inside += mass[b]
            end += 1
        if inside >= best * (1.0 - TIE):
            middle += 0.5 * (place[b] + place[end - 1])
            ties += 1
            if first < 0:
                first, last = b, end - 1
        elif ties:
            break
        inside -= mass[b]
    out[0], out[1], out[2] = middle / ties, best / total, mean / total
    # A window whose content is narrow is named by it: a heap, or a value that is known better than the grid.
    centre, held = 0.0, 0.0
    for b in range(first, last + 1):
        centre += mass[b] * place[b]
        held += mass[b]
    if held > 0.0:
        centre /= held
        square = 0.0
        for b in range(first, last + 1):
            square += mass[b] * (place[b] - centre) ** 2
        if square / held < 0.0625 * reach * reach:
            out[0] = centre
