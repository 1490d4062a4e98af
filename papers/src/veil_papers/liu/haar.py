"""Section 4.1.2: the Q of a Gaussian matrix's QR is not uniform, unless its columns get the signs of R's diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import kstest

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars, Points

ORDERS = (2, 3, 4, 5, 6)
VEIL, PLAIN = "Q·sign(diag R), through veil", "plain Q"
RARE = 1e-5
"""Probability of the Kolmogorov–Smirnov distance at which a law is given up."""


def run(context: Context) -> Result:
    """Determinants, first entries and angles of plain and of corrected draws."""
    draws = context.pick(2_500, 200)
    rows: list[tuple[Any, ...]] = []
    turned: dict[str, Matrix] = {}
    for i, n in enumerate(ORDERS):
        plain, ours = (np.array([make(context, n, r) for r in range(draws)]) for make in (printed, owned))
        entry, square = ours[:, 0, 0], np.trace(ours, axis1=1, axis2=2) ** 2
        rows.append(
            (
                n,
                *(float((np.linalg.det(m) > 0).mean()) for m in (plain, ours)),
                *(float((m[:, 0, 0] > 0).mean()) for m in (plain, ours)),
                float((np.trace(plain, axis1=1, axis2=2) ** 2).mean()),
                float(square.mean()),
                float(square.std(ddof=1)) / draws**0.5,
                float(kstest(entry**2, "beta", args=(0.5, (n - 1) / 2)).pvalue),
            )
        )
        if n == 2:
            turned = {VEIL: ours, PLAIN: plain}
        context.step("orders", i + 1, len(ORDERS))
    angles = {name: np.degrees(np.arctan2(m[:, 1, 0], m[:, 0, 0])) % 360 for name, m in turned.items()}
    columns: tuple[str, ...] = (
        "n",
        "det +1, plain",
        "det +1, corrected",
        "first entry > 0, plain",
        "first entry > 0, corrected",
    )
    columns += ("(tr Q)², plain", "(tr M)², corrected", "se", "p-value of the first entry")
    figures = (
        Points(
            "Where 200 draws put the first axis of the plane",
            "first coordinate",
            "second coordinate",
            tuple((name, size * m[:200, :, 0]) for (name, m), size in zip(turned.items(), (1.0, 0.85), strict=True)),
            caption="The plain ones are drawn on a smaller circle, to be seen beside the others.",
            height=4.2,
        ),
        Bars(
            "How often the matrix is a rotation (determinant +1)",
            tuple(f"n = {n}" for n in ORDERS),
            "share of draws",
            (
                (VEIL, [row[2] for row in rows]),
                (PLAIN, [row[1] for row in rows]),
            ),
        ),
    )
    return Result(claims(rows, angles, draws), (Table("draws", columns, tuple(rows)),), figures)


def claims(rows: list[tuple[Any, ...]], angles: dict[str, Matrix], draws: int) -> tuple[Claim, ...]:
    """Determinants, the angle in the plane, and moments that a uniform matrix has."""
    spread = 0.5 / draws**0.5
    ours, plain = (kstest(angles[name] / 360, "uniform") for name in (VEIL, PLAIN))
    off = max(abs(row[6] - 1) / row[7] for row in rows)
    wrong = max(abs(row[5] - 1) / row[7] for row in rows)
    return (
        Claim(
            "rotations and reflections are equally likely",
            "“uniformly distributed”",
            "det = (−1)^(n−1) always: share of +1 is " + ", ".join(f"{row[1]:g}" for row in rows) + " for n = 2 to 6",
            ", ".join(f"{row[2]:.3f}" for row in rows),
            agrees=False,
            why="L-d: LAPACK's Q is a product of n − 1 reflections. Who knows that completes a matrix that n − 1 known "
            "records leave open",
            holds=all(row[1] == row[0] % 2 and abs(row[2] - 0.5) < 4.5 * spread for row in rows),
        ),
        Claim(
            "the first axis goes anywhere in the plane",
            "“uniformly distributed”",
            f"always between 90° and 270° (distance from uniform {plain.statistic:.2f})",
            f"distance {ours.statistic:.3f}, p = {ours.pvalue:.2f} in {draws:,} draws",
            agrees=False,
            why="L-d: the first entry of the plain Q is −|a₁₁|/‖a₁‖",
            holds=bool(plain.pvalue < RARE < ours.pvalue) and all(row[3] == 0.0 for row in rows),
        ),
        Claim(
            "the first entry, n = 2 to 6: m² ~ Beta(½, (n−1)/2), either sign",
            "“uniformly distributed”",
            "never positive",
            f"positive in {min(row[4] for row in rows):.3f} to {max(row[4] for row in rows):.3f} of draws, least "
            f"p-value {min(row[8] for row in rows):.2f}",
            agrees=False,
            why="L-d",
            holds=all(row[8] > RARE and abs(row[4] - 0.5) < 4.5 * spread for row in rows),
        ),
        Claim(
            "E (tr M)² = 1",
            "“uniformly distributed”",
            ", ".join(f"{row[5]:.2f}" for row in rows),
            ", ".join(f"{row[6]:.2f}" for row in rows) + f": at most {off:.1f} standard errors off",
            agrees=False,
            why="L-d",
            holds=bool(off < 4.5 < wrong),
        ),
    )


def printed(context: Context, n: int, r: int) -> Matrix:
    """As the paper draws: Gaussian entries, then QR (LAPACK)."""
    return np.asarray(np.linalg.qr(context.rng(n, r, 0).normal(size=(n, n)))[0])


def owned(context: Context, n: int, r: int) -> Matrix:
    """The secret matrix of a fresh key, as its owner may read it."""
    transform = veil.OrthogonalTransform(
        scaling=None, dither=False, random_state=int(context.rng(n, r, 1).integers(2**31))
    )
    return np.asarray(transform.fit(np.eye(n)).secret_matrix())


EXPERIMENT = Experiment(
    id="liu-haar",
    title="A uniform orthogonal matrix",
    stated="fill a matrix with independent Gaussian entries, then use QR decomposition (section 4.1.2)",
    chosen="n = 2 to 6, 2,500 draws each; LAPACK's QR, which every common library calls. A QR with a positive diagonal "
    "of R is uniform as it is, and is what the sign correction gives",
    run=run,
    errata=("L-d",),
    chapter=4,
)
