"""Slides "Reconstruct single point": what one noisy age says, by Bayes' rule."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

N, NOISE, CONFIDENCE = 20_000, 15.0, 0.8
YOUNG, OLD = (27.0, 4.0), (62.0, 6.0)
BETWEEN = (YOUNG[0] + OLD[0]) / 2


def run(context: Context) -> Result:
    """Width of the range of an age given its noisy value, near a mode and between two."""
    repeats = context.pick(100, 2)
    grid = np.arange(15.0, 78.0, 3.0)
    widths, errors = [], []
    for r in range(repeats):
        rng = context.rng(r)
        young = rng.random(N) < 0.6
        x = np.where(young, rng.normal(*YOUNG, N), rng.normal(*OLD, N))[:, None]
        noise = veil.AdditiveNoise(NOISE, relative=False, random_state=int(rng.integers(2**31)))
        release, _ = veil.publish(x, noise)
        y = release.to_numpy()[:, 0]
        details = veil.IntervalAttack(CONFIDENCE).run(release).details
        wide = details["upper"][:, 0] - details["lower"][:, 0]
        widths.append([float(wide[np.abs(y - at) < 1.5].mean()) for at in grid])
        guess = veil.UnivariateBayesAttack().run(release).values
        errors.append((float(((y - x[:, 0]) ** 2).mean()), float(((guess - x) ** 2).mean())))
    drawn, mse = np.array(widths), np.array(errors).mean(axis=0)
    mean = drawn.mean(axis=0)
    near, middle = (int(np.abs(grid - at).argmin()) for at in (YOUNG[0], BETWEEN))
    se = float(np.hypot(*(drawn[:, i].std(ddof=1) for i in (near, middle))) / np.sqrt(repeats))
    claims = (
        Claim(
            "The posterior of one value is narrower near a mode",
            "–",
            f"80 % ranges of {mean[near]:.1f} years at y = {grid[near]:g}, {mean[middle]:.1f} at y = {grid[middle]:g}",
            agrees=None,
            holds=bool(mean[near] + 4 * se < mean[middle]),
        ),
        Claim(
            "Bayes' rule estimates the original value",
            "“Individual value reconstruction methods EXIST”",
            f"mean squared error {mse[1]:.0f} instead of {mse[0]:.0f} years²",
            agrees=bool(mse[1] < mse[0]),
            holds=bool(mse[1] < mse[0]),
        ),
    )
    rows: list[tuple[Any, ...]] = [(at, m, s) for at, m, s in zip(grid, mean, drawn.std(axis=0), strict=True)]
    low, high = np.quantile(drawn, (0.05, 0.95), axis=0)
    figure = Curves(
        "How much one noisy age leaves open (noise of 15 years)",
        "noisy age",
        "width of the 80 % range, years",
        (Curve("range of x given y", grid, mean, low, high),),
        marks=((YOUNG[0], "mode"), (OLD[0], "mode")),
    )
    return Result(claims, (Table("widths", ("noisy age", "width", "spread"), tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-point-estimate",
    title="One noisy age, by Bayes' rule",
    stated="the distribution of ages, one noisy value, and the probable original values for it",
    chosen="Ages with modes at 27 and 62, normal noise of 15 years, N = 20,000, 100 repetitions; the prior is "
    "estimated",
    run=run,
)
