"""Figure 5.2(a): errors of all attribute inner products after projecting half of the records away."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Histogram
from veil.reproduce.liu.projected import project, uniform_attributes

COSINE = 0.75


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
    found = np.array(errors)
    means, widths = found.mean(axis=1), found.std(axis=1)
    pooled = float((found**2).mean())
    theory = (1 + COSINE**2) / k
    shift, shift_theory = float(means.std(ddof=1)), COSINE * np.sqrt(2 / k)
    # By theory: the shared shift squared is chi-square with one degree, too skewed to take its spread from few draws.
    pooled_se = float(np.sqrt(2 / repeats) * shift_theory**2)
    width_theory = float(np.sqrt(theory - shift_theory**2))
    claims = (
        Claim(
            "The variance of an error is under 2/k",
            f"under {2 / k:.2e}",
            f"{pooled:.3e} ± {pooled_se:.0e} over matrices; (1 + .75²)/k = {theory:.3e}",
            holds=bool(abs(pooled - theory) < 4 * pooled_se + 0.01 * theory and pooled < 2 / k + 4 * pooled_se),
        ),
        Claim(
            "The errors have mean 0",
            "normal, mean 0",
            f"mean of one matrix {means[0]:+.4f}; over matrices ± {shift:.4f} (.75√(2/k) = {shift_theory:.4f})",
            agrees=False,
            why="L-ab: over R only; one R shifts all errors together",
            holds=bool(
                abs(shift / shift_theory - 1) < 4 / np.sqrt(2 * (repeats - 1))
                and abs(means.mean()) < 4 * shift_theory / np.sqrt(repeats)
            ),
        ),
        Claim(
            "One histogram is even narrower than N(0, 2/k)",
            "even smaller",
            f"width {widths.mean():.4f} about its own mean, √(2/k) = {np.sqrt(2 / k):.4f}",
            why="L-ab: the shared shift is not in the width",
            holds=bool(abs(widths.mean() / width_theory - 1) < 0.1),
        ),
    )
    rows: list[tuple[Any, ...]] = [(r, means[r], widths[r]) for r in range(repeats)]
    samples = [(f"matrix {r + 1}", found[r]) for r in (0, 1, 2)]
    normal = context.rng(2).normal(0, np.sqrt(2 / k), 20_000)
    figure = Histogram(
        f"Errors of the inner products of {d} attributes ({n:,} records → {k:,})",
        "error of an inner product (attributes of length 1)",
        (*samples, (f"all {repeats} matrices", found.ravel()), ("N(0, 2/k)", normal)),
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
