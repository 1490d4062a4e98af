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

from veil.attacks.posterior.windows import LANES, best_windows, running_sums, window_ends, window_place
from veil.data.blocks import Matrix, Vector

Codes = npt.NDArray[np.int64]
SMALL = 1e-7
"""Weights that are left out."""
MOST_LOG = 200.0
"""The most that a law of noise may say for a point against the normal one, as a logarithm."""


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
    ``left`` K standard deviations, in the working scale, in which the grid has at least two points; candidates beyond
    it stand at its ends. ``shape`` is the column's marginal on the grid, ``tilt`` multiplies the density. ``own`` is
    the ratio of the noise's law to the normal one over ±``own_reach``, empty where it is normal; ``factor`` (E r,
    √Var r, τ) of combined noise, ``ends`` (n × 2) of classes, else empty. Where nothing is ``observed`` (NaN) no noise
    has a say. ``widths`` are those of the grid's bins. NaN where nothing is left.
    """
    size, plain = len(place), not (len(own) or len(factor) or len(ends))
    density, bins, sums = np.empty((size, LANES)), np.empty((size, LANES)), np.empty((size + 1, LANES))
    means, best = np.empty(LANES), np.empty(LANES)
    steps, last, stop = (centres - start) / step, size - 1.001, window_ends(place, widths, reach)
    for i in range(0, len(weights), LANES):
        n = min(LANES, len(weights) - i)
        density[:] = 0.0
        for k in range(len(first) - 1):
            s = left[k]
            if first[k + 1] - first[k] == 1:
                for r in range(n):
                    w = weights[i + r, first[k]]
                    if w > SMALL:
                        middle = (shifts[i + r, k] + centres[first[k]] - start) / step
                        _add_normal(density[:, r], w, middle, s / step)
                continue
            bins[:] = 0.0
            low, high = size, -1
            for r in range(n):
                shift = shifts[i + r, k] / step
                for c in range(first[k], first[k + 1]):
                    w = weights[i + r, c]
                    if w <= SMALL:
                        continue
                    at = min(max(shift + steps[c], 0.0), last)
                    b = int(at)
                    share = w * (at - b)
                    bins[b, r] += w - share
                    bins[b + 1, r] += share
                    low, high = min(low, b), max(high, b + 1)
            if high >= 0:
                low, high = _blur(bins, sums, s / step, low, high)
                for b in range(low, high + 1):
                    for r in range(LANES):
                        density[b, r] += max(bins[b, r], 0.0)
        for b in range(size):
            for r in range(LANES):
                density[b, r] *= tilt[b]
        if not plain:
            for r in range(n):
                if math.isnan(observed[i + r]):
                    continue
                limits = ends[i + r] if len(ends) else observed[:0]
                column = density[:, r]
                _weigh(column, start, step, place, shape, own, own_reach, factor, limits, observed[i + r], sigma)
        best_windows(density, place, stop, sums, means, best)
        for r in range(n):
            total = sums[size, r]
            if total > 1e-250:
                out[i + r, 1], out[i + r, 2] = best[r] / total, means[r] / total
                out[i + r, 0] = window_place(density[:, r], sums[:, r], stop, place, best[r], reach)
            else:
                out[i + r, :] = np.nan


@numba.njit(cache=True, nogil=True)
def _weigh(
    density: Vector,
    start: float,
    step: float,
    place: Vector,
    shape: Vector,
    own: Vector,
    own_reach: float,
    factor: Vector,
    ends: Vector,
    observed: float,
    sigma: float,
) -> None:
    """Multiply a density by what the column's own law of noise says more than the normal one."""
    total = 0.0
    for b in range(len(density)):
        if density[b] <= 0.0:
            continue
        ratio, x = 1.0, start + b * step
        if len(own):
            at = ((observed - x) / own_reach + 1.0) * 0.5 * (len(own) - 1)
            at = min(max(at, 0.0), len(own) - 1.001)
            k = int(at)
            ratio *= own[k] + (at - k) * (own[k + 1] - own[k])
        if len(factor):
            variance = max((x * factor[1]) ** 2 + factor[2] ** 2, 1e-12 * (sigma * factor[0]) ** 2)
            normal, exact = (observed - x) / sigma, (observed - x) * factor[0]
            ratio *= math.exp(min(0.5 * normal * normal - 0.5 * exact * exact / variance, MOST_LOG))
            ratio /= math.sqrt(variance)
        if len(ends):
            normal = (observed - x) / sigma
            inside = ends[0] <= place[b] < ends[1]
            ratio = ratio * math.exp(min(0.5 * normal * normal, MOST_LOG)) if inside else 0.0
        density[b] *= ratio
        total += density[b]
    if total <= 1e-250 and len(ends):  # no candidate reaches into the class: what is usual there
        for b in range(len(density)):
            density[b] = shape[b] if ends[0] <= place[b] < ends[1] else 0.0


