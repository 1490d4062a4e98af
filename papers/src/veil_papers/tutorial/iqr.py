"""Slides "Inter-Quantile Range" and "Extend to Multivariate Cases": ranges that hold a value."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

LEVELS = (0.5, 0.8, 0.95)
COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
MEAN, SCALE, TAU = (10.0, 20.0, 30.0), 0.5, 1.0
KINDS = (("paper", False), ("paper", True), ("best", False), ("best", True))
NAMES = ("quantile range", "ellipsoid's axes", "range given y", "ellipsoid given y")


def run(context: Context) -> Result:
    """Coverage, width and complete disclosure of the ranges."""
    n, repeats = 2_000, context.pick(100, 8)
    draws = np.array([ranges(context, n, r) for r in range(repeats)])
    mean, se = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(repeats)
    rows: list[tuple[Any, ...]] = [
        (level, name, *mean[i, j], *se[i, j]) for i, level in enumerate(LEVELS) for j, name in enumerate(NAMES)
    ]
    off = np.abs(mean[:, 0, 0] - LEVELS) / se[:, 0, 0]
    whole = mean[:, 1, 1]
    claims = (
        Claim(
            "[x_(1−c)/2, x_(1+c)/2] holds a value with confidence c",
            "P(x_α1 ≤ x ≤ x_α2) ≥ c %: 50, 80, 95 %",
            ", ".join(f"{v:.1%}" for v in mean[:, 0, 0]) + f", within {off.max():.1f} standard errors",
            agrees=bool((off < 3).all()),
            holds=bool((off < 3).all()),
        ),
        Claim(
            "The ellipsoid's projection on an axis",
            "holds (1 − α)·100 % of the values",
            ", ".join(f"{v:.1%}" for v in mean[:, 1, 0])
            + " of the values, "
            + ", ".join(f"{v:.1%}" for v in whole)
            + " of whole records",
            agrees=False,
            why="T-g: the inequality must be ≤; the projections hold more than the ellipsoid itself",
            holds=bool((mean[:, 1, 0] > LEVELS).all() and (whole > LEVELS).all()),
        ),
        Claim(
            "Complete disclosure (τ = one standard deviation)",
            "–",
            f"{mean[1, 0, 3]:.1%} at c = 80 %",
            f"{mean[1, 2, 3]:.1%} by the range of x given y",
            agrees=None,
            holds=bool((mean[:, 2, 3] > mean[:, 0, 3]).all()),
        ),
    )
    scores = ("values held", "records held", "width", "disclosed")
    columns = ("confidence", "range", *scores, *(f"se {score}" for score in scores))
    curves = [Curve(name, LEVELS, mean[:, j, 2], colour=j) for j, name in enumerate(NAMES)]
    figures = (
        Curves("Width of the ranges, in standard deviations of a value", "confidence", "width", tuple(curves)),
        Curves(
            "Share of values held",
            "confidence",
            "share",
            (
                *(
                    Curve(name, LEVELS, mean[:, j, 0], kind=("line", "points")[j // 2], colour=j)
                    for j, name in enumerate(NAMES)
                ),
                Curve("as claimed", LEVELS, LEVELS, kind="dashed", colour=5),
            ),
        ),
    )
    return Result(claims, (Table("ranges", columns, tuple(rows)),), figures)


def ranges(context: Context, n: int, repetition: int) -> list[list[tuple[float, ...]]]:
    """Values held, records held, mean width and share disclosed, by level and kind."""
    rng = context.rng(repetition)
    x = rng.multivariate_normal(MEAN, COVARIANCE, n)
    noise = veil.AdditiveNoise(SCALE, relative=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, noise)
    widths = []
    for level in LEVELS:
        kinds: list[tuple[float, ...]] = []
        for variant, joint in KINDS:
            details = veil.IntervalAttack(level, variant=variant, joint=joint).run(release).details
            low, high = details["lower"], details["upper"]
            held = (x >= low) & (x <= high)
            disclosed = float(veil.measures.complete_disclosure_share(x, low, high, TAU))
            kinds.append((float(held.mean()), float(held.all(axis=1).mean()), float((high - low).mean()), disclosed))
        widths.append(kinds)
    return widths


EXPERIMENT = Experiment(
    id="tutorial-iqr",
    title="Ranges that hold a private value",
    stated="the inter-quantile range at confidence c, complete disclosure, and the ellipsoid of a normal distribution",
    chosen="3 normal attributes with correlations .6, .5 and .3, noise of half a standard deviation, N = 2,000, "
    "100 repetitions, c = 50, 80 and 95 %; the distribution is reconstructed from the release. Coverage "
    "does not depend on these",
    run=run,
    errata=("T-g",),
)
