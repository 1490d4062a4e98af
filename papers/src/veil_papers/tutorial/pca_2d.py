"""Slide "Why it works?": dropping the second of two components removes half of the noise."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

CORRELATION, N = 0.9, 2_000
VARIANCES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def run(context: Context) -> Result:
    """Errors of one component over noise variances, split in what the noise and what the data leave."""
    repeats, variances = context.pick(100, 12), context.pick(VARIANCES, (0.2, 1.0))
    rows: list[tuple[Any, ...]] = []
    for i, variance in enumerate(variances):
        draws = np.array([parts(context, variance, i, r) for r in range(repeats)])
        mean, se = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(repeats)
        rows.append((variance, variance / 2, (1 - CORRELATION) / 2, *mean, *se))
        context.step("noise variances", i + 1, len(variances))
    noise = max(abs(row[3] - row[1]) / (row[6] + 1e-3 * row[1]) for row in rows)
    data = [(row[4] / row[2], row[7] / row[2], row[0]) for row in rows]
    # The estimated direction is off by an angle of variance (λ₁+σ²)(λ₂+σ²)/(N(λ₁−λ₂)²), which costs λ₁ − λ₂ of data.
    first, second = 1 + CORRELATION, 1 - CORRELATION
    turned = [(first + v) * (second + v) / (N * (first - second)) / second for _, _, v in data]
    near = all(
        abs(ratio - 1 - t) < 4 * se + 2 * t / np.sqrt(repeats) for (ratio, se, _), t in zip(data, turned, strict=True)
    )
    claims = (
        Claim(
            "Dropping the second component removes half of the noise",
            "“50% noise is removed”",
            f"{1 - rows[-1][3] / rows[-1][0]:.1%} at σ² = {rows[-1][0]:g}",
            why="exactly half in expectation: σ²·1/2 stays",
            agrees=bool(noise < 4),
            holds=bool(noise < 4),
        ),
        Claim(
            "The loss of data is smaller",
            "“the actual information loss is smaller”",
            f"{rows[-1][4]:.4f} = λ₂/2 within {max(abs(ratio - 1) for ratio, _, _ in data):.1%}, of a variance of 1",
            why="a little over λ₂/2, as the direction is estimated",
            agrees=all(row[4] < row[1] for row in rows if row[0] > 1 - CORRELATION),
            holds=near,
        ),
    )
    x = [row[0] for row in rows]
    figure = Curves(
        f"One of two components kept (correlation {CORRELATION}, N = {N:,})",
        "noise variance σ²",
        "mean squared error per value",
        (
            Curve("all noise (nothing dropped)", x, x, kind="dashed", colour=5),
            Curve("noise left", x, [row[3] for row in rows], colour=0),
            Curve("σ²/2", x, [row[1] for row in rows], kind="dashed", colour=0),
            Curve("data lost", x, [row[4] for row in rows], colour=1),
            Curve("λ₂/2", x, [row[2] for row in rows], kind="dashed", colour=1),
            Curve("error of PCA-DR", x, [row[5] for row in rows], colour=2),
        ),
    )
    columns = ("noise variance", "σ²/2", "λ₂/2", "noise left", "data lost", "error", "se noise", "se data", "se error")
    return Result(claims, (Table("parts", columns, tuple(rows)),), (figure,))


def parts(context: Context, variance: float, *address: int) -> tuple[float, float, float]:
    """Noise left, data lost and error per value of one release."""
    rng = context.rng(*address)
    x = rng.multivariate_normal([0, 0], [[1, CORRELATION], [CORRELATION, 1]], N)
    noise = veil.AdditiveNoise(variance**0.5, relative=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, noise)
    guess = veil.PCAAttack(1).run(release).values
    centred = x - x.mean(axis=0)
    _, _, basis = np.linalg.svd(guess - guess.mean(axis=0), full_matrices=False)
    projector = np.outer(basis[0], basis[0])
    left = float((((release.to_numpy() - x) @ projector) ** 2).mean())
    lost = float(((centred - centred @ projector) ** 2).mean())
    return left, lost, float(((guess - x) ** 2).mean())


EXPERIMENT = Experiment(
    id="tutorial-pca-2d",
    title="Two correlated attributes, one component kept",
    stated="2 correlated attributes; when the second component is removed, 50 % of the noise is removed",
    chosen="Correlation 0.9, N = 2,000, unit variances, 100 repetitions; the halves hold for any noise variance",
    run=run,
)
