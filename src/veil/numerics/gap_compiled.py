"""The inner loop of noise on products of four values, compiled."""

from __future__ import annotations

import numba
import numpy.typing as npt
from numpy import intp

from veil.data.blocks import Matrix, Vector

Places = npt.NDArray[intp]


@numba.njit(cache=True, nogil=True)
def take_off(sums: Matrix, weight: Vector, powers: Matrix, columns: Places, degrees: Places, constant: Matrix) -> None:
    """Take the weighted products of powers of each record (n × 5 × d) off a symmetric matrix of sums."""
    q = len(sums)
    for r in range(len(powers)):
        power = powers[r]
        for a in range(q):
            for b in range(a, q):
                if constant[a, b] != 0.0:
                    product = weight[r] * constant[a, b]
                    for f in range(4):
                        product *= power[degrees[a, b, f], columns[a, b, f]]
                    sums[a, b] -= product
                    if a != b:
                        sums[b, a] -= product
