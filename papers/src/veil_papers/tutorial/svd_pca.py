"""Slide "SVD vs. PCA Reconstruction": the rule on singular values keeps the same components."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.tutorial.correlated import NOISES, noisy, table


def run(context: Context) -> Result:
    """Both attacks on the same releases."""
    rows: list[tuple[Any, ...]] = []
    for r in range(context.pick(5, 1)):
        u = table(context, context.pick(30_000, 3_000), 0, r)
        for i, variance in enumerate(context.pick(NOISES, (2.0, 40.0))):
            release = noisy(context, u, variance, 1, r, i)
            svd, pca = veil.SVDAttack().run(release), veil.PCAAttack("twice").run(release)
            scale = float(np.abs(pca.values).max())
            apart = float(np.abs(svd.values - pca.values).max()) / scale
            rows.append((r, variance, svd.details["n_components"], pca.details["n_components"], apart))
    same = all(row[2] == row[3] for row in rows)
    apart = max(row[4] for row in rows)
    claims = (
        Claim(
            "s̃ ≥ √2 s_V keeps as many as λ̃ ≥ 2λ_V",
            "“Equivalence of determining k”",
            f"the same k in {sum(row[2] == row[3] for row in rows)} of {len(rows)} releases",
            agrees=same,
            holds=same,
        ),
        Claim(
            "The estimates are equal",
            "“Equivalence of methods”",
            f"largest relative difference {apart:.1e}",
            agrees=apart < 1e-10,
            holds=apart < 1e-10,
        ),
    )
    levels = sorted({row[1] for row in rows})
    means = {c: [float(np.mean([row[c] for row in rows if row[1] == v])) for v in levels] for c in (2, 3)}
    figure = Curves(
        "Components kept by the two rules",
        "noise variance σ²",
        "number of components",
        (
            Curve("SVD: s̃ ≥ √2 s_V", levels, means[2], kind="points"),
            Curve("PCA: λ̃ ≥ 2λ_V", levels, means[3], kind="dashed"),
        ),
        log="x",
    )
    columns = ("repetition", "noise variance", "k of SVD", "k of PCA", "largest relative difference")
    return Result(claims, (Table("ranks", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-svd-pca",
    title="SVD and PCA reconstruction are the same",
    stated="SVD-DR keeps s̃ ≥ √2 s_V, PCA λ̃ ≥ 2λ_V; the two are equivalent",
    chosen="s_V = √(Nσ²), the table of the strategy experiment, both centred",
    run=run,
    also=("svd=pca",),
)
