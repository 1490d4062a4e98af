"""The introduction's example: a value that is released m times with fresh noise is its mean, nearly."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.huang.bulk import plug_in_cost
from veil_papers.huang.spectrum import NOISE, VARIANCE

COPIES = (1, 3, 10, 30, 100, 300, 1_000)
WAYS = ("mean of the copies", "BE-DR", "BE-DR, best")


def run(context: Context) -> Result:
    """The error of the mean and of BE-DR, whose covariance is v·11′ here."""
    n, repeats = context.pick(5_000, 1_500), context.pick(20, 2)
    copies = context.pick(COPIES, (1, 10, 100))
    rows: list[tuple[Any, ...]] = []
    for i, m in enumerate(copies):
        runs: dict[str, list[float]] = {way: [] for way in WAYS}
        for r in range(repeats):
            rng = context.rng(m, r)
            x = np.repeat(rng.normal(0.0, VARIANCE**0.5, size=(n, 1)), m, axis=1)
            noise = veil.AdditiveNoise(NOISE**0.5, relative=False, random_state=int(rng.integers(2**31)))
            release, _ = veil.publish(x, noise)
            paper, best = veil.BayesEstimateAttack(variant="paper"), veil.BayesEstimateAttack()
            guesses = (
                release.to_numpy().mean(axis=1, keepdims=True),
                paper.run(release).values,
                best.run(release).values,
            )
            for way, guess in zip(WAYS, guesses, strict=True):
                runs[way].append(float(((guess - x) ** 2).mean()))
        bayes = VARIANCE * NOISE / (m * VARIANCE + NOISE)
        for way, values in runs.items():
            theory = NOISE / m if way == WAYS[0] else bayes
            rows.append((m, way, float(np.mean(values)), theory, (2 / (n * repeats)) ** 0.5))
        context.step("copies", i + 1, len(copies))
    columns = ("m", "estimate", "mse", "closed form", "relative standard error")
    return Result(claims(rows, n), (Table("errors", columns, tuple(rows)),), (figure(rows),))


def claims(rows: list[tuple[Any, ...]], n: int) -> tuple[Claim, ...]:
    """σ²/m, by the mean and by the product's filter."""
    mean, paper, best = ([row for row in rows if row[1] == way] for way in WAYS)
    off = [max(abs(row[2] / row[3] - 1) for row in part) for part in (mean, best)]
    worst = max(row[2] / row[3] for row in paper)
    error = rows[0][4]
    near = [abs(row[2] / (row[3] * (1 + 2 * row[0] / n)) - 1) < 4 * error + (row[0] / n) ** 2 for row in best]
    laws = [plugged(row[0], n) for row in paper]
    apart = max(abs(row[2] / sum(law) - 1) for row, law in zip(paper, laws, strict=True))
    return (
        Claim(
            "the mean of m noisy copies converges",
            "converges to the value",
            f"error {mean[0][2]:.1f} at m = 1, {mean[-1][2]:.3f} at m = {mean[-1][0]:,}; within {off[0]:.1%} of σ²/m",
            agrees=off[0] < 4 * error,
            holds=off[0] < 4 * error,
        ),
        Claim(
            "BE-DR comes to the same without being told",
            "“results of BE-DR should be similar to those of PCA-DR” at high correlation",
            f"up to {worst:.0f}× the error with the covariance known; within {apart:.1%} of what Marchenko and "
            "Pastur's law says of the plug-in",
            f"within {off[1]:.1%} of vσ²/(mv + σ²), of which {2 * best[-1][0] / n:.1%} is the price of estimating",
            agrees=worst < 1.1,
            why=f"H-c: the plug-in also fits the noise where m is not far below N = {n:,}; pooled eigenvalues mend it. "
            "The direction and the mean cost m/N of the error each",
            # The law is for wide tables: of m eigenvalues it leaves out parts of order 1/m.
            holds=all(near)
            and all(
                abs(row[2] - one - rest) < 4 * error * (one + rest) + 2 / row[0] * rest
                for row, (one, rest) in zip(paper, laws, strict=True)
            ),
        ),
    )


def plugged(m: int, n: int) -> tuple[float, float]:
    """The plug-in's error: that of the one direction, and the noise that it fits in the m − 1 others."""
    one = VARIANCE * NOISE / (m * VARIANCE + NOISE) * (1 + 2 * m / n)
    return one, (m - 1) / m * NOISE * plug_in_cost(m / n)


def figure(rows: list[tuple[Any, ...]]) -> Curves:
    """Errors over the number of copies."""
    drawn = []
    for i, way in enumerate(WAYS):
        own = [row for row in rows if row[1] == way]
        drawn.append(Curve(way, [row[0] for row in own], [row[2] for row in own], colour=(0, 3, 4)[i]))
    at = [row[0] for row in rows if row[1] == WAYS[0]]
    drawn.append(Curve("σ²/m", at, [NOISE / m for m in at], kind="dashed", colour=5))
    return Curves("One value released m times", "copies m", "mean squared error", tuple(drawn), log="xy")


EXPERIMENT = Experiment(
    id="huang-intro",
    title="One value released many times",
    stated="m equal values with independent noise of mean zero: their mean converges",
    chosen="normal values of variance 100, noise variance 25, 5,000 records, m to 1,000, 20 repetitions. The mean's "
    "law is σ²/m whatever the values. “BE-DR” is the paper's plug-in with negative eigenvalues of Σy − σ²I set to 0",
    run=run,
    errata=("H-c",),
    chapter=1,
)
