"""Section 5.4.5: what a disclosed projection matrix gives away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import veil
from veil import measures
from veil.reproduce.data import Matrix
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Bars

CASES = ((6, 3, "gaussian", 0.0), (6, 3, "achlioptas3", 0.66), (10, 5, "achlioptas3", 0.43), (20, 10, "sparse", 0.31))
"""n, k, kind, and the expected share of matrices that determine some attribute exactly."""
KINDS = {"gaussian": "normal", "achlioptas3": "s = 3", "sparse": "s = √n"}


def run(context: Context) -> Result:
    """Matrices as the paper draws them, and as the owner here draws them; guesses with the matrix known."""
    draws, kept = context.pick((1_000, 200), (150, 15))
    rows: list[tuple[Any, ...]] = []
    for i, (n, k, kind, expected) in enumerate(CASES):
        plain = [entries(context.rng(i, r), k, n, kind) for r in range(draws)]
        share = float(np.mean([len(measures.determined_attributes(m)) > 0 for m in plain if m.any()]))
        mine = [owned(context, i, r) for r in range(kept)] if n <= context.pick(20, 6) else []
        ours = float(np.mean([len(measures.determined_attributes(m)) > 0 for m in mine])) if mine else None
        rows.append((n, k, KINDS[kind], expected, share, math.sqrt(expected * (1 - expected) / draws), ours))
        context.step("kinds", i + 1, len(CASES))
    secure = [float(measures.l_secure(entries(context.rng(0, r), 3, 6, "gaussian"))) for r in range(kept)]
    exact, error = known_matrix(context)
    sparse, drawn = rows[1:], [row[6] for row in rows if row[6] is not None]
    claims = (
        Claim(
            "no element is recovered from a normal matrix",
            "none; l = n − k",
            f"{rows[0][4]:.0%} of {draws} matrices determine one; l = {min(secure):g} to {max(secure):g} at 3 × 6",
            holds=rows[0][4] == 0.0 and set(secure) == {3.0},
        ),
        Claim(
            "no element is recovered from a sparse matrix",
            "none",
            ", ".join(f"{row[4]:.0%} at {row[1]} × {row[0]}, {row[2]}" for row in sparse),
            agrees=False,
            why="L-ae: unit vectors lie in the row space of many sparse matrices",
            holds=all(abs(row[4] - row[3]) < 4.5 * row[5] + 0.005 for row in sparse),
        ),
        Claim(
            "matrices that the owner draws here",
            "–",
            f"{max(drawn):.0%} of {kept} per kind determine an attribute: such draws are thrown away",
            agrees=None,
            holds=max(drawn) == 0.0,
        ),
        Claim(
            "R known: the minimum-norm guess",
            "errs",
            f"relative error {error:.2f} (normal, 3 × 6)",
            f"{exact:.0%} of whole-number records exactly",
            agrees=False,
            why="L-x: for whole numbers 0 to 15 a box search leaves one solution",
            holds=error > 0.1 and exact > 0.9,
        ),
    )
    labels = tuple(f"{row[1]}×{row[0]}, {row[2]}" for row in rows)
    series = (
        ("drawn as in the paper", [row[4] for row in rows]),
        ("expected", [row[3] for row in rows]),
        ("drawn by the owner here", [row[6] or 0.0 for row in rows]),
    )
    figure = Bars("Matrices that determine an attribute exactly", labels, "share of matrices", series)
    columns = ("n", "k", "kind", "expected", "share", "se", "share, owner's draw")
    return Result(claims, (Table("matrices", columns, tuple(rows)),), (figure,))


def entries(rng: np.random.Generator, k: int, n: int, kind: str) -> Matrix:
    """A matrix of independent entries, as the paper draws it."""
    if kind == "gaussian":
        return rng.normal(size=(k, n))
    s = 3.0 if kind == "achlioptas3" else math.sqrt(n)
    signs = rng.choice([-1.0, 0.0, 1.0], (k, n), p=(0.5 / s, 1 - 1 / s, 0.5 / s))
    return np.asarray(math.sqrt(s) * signs)


def owned(context: Context, i: int, r: int) -> Matrix:
    """A matrix that the product draws."""
    n, k, kind, _ = CASES[i]
    rng = context.rng(i, r, 1)
    projection = veil.RandomProjection(k, scaling=None, kind=kind, random_state=int(rng.integers(2**31)))
    return projection.fit(rng.normal(size=(5, n))).secret_matrix()


def known_matrix(context: Context) -> tuple[float, float]:
    """Share of whole-number records found exactly in the best variant, and the minimum-norm error."""
    rng = context.rng(9)
    x = rng.integers(0, 16, (context.pick(200, 20), 6))
    projection = veil.RandomProjection(3, scaling=None, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, projection)
    disclosed = veil.KnownMatrix(np.linalg.lstsq(x, release.to_numpy(), rcond=None)[0].T)
    guess = veil.DisclosedMatrixAttack().run(release, disclosed, veil.KnownRanges(0, 15)).values
    least = veil.DisclosedMatrixAttack(variant="paper").run(release, disclosed).values
    return float((np.abs(guess - x).max(axis=1) < 1e-6).mean()), float(measures.relative_error(x, least))


EXPERIMENT = Experiment(
    id="liu-sec5.4.5",
    title="A disclosed projection matrix",
    stated="R known, k < n: infinitely many records fit; the minimum-norm one is taken; no element is recovered",
    chosen="1,000 matrices per kind: normal, s = 3, s = √n; whole numbers 0 to 15 in 6 attributes for the guesses",
    run=run,
    errata=("L-x", "L-ad", "L-ae"),
)
