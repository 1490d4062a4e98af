"""Theorem 5.4.3: no linear filter splits the attributes of a projection by a normal matrix."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import veil
from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars

SHAPES = ((2, 4), (2, 6), (3, 6), (3, 8), (4, 8), (5, 10))
NARROW = ((2, 3), (3, 4), (3, 5), (4, 5), (4, 6), (4, 7), (5, 6))
"""k × n with k < n < 2k: 2×3, 3×5 and 4×7 have n = 2k − 1."""


def run(context: Context) -> Result:
    """Share of matrices that are not two-row decomposable, and l-secure."""
    draws, judged = context.pick((1_000, 200), (12, 4))
    rows: list[tuple[Any, ...]] = []
    for i, (k, n) in enumerate((*SHAPES, *NARROW)):
        matrices = [context.rng(i, r).normal(size=(k, n)) for r in range(draws)]
        whole = [not measures.row_decomposable(m, 2) for m in matrices]
        secure = [float(measures.l_secure(m)) for m in matrices[:judged]]
        rows.append((k, n, n >= 2 * k, float(np.mean(whole)), min(secure), max(secure)))
        context.step("shapes", i + 1, len(SHAPES) + len(NARROW))
    wide = min(row[3] for row in rows if row[2])
    narrow = {(row[0], row[1]): row[3] for row in rows if not row[2]}
    exact = all(row[4] == row[5] == row[1] - row[0] for row in rows)
    released = veil.RandomProjection(3, scaling=None, dither=False, random_state=0).fit(
        context.rng(99).normal(size=(50, 6))
    )
    small = [context.rng(50, r).normal(size=(3, 4)) for r in range(judged)]
    split, apart = (float(np.mean([test(m) for m in small])) for test in (partitioned, independent_groups))
    claims = (
        Claim(
            "not two-row decomposable, n ≥ 2k",
            "with probability 1",
            f"share {wide:.3f} of {draws} matrices per shape",
            agrees=wide == 1.0,
            why="L-w: n ≥ 2k − 1 suffices",
            holds=wide == 1.0,
        ),
        Claim(
            "where the theorem's condition n ≥ 2k ends",
            "n ≥ 2k",
            "share " + ", ".join(f"{v:.3f} at {k}×{n}" for (k, n), v in narrow.items()),
            agrees=False,
            why="L-w: n = 2k − 1 suffices, and no less. Below, two sets of n − k + 1 columns or more cover all n, "
            "and the row space has a vector on each: every matrix is decomposable by Definition 5.4.2",
            holds=all(v == float(n > 2 * k - 2) for (k, n), v in narrow.items()),
        ),
        Claim(
            "decomposable if and only if groups of columns have independent spans (Theorem 5.4.2)",
            "if and only if",
            f"3 × 4: B with BA a generalized partition matrix for {split:.0%} of {judged} matrices; two groups of "
            f"columns with independent spans for {apart:.0%}",
            agrees=False,
            why="L-ag: only “if” holds. A vector on the first two columns and one on the last two are in the row "
            "space of every 3 × 4 matrix, but four columns in three dimensions have no two groups without a common "
            "vector",
            holds=split == 1.0 and apart == 0.0,
        ),
        Claim(
            "l-secure",
            "l = k at n = 2k",
            "n − k for every matrix" if exact else "not always n − k",
            agrees=exact,
            holds=exact and float(measures.l_secure(released.secret_matrix())) == 3.0,
        ),
    )
    labels = tuple(f"{k}×{n}" for k, n, *_ in rows)
    series = (("share of matrices", [row[3] for row in rows]),)
    figure = Bars("Normal matrices that no filter splits in two", labels, "share not decomposable", series)
    columns = ("k", "n", "n >= 2k", "share not decomposable", "least l", "greatest l")
    return Result(claims, (Table("matrices", columns, tuple(rows)),), (figure,))


def partitioned(matrix: Matrix) -> bool:
    """Whether B with BA a generalized partition matrix of the groups {1, 2} and {3, 4} exists, by making one."""
    rows = [np.linalg.svd(matrix[:, others].T)[2][-1] for others in ([2, 3], [0, 1])]  # b′A vanishes on the others
    z = np.array(rows) @ matrix
    return bool(
        (np.abs(z[[0, 0, 1, 1], [2, 3, 0, 1]]) < 1e-9).all() and (np.abs(z[[0, 0, 1, 1], range(4)]) > 1e-9).all()
    )


def independent_groups(matrix: Matrix) -> bool:
    """Whether the columns fall into two groups whose spans have only 0 in common."""
    n, whole = matrix.shape[1], int(np.linalg.matrix_rank(matrix))
    for size in range(1, n // 2 + 1):
        for group in itertools.combinations(range(n), size):
            rest = [j for j in range(n) if j not in group]
            if sum(int(np.linalg.matrix_rank(matrix[:, part])) for part in (list(group), rest)) == whole:
                return True
    return False


EXPERIMENT = Experiment(
    id="liu-thm5.4.3",
    title="No filter splits a normal projection",
    stated="a k × n normal matrix with n ≥ 2k is with probability 1 not two-row decomposable",
    chosen="1,000 matrices of each of six shapes with n ≥ 2k, and of seven with k < n < 2k. An independent check "
    "expected a share of 1 for all n > k, which is so by the criterion of Theorem 5.4.2; by Definition 5.4.2 it is 0 "
    "for k < n < 2k − 1, as derived here",
    run=run,
    errata=("L-w", "L-ag"),
)
