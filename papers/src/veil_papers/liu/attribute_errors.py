"""Tables 5.1 and 5.2: errors of a quantity of two attributes, by 20 runs and the band of such means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from veil_papers.arrays import Matrix, Vector
from veil_papers.experiment import Claim, Context, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.liu.projected import SIZES, attributes, project, relative_errors, row_pool

RUNS, THEIRS = 20, 150
"""Runs of a mean, and means in the band of an independent simulation: 3,000 runs in groups of 20."""
Printed = Mapping[str, Sequence[float]]
Bands = Sequence[tuple[float, float]]


def compare(
    context: Context,
    what: str,
    value: Callable[[Matrix], float],
    per_row: Callable[[Matrix], Vector],
    factor: Callable[[Matrix], float],
    printed: Printed,
    simulated: Bands,
) -> Result:
    """Twenty runs per k as in the paper, and the band of means of twenty from a large pool of runs."""
    pair = attributes(context)
    truth, real = value(pair), context.source.real("adult")
    direct = context.pick(SIZES, (100,))
    pool = per_row(row_pool(context, pair, context.pick(1_500_000, 60_000)))
    rng = context.rng(2)
    rows: list[tuple[Any, ...]] = []
    away = []
    for i, k in enumerate(SIZES):
        large = relative_errors(pool, truth, k)
        bands = rng.choice(large, (4_000, RUNS)).mean(axis=1)
        low, high = np.quantile(bands, (0.025, 0.975))
        own_se, their_se = (edges(rng, large, *sizes).std(axis=0) for sizes in ((len(large), 4_000), (10**5, THEIRS)))
        apart = np.abs(100 * np.array([low, high]) - simulated[i]) - 0.05
        away.append(float((apart / (100 * np.hypot(own_se, their_se))).max()))
        own: Vector = np.full(RUNS, np.nan)
        if k in direct:
            seeds = [int(context.rng(3, i, r).integers(2**31)) for r in range(RUNS)]
            own = np.array([abs(value(project(pair, k, seed)) / truth - 1) for seed in seeds])
        se = float(large.std(ddof=1) / np.sqrt(len(large)))
        law = factor(pair) / np.sqrt(k)
        rows.append((k, own.mean(), own.var(), own.min(), own.max(), large.mean(), se, law, low, high, len(large)))
        context.step("sizes", i + 1, len(SIZES))
    outside = sum(not row[8] <= mean / 100 <= row[9] for row, mean in zip(rows, printed["mean"], strict=True))
    far = max(abs(row[5] - row[7]) / (row[6] + 0.005 * row[7]) for row in rows)
    mine = [row for row in rows if not np.isnan(row[1])]
    ours = ", ".join(f"{100 * row[1]:.2f}" for row in mine)
    band = ", ".join(f"{100 * row[8]:.1f}–{100 * row[9]:.1f}" for row in rows)
    own_outside = sum(not row[8] <= row[1] <= row[9] for row in mine)
    expected = ", ".join(f"{100 * row[7]:.1f}" for row in rows)
    listed = ", ".join(f"{low:g}–{high:g}" for low, high in simulated)
    claims = (
        Claim(
            f"Mean relative error of the {what}, %",
            f"{', '.join(str(v) for v in printed['mean'])} at k = {', '.join(str(k) for k in SIZES)}",
            f"{ours} at k = {', '.join(str(row[0]) for row in mine)}; 95 % of 20-run means: {band}; outside are "
            f"{outside} of the paper's five and {own_outside} of our {len(mine)}",
            agrees=likely(outside, len(SIZES)) if real else None,
            why=f"a mean of 20 runs scatters by a quarter. An independent simulation has the bands {listed}, at most "
            f"{max(away):.1f} standard errors from ours"
            if real
            else "a stand-in was used",
            holds=likely(outside, len(SIZES), 0.01) and likely(own_outside, len(mine), 0.01) and max(away) < 4
            if real
            else None,
        ),
        Claim(
            "How the mean error depends on k",
            "at 30 % of the size only around 1.80 %",
            f"{factor(pair):.3f}/√k: {expected} %; runs within {far:.1f} standard errors of it",
            agrees=rows[-1][8] <= printed["mean"][-1] / 100 <= rows[-1][9] if real else None,
            why="1.80 is a good draw of 20" if real else "a stand-in was used",
            holds=far < 4,
        ),
    )
    names = ("mean", "variance", "min", "max")
    columns: tuple[str, ...] = ("k", *(f"{what}, {who}" for what in names for who in ("20 runs", "paper")))
    columns += ("mean", "standard error", "law", "q025", "q975", "runs")
    table = [
        (
            row[0],
            *(v for j, what in enumerate(names) for v in (100 * row[1 + j], printed[what][i])),
            *(100 * v for v in row[5:10]),
            row[10],
        )
        for i, row in enumerate(rows)
    ]
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
    return Result(claims, (Table("errors", columns, tuple(table)),), (figure,))


def edges(rng: np.random.Generator, errors: Vector, runs: int, means: int) -> Matrix:
    """The band's ends again and again: from so many of the runs, by so many means of twenty."""
    drawn = [
        rng.choice(errors if runs >= 10**5 else rng.choice(errors, runs), (means, RUNS)).mean(axis=1) for _ in range(40)
    ]
    return np.asarray(np.quantile(drawn, (0.025, 0.975), axis=1).T)


def likely(outside: int, of: int, level: float = 0.05) -> bool:
    """Whether so many values outside of 95 % bands, or more, have a probability above the level."""
    return bool(binom.sf(outside - 1, of, 0.05) > level)
