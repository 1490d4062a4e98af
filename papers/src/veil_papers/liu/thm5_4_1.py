"""Theorem 5.4.1: is the covariance of a projection flat? With a new matrix per record yes, with one matrix no."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

D, K, RECORDS = 8, 4, 20_000
EIGENVALUES = np.array([16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.25])
GAMMA = float(EIGENVALUES.sum()) / K
"""E Cov(RV) = tr(Σ)/k · I."""


def run(context: Context) -> Result:
    """Eigenvalues of the covariance of both kinds of release."""
    n = context.pick(6_000, 500)
    rng = context.rng(0)
    basis = np.linalg.qr(rng.normal(size=(D, D)))[0]
    sigma = (basis * EIGENVALUES) @ basis.T
    pairs = [normal(rng, sigma, 2) for _ in range(n)]
    fresh, private = np.array([projected(pair, rng)[0] for pair in pairs]), np.array([pair[0] for pair in pairs])
    moment = fresh.T @ fresh / n
    products = np.einsum("ni,nj->nij", fresh, fresh)
    error = products.std(axis=0, ddof=1) / math.sqrt(n)
    off = float((np.abs(moment - GAMMA * np.eye(K)) / error).max())
    rows: list[tuple[Any, ...]] = [("new matrix per record", 0, *eigenvalues(moment))]
    draws = []
    for r in range(context.pick(100, 20)):
        draw = context.rng(1, r)
        x = normal(draw, sigma, RECORDS)
        y = projected(x, draw)
        rows.append(("one matrix", r, *eigenvalues(np.cov(y.T))))
        draws.append(alike(x, y))
    ratios = np.array([row[2] / row[-1] for row in rows[1:]])
    flat = rows[0][2] / rows[0][-1]
    # What a flat covariance shows by chance among so many records (Marchenko and Pastur).
    chance = ((1 + math.sqrt(K / RECORDS)) / (1 - math.sqrt(K / RECORDS))) ** 2
    none = alike(private, fresh)
    claims = (
        Claim(
            "Cov(RV) = γI with a new matrix per record",
            "γI, γ = σ_r²E[Σv²]",
            f"within {off:.1f} standard errors of {GAMMA:g}·I; largest over smallest eigenvalue {flat:.2f}",
            agrees=off < 4.5,
            holds=off < 4.5,
        ),
        Claim(
            "the randomness of R kills the covariance that principal components need",
            "any vector is an eigenvector; the PCA-based attack will not work",
            f"one matrix for all: largest over smallest eigenvalue {np.median(ratios):.0f} (median of {len(ratios)} "
            f"releases, least {ratios.min():.1f}); {chance:.2f} by chance if it were flat",
            f"first components of release and table correlate by {np.median(draws):.2f} (median); with a new matrix "
            f"per record by {none:.2f}",
            agrees=False,
            why="L-v: a release has one matrix, so Cov = RΣR′; the mean over matrices says nothing about it",
            holds=bool(ratios.min() > chance and np.median(draws) > 0.5 and none < 4 / math.sqrt(n)),
        ),
    )
    at = range(1, K + 1)
    one = np.array([row[2:] for row in rows[1:]])
    bands = np.percentile(one, (5, 50, 95), axis=0)
    figure = Curves(
        "Eigenvalues of the released covariance",
        "eigenvalue, from the largest",
        "eigenvalue",
        (
            Curve("one matrix, median and 5–95 %", at, bands[1], bands[0], bands[2], colour=0),
            Curve("new matrix per record", at, rows[0][2:], kind="points", colour=1),
            Curve("γ", at, np.full(K, GAMMA), kind="dashed", colour=1),
        ),
        log="y",
    )
    return Result(claims, (Table("eigenvalues", ("kind", "run", "1", "2", "3", "4"), tuple(rows)),), (figure,))


def eigenvalues(covariance: Matrix) -> list[float]:
    """In descending order."""
    return [float(value) for value in np.linalg.eigvalsh(covariance)[::-1]]


def alike(x: Matrix, y: Matrix) -> float:
    """|Correlation| of the first principal components of table and release."""
    first = [part @ np.linalg.eigh(np.cov(part.T))[1][:, -1] for part in (x, y)]
    return float(abs(np.corrcoef(first[0], first[1])[0, 1]))


def normal(rng: np.random.Generator, sigma: Matrix, n: int) -> Matrix:
    """Normal records of mean 0."""
    return rng.multivariate_normal(np.zeros(D), sigma, n)


def projected(x: Matrix, rng: np.random.Generator) -> Matrix:
    """Records projected by one new matrix."""
    projection = veil.RandomProjection(K, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    return veil.publish(x, projection)[0].to_numpy()


EXPERIMENT = Experiment(
    id="liu-thm5.4.1",
    title="The covariance of a projection",
    stated="V of mean 0, R with independent entries: Cov(RV) = γI, so that eigenvectors tell nothing",
    chosen="8 attributes with variances 16 to .25 in a random basis, k = 4; a new matrix for each of 6,000 records, "
    "and one matrix for 20,000 records, 100 times. The shape does not depend on these",
    run=run,
    errata=("L-v",),
)
