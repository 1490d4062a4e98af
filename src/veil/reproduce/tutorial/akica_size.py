"""Slide "Reconstruction error vs. Sample size": AK-ICA with more and more known records."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Curve, Curves
from veil.reproduce.tutorial.sources import RECORDS, error, population

SIZES = (50, 100, 200, 500, 1_000, 2_000, 5_000)
EXPECTED = (0.9, 0.27, 0.24, 0.12, 0.08, 0.05, 0.04)


def run(context: Context) -> Result:
    """F-RE over the number of known records, by both variants."""
    sizes, repeats = context.pick(SIZES, (100, 500, 5_000)), context.pick(15, 3)
    n = context.pick(RECORDS, 10_000)
    rows: list[tuple[Any, ...]] = []
    for i, size in enumerate(sizes):
        for r in range(repeats):
            x, sample, seed = population(context, n, size, i, r)
            release, _ = veil.publish(x, veil.LinearTransform(scaling=None, random_state=seed))
            for variant in ("best",) if context.quick else ("best", "paper"):
                guess = veil.AKICAAttack(variant=variant).run(release, veil.KnownSample(sample)).values
                raw = float(veil.measures.frobenius_error(x, guess))
                mean = float(veil.measures.relative_error(x, guess))
                rows.append((size, r, variant, error(x, guess), raw, mean))
        context.step("sizes", i + 1, len(sizes))
    best = np.array([np.median(column(rows, size, "best")) for size in sizes])
    later = [i for i, size in enumerate(sizes) if size >= 500]
    slope = float(np.polyfit(np.log(np.array(sizes)[later]), np.log(best[later]), 1)[0])
    spread = float(np.mean([np.log(column(rows, sizes[i], "best")).std(ddof=1) for i in later]))
    se = spread * np.sqrt(np.pi / 2 / repeats) / np.std(np.log(np.array(sizes)[later])) / np.sqrt(len(later))
    claims = [
        Claim(
            "The error falls with the sample size",
            "falls",
            "medians " + ", ".join(f"{v:.2f} ({s:,})" for s, v in zip(sizes, best, strict=True)),
            holds=bool(best[0] > best[later[0]] > best[-1]),
        ),
        Claim(
            "It falls as n^−½ from 500 on",
            "–",
            f"slope {slope:.2f} of the logarithms, standard error about {se:.2f}",
            agrees=None,
            holds=bool(abs(slope + 0.5) < 3 * se),
        ),
    ]
    if not context.quick:
        flipped = float(np.mean(column(rows, 1_000, "paper") > 0.5))
        claims.append(
            Claim(
                "Matching by density finds J",
                "J minimizes the distance of densities",
                f"error over .5 in {flipped:.0%} of the runs with 1,000 known",
                f"{float(np.mean(column(rows, 1_000, 'best') > 0.5)):.0%} with signs from uncentred means",
                agrees=False,
                why="T-i: density matching cannot fix the sign of a symmetric signal",
                holds=bool(flipped > 0.2),
            )
        )
    columns = ("known", "repetition", "variant", "F-RE centred", "F-RE", "RE")
    return Result(tuple(claims), (Table("errors", columns, tuple(rows)),), (figure(rows, sizes, n),))


def column(rows: list[tuple[Any, ...]], size: int, variant: str) -> np.ndarray:
    """Centred errors of one setting."""
    return np.array([row[3] for row in rows if row[0] == size and row[2] == variant])


def figure(rows: list[tuple[Any, ...]], sizes: tuple[int, ...], n: int) -> Curves:
    """Medians with bands, and what was expected."""
    curves = []
    names = {"best": "signs by means (best)", "paper": "by density alone (paper)"}
    for c, variant in enumerate(v for v in names if len(column(rows, sizes[0], v))):
        q = np.array([np.quantile(column(rows, size, variant), (0.05, 0.5, 0.95)) for size in sizes])
        curves.append(Curve(names[variant], sizes, q[:, 1], q[:, 0], q[:, 2], colour=c))
    curves.append(Curve("expected", SIZES, EXPECTED, kind="dashed", colour=2))
    title = f"AK-ICA: median error and 5–95 % band over mixtures (5 × {n:,})"
    return Curves(title, "known records", "relative Frobenius error, centred", tuple(curves), log="xy")


EXPERIMENT = Experiment(
    id="tutorial-akica-size",
    title="AK-ICA: error against the known sample",
    stated="bank data, 5 × 50,000; error against sample size",
    chosen="The data are not public: five independent signals (exponential, Laplace, uniform, log-normal, bimodal)"
    " mixed by a random matrix, 50 … 5,000 known, 15 mixtures. Values depend on the signals, the fall does not",
    run=run,
    errata=("T-i",),
)
