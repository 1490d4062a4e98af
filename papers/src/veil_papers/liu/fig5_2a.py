"""Figure 5.2(a): errors of all attribute inner products after projecting half of the records away."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Histogram
from veil_papers.liu.projected import project, uniform_attributes

COSINE = 0.75
"""Of two uniform attributes, in the limit of many records."""


def run(context: Context) -> Result:
    """Errors of one matrix, and pooled over matrices."""
    n, d, k = context.pick((10_000, 100, 5_000), (1_000, 40, 500))
    repeats = context.pick(50, 60)
    x = uniform_attributes(context, n, d)
    truth, off = x.T @ x, np.triu_indices(d, 1)
    errors = []
    for r in range(repeats):
        y = project(x, k, int(context.rng(1, r).integers(2**31)))
        errors.append((y.T @ y - truth)[off])
        context.step("matrices", r + 1, repeats)
    drawn = np.array(errors)
    means, widths = drawn.mean(axis=1), drawn.std(axis=1)
    pooled = float((drawn**2).mean())
    theory = float((1 + truth[off] ** 2).mean()) / k
    # The mean of all errors is tr(A(Y′Y − X′X)) with A = (11′ − I)/(d² − d), of variance 2 tr(A X′X A X′X)/k.
    mean_of_all = (np.ones((d, d)) - np.eye(d)) / (d * d - d) @ truth
    shift, shift_theory = float(means.std(ddof=1)), float(np.sqrt(2 * np.trace(mean_of_all @ mean_of_all) / k))
    # By theory: the shared shift squared is chi-square with one degree, too skewed to take its spread from few draws.
    pooled_se = float(np.sqrt(2 / repeats) * shift_theory**2)
    width, width_se = float((widths**2).mean()), float((widths**2).std(ddof=1) / np.sqrt(repeats))
    about = float(np.sqrt(theory - shift_theory**2))
    listed = COSINE * np.sqrt(2 / k), np.sqrt((1 - COSINE**2) / k)
    claims = (
        Claim(
            "The variance of an error is under 2/k",
            "≤ 2/k",
            f"{pooled:.3e} ± {pooled_se:.0e} over matrices, 2/k = {2 / k:.2e}; by theory {theory:.3e}, (1 + .75²)/k "
            "for many records",
            agrees=pooled < 2 / k,
            holds=abs(pooled - theory) < 4 * pooled_se and abs(theory * k / (1 + COSINE**2) - 1) < 0.01,
        ),
        Claim(
            "The errors have mean 0",
            "approximately Gaussian with mean 0",
            f"mean of one matrix {means[0]:+.4f}; over matrices ± {shift:.4f} (theory {shift_theory:.4f}; .75√(2/k) = "
            f"{listed[0]:.4f} for many attributes)",
            agrees=False,
            why="L-ab: over R only; one R shifts all errors together. (The text once says mean 2/k: a slip)",
            holds=abs(shift / shift_theory - 1) < 4 / np.sqrt(2 * (repeats - 1))
            and abs(means.mean()) < 4 * shift_theory / np.sqrt(repeats)
            and abs(shift_theory / listed[0] - 1) < 2 / d,
        ),
        Claim(
            "One histogram is even narrower than N(0, 2/k)",
            "even smaller",
            f"width {np.sqrt(width):.4f} about its own mean, √(2/k) = {np.sqrt(2 / k):.4f}; theory {about:.4f}, "
            f"√((1 − .75²)/k) = {listed[1]:.4f} for many attributes",
            agrees=widths.max() < np.sqrt(2 / k),
            why="L-ab: the shared shift is not in the width",
            holds=abs(width - about**2) < 4 * width_se and abs(about / listed[1] - 1) < 4 / d,
        ),
    )
    rows: list[tuple[Any, ...]] = [(r, means[r], widths[r]) for r in range(repeats)]
    samples = [(f"matrix {r + 1}", drawn[r]) for r in (0, 1, 2)]
    normal = context.rng(2).normal(0, np.sqrt(2 / k), 20_000)
    figure = Histogram(
        f"Errors of the inner products of {d} attributes ({n:,} records → {k:,})",
        "error of an inner product (attributes of length 1)",
        (*samples, (f"all {repeats} matrices", drawn.ravel()), ("N(0, 2/k)", normal)),
    )
    return Result(claims, (Table("matrices", ("matrix", "mean error", "width"), tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig5.2a",
    title="Errors of attribute inner products",
    stated="10,000 × 100 uniform [0, 1]; attributes of unit length; records projected to k = 5,000; entries N(0, 2)",
    chosen="One matrix as in the figure, and 50 matrices; the entries' variance cancels in the scaling",
    run=run,
    errata=("L-ab",),
    also=("fig5.2",),
)
