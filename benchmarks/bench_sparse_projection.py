"""P8's very sparse projection against the dense product of the same matrix, in one process on one thread.

One block of records for each number of columns; the ratio is dense / sparse.
"""

from __future__ import annotations

import numpy as np
from claims import Claims, alternating, options

import veil
from veil.data.blas import one_blas_thread
from veil.data.blocks import BLOCK_ROWS
from veil.perturbations import Place
from veil.perturbations.driving import perturbed


def main() -> None:
    quick, claims = options(__doc__).quick, Claims()
    rng = np.random.default_rng(0)
    for d in (256, 500) if quick else (256, 500, 1_000, 2_000):
        x = rng.normal(size=(200, d))
        method = veil.RandomProjection(d // 2, kind="sparse", scaling=None, random_state=0).fit(x)
        block = rng.normal(size=(d, BLOCK_ROWS // (1 if d < 2_000 else 4)))
        matrix = method.secret_matrix()
        with one_blas_thread():
            out = perturbed(method, block, Place("", 0))
            assert np.allclose(out, matrix @ block)
            sparse, dense = alternating(
                lambda b=block, m=method: perturbed(m, b, Place("", 0)),
                lambda b=block, m=matrix: np.hstack([m @ b[:, i : i + 8192] for i in range(0, b.shape[1], 8192)]),
            )
        claims.speed_up(f"P8 sparse, {block.shape[1]:,} × {d} to {d // 2}, against the dense product", sparse, dense)


if __name__ == "__main__":
    main()
