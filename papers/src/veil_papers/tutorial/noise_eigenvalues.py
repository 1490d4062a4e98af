"""Slide "Distribution of Noise Eigenvalues": the edges between which those of pure noise lie."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

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
        draws = []
        for r in range(repeats):
            seed = int(context.rng(i, r).integers(2**31))
            release, _ = veil.publish(np.zeros((m, n)), veil.AdditiveNoise(SIGMA, relative=False, random_state=seed))
            v = release.to_numpy()
            draws.append(np.linalg.eigvalsh(v.T @ v / m) / SIGMA**2)
        values = np.array(draws)
        # Tracy and Widom's scale of the outermost eigenvalue at either edge; beyond 4 of them lies 1 in 5,000.
        below, above = (
            abs(np.sqrt(m) + sign * np.sqrt(n)) / m * abs(1 / np.sqrt(m) + sign / np.sqrt(n)) ** (1 / 3)
            for sign in (-1, 1)
        )
        inside = bool((values >= low).all() and (values <= high).all())
        nearly = bool((values >= low * 0.98).all() and (values <= high * 1.02).all())
        allowed = bool((values >= low - 4 * below - 1e-12).all() and (values <= high + 4 * above).all())
        rows += [(m, n, j + 1, low, high, *np.quantile(values[:, j], (0.05, 0.5, 0.95))) for j in range(n)]
        claims.append(
            Claim(
                f"Eigenvalues of {m:,} × {n} noise, in units of σ²",
                f"inside [{low:.3f}, {high:.3f}]",
                f"{values.min():.3f} to {values.max():.3f} over {repeats} draws",
                agrees=inside,
                why="T-c: the law is Marchenko and Pastur's, not Wigner's"
                + (
                    ""
                    if inside
                    else f"; the edges are a limit: the outermost eigenvalues scatter by {above:.3f} about them"
                )
                + ("" if inside or not nearly else ". All are inside ± 2 %"),
                holds=allowed and (nearly or m < 1_000),
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
    chosen="30,000 × 35 as in the strategy experiment, 300 × 35 and 100 × 100; 20 draws. Asserted: the "
    "edges and 4 times the scale on which the outermost eigenvalues scatter (Tracy and Widom's law); for 30,000 "
    "records also the edges ± 2 %, which the two small tables leave",
    run=run,
    errata=("T-c",),
)
