"""Figure 5.5: two attributes and their perturbed images."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.liu.projected import attributes, project

K = 3_000
NAMES = ("fnlwgt", "education-num")
SHOWN = 250


def run(context: Context) -> Result:
    """Images of the attributes, and their correlation with the originals in order."""
    x = attributes(context)
    k = context.pick(K, 600)
    x = x[: context.pick(len(x), 2_000)]
    repeats = context.pick(20, 5)
    rows: list[tuple[Any, ...]] = []
    first = x[:k]
    for r in range(repeats):
        y = project(x, k, int(context.rng(r).integers(2**31)))
        first = y if r == 0 else first
        for j, name in enumerate(NAMES):
            rows.append((r, name, float(np.corrcoef(x[:k, j], y[:, j])[0, 1])))
    largest = max(abs(row[2]) for row in rows)
    limit = 4.5 / np.sqrt(k)
    claims = (
        Claim(
            "Images do not look like the originals",
            "–",
            f"correlation in order at most {largest:.3f} in {len(rows)} cases (standard error {1 / np.sqrt(k):.3f})",
            agrees=None,
            why="the text says only that the figure shows how both look",
            holds=largest < limit,
        ),
    )
    figures = tuple(
        Curves(
            f"{name} and its image, first {SHOWN} values ({len(x):,} records → {k:,})",
            "place",
            name if j else f"{name} / 10⁵",
            (
                Curve("original", range(SHOWN), x[:SHOWN, j] / (1 if j else 1e5), kind="points"),
                Curve("image", range(SHOWN), first[:SHOWN, j] / (1 if j else 1e5), kind="points"),
            ),
        )
        for j, name in enumerate(NAMES)
    )
    return Result(claims, (Table("correlations", ("matrix", "attribute", "correlation"), tuple(rows)),), figures)


EXPERIMENT = Experiment(
    id="liu-fig5.5",
    title="Two attributes and their images",
    stated="the two attributes of tables 5.1 and 5.2 and their perturbed counterparts at a rate of 30 %",
    chosen="k = 3,000, 20 matrices; the image's values have no order in common with the original's",
    run=run,
    data=("adult",),
)
