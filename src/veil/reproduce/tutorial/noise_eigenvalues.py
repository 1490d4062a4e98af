"""Slide "Distribution of Noise Eigenvalues": the edges between which those of pure noise lie."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Curve, Curves

SIZES = ((30_000, 35), (300, 35), (100, 100))
SIGMA = 2.0


def run(context: Context) -> Result:
    """Eigenvalues of noise alone: the release of a table of zeros."""
    rows: list[tuple[Any, ...]] = []
    claims, curves = [], []
    for i, (m, n) in enumerate(SIZES):
        repeats = context.pick(20, 1 if m > 1_000 else 5)
        ratio = np.sqrt(n / m)
        low, high = (1 - ratio) ** 2, (1 + ratio) ** 2
        found = []
        for r in range(repeats):
            seed = int(context.rng(i, r).integers(2**31))
            release, _ = veil.publish(np.zeros((m, n)), veil.AdditiveNoise(SIGMA, relative=False, random_state=seed))
            v = release.to_numpy()
            found.append(np.linalg.eigvalsh(v.T @ v / m) / SIGMA**2)
        values = np.array(found)
        fluctuation = 3 * (1 + ratio) / np.sqrt(m) * (1 / np.sqrt(m) + 1 / np.sqrt(n)) ** (1 / 3)
        margin = 0.02 + (fluctuation if m < 1_000 else 0.0)
        inside = bool((values >= low - margin).all() and (values <= high + margin).all())
        rows += [(m, n, j + 1, low, high, *np.quantile(values[:, j], (0.05, 0.5, 0.95))) for j in range(n)]
        claims.append(
            Claim(
                f"Eigenvalues of {m:,} × {n} noise, in units of σ²",
                f"inside [{low:.3f}, {high:.3f}]",
                f"{values.min():.3f} to {values.max():.3f} over {repeats} draws",
                why="T-c: the law is Marchenko and Pastur's, not Wigner's"
                + ("; on few records the outermost pass the edge by their own fluctuation" if m < 1_000 else ""),
                agrees=inside,
                holds=inside,
            )
        )
        x = np.arange(1, n + 1) / n
        curves.append(
            Curve(f"{m:,} × {n}", x, np.median(values, axis=0), values.min(axis=0), values.max(axis=0), colour=i)
        )
        curves.append(Curve(f"edges, {m:,} × {n}", [0, 1, 1, 0], [low, low, high, high], kind="dashed", colour=i))
    table = Table("eigenvalues", ("m", "n", "i", "lower edge", "upper edge", "q05", "median", "q95"), tuple(rows))
    figure = Curves(
        "Eigenvalues of the covariance of pure noise", "rank of the eigenvalue / n", "eigenvalue / σ²", tuple(curves)
    )
    return Result(tuple(claims), (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-noise-eigenvalues",
    title="Eigenvalues of pure noise",
    stated="V is m × n i.i.d.; the eigenvalues of its covariance lie between σ²(1 ∓ 1/√Q)², Q = m/n",
    chosen="30,000 × 35 as in the strategy experiment, 300 × 35 and 100 × 100; 20 draws. Edges ± 2 %, and for the two "
    "small tables three times the scale of the largest eigenvalue's own fluctuation (Tracy and Widom's law)",
    run=run,
    errata=("T-c",),
)
