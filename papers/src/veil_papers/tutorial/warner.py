"""Slide "One Dichotomous Attribute": Warner's model, its estimate and the variance of it."""

from __future__ import annotations

import numpy as np

from veil.recovery import dispersion, estimate_proportions
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Histogram
from veil_papers.tutorial.responses import counts, reported, survey

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
    printed = (KEEP - 1) / (2 * KEEP - 1) + heard[:, 0] / ((2 * KEEP - 1) * N)
    apart = float(np.abs(printed - estimates).max())
    right = (
        abs(yes - expected) < 4 * np.sqrt(expected * (1 - expected) / (N * surveys)),
        abs(estimates.mean() - SHARE) < 4 * np.sqrt(VARIANCE / surveys) and apart < 1e-12,
    )
    claims = (
        Claim(
            "Share of the yes answers",
            "λ = πP + (1 − π)(1 − P)",
            f"{yes:.4f} reported, {expected:g} by the formula",
            agrees=bool(right[0]),
            holds=bool(right[0]),
        ),
        Claim(
            "The estimate has no bias",
            "(P − 1)/(2P − 1) + n₁/((2P − 1)n)",
            f"{estimates.mean():.4f} over {surveys:,} surveys of a share of {SHARE:g}; the formula within {apart:.0e}",
            agrees=bool(right[1]),
            holds=bool(right[1]),
        ),
        Claim(
            "Variance of the estimate",
            "π(1 − π)/n + (1/(16(P − ½)²) − ¼)/n",
            f"{total:.3e} over surveys, {formula:.4e} by the formula",
            agrees=bool(abs(total / formula - 1) < relative),
            holds=bool(
                np.isclose(formula, VARIANCE, rtol=1e-12)
                and np.isclose(theory.total[0, 0], VARIANCE, rtol=1e-12)
                and abs(total / VARIANCE - 1) < relative
            ),
        ),
        Claim(
            "Variance of the direct answer",
            "π(1 − π)/n",
            f"{plain:.2e} over surveys, {SHARE * (1 - SHARE) / N:.1e} by the formula",
            agrees=bool(abs(plain / DIRECT - 1) < relative),
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