@numba.njit(cache=True, nogil=True)
def marginal(
    weights: Vector, first: Codes, centres: Vector, left: Vector, start: float, step: float, size: int
) -> Vector:
    """The candidates' own distribution of a column, on its grid."""
    density, bins, sums = np.zeros(size), np.empty((size, LANES)), np.empty((size + 1, LANES))
    for k in range(len(first) - 1):
        if first[k + 1] - first[k] == 1:
            _add_normal(density, weights[first[k]], (centres[first[k]] - start) / step, left[k] / step)
            continue
        bins[:] = 0.0
        for c in range(first[k], first[k + 1]):
            at = min(max((centres[c] - start) / step, 0.0), size - 1.001)
            b = int(at)
            bins[b, 0] += weights[c] * (b + 1 - at)
            bins[b + 1, 0] += weights[c] * (at - b)
        _blur(bins, sums, left[k] / step, 0, size - 1)
        density += np.maximum(bins[:, 0], 0.0)
    return density


@numba.njit(cache=True, nogil=True)
def normal_density(seen: Vector, start: float, step: float, sigma: float, out: Matrix) -> None:
    """The normal density of every value about every point of a grid (``out`` n × size)."""
    size, apart = out.shape[1], step / sigma
    fall, scale = math.exp(-apart * apart), 1.0 / (math.sqrt(2.0 * math.pi) * sigma)
    for i in range(len(seen)):
        # From the nearest point on, each value follows from the one before by a ratio that itself falls evenly.
        nearest = int(min(max((seen[i] - start) / step + 0.5, 0.0), size - 1.0))
        away = (start + nearest * step - seen[i]) / sigma
        out[i, nearest] = peak = scale * math.exp(-0.5 * away * away)
        for side in (1, -1):
            value, ratio = peak, math.exp(-(0.5 * apart + side * away) * apart)
            b = nearest + side
            while 0 <= b < size:
                value = value * ratio if value > 1e-290 else 0.0
                ratio *= fall
                out[i, b] = value
                b += side


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
def _blur(bins: Matrix, sums: Matrix, deviation: float, low: int, high: int) -> tuple[int, int]:
    """Three boxes with fractional ends whose variances add up to a normal's (Gwosdek et al. 2011), of several columns.

    ``low`` and ``high`` are the first and the last bin with anything in it; those of the result are returned.
    """
    if deviation < 0.1:
        return low, high
    variance, size = deviation * deviation / 3.0, len(bins)
    inner = int((math.sqrt(12.0 * variance + 1.0) - 1.0) / 2.0)
    edge = (2 * inner + 1) * (inner * (inner + 1) - 3.0 * variance) / (6.0 * (variance - (inner + 1) ** 2))
    scale = 1.0 / (2 * inner + 1 + 2.0 * edge)
    ends = scale * edge
    low, high = max(low - 3 * (inner + 1), 0), min(high + 3 * (inner + 1), size - 1)
    for _ in range(3):
        running_sums(bins, sums, low, high + 1)
        for b in range(low, high + 1):
            up, down = min(b + inner + 1, high + 1), max(b - inner, low)
            above, below = min(b + inner + 2, high + 1), max(b - inner - 1, low)
            for r in range(LANES):
                box, wide = sums[up, r] - sums[down, r], sums[above, r] - sums[below, r]
                bins[b, r] = (scale - ends) * box + ends * wide
    return low, high
