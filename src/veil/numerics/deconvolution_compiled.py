"""The inner loops of the EM iteration on counts, compiled: with some hundred bins, calls would cost more than sums."""

from __future__ import annotations

import math

import numba

from veil.data.blocks import Vector


@numba.njit(cache=True, nogil=True)
def expected(counts: Vector, mixture: Vector, ratio: Vector) -> float:
    """The log-likelihood of counts; ``ratio`` becomes counts over probabilities, 0 where either is 0."""
    total = 0.0
    for b in range(len(counts)):
        if counts[b] > 0.0 and mixture[b] > 0.0:
            total += counts[b] * math.log(mixture[b])
            ratio[b] = counts[b] / mixture[b]
        else:
            ratio[b] = 0.0
    return total


@numba.njit(cache=True, nogil=True)
def reweighted(weights: Vector, factors: Vector, new: Vector) -> None:
    """``new`` becomes the products, as shares of their sum."""
    total = 0.0
    for a in range(len(weights)):
        new[a] = weights[a] * factors[a]
        total += new[a]
    for a in range(len(weights)):
        new[a] /= total


@numba.njit(cache=True, nogil=True)
def chi_square(new: Vector, old: Vector) -> float:
    """Σ (new − old)²/old over what was above 0."""
    total = 0.0
    for a in range(len(old)):
        if old[a] > 0.0:
            total += (new[a] - old[a]) ** 2 / old[a]
    return total
