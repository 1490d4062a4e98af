"""Slide "One Dichotomous Attribute": Warner's model, its estimate and the variance of it."""

from __future__ import annotations

import numpy as np

from veil.recovery import dispersion, estimate_proportions
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Histogram
from veil.reproduce.tutorial.responses import counts, reported, survey

SHARE, KEEP, N = 0.3, 0.7, 1_000
MATRIX = np.array([[KEEP, 1 - KEEP], [1 - KEEP, KEEP]])
VARIANCE, DIRECT = 1.5225e-3, 2.1e-4


def run(context: Context) -> Result:
    """Many surveys of 1,000 people: the spread of the estimates against the formula."""
    surveys = context.pick(4_000, 800)
    truth = survey(context, {"A": np.array([SHARE, 1 - SHARE])}, N * surveys, 0)
    _, codes = reported(context, truth, {"A": MATRIX}, 1)
    heard = counts(codes["A"], 2, surveys)
    direct = counts(truth["A"], 2, surveys)[:, 0] / N
    estimates = np.array([estimate_proportions(each, MATRIX).estimate[0] for each in heard])
    theory = dispersion(MATRIX, [SHARE, 1 - SHARE], N)
    formula = SHARE * (1 - SHARE) / N + (1 / (16 * (KEEP - 0.5) ** 2) - 0.25) / N
    yes, expected = heard[:, 0].mean() / N, SHARE * KEEP + (1 - SHARE) * (1 - KEEP)
    relative = 4 * np.sqrt(2 / (surveys - 1))
    total, plain = float(estimates.var(ddof=1)), float(direct.var(ddof=1))
    claims = (
        Claim(
            "λ = πP + (1 − π)(1 − P)",
            f"{expected:g}",
            f"{yes:.4f}",
            holds=bool(abs(yes - expected) < 4 * np.sqrt(expected * (1 - expected) / (N * surveys))),
        ),
        Claim(
            "The estimate has no bias",
            f"{SHARE:g}",
            f"{estimates.mean():.4f} over {surveys:,} surveys",
            holds=bool(abs(estimates.mean() - SHARE) < 4 * np.sqrt(VARIANCE / surveys)),
        ),
        Claim(
            "Variance of the estimate",
            f"{formula:.4e} by its formula",
            f"{total:.3e} over surveys, {theory.total[0, 0]:.4e} by theory",
            holds=bool(
                np.isclose(formula, VARIANCE, rtol=1e-12)
                and np.isclose(theory.total[0, 0], VARIANCE, rtol=1e-12)
                and abs(total / VARIANCE - 1) < relative
            ),
        ),
        Claim(
            "Variance of the direct answer",
            f"{SHARE * (1 - SHARE) / N:.1e}",
            f"{plain:.2e} over surveys",
            holds=bool(np.isclose(theory.sampling[0, 0], DIRECT) and abs(plain / DIRECT - 1) < relative),
        ),
    )
    table = Table.of(
        "variances", {"variance": ["randomized", "direct"], "formula": [formula, DIRECT], "surveys": [total, plain]}
    )
    figure = Histogram(
        "What 1,000 randomized and 1,000 direct answers say about a share of 30 %",
        "estimated share",
        (("randomized response, P = 0.7", estimates), ("direct answers", direct)),
        marks=((SHARE, "true share"),),
    )
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-warner",
    title="Warner's model: estimate and variance",
    stated="λ = πP + (1 − π)(1 − P); the unbiased estimate and its variance, beside that of direct answers",
    chosen="π = 0.3, P = 0.7, n = 1,000; 4,000 surveys. The formulas hold for any",
    run=run,
)
