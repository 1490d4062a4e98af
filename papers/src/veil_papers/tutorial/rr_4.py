"""Slide "Vector Response": four categories, the reported proportions and the dispersion of the estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.recovery import dispersion, estimate_proportions
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.tutorial.responses import counts, reported, survey

MATRIX = np.array(
    [[0.60, 0.20, 0.00, 0.10], [0.20, 0.50, 0.20, 0.10], [0.15, 0.15, 0.70, 0.30], [0.05, 0.15, 0.10, 0.50]]
)
SHARES = np.array([0.1, 0.3, 0.2, 0.4])
PRINTED = np.array([0.16, 0.25, 0.32, 0.27])
N = 1_000


def run(context: Context) -> Result:
    """λ = Pπ, and surveys whose estimates spread as the two parts say."""
    surveys = context.pick(4_000, 800)
    heard_shares = MATRIX @ SHARES
    truth = survey(context, {"c": SHARES}, N * surveys, 0)
    _, codes = reported(context, truth, {"c": MATRIX}, 1)
    heard = counts(codes["c"], 4, surveys)
    estimates = np.array([estimate_proportions(each, MATRIX).estimate for each in heard])
    theory = dispersion(MATRIX, SHARES, N)
    own = counts(truth["c"], 4, surveys) / N
    total, randomization = estimates.var(axis=0, ddof=1), (estimates - own).var(axis=0, ddof=1)
    expected, random_part = np.diag(theory.total), np.diag(theory.randomization)
    off = max(float(np.abs(total / expected - 1).max()), float(np.abs(randomization / random_part - 1).max()))
    inverse = np.linalg.inv(MATRIX)
    printed = (inverse @ (np.diag(heard_shares) - np.outer(heard_shares, heard_shares)) @ inverse.T) / N
    split = float(np.abs(printed - theory.sampling - theory.randomization).max())
    standard = np.sqrt(heard_shares * (1 - heard_shares) / (N * surveys))
    claims = (
        Claim(
            "λ = P π",
            "(.16, .25, .32, .27)",
            f"{heard_shares.round(12).tolist()}; reported {(heard.mean(axis=0) / N).round(4).tolist()}",
            agrees=bool(np.abs(heard_shares - PRINTED).max() < 1e-12),
            holds=bool(
                np.abs(heard_shares - PRINTED).max() < 1e-12
                and (np.abs(heard.mean(axis=0) / N - PRINTED) < 4 * standard).all()
            ),
        ),
        Claim(
            "Dispersion = sampling + randomization",
            "n⁻¹P⁻¹(diag λ − λλ′)P⁻ᵀ = Σ₁ + Σ₂",
            f"the parts add up within {split:.0e}; variances over surveys within {off:.1%} of theirs",
            agrees=bool(off < 4.5 * np.sqrt(2 / (surveys - 1))),
            holds=bool(split < 1e-12 and off < 4.5 * np.sqrt(2 / (surveys - 1))),
        ),
        Claim(
            "Σ₂ is nonnegative definite",
            "“nonnegative definite”",
            f"smallest eigenvalue {np.linalg.eigvalsh(theory.randomization).min():.1e}",
            agrees=bool(np.linalg.eigvalsh(theory.randomization).min() > -1e-15),
            holds=bool(np.linalg.eigvalsh(theory.randomization).min() > -1e-15),
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (i + 1, SHARES[i], heard_shares[i], theory.sampling[i, i], random_part[i], expected[i], total[i])
        for i in range(4)
    ]
    columns = ("category", "share", "reported", "sampling part", "randomization part", "variance", "over surveys")
    figure = Bars(
        "Standard error of a share from 1,000 answers",
        tuple(f"category {i + 1} ({SHARES[i]:.0%})" for i in range(4)),
        "standard error",
        (
            ("direct answers", np.sqrt(np.diag(theory.sampling))),
            ("randomized, theory", np.sqrt(expected)),
            ("randomized, over surveys", np.sqrt(total)),
        ),
    )
    return Result(claims, (Table("dispersion", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-rr-4",
    title="Four categories: reported shares and dispersion",
    stated="a 4×4 column-stochastic P and π = (.1, .3, .2, .4); λ = Pπ; disp(π̂) in two parts",
    chosen="n = 1,000 for the dispersion, 4,000 surveys; P's columns are the true categories",
    run=run,
    errata=("T-a",),
)
