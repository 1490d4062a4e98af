"""Slide "How to determine J?": the matrix between the two sets of independent signals."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Images
from veil_papers.tutorial.sources import error, population

PRINTED = np.array([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, -1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, -1, 0]], dtype=float)


def signed_permutation(matrix: np.ndarray) -> bool:
    """One entry of ±1 in each row and each column."""
    ones = np.abs(matrix)
    return bool(np.isin(matrix, (-1, 0, 1)).all() and (ones.sum(axis=0) == 1).all() and (ones.sum(axis=1) == 1).all())


def run(context: Context) -> Result:
    """The slide's J, and those that the attack finds."""
    rows: list[tuple[Any, ...]] = []
    errors = []
    for r in range(context.pick(100, 2)):
        x, sample, seed = population(context, context.pick(10_000, 5_000), 2_000, r)
        release, _ = veil.publish(x, veil.LinearTransform(scaling=None, dither=False, random_state=seed))
        guess = veil.AKICAAttack().run(release, veil.KnownSample(sample))
        j = np.asarray(guess.details["pairing"])
        errors.append(j)
        rows.append((r, signed_permutation(j), guess.ambiguity, error(x, guess.values), str(j.astype(int).tolist())))
    right = sum(row[1] for row in rows)
    claims = (
        Claim(
            "J is a signed permutation",
            "5×5 example: one ±1 in each row and column",
            f"the example is one; so are {right} of {len(rows)} that the attack found",
            agrees=bool(right == len(rows)),
            why="T-i: density matching alone cannot fix the sign of a symmetric signal: uncentred means do",
            holds=bool(signed_permutation(PRINTED) and right == len(rows)),
        ),
    )
    columns = ("repetition", "signed permutation", "ambiguity", "error", "J")
    figure = Images(
        "J of the slide, and two that the attack found (black −1, grey 0, white 1)", (("", (PRINTED, *errors[:2])),)
    )
    return Result(claims, (Table("pairings", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-akica-j",
    title="The matrix that pairs independent signals",
    stated="J connects the independent signals of the known records with those of the release: a 5×5 example",
    chosen="Five signals of our own, 10,000 records, 2,000 known, no noise; 100 mixtures",
    run=run,
    errata=("T-i",),
    also=("akica-J",),
)
