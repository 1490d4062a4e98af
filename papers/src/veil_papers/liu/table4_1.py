"""Table 4.1: one known record in the plane, and what it tells about two others."""

from __future__ import annotations

import numpy as np

import veil
from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Points

PRIVATE = np.array([[25.0, 75.0], [30.0, 90.0], [45.0, 105.0]])
PERTURBED = np.array([[-42.0198, 66.9652], [-50.4237, 80.3582], [-68.5443, 91.3875]])
EPSILON = 0.01
PAPER = {"distance": 9.4868, "breach": 0.0384}
ROTATED = (27.0, 111.0)
ERRORS = {"rotated": 0.166, "projected": 0.083}
"""The other candidate for x₃, its relative error, and that of the projection on x₁."""


def run(context: Context) -> Result:
    """The printed map again, the attack from x₁ with many draws, and both formulas."""
    matrix = np.linalg.lstsq(PRIVATE, PERTURBED, rcond=None)[0].T
    again, _ = veil.publish(PRIVATE, veil.LinearTransform(matrix, scaling=None, dither=False, random_state=0))
    printed = float(np.abs(again.to_numpy() - PERTURBED).max())
    orthogonal = float(np.abs(matrix @ matrix.T - np.eye(2)).max())
    draws = context.pick(2_000, 200)
    guesses, projected = attack(context, draws)
    exact = np.linalg.norm(guesses[:, 2] - PRIVATE[2], axis=1) < 1e-6
    other = guesses[~exact, 2]
    length = float(np.linalg.norm(PRIVATE[2]))
    distance = float(np.linalg.norm(PRIVATE[2] - projected[2]))
    g = length * EPSILON / (2 * distance)
    right, paper = (float(measures.breach_probability(g, 1, variant=v)) for v in ("exact", "paper"))
    error = float(np.linalg.norm(other[0] - PRIVATE[2])) / length
    share, spread = float(exact.mean()), 0.5 / draws**0.5
    recovered = bool(np.abs(guesses[:, :2] - PRIVATE[:2]).max() < 1e-9 * length)
    orthogonal_again = printed < 1e-4 and orthogonal < 1e-5
    claims = (
        Claim(
            "x₂ = 1.2 x₁ is recovered whatever ε",
            "ρ(x₂, ε) = 1 for any ε > 0",
            f"largest error of {draws} draws {np.abs(guesses[:, 1] - PRIVATE[1]).max():.1e}",
            agrees=recovered,
            holds=recovered,
        ),
        Claim(
            "distance of x₃ from the known direction",
            f"{PAPER['distance']}",
            f"{distance:.4f}",
            agrees=abs(distance - PAPER["distance"]) < 5.1e-5,
            holds=abs(distance - PAPER["distance"]) < 5.1e-5,
        ),
        Claim(
            "ρ(x₃, .01)",
            "3.84 %",
            f"{paper:.2%} by the paper's formula",
            f"{right:.0%}; {share:.1%} of {draws} draws",
            agrees=False,
            why="L-a, L-b: in one unknown dimension there is a rotation and a reflection, and one of them is right",
            holds=right == 0.5 and abs(share - 0.5) < 4.5 * spread and abs(paper - PAPER["breach"]) < 5e-5,
        ),
        Claim(
            "the printed rows are an orthogonal map of the private ones",
            "y = M_T x",
            f"orthogonal to {orthogonal:.0e}, determinant {np.linalg.det(matrix):+.4f}: a reflection; "
            f"it gives the printed rows to {printed:.0e}",
            agrees=orthogonal_again,
            holds=orthogonal_again and bool(np.linalg.det(matrix) < 0),
        ),
        Claim(
            "the other candidate for x₃",
            "–",
            f"({other[0][0]:.0f}, {other[0][1]:.0f}), relative error {error:.3f}",
            f"projected on x₁: relative error {distance / length:.3f}",
            agrees=None,
            holds=bool(
                np.allclose(other, ROTATED)
                and round(error, 3) == ERRORS["rotated"]
                and round(distance / length, 3) == ERRORS["projected"]
            ),
        ),
    )
    rows = tuple((i + 1, *PRIVATE[i], *PERTURBED[i], *projected[i]) for i in range(3))
    table = Table("records", ("record", "x", "y", "released x", "released y", "guess x", "guess y"), rows)
    figure = Points(
        "One known record: two candidates for x₃",
        "first attribute",
        "second attribute",
        (
            ("private records", PRIVATE),
            ("released", PERTURBED),
            ("the other candidate", other[:1]),
            ("x₃ projected on x₁", projected[2:]),
        ),
    )
    return Result(claims, (table,), (figure,))


def attack(context: Context, draws: int) -> tuple[Matrix, Matrix]:
    """Guesses of all draws (draws × 3 × 2) from the first record and its row, and the mean guess."""
    rng = context.rng(0)
    release, _ = veil.publish(
        PRIVATE, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    )
    known = veil.KnownPairs(PRIVATE[:1], [0])
    seeds = [int(s) for s in rng.integers(2**31, size=draws)]
    guesses = [veil.KnownPairsAttack(variant="paper", random_state=s).run(release, known).values for s in seeds]
    return np.array(guesses), veil.KnownPairsAttack().run(release, known).values


EXPERIMENT = Experiment(
    id="liu-table4.1",
    title="Known input and output in the plane",
    stated="three records in two attributes, the first known with its row; their printed images",
    chosen="2,000 draws of a consistent matrix. The attack runs on an orthogonal matrix of our own; which one does not "
    "matter, since a guess is turned back",
    run=run,
    errata=("L-a", "L-b"),
)
