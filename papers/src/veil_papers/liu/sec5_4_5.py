"""Section 5.4.5: what a disclosed projection matrix gives away."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import veil
from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars

CASES = ((6, 3, "gaussian", 0.0), (6, 3, "achlioptas3", 0.66), (10, 5, "achlioptas3", 0.43), (20, 10, "sparse", 0.31))
"""n, k, kind, and the share of 1,000 matrices that determine some attribute exactly in an independent simulation."""
SHAPES = ((3, 2), (4, 2), (5, 3), (6, 3), (6, 4), (8, 4), (8, 5))
"""n, k of the normal matrices whose equations are counted: n = 2k and less."""
KINDS = {"gaussian": "normal", "achlioptas3": "s = 3", "sparse": "s = √n"}


def run(context: Context) -> Result:
    """Matrices as the paper draws them, and as the owner here draws them; guesses with the matrix known."""
    draws, n_known = context.pick((1_000, 200), (150, 15))
    rows: list[tuple[Any, ...]] = []
    for i, (n, k, kind, expected) in enumerate(CASES):
        plain = [entries(context.rng(i, r), k, n, kind) for r in range(draws)]
        share = float(np.mean([len(measures.determined_attributes(m)) > 0 for m in plain if m.any()]))
        mine = [owned(context, i, r) for r in range(n_known)] if n <= context.pick(20, 6) else []
        ours = float(np.mean([len(measures.determined_attributes(m)) > 0 for m in mine])) if mine else None
        rows.append((n, k, KINDS[kind], expected, share, se(expected, draws), ours))
        context.step("kinds", i + 1, len(CASES))
    secure = [float(measures.l_secure(entries(context.rng(0, r), 3, 6, "gaussian"))) for r in range(n_known)]
    exact = {k: known_matrix(context, k) for k in (1, 2, 3)}
    error = exact[3][1]
    counts, fewest = count_equations(context)
    empty = [row for row in counts if row[2] == row[1]]
    sparse, drawn = rows[1:], [row[6] for row in rows if row[6] is not None]
    claims = (
        Claim(
            "no element is recovered from a normal matrix",
            "none; k-secure at n = 2k",
            f"{rows[0][4]:.0%} of {draws} matrices determine one; l = {min(secure):g} to {max(secure):g} at 3 × 6",
            agrees=rows[0][4] == 0.0 and set(secure) == {3.0},
            why="l = n − k; of exact linear equations only (see below)",
            holds=rows[0][4] == 0.0 and set(secure) == {3.0},
        ),
        Claim(
            "no element is recovered from a sparse matrix",
            "impossible to find the exact value of any element",
            ", ".join(f"{row[4]:.0%} at {row[1]} × {row[0]}, {row[2]}" for row in sparse),
            agrees=False,
            why="L-ae: unit vectors lie in the row space of many sparse matrices. An independent simulation has "
            + ", ".join(f"{row[3]:.0%}" for row in sparse),
            holds=all(abs(row[4] - row[3]) < 4 * row[5] + 0.005 for row in sparse),
        ),
        Claim(
            "matrices that the owner draws here",
            "–",
            f"{max(drawn):.0%} of {n_known} per kind determine an attribute: such draws are thrown away",
            agrees=None,
            holds=max(drawn) == 0.0,
        ),
        Claim(
            "R known: whole numbers 0 to 15 in six attributes",
            "the best we can do is the minimum norm solution",
            f"its relative error is {error:.2f} (normal, k = 3)",
            ", ".join(f"{share:.0%} at k = {k}" for k, (share, _) in exact.items())
            + " of the records exactly, by a search",
            agrees=False,
            why="L-x: of the 16⁶ records in the box only one fits, even with a single equation",
            holds=error > 0.1 and all(share == 1.0 for share, _ in exact.values()),
        ),
        Claim(
            "unknowns in l + 1 independent equations of an l-secure R (Theorem 5.4.4)",
            "at least 2l + 1",
            "at l = k, n = 2k, where it is used, there are no k + 1 independent equations, nor 2k + 1 unknowns; "
            f"fewest unknowns in 1, 2, … equations at 4 × 8: {', '.join(str(v) for v in fewest)}",
            "at least l + j in j equations",
            agrees=False,
            why="L-ad: empty at l = k. l + j is counted over all sets of unknowns, for seven shapes; with it nothing "
            "is lost: no j equations have only j unknowns",
            holds=bool(empty)
            and all(row[3] < row[2] + 1 and row[0] < 2 * row[2] + 1 for row in empty)
            and all(row[5] == row[2] + row[4] for row in counts),
        ),
    )
    labels = tuple(f"{row[1]}×{row[0]}, {row[2]}" for row in rows)
    series = (
        ("drawn as in the paper", [row[4] for row in rows]),
        ("independent simulation", [row[3] for row in rows]),
        ("drawn by the owner here", [row[6] or 0.0 for row in rows]),
    )
    figure = Bars("Matrices that determine an attribute exactly", labels, "share of matrices", series)
    columns = ("n", "k", "kind", "independent simulation", "share", "se", "share, owner's draw")
    more = Table("equations", ("n", "k", "l", "rank", "equations", "fewest unknowns"), tuple(counts))
    return Result(claims, (Table("matrices", columns, tuple(rows)), more), (figure,))


def se(share: float, draws: int) -> float:
    """Standard error of the difference between our share and one of 1,000 matrices."""
    return math.sqrt(share * (1 - share) * (1 / draws + 1 / 1_000))


def count_equations(context: Context) -> tuple[list[tuple[Any, ...]], list[int]]:
    """The fewest unknowns that j independent combinations of R's rows involve, over all sets of unknowns.

    Combinations that involve the unknowns of a set only vanish on all other columns: there are k minus those columns'
    rank of them.
    """
    rows: list[tuple[Any, ...]] = []
    shown: list[int] = []
    for i, (n, k) in enumerate(SHAPES):
        for r in range(context.pick(20, 2)):
            matrix = context.rng(20, i, r).normal(size=(k, n))
            fewest = dict.fromkeys(range(1, k + 1), n)
            for size in range(n + 1):
                for rest in itertools.combinations(range(n), n - size):
                    free = k - (int(np.linalg.matrix_rank(matrix[:, rest])) if rest else 0)
                    for j in range(1, free + 1):
                        fewest[j] = min(fewest[j], size)
            secure, rank = int(float(measures.l_secure(matrix))), int(np.linalg.matrix_rank(matrix))
            rows += [(n, k, secure, rank, j, least) for j, least in fewest.items()]
            shown = list(fewest.values()) if (n, k) == (8, 4) else shown
    return rows, shown


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
    projection = veil.RandomProjection(k, scaling=None, dither=False, kind=kind, random_state=int(rng.integers(2**31)))
    return projection.fit(rng.normal(size=(5, n))).secret_matrix()


def known_matrix(context: Context, k: int) -> tuple[float, float]:
    """Share of whole-number records found exactly in the best variant, and the minimum-norm error."""
    rng = context.rng(9, k)
    x = rng.integers(0, 16, (context.pick(200, 20), 6))
    projection = veil.RandomProjection(k, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, projection)
    disclosed = veil.KnownMatrix(np.linalg.lstsq(x, release.to_numpy(), rcond=None)[0].T)
    guess = veil.DisclosedMatrixAttack().run(release, disclosed, veil.KnownRanges(0, 15)).values
    least = veil.DisclosedMatrixAttack(variant="paper").run(release, disclosed).values
    return float((np.abs(guess - x).max(axis=1) < 1e-6).mean()), float(measures.relative_error(x, least))


EXPERIMENT = Experiment(
    id="liu-sec5.4.5",
    title="A disclosed projection matrix",
    stated="R known, k < n: infinitely many records fit; the minimum-norm one is taken; no element is recovered",
    chosen="1,000 matrices per kind: normal, s = 3, s = √n; 200 records of whole numbers 0 to 15 in 6 attributes "
    "for the guesses, k = 1, 2, 3; 20 normal matrices of each of seven shapes for the equations",
    run=run,
    errata=("L-x", "L-ad", "L-ae"),
)
