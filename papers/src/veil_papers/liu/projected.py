"""Random projection of records, as the experiments of section 5.1 and 5.2.1 use it: attributes' inner products."""

from __future__ import annotations

import numpy as np

import veil
from veil_papers.arrays import Matrix, Vector
from veil_papers.experiment import Context

SIZES = (100, 500, 1_000, 2_000, 3_000)
RECORDS = 10_000
BLOCK = 500


def project(table: Matrix, k: int, seed: int) -> Matrix:
    """The table with its records projected to k rows, in raw units."""
    method = veil.RandomProjection(k, axis="records", scaling=None, random_state=seed)
    return veil.publish(table, method)[0].to_numpy()


def uniform_attributes(context: Context, n: int, d: int) -> Matrix:
    """Uniform values in [0, 1], each attribute scaled to length 1."""
    x = context.rng(0).random((n, d))
    return np.asarray(x / np.linalg.norm(x, axis=0))


def attributes(context: Context) -> Matrix:
    """fnlwgt and education-num of Adult's first 10,000 rows."""
    return context.source.adult(("fnlwgt", "education-num"))[:RECORDS]


def inner_product(pair: Matrix) -> float:
    """Of the two columns."""
    return float(pair[:, 0] @ pair[:, 1])


def squared_distance(pair: Matrix) -> float:
    """Of the two columns."""
    return float(((pair[:, 0] - pair[:, 1]) ** 2).sum())


def row_pool(context: Context, pair: Matrix, rows: int) -> Matrix:
    """Released rows of many projections, to be cut into runs: (n, 2), each row of unit scale.

    The law of a normal projection depends on the columns' inner products alone, so a table of 501 rows with the same
    ones stands for the 10,000, at a twentieth of the cost.
    """
    small = np.zeros((BLOCK + 1, 2))
    small[:2] = np.linalg.cholesky(pair.T @ pair).T
    drawn = [
        project(small, BLOCK, int(context.rng(1, r).integers(2**31))) * np.sqrt(BLOCK) for r in range(-(-rows // BLOCK))
    ]
    return np.concatenate(drawn)


def relative_errors(statistics: Matrix, truth: float, k: int) -> Vector:
    """Relative errors of runs of k rows, from a statistic per row of unit scale."""
    runs = len(statistics) // k
    return np.asarray(np.abs(statistics[: runs * k].reshape(runs, k).mean(axis=1) / truth - 1))
