"""P8's very sparse projection against the dense product of the same matrix, in one process on one thread.

Prints, for each number of columns, the median of five runs of a block of 65,536 records and the ratio dense / sparse.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import veil
from veil.blocks import BLOCK_ROWS
from veil.perturbations import Place
from veil.threads import one_blas_thread


def median_of_5(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'columns':>8} {'k':>6} {'dense, s':>9} {'sparse, s':>10} {'ratio':>6}")
    for d in (256, 500, 1_000, 2_000):
        x = rng.normal(size=(200, d))
        method = veil.RandomProjection(d // 2, kind="sparse", scaling=None, random_state=0).fit(x)
        block = rng.normal(size=(d, BLOCK_ROWS // (1 if d < 2_000 else 4)))
        matrix = method._matrix()
        with one_blas_thread():
            out = method.perturb_block(block, Place("", 0))
            assert np.allclose(out, matrix @ block)
            dense = median_of_5(
                lambda b=block, m=matrix: np.hstack([m @ b[:, i : i + 8192] for i in range(0, b.shape[1], 8192)])
            )
            sparse = median_of_5(lambda b=block, m=method: m.perturb_block(b, Place("", 0)))
        print(f"{d:>8} {d // 2:>6} {dense:>9.3f} {sparse:>10.3f} {dense / sparse:>6.2f}")


if __name__ == "__main__":
    main()
