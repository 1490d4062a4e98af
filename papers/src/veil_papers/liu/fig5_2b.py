"""Figure 5.2(b): root mean squared error of the inner products against k."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.liu.projected import project, uniform_attributes

SIZES = (50, 100, 200, 500, 1_000, 2_000, 3_000, 5_000, 8_000)
FACTOR = 1.25
EXPECTED = (0.177, 0.125, 0.089, 0.056, 0.040, 0.028, 0.023, 0.018)
"""At 50 … 5,000, of an independent simulation with 20 matrices each."""


def run(context: Context) -> Result:
    """RMSE of single matrices over k."""
    n, d = context.pick((10_000, 100), (1_000, 30))
    sizes = context.pick(SIZES, (50, 100, 200, 500))
    repeats = 20
    x = uniform_attributes(context, n, d)
    truth, off = x.T @ x, np.triu_indices(d, 1)
    rows: list[tuple[Any, ...]] = []
    for i, k in enumerate(sizes):
        for r in range(repeats):
            y = project(x, k, int(context.rng(1, i, r).integers(2**31)))
            rows.append((k, r, float(np.sqrt((((y.T @ y - truth)[off]) ** 2).mean()))))
        context.step("sizes", i + 1, len(sizes))
    single = np.array([[row[2] for row in rows if row[0] == k] for k in sizes])
    pooled = np.sqrt((single**2).mean(axis=1))
    theory = FACTOR / np.sqrt(sizes)
    slopes = np.polyfit(np.log(sizes), np.log(single), 1)[0]
    slope, se = float(slopes.mean()), float(slopes.std(ddof=1) / np.sqrt(repeats))
    # By theory: the shift that all pairs share, of variance 2·.75²/k, squares to a chi-square with one degree.
    pooled_se = np.sqrt(2 / repeats) * (2 * 0.75**2 / np.array(sizes)) / (2 * theory)
    scatter = float(single.std(axis=1).mean() / pooled.mean())
    both = slice(0, min(len(sizes), len(EXPECTED)))
    apart = np.abs(pooled[both] - EXPECTED[both]) - 4 * np.sqrt(2) * pooled_se[both] - 0.0005
    claims = (
        Claim(
            "How the error falls with k",
            "exponentially",
            f"as k^{slope:.3f} (± {se:.3f})",
            agrees=False,
            why="L-s: as k^−½",
            holds=abs(slope + 0.5) < 4 * se,
        ),
        Claim(
            "RMSE against k",
            "the error decreases as k increases",
            ", ".join(f"{v:.3f}" for v in pooled) + f" at k = {', '.join(str(k) for k in sizes)}",
            agrees=(np.diff(pooled) < 0).all(),
            why=f"1.25/√k; single draws scatter by {scatter:.0%}",
            holds=(np.abs(pooled - theory) < 4 * pooled_se + 0.01 * theory).all() and (apart < 0).all(),
        ),
    )
    low, high = np.quantile(single, (0.05, 0.95), axis=1)
    figure = Curves(
        f"Error of the inner products of {d} attributes against k ({n:,} records)",
        "reduced dimension k",
        "RMSE (attributes of length 1)",
        (
            Curve("RMSE over 20 matrices, 5–95 % of single ones", sizes, pooled, low, high),
            Curve("1.25/√k", sizes, theory, kind="dashed", colour=1),
        ),
        log="xy",
    )
    return Result(claims, (Table("rmse", ("k", "repetition", "RMSE"), tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig5.2b",
    title="RMSE of inner products against k",
    stated="the table of figure 5.2(a); RMSE of the estimated inner products against k",
    chosen="k = 50 … 8,000, 20 matrices each; pairs of different attributes",
    run=run,
    errata=("L-s",),
)
