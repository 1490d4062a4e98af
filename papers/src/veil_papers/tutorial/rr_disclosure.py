"""Slides "Disclosure Analysis with RR": posteriors, jeopardizing answers and risks of suspicion."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.tutorial.responses import reported, survey

SHARE, KEEP = 0.3, 0.7
FACTORS, POSTERIORS = (7 / 3, 3 / 7), (0.5, 9 / 58)


def warner(keep: float) -> np.ndarray:
    """Column-stochastic: yes and no given A and not A."""
    return np.array([[keep, 1 - keep], [1 - keep, keep]])


def run(context: Context) -> Result:
    """The measures in closed form, and what an attacker makes of a release."""
    shares, matrix = np.array([SHARE, 1 - SHARE]), warner(KEEP)
    factors = veil.measures.odds_factors(matrix)[:, 0]
    low, high = veil.measures.suspicion_bounds(matrix, shares)
    n = context.pick(200_000, 50_000)
    truth = survey(context, {"A": shares}, n, 0)
    release, codes = reported(context, truth, {"A": matrix}, 1)
    posteriors = [float((truth["A"][codes["A"] == answer] == 0).mean()) for answer in (0, 1)]
    sizes = [int((codes["A"] == answer).sum()) for answer in (0, 1)]
    near = all(abs(s - p) < 4 * np.sqrt(p * (1 - p) / m) for s, p, m in zip(posteriors, POSTERIORS, sizes, strict=True))
    guess = veil.ResponsePosteriorAttack().run(release)
    right = float((guess.values[:, 0] == truth["A"]).mean())
    odds = (1 - SHARE) / SHARE
    limits = odds * high[0] / (1 - high[0]), (1 / odds) * (1 - low[0]) / low[0]
    claims = (
        Claim(
            "g(yes|A) and g(no|A) = 1/g",
            "g(R|A) = P(R|A)/P(R|Ā)",
            f"{factors[0]:.3f} and {factors[1]:.4f}",
            agrees=bool(np.allclose(factors, FACTORS, rtol=1e-12)),
            holds=bool(np.allclose(factors, FACTORS, rtol=1e-12)),
        ),
        Claim(
            "Posterior of A after yes and after no",
            "πP(R|A)/(πP(R|A) + (1 − π)P(R|Ā))",
            f"{high[0]:.3f} and {low[0]:.3f}; in a release {posteriors[0]:.3f} and {posteriors[1]:.3f}",
            why="yes jeopardizes A, no jeopardizes its complement",
            agrees=bool(near),
            holds=bool(np.allclose((high[0], low[0]), POSTERIORS, rtol=1e-12) and near and high[0] > SHARE > low[0]),
        ),
        Claim(
            "g is bounded by ξ₁ ≤ P(A|R) ≤ ξ₂",
            "g(yes|A) ≤ (1−π)/π · ξ₂/(1−ξ₂) and g(no|Ā) ≤ π/(1−π) · (1−ξ₁)/ξ₁",
            f"met with equality: {limits[0]:.4f} and {limits[1]:.4f}",
            agrees=bool(np.allclose(limits, (factors[0], 1 / factors[1]), rtol=1e-12)),
            holds=bool(np.allclose(limits, (factors[0], 1 / factors[1]), rtol=1e-12)),
        ),
        Claim(
            "No disclosure only if g = 1, and then no estimate",
            "“impossible to get an Unbiased Estimate”",
            f"information lost {float(veil.measures.fisher_information_loss(warner(0.5), shares)):.0%} at P = ½, "
            f"{float(veil.measures.fisher_information_loss(matrix, shares)):.1%} at P = {KEEP}",
            f"the best guess of a record is right in {right:.1%}, as without any report",
            agrees=abs(float(veil.measures.fisher_information_loss(warner(0.5), shares)) - 1) < 1e-12,
            holds=bool(
                abs(float(veil.measures.fisher_information_loss(warner(0.5), shares)) - 1) < 1e-12
                and abs(right - (1 - SHARE)) < 0.01
            ),
        ),
    )
    keeps = np.linspace(0.5, 0.95, 19)
    rows: list[tuple[Any, ...]] = []
    for keep in keeps:
        lows, highs = veil.measures.suspicion_bounds(warner(keep), shares)
        loss = float(veil.measures.fisher_information_loss(warner(keep), shares))
        rows.append((round(float(keep), 3), float(keep / (1 - keep)), float(highs[0]), float(lows[0]), loss))
    columns = ("P", "g", "posterior after yes", "posterior after no", "information lost")
    figure = Curves(
        "Privacy against information, by the probability of the true question (π = 0.3)",
        "P",
        "probability or share",
        tuple(Curve(columns[j], keeps, [row[j] for row in rows]) for j in (2, 3, 4)),
        marks=((KEEP, "P of the example"),),
    )
    return Result(claims, (Table("disclosure", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-rr-disclosure",
    title="What a randomized answer discloses",
    stated="posterior probabilities, Warner's g(R|A), jeopardizing answers, bounds ξ₁ and ξ₂, loss of information",
    chosen="π = 0.3 and P = 0.7; all of it in closed form",
    run=run,
)
