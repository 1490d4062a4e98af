"""Tables 4 to 7: the printed noise factors and perturbed marks, and what law the noise has."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.pandya.marks import (
    FACTORS,
    MARKS,
    PERTURBED,
    SHARES,
    SUBJECTS,
    corrected,
    noise_covariance,
    stated_law,
    tables_of,
)

DECIMALS = (3, 2)
SHARED = 1.9
"""The printed factors' covariance is about c(Σ + 1.9·11′)."""


def run(context: Context) -> Result:
    """Products of printed tables, and the spread of a record's factors under the printed and the stated law."""
    logs = [np.log(corrected(factors)) for factors in FACTORS]
    ratio = float(np.linalg.lstsq(logs[0].ravel()[:, None], logs[1].ravel(), rcond=None)[0][0])
    repeats = context.pick(4_000, 400)
    expected = np.cov(np.log(MARKS), rowvar=False)
    rows: list[tuple[Any, ...]] = []
    for table, c in zip(logs, SHARES, strict=True):
        release = stated_law(c, repeats, int(context.rng(int(100 * c)).integers(2**31)))
        drawn = np.log(tables_of(release) / MARKS)
        stated = drawn.mean(axis=2).var(axis=1, ddof=1)
        shared = (np.cov(table, rowvar=False) - c * expected).mean() / c
        rows.append((c, float(table.mean(axis=1).var(ddof=1)), float(stated.mean()), float(np.quantile(stated, 0.95))))
        rows[-1] += (float(c * expected.mean()), float(shared), float(stated.std() / repeats**0.5))
        rows[-1] += (float(noise_covariance(release).mean()),)
    columns: tuple[str, ...] = (
        "c",
        "printed",
        "stated law, mean",
        "stated law, 95 %",
        "closed form",
        "shared part/c",
        "standard error",
    )
    columns += ("of the release's law",)
    factors: list[tuple[Any, ...]] = [
        (c, i + 1, SUBJECTS[j], FACTORS[k][i, j], PERTURBED[k][i, j], float(MARKS[i, j] * corrected(FACTORS[k])[i, j]))
        for k, c in enumerate(SHARES)
        for i in range(7)
        for j in range(7)
    ]
    tables = (
        Table("shared-noise", columns, tuple(rows)),
        Table("factors", ("c", "record", "subject", "factor", "perturbed", "mark × factor"), tuple(factors)),
    )
    return Result(claims(rows, ratio), tables, (figure(logs),))


def claims(rows: list[tuple[Any, ...]], ratio: float) -> tuple[Claim, ...]:
    """Products, lost exponents, scale, and the law of the noise."""
    listed = []
    for k, c in enumerate(SHARES):
        marks, factors = corrected(PERTURBED[k]), corrected(FACTORS[k])
        off = np.abs(MARKS * factors - marks)
        # A factor to three digits moves a mark by .0005 of it when rounded, by .001 when cut; four factors have fewer.
        allowed = MARKS * np.where(np.isin(FACTORS[k], (1.07, 1.23)), 0.01, 0.001) + 10.0 ** -DECIMALS[k]
        allowed[marks != PERTURBED[k]] += 0.05
        lost = int((marks != PERTURBED[k]).sum() + (factors != FACTORS[k]).sum())
        listed.append(
            Claim(
                f"Table {5 + 2 * k}: marks × factors of Table {4 + 2 * k} (c = {c:g})",
                "49 values",
                f"largest difference {off.max():.2f} ({np.median(off):.3f} in the middle)",
                agrees=bool(lost == 0),
                why=f"P-b: {lost} entries of the two tables lost their exponents",
                holds=bool((off <= allowed).all()),
            )
        )
    listed.append(
        Claim(
            "both noises are the same draws",
            "–",
            f"logarithms of Table 6 are {ratio:.3f} × those of Table 4 (√10 = {10**0.5:.3f})",
            agrees=None,
            why="to the digits that are printed",
            holds=abs(ratio - 10**0.5) < 0.02,
        )
    )
    listed.append(
        Claim(
            "the law of the noise",
            "N(0, c·Σ), Σ the covariance of the original data in log scale",
            "variance of a record's mean log factor "
            + " and ".join(f"{row[1] / row[4]:.0f}×" for row in rows)
            + f" what the law says; one factor of variance {rows[0][5]:.1f}c per record is on top",
            " and ".join(f"{row[2] / row[4]:.2f}×" for row in rows) + " in releases of the product",
            agrees=False,
            why="P-c: nearly one shared factor per record; the draws are not to be matched",
            holds=all(
                row[1] > 10 * row[3]
                and abs(row[2] - row[7]) < 4 * row[6]
                and abs(row[7] / row[4] - 1) < 0.05  # the product rounds the factor of its covariance to two digits
                and abs(row[5] - SHARED) < 0.1
                for row in rows
            ),
        )
    )
    return tuple(listed)


def figure(logs: list[Matrix]) -> Curves:
    """The printed factors of each record over the subjects."""
    at = np.arange(1.0, 8.0)
    curves = tuple(Curve(f"record {i + 1}", at, np.exp(logs[1][i]), colour=i) for i in range(6))
    title = "Printed factors for c = .10: nearly one per record (Table 6, six of seven records)"
    return Curves(title, "subject (1 Foundation … 7 Project)", "factor", curves, log="y")


EXPERIMENT = Experiment(
    id="pandya-table4-7",
    title="Noise factors and perturbed marks",
    stated="factors exp(e), e ~ N(0, cΣ), for c = .01 and .10; marks times factors",
    chosen="the printed draws are data, the same for both c up to √10; beside them 4,000 releases of the product "
    "under the stated law",
    run=run,
    errata=("P-b", "P-c"),
    also=("table4", "table5", "table6", "table7"),
)
