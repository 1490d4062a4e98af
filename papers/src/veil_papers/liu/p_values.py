"""What figures 4.4 and 4.7 share: permutation p-values of all sign matrices, which tie, beside the energy statistic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Table
from veil_papers.liu.known_sample import Draw
from veil_papers.liu.sample_errors import SHARE

PERMUTATIONS, RECORDS = 99, 1_000
"""Permutations of every test, and records of the release that are tested against the sample."""


def p_value(a: Matrix, b: Matrix, rng: np.random.Generator) -> tuple[float, float]:
    """The energy test of two samples: its permutation p-value and its statistic."""
    n, m, pooled = len(a), len(b), np.vstack([a, b])
    labels = np.zeros((n + m, PERMUTATIONS + 1))
    labels[n:, 0] = 1.0
    for k in range(1, PERMUTATIONS + 1):
        labels[rng.permutation(n + m)[:m], k] = 1.0
    distances = cdist(pooled, pooled)
    sums = distances @ labels
    inside = (labels * sums).sum(axis=0)
    across = sums.sum(axis=0) - inside
    energies = 2 * across / (n * m) - inside / m**2 - (distances.sum() - 2 * across - inside) / n**2
    return float((energies >= energies[0] * (1 - 1e-12)).mean()), float(energies[0])


def tied(context: Context, draw: Draw, runs: int) -> list[tuple[int, float, int, int]]:
    """Per run: its number, the highest p-value, how many sign matrices have it, and how many the lowest energy."""
    ties = []
    for r in range(runs):
        rng = context.rng(r, 1)
        x, sample = draw(SHARE, rng)
        # The energy test sees the release up to its orthogonal matrix, so the private table's own axes will do.
        a, b = (table @ axes(table) for table in (x, sample))
        tests = [p_value(a[:RECORDS], b * signs, rng) for signs in product((-1.0, 1.0), repeat=x.shape[1])]
        p, energy = np.array(tests).T
        ties.append((r, float(p.max()), int((p == p.max()).sum()), int((energy == energy.min()).sum())))
        context.step("p-values", r + 1, runs)
    return ties


def axes(table: Matrix) -> npt.NDArray[np.float64]:
    """Eigenvectors of the covariance, by their eigenvalues."""
    return np.asarray(np.linalg.eigh(np.cov(table.T))[1])


def tie_claim(runs: Sequence[tuple[int, float, int, int]], attributes: int, *, ties: bool, why: str) -> Claim:
    """The claim that the highest p-value tells the sign matrix; ``ties`` says whether most runs leave it open."""
    several = sum(row[2] > 1 for row in runs)
    all_of_them = sum(row[2] == 2**attributes for row in runs)
    alone = sum(row[3] == 1 for row in runs)
    often = several >= len(runs) / 2
    return Claim(
        "the sign matrix of the highest p-value",
        "“the D matrix that is associated with the highest p-value is chosen”",
        f"{PERMUTATIONS} permutations: several matrices share it in {several} of {len(runs)} runs, all "
        f"{2**attributes} in {all_of_them}",
        f"lowest energy statistic: one matrix in {alone} of {len(runs)}",
        agrees=not often,
        why=f"L-i: {why}",
        holds=often == ties and alone == len(runs),
    )


def tie_table(ties: Sequence[tuple[int, float, int, int]]) -> Table:
    """All runs."""
    return Table("p-values", ("run", "highest p-value", "matrices with it", "matrices of lowest energy"), tuple(ties))
