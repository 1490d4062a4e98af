"""The paper's own search for the most likely record behind a projection: Nelder–Mead from random starts (A14).

*Model.* As in :mod:`veil.attacks.projection.maximum_posterior`: known records z with their rows y of ``Y = R Z``. The
paper (Liu 2007, algorithm 5.4.2.1) maximises the likelihood of each other record by a simplex search from 100 starts,
the median of the known records plus a random number in (−2, 2), and keeps the best. The closed form has the same
maximum (errata L-t); where in its family of solutions a search ends is chance.

*Search.* Reflection, expansion, contraction and shrinking as in fminsearch (Lagarias et al. 1998), of many simplices at
once: every array has one row per start of a record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

REACH: Final = 2.0
"""Of random starts around the median of the known records."""
TOLERANCE: Final = 1e-6
"""Of a simplex, at which a search ends: its size, and the differences of its heights."""
STEPS_PER_UNKNOWN: Final = 200
_SIMPLICES: Final = 20_000

Height = Callable[[Matrix, npt.NDArray[np.intp]], Vector]
"""The value of each point; the second argument says to which record each belongs."""


def most_likely(height: Height, n_records: int, middle: Vector, starts: int, rng: np.random.Generator) -> Matrix:
    """The highest point that was found for each record, one row each."""
    best = np.empty((n_records, len(middle)))
    many = max(_SIMPLICES // starts, 1)
    for first in range(0, n_records, many):
        records = np.repeat(np.arange(first, min(first + many, n_records)), starts)
        points = middle + rng.uniform(-REACH, REACH, size=(len(records), len(middle)))
        ends, values = climbed(points, partial(_of_records, height, records))
        chosen = values.reshape(-1, starts).argmax(axis=1) + starts * np.arange(len(records) // starts)
        best[first : first + many] = ends[chosen]
    return best


def _of_records(height: Height, records: npt.NDArray[np.intp], z: Matrix, at: npt.NDArray[np.intp]) -> Vector:
    return height(z, records[at])


def climbed(points: Matrix, height: Height) -> tuple[Matrix, Vector]:
    """Nelder–Mead upwards from every point: where each search ends, and how high that is.

    >>> ends, _ = climbed(np.array([[3.0, -1.0]]), lambda z, at: -((z - [1.0, 2.0]) ** 2).sum(axis=1))
    >>> ends.round(4).tolist()
    [[1.0, 2.0]]
    """
    n, d = points.shape
    simplex = np.repeat(points[:, None], d + 1, axis=1)
    corner = np.arange(d)
    # As in fminsearch: one vertex per coordinate, 5 % away.
    simplex[:, corner + 1, corner] = np.where(points == 0.0, 0.00025, 1.05 * points)
    every = np.arange(n)
    values = -np.stack([height(simplex[:, v], every) for v in range(d + 1)], axis=1)
    active = every
    for _ in range(STEPS_PER_UNKNOWN * d):
        order = np.argsort(values[active], axis=1, kind="stable")
        simplex[active] = np.take_along_axis(simplex[active], order[:, :, None], axis=1)
        values[active] = np.take_along_axis(values[active], order, axis=1)
        size = np.abs(simplex[active, 1:] - simplex[active, :1]).max(axis=(1, 2))
        apart = np.abs(values[active, 1:] - values[active, :1]).max(axis=1)
        active = active[(size > TOLERANCE) | (apart > TOLERANCE)]
        if not len(active):
            break
        _moved(simplex, values, active, height)
    top = values.argmin(axis=1)
    return simplex[every, top], -values[every, top]


def _moved(simplex: Matrix, values: Matrix, at: npt.NDArray[np.intp], height: Height) -> None:
    """One step of the simplices ``at``, whose vertices are in order."""
    centre, worst = simplex[at, :-1].mean(axis=1), simplex[at, -1]
    low, second, high = values[at, 0], values[at, -2], values[at, -1]
    reflected = 2.0 * centre - worst
    there = -height(reflected, at)
    # Where the reflection is the best, twice as far; where it is no better than the second worst, half as far.
    far, near = there < low, there >= second
    share = np.where(far, 2.0, np.where(there < high, 0.5, -0.5))
    other = centre + share[:, None] * (centre - worst)
    value = np.where(far | near, -height(other, at), np.inf)
    bound = np.where(far, there, np.where(there < high, there, high))
    taken = (far | near) & (value <= bound) & ~(near & (there >= high) & (value >= high))
    point, new = np.where(taken[:, None], other, reflected), np.where(taken, value, there)
    shrunk = near & ~taken
    keep = at[~shrunk]
    simplex[keep, -1], values[keep, -1] = point[~shrunk], new[~shrunk]
    if shrunk.any():
        rows = at[shrunk]
        for v in range(1, simplex.shape[1]):
            simplex[rows, v] = (simplex[rows, v] + simplex[rows, 0]) / 2.0
            values[rows, v] = -height(simplex[rows, v], rows)
