"""Zeros and heavy tails of columns of numbers, from the largest values that a pass keeps.

*Tail index.* Behind a large threshold the sizes of values often fall like a power, ``P(X > x) ~ x^−α``. Of the k + 1
largest sizes, Hill's estimate is ``1/α̂ = mean ln(X₍ᵢ₎/X₍ₖ₊₁₎)``, with a standard error of α̂/√k (Hill 1975). Moments of
order α and above do not exist: below 4 the standard deviation, and with it noise that is relative to it, is made by a
few people. Here k is a fiftieth of the values that are not zero, from 10 to 255. The largest of 1,000 normal values
have an α of about 8, exponential ones 4.6, log-normal ones of spread 1 2.6.

*Top ten.* The share of the sum of a column that its ten largest values make, if none is negative: what rules of
dominance look at (Hundepool et al. 2012, 4.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

KEPT = 256
PART = 50
FEWEST = 10
TEN = 10


@dataclass(frozen=True)
class Tops:
    """Of d columns, how many values are zero, and the largest sizes, d × :data:`KEPT`, in no order; 0 where fewer."""

    zeros: npt.NDArray[np.int64]
    sizes: Matrix

    def __add__(self, other: Tops) -> Tops:
        both = np.concatenate([self.sizes, other.sizes], axis=1)
        return Tops(self.zeros + other.zeros, np.partition(both, KEPT - 1, axis=1)[:, KEPT:])

    def index(self, j: int, count: int) -> float | None:
        """Hill's tail index of a column of ``count`` values; None where they are too few."""
        k = min((count - int(self.zeros[j])) // PART, KEPT - 1)
        if k < FEWEST:
            return None
        sizes = np.sort(self.sizes[j])[-(k + 1) :]
        mean = float(np.log(sizes[1:] / sizes[0]).mean()) if sizes[0] > 0 else 0.0
        return 1.0 / mean if mean > 0 else None

    def top_ten(self, j: int, total: float) -> float | None:
        """The share of the ten largest in a column's sum."""
        return float(np.sort(self.sizes[j])[-TEN:].sum() / total) if total > 0 else None


def tops_of(matrix: Matrix) -> Tops:
    """The zeros and the largest sizes of a d × n block; missing values are neither.

    >>> tops = tops_of(np.array([[0.0, 3.0, np.nan, -5.0]]))
    >>> tops.zeros.tolist(), np.sort(tops.sizes[0])[-3:].tolist()
    ([1], [0.0, 3.0, 5.0])
    """
    d, n = matrix.shape
    kept = np.zeros((d, KEPT))
    for j, values in enumerate(matrix):
        sizes = _sizes(values)
        kept[j, -min(n, KEPT) :] = np.partition(sizes, n - KEPT)[-KEPT:] if n > KEPT else sizes
    return Tops((matrix == 0).sum(axis=1), kept)


def _sizes(values: Vector) -> Vector:
    return np.nan_to_num(np.abs(values), copy=False, nan=0.0)
