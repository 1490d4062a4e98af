"""Figures 4.21–4.22: the probability of a breach is a spherical cap, in as many dimensions as are unknown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import veil
from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

DIMENSIONS = (1, 2, 3, 6, 10)
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
VALUES = {(0.3, 1): 0.5, (0.3, 3): 0.09, (0.3, 6): 0.0120, (0.9, 6): 0.931}
PAPER_AT = {0.3: 0.194, 0.9: 0.713}
KNOWN_PART, REST = 5.0, 2.0
"""Of every record: its length along the known record, and across it."""


def run(context: Context) -> Result:
    """Closed form, the paper's formula, and shares of breached records over draws of a consistent matrix."""
    draws, n = context.pick(1_000, 60), 100
    rows: list[tuple[Any, ...]] = []
    for i, p in enumerate(DIMENSIONS):
        shares = simulated(context, p, n, draws)
        for j, g in enumerate(RATIOS):
            exact, paper = (float(measures.breach_probability(g, p, variant=v)) for v in ("exact", "paper"))
            error = max(float(shares[:, j].std(ddof=1)) / math.sqrt(draws), 1 / (n * draws))
            rows.append((p, g, float(shares[:, j].mean()), error, exact, paper))
        context.step("unknown dimensions", i + 1, len(DIMENSIONS))
    off = max(abs(row[2] - row[4]) / row[3] for row in rows)
    by_paper = {p: max(abs(row[5] - row[4]) for row in rows if row[0] == p) for p in DIMENSIONS}
    shown = max(abs(float(measures.breach_probability(g, p)) - v) for (g, p), v in VALUES.items())
    printed = max(abs(float(measures.breach_probability(g, 2, variant="paper")) - v) for g, v in PAPER_AT.items())
    claims = (
        Claim(
            "ρ is the share a/π of a circle",
            "2/π · asin g, for any number of unknown dimensions",
            f"equal for p = 2 (to {by_paper[2]:.0e})",
            "spherical cap: off by up to " + ", ".join(f"{by_paper[p]:.2f} at p = {p}" for p in DIMENSIONS if p != 2),
            agrees=False,
            why="L-a: a circle is the sphere of two unknown dimensions only",
            holds=by_paper[2] < 1e-12 and all(by_paper[p] > 0.02 for p in DIMENSIONS if p != 2) and printed < 6e-4,
        ),
        Claim(
            "the cap formula against draws of the attack",
            "–",
            f"at most {off:.1f} standard errors off in {len(rows)} cases",
            agrees=None,
            holds=off < 4.5,
        ),
        Claim(
            "the cap formula against values from another implementation",
            "–",
            f"within {shown:.0e} at g = .3 (p = 1, 3, 6) and .9 (p = 6)",
            agrees=None,
            holds=shown < 6e-4,
        ),
    )
    grid = np.linspace(0.005, 1, 200)
    curves = [
        Curve(f"p = {p}, cap", grid, measures.breach_probability(grid, p), kind="dashed", colour=i)
        for i, p in enumerate(DIMENSIONS)
    ]
    curves += [
        Curve(f"p = {p}, draws", RATIOS, [r[2] for r in rows if r[0] == p], kind="points", colour=i)
        for i, p in enumerate(DIMENSIONS)
    ]
    at = tuple(PAPER_AT)
    curves.append(Curve("paper's formula", at, [PAPER_AT[g] for g in at], kind="paper", colour=5))
    title = "Breach with p unknown dimensions (p = 2 is the paper's formula)"
    figure = Curves(title, "g = ‖x‖ε / 2d", "probability of a breach", tuple(curves))
    table = Table("breach", ("p", "g", "share", "se", "cap", "paper's formula"), tuple(rows))
    return Result(claims, (table,), (figure,))


def simulated(context: Context, p: int, n: int, draws: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Per draw of a consistent matrix (rows), the share of records within ε, for each g (columns)."""
    rng = context.rng(p)
    rest = rng.normal(size=(n, p))
    rest *= REST / np.linalg.norm(rest, axis=1, keepdims=True)
    x = np.column_stack([np.full(n, KNOWN_PART), rest])
    x[0, 1:] = 0.0
    release, _ = veil.publish(
        x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    )
    known = veil.KnownPairs(x[:1], [0])
    shares = np.empty((draws, n - 1))
    for r in range(draws):
        attack = veil.KnownPairsAttack(variant="paper", random_state=int(rng.integers(2**31)))
        shares[r] = np.linalg.norm(attack.run(release, known).values[1:] - x[1:], axis=1)
    # ‖x‖ε = 2dg: the same draws serve every ε.
    return np.column_stack([(shares <= 2 * REST * g).mean(axis=1) for g in RATIOS])


EXPERIMENT = Experiment(
    id="liu-fig4.21",
    title="The breach probability as a spherical cap (figures 4.21–4.22)",
    stated="the consistent guesses lie on a sphere; the probability of a breach is a ratio of angles",
    chosen="p = 1, 2, 3, 6, 10 unknown dimensions, g = .1 to .9, 1,000 draws of a matrix and 99 records each. Records "
    "of one draw share the matrix, so standard errors are over draws",
    run=run,
    errata=("L-a",),
    also=("fig4.22",),
)
