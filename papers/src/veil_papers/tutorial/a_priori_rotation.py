"""Slide "A-priori Knowledge Based Attack": d records known, found by their lengths, then regression."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Points
from veil_papers.tutorial.slides import NAMES, RECORDS


def run(context: Context) -> Result:
    """Every choice of three of the five records known, on random rotations."""
    rows: list[tuple[Any, ...]] = []
    guessed = RECORDS
    for r in range(context.pick(100, 3)):
        seed = int(context.rng(r).integers(2**31))
        release, _ = veil.publish(RECORDS, veil.OrthogonalTransform(scaling=None, dither=False, random_state=seed))
        for known in combinations(range(5), 3):
            guess = veil.KnownRecordsAttack().run(release, veil.KnownRecords(RECORDS[list(known)]))
            matched = guess.details["matched"].tolist() == list(known)
            rows.append((r, " ".join(NAMES[i] for i in known), matched, float(np.abs(guess.values - RECORDS).max())))
            guessed = guess.values
    worst = max(row[-1] for row in rows)
    claims = (
        Claim(
            "Three known records give all five back",
            "“it is straightforward”: lengths, then regression, X = BY",
            f"largest error {worst:.1e} over {len(rows)} cases",
            agrees=bool(worst < 1e-10),
            holds=bool(worst < 1e-10 and all(row[2] for row in rows)),
        ),
    )
    clouds = (("records", RECORDS[:, :2]), ("released", release.to_numpy()[:, :2]), ("recovered", guessed[:, :2]))
    figure = Points("Five records, their images and what the attack makes of them", "balance", "income", clouds)
    table = Table("errors", ("rotation", "known", "rows found", "largest error"), tuple(rows))
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-a-priori-rotation",
    title="Known records undo a rotation",
    stated="Y = R X with R orthonormal; at least d points known; found in Y by their length; linear regression",
    chosen="The 5 records of the slides, each choice of 3 known, 100 random rotations",
    run=run,
)
