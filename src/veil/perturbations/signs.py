"""Products with sparse sign matrices: additions instead of multiplications.

The very sparse projection of P8 has entries +a, −a and 0 only, a share 1/√d of them not zero. Its product with a block
of records adds some rows of the block and subtracts others. (At a share of 1/3, s = 3, that takes as long as a dense
product, which is used there.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix

FEWEST_COLUMNS = 256
"""Below this the dense product is as fast."""
STRIP = 128
"""Records whose values in all columns stay in the cache."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SignMatrix:
    """A k × d matrix of entries +a, −a and 0: where each row has its pluses and its minuses."""

    size: float
    plus: Places
    plus_starts: Places
    minus: Places
    minus_starts: Places

    @classmethod
    def of(cls, matrix: Matrix) -> SignMatrix:
        """From a dense matrix of such entries."""
        parts: list[Places] = []
        for side in (matrix > 0, matrix < 0):
            rows, columns = np.nonzero(side)
            parts += [columns.astype(np.int64), np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64)]
        return cls(float(np.abs(matrix).max()), *parts)

    def product(self, block: Matrix) -> Matrix:
        """The product with a d × n block."""
        out = np.empty((len(self.plus_starts) - 1, block.shape[1]))
        _sum_rows(block, self.plus, self.plus_starts, self.minus, self.minus_starts, self.size, out)
        return out


@numba.njit(cache=True, nogil=True)
def _sum_rows(block: Any, plus: Any, plus_at: Any, minus: Any, minus_at: Any, size: float, out: Any) -> None:
    d, n = block.shape
    total, strip = np.empty(STRIP), np.zeros((d, STRIP))
    for first in range(0, n, STRIP):
        width = min(STRIP, n - first)
        for r in range(d):
            for j in range(width):
                strip[r, j] = block[r, first + j]
        for i in range(out.shape[0]):
            for j in range(STRIP):
                total[j] = 0.0
            a, a_end, b, b_end = plus_at[i], plus_at[i + 1], minus_at[i], minus_at[i + 1]
            # Four pairs at a time: the running sum is loaded and stored once for eight additions.
            while a + 4 <= a_end and b + 4 <= b_end:
                p0, p1, p2, p3 = strip[plus[a]], strip[plus[a + 1]], strip[plus[a + 2]], strip[plus[a + 3]]
                m0, m1, m2, m3 = strip[minus[b]], strip[minus[b + 1]], strip[minus[b + 2]], strip[minus[b + 3]]
                for j in range(STRIP):
                    total[j] += ((p0[j] - m0[j]) + (p1[j] - m1[j])) + ((p2[j] - m2[j]) + (p3[j] - m3[j]))
                a, b = a + 4, b + 4
            for at in range(a, a_end):
                row = strip[plus[at]]
                for j in range(STRIP):
                    total[j] += row[j]
            for at in range(b, b_end):
                row = strip[minus[at]]
                for j in range(STRIP):
                    total[j] -= row[j]
            for j in range(width):
                out[i, first + j] = size * total[j]
