"""Tables 5.1 and 5.2: errors of a quantity of two attributes, by 20 runs and the band of such means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from veil.reproduce.experiment import Claim, Context, Result, Table
from veil.reproduce.figures import Curve, Curves
from veil.reproduce.liu.projected import SIZES, Matrix, Vector, attributes, project, relative_errors, row_pool

RUNS = 20
Printed = Mapping[str, Sequence[float]]


def compare(
    context: Context,
    what: str,
    value: Callable[[Matrix], float],
    per_row: Callable[[Matrix], Vector],
    factor: Callable[[Matrix], float],
    printed: Printed,
) -> Result:
    """Twenty runs per k as in the paper, and the band of means of twenty from a large pool of runs."""
    pair = attributes(context)
    truth, real = value(pair), context.source.real("adult")
    direct = context.pick(SIZES, (100,))
    pool = per_row(row_pool(context, pair, context.pick(1_500_000, 60_000)))
    rng = context.rng(2)
    rows: list[tuple[Any, ...]] = []
    for i, k in enumerate(SIZES):
        large = relative_errors(pool, truth, k)
        bands = rng.choice(large, (4_000, RUNS)).mean(axis=1)
        low, high = np.quantile(bands, (0.025, 0.975))
        own: Vector = np.full(RUNS, np.nan)
        if k in direct:
            seeds = [int(context.rng(3, i, r).integers(2**31)) for r in range(RUNS)]
            own = np.array([abs(value(project(pair, k, seed)) / truth - 1) for seed in seeds])
        se = float(large.std(ddof=1) / np.sqrt(len(large)))
        law = factor(pair) / np.sqrt(k)
        rows.append((k, own.mean(), own.var(), own.min(), own.max(), large.mean(), se, law, low, high, len(large)))
        context.step("sizes", i + 1, len(SIZES))
    inside = [bool(row[8] <= mean / 100 <= row[9]) for row, mean in zip(rows, printed["mean"], strict=True)]
    far = max(abs(row[5] - row[7]) / (row[6] + 0.005 * row[7]) for row in rows)
    mine = [row for row in rows if not np.isnan(row[1])]
    ours = ", ".join(f"{100 * row[1]:.2f}" for row in mine)
    band = ", ".join(f"{100 * row[8]:.1f}–{100 * row[9]:.1f}" for row in rows)
    expected = ", ".join(f"{100 * row[7]:.1f}" for row in rows)
    judged = [i for i, row in enumerate(rows) if row[-1] >= 100]  # a band from fewer runs is itself uncertain
    claims = (
        Claim(
            f"Mean relative error of the {what}, %",
            f"{', '.join(str(v) for v in printed['mean'])} at k = {', '.join(str(k) for k in SIZES)}",
            f"{ours} at k = {', '.join(str(row[0]) for row in mine)}; 95 % of 20-run means: {band}",
            agrees=all(inside[i] for i in judged) if real else None,
            why="a mean of 20 runs scatters by a quarter" if real else "a stand-in was used",
            holds=all(inside[i] for i in judged) if real else None,
        ),
        Claim(
            "How the mean error depends on k",
            "only around 1.80 % at k = 3,000",
            f"{factor(pair):.3f}/√k: {expected} %; runs within {far:.1f} standard errors of it",
            why="1.80 is a good draw of 20" if real else "a stand-in was used",
            agrees=inside[-1] if real else None,
            holds=bool(far < 4),
        ),
    )
    columns = ("k", "mean of 20", "variance", "min", "max", "mean", "standard error", "law", "q025", "q975", "runs")
    figure = Curves(
        f"Relative error of the {what} of fnlwgt and education-num",
        "reduced dimension k",
        "mean relative error, %",
        (
            Curve(
                "law, and 95 % of 20-run means",
                SIZES,
                [100 * row[7] for row in rows],
                [100 * row[8] for row in rows],
                [100 * row[9] for row in rows],
                colour=0,
            ),
            Curve("our 20 runs", [row[0] for row in mine], [100 * row[1] for row in mine], kind="points", colour=2),
            Curve("paper's 20 runs", SIZES, printed["mean"], kind="paper", colour=1),
        ),
        log="xy",
    )
    said = Table.of("printed", {"k": SIZES, **printed})
    return Result(claims, (Table("errors", columns, tuple(rows)), said), (figure,))
