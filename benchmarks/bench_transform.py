"""In memory: ``transform`` of a 2,000,000 × 50 array against numpy and scikit-learn.

The product's baseline is the best of block sizes 2,048, 8,192 and 32,768 on one thread and on two, with its output
allocated inside, as ours is. The noise's baseline is numpy's own, which runs in one thread; ours takes all cores, and
is printed for one core too, without a limit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
from claims import Claims, alternating, options, seconds
from sklearn.random_projection import GaussianRandomProjection

import veil
from veil.data.blas import one_blas_thread

BLOCKS, THREADS = (2_048, 8_192, 32_768), (1, 2)


def blocked(x: np.ndarray, matrix: np.ndarray, size: int, threads: int) -> np.ndarray:
    """``x @ matrix.T`` in blocks of ``size`` rows."""
    out = np.empty((len(x), len(matrix)))

    def some(starts: range) -> None:
        for start in starts:
            np.matmul(x[start : start + size], matrix.T, out=out[start : start + size])

    with one_blas_thread():
        if threads == 1:
            some(range(0, len(x), size))
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(some, (range(t * size, len(x), threads * size) for t in range(threads))))
    return out


def best_product(x: np.ndarray, matrix: np.ndarray) -> tuple[str, Callable[[], np.ndarray]]:
    """The fastest of all block sizes and numbers of threads, by the best of two runs each."""
    works = {(s, t): partial(blocked, x, matrix, s, t) for s, t in product(BLOCKS, THREADS)}
    spent = {which: min(seconds(work), seconds(work)) for which, work in works.items()}
    size, threads = min(spent, key=spent.__getitem__)
    return f"blocks of {size:,} on {threads} thread{'s' if threads > 1 else ''}", works[size, threads]


def on_one_core(work: Callable[[], object]) -> None:
    """Run on one core; threads that are started inside inherit it."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        work()
    finally:
        os.sched_setaffinity(0, cores)


def main() -> int:
    """Measure and print."""
    size = options(__doc__, rows=2_000_000)
    claims = Claims(judge=not size.quick)
    rng = np.random.default_rng(0)
    x = rng.normal(50, 10, (size.rows, 50))
    shape = f"{size.rows:,} × 50"

    rotation = veil.OrthogonalTransform(random_state=0).fit(x)
    matrix = np.linalg.qr(rng.normal(size=(50, 50)))[0]
    which, baseline = best_product(x, matrix)
    ours, theirs = alternating(lambda: rotation.transform(x), baseline)
    claims.ratio(f"P6 transform, {shape}, against {which}", ours, theirs, 1.2)

    projection = veil.RandomProjection(20, random_state=0).fit(x)
    other = GaussianRandomProjection(20, random_state=0).fit(x)
    ours, theirs = alternating(lambda: projection.transform(x), lambda: other.transform(x))
    claims.ratio(f"P8 transform, {shape} to 20, against scikit-learn", ours, theirs, 1.0)

    noise = veil.AdditiveNoise(random_state=0).fit(x)
    ours, alone, theirs = alternating(
        lambda: noise.transform(x),
        lambda: on_one_core(lambda: noise.transform(x)),
        lambda: x + rng.standard_normal(x.shape),
    )
    claims.speed_up(f"P1 normal transform, {shape}, against x + rng.standard_normal", ours, theirs, 1.5)
    claims.speed_up(f"P1 normal transform on one core, {shape}", alone, theirs)
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
