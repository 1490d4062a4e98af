"""The conclusion's "both schemes were tried": scheme I on the same marks, with what becomes of means and distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.pandya.marks import MARKS, SUBJECTS, stated_law, tables_of

STD = 0.15
"""Of the factor in scheme I: N(1, .0225) with .01 ≤ |r − 1| ≤ .6, as the introduction says."""


def run(context: Context) -> Result:
    """Scheme I with the EIA's factors, scheme II beside it."""
    repeats = context.pick(4_000, 500)
    truth, apart = MARKS.mean(axis=0), pdist(MARKS)
    many = np.tile(MARKS, (repeats, 1))
    method = veil.MultiplicativeNoise(STD, notch=0.01, random_state=int(context.rng(0).integers(2**31)))
    release, _ = veil.publish(many, method)
    recovery = veil.MomentRecovery().fit(release)
    far = np.abs(recovery.mean_ - truth) / recovery.mean_se_
    schemes = {"I": np.asarray(release.to_numpy()).reshape(repeats, 7, 7)}
    for k, c in enumerate((0.01, 0.10)):
        schemes[f"II, c = {c:g}"] = tables_of(stated_law(c, repeats, int(context.rng(k + 1).integers(2**31))))
    rows: list[tuple[Any, ...]] = []
    for name, tables in schemes.items():
        changes = [float(np.abs(pdist(table) / apart - 1).mean()) for table in tables[: context.pick(2_000, 200)]]
        spread = tables.mean(axis=1).std(axis=0) / truth
        rows.append((name, float(np.mean(changes)), float(np.std(changes)), *(float(s) for s in spread)))
    most = float(np.mean([(np.abs(pdist(table) / apart - 1) > 0.1).mean() for table in schemes["I"][:200]]))
    claims = (
        Claim(
            "means come back under scheme I",
            "–",
            f"within {far.max():.1f} standard errors, from {repeats:,} releases",
            agrees=None,
            holds=(far < 4).all(),
        ),
        Claim(
            "distances under scheme I",
            "usually not preserved",
            f"mean relative change {rows[0][1]:.2f} (scheme II: {rows[1][1]:.2f} and {rows[2][1]:.2f}); {most:.0%} of "
            "them change by more than 10 %",
            agrees=most > 0.5,
            why="scheme I treats all marks alike; scheme II leaves the narrow ones nearly alone",
            holds=rows[0][1] > rows[2][1] > rows[1][1] and most > 0.5,
        ),
    )
    columns = ("scheme", "mean relative change of distances", "spread", *(f"{s}: spread of mean" for s in SUBJECTS))
    series = tuple((f"scheme {row[0]}", [100 * v for v in row[3:]]) for row in rows)
    label = "spread of the mean (% of the mean)"
    figure = Bars("How far a mean of seven perturbed marks is off", SUBJECTS, label, series)
    return Result(claims, (Table("schemes", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="pandya-conclusion",
    title="Scheme I on the same marks",
    stated="both schemes were tried on the marks; no numbers for scheme I",
    chosen="the introduction's factors, N(1, .0225) outside .01 around 1 and within .6; 4,000 releases",
    run=run,
    errata=("L-l",),
)
