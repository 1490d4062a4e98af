"""The window of a given width that most probably holds a value whose law is a mixture of normals.

A guess within ``reach`` of the value counts as a hit; the best guess is the middle of the window of that half-width h
with the most mass, ``F(g) = Σ_k w_k [Φ((g + h − μ_k)/s_k) − Φ((g − h − μ_k)/s_k)]``. Of one normal, or of any
symmetric law with one peak, that is the mean (Anderson 1955); of a mixture the mean may lie where no value does. As h
goes to 0 it is the mode.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtr

from veil.data.blocks import Matrix, Vector

_OUT, _HALVINGS, _NEWTON = 24, 10, 5
_ROOT: Final = float(np.sqrt(2 * np.pi))


def window_mass(at: Matrix, weights: Matrix, means: Matrix, deviations: Vector, reach: float) -> Matrix:
    """The probability of each window (c × n) around ``at``; weights and means are K × n, deviations K."""
    mass = np.zeros_like(at)
    for weight, mean, deviation in zip(weights, means, deviations, strict=True):
        mass += weight * (ndtr((at + reach - mean) / deviation) - ndtr((at - reach - mean) / deviation))
    return mass


def most_probable_window(weights: Matrix, means: Matrix, deviations: Vector, reach: float) -> Vector:
    """The middle of the fullest window of half-width ``reach`` under each of n mixtures.

    ``weights`` and ``means`` are K × n, and every mixture has the same K ``deviations``. The search for the nearest top
    begins at the best of the components' means, the points between neighbouring ones, and the mixture's mean.

    >>> far = most_probable_window(np.array([[0.4], [0.6]]), np.array([[-3.0], [3.0]]), np.ones(2), 0.1)
    >>> round(float(far[0]), 3)
    3.0
    """
    deviations = np.maximum(deviations, 1e-9 * max(reach, 1e-300))
    ordered = np.sort(means, axis=0)
    between = (ordered[1:] + ordered[:-1]) / 2
    starts = np.vstack([means, between, (weights * means).sum(axis=0, keepdims=True)])
    first = window_mass(starts, weights, means, deviations, reach)
    columns = np.arange(starts.shape[1])
    # Of starts that are as good, as those of one normal, the mixture's mean.
    best = np.where(first[-1] >= first.max(axis=0) * (1 - 1e-12), len(starts) - 1, first.argmax(axis=0))
    low = high = starts[best, columns]
    rising = _slopes(low, weights, means, deviations, reach)[0] > 0
    open_ended = np.ones(len(low), dtype=np.bool_)
    for _ in range(_OUT):  # uphill in half windows until the slope turns: the top lies in the last one
        low, high = (
            np.where(open_ended & rising, high, np.where(open_ended, low - reach / 2, low)),
            np.where(open_ended & rising, high + reach / 2, np.where(open_ended, low, high)),
        )
        ahead = np.where(rising, high, low)
        open_ended &= (_slopes(ahead, weights, means, deviations, reach)[0] > 0) == rising
        if not open_ended.any():
            break
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        up = _slopes(middle, weights, means, deviations, reach)[0] > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    top = (low + high) / 2
    for _ in range(_NEWTON):
        slope, bend = _slopes(top, weights, means, deviations, reach)
        moved = top - np.divide(slope, bend, out=np.zeros_like(slope), where=bend < 0)
        top = np.clip(moved, low, high)
    end = window_mass(top[None], weights, means, deviations, reach)[0]
    return np.where(end >= first[best, columns], top, starts[best, columns])


def _slopes(at: Vector, weights: Matrix, means: Matrix, deviations: Vector, reach: float) -> tuple[Vector, Vector]:
    """First and second derivative of the window's mass."""
    slope, bend = np.zeros_like(at), np.zeros_like(at)
    for weight, mean, deviation in zip(weights, means, deviations, strict=True):
        upper, lower = (at + reach - mean) / deviation, (at - reach - mean) / deviation
        above, below = (np.exp(-0.5 * u * u) / _ROOT for u in (upper, lower))
        slope += weight / deviation * (above - below)
        bend += weight / deviation**2 * (lower * below - upper * above)
    return slope, bend
