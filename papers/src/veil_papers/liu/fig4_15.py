"""Figure 4.15: the breach over how far the data are from looking the same when mirrored."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm, skewnorm

from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.liu.known_sample import COVARIANCE, STATED, N, breach_figure, rising, simulated_shares, sweep

EPSILON, SHARE = 0.05, 0.02
VARIANCES = (0.1, 2.0, 40.0)
ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
SIMULATED = simulated_shares(ALPHAS, {EPSILON: (0.19, 0.44, 0.63, 0.69, 0.85, 0.99, 0.99, 1.0, 0.99)})
SKEW = 1.5
"""Shape of a skewed law, in which the two divergences would differ if they could."""


def draw(alpha: float, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """A normal table of mean α(1, 1, 1) and a sample drawn anew."""
    x, sample = (rng.normal(alpha, np.sqrt(VARIANCES), (n, 3)) for n in (N, round(N * SHARE)))
    return x, sample


def run(context: Context) -> Result:
    """Breach over α, and the invariance of the law."""
    alphas, repeats = context.pick(ALPHAS, (0.0, 0.3, 1.0, 10.0)), context.pick(200, 20)
    rates = sweep(context, draw, alphas, (EPSILON,), repeats)
    law = np.diag(VARIANCES)
    invariance = [float(measures.invariance([alpha] * 3, law)) for alpha in alphas]
    start, error, chance = float(rates.mean[0, 0]), float(rates.error[0, 0]), guessed(context)
    claims = (
        rising(
            "breach over the mean's size α",
            "“as α runs away from zero, the probability of privacy breach increases very fast”",
            rates,
            SIMULATED,
            0,
        ),
        Claim(
            "breach where the mean is 0",
            "“drops to zero too”",
            f"{start:.2f} ± {error:.2f}; .19 in an independent simulation",
            f"signs drawn by lot breach {chance:.3f}",
            agrees=False,
            why="L-h: a guessed sign pattern is right once in 2³; a mirrored small axis is within ε for some more",
            holds=abs(start - chance) < 4.5 * error,
        ),
        *divergence_claims(),
    )
    title = f"Normal records: breach at ε = {EPSILON:g} over the mean ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "mean α of every attribute", rates.over_settings("paper's variant"))
    invariances = Table.of("invariance", {"alpha": alphas, "invariance": invariance})
    return Result(claims, (rates.table("alpha", SIMULATED), invariances), (figure,))


def guessed(context: Context) -> float:
    """Share of records, mean 0, that come within ε when every sign is drawn by lot."""
    x, _ = draw(0.0, context.rng(len(ALPHAS)))
    lengths = np.linalg.norm(x, axis=1)
    patterns = product((1.0, -1.0), repeat=x.shape[1])
    return float(np.mean([np.linalg.norm(x * signs - x, axis=1) <= EPSILON * lengths for signs in patterns]))


def divergence_claims() -> tuple[Claim, ...]:
    """Equation 4.4 by trying every mirror, and what its repeated term does."""
    means = [np.array(mean) for mean in ((1.0, 1.0, 1.0), (10.0, 10.0, 10.0), (3.0, -1.0, 0.5))]
    cases = [(mean, np.array(c)) for mean in means for c in (np.diag(VARIANCES), COVARIANCE)]
    tried = [least_change(mean, covariance) for mean, covariance in cases]
    closed = [float(measures.invariance(mean, covariance)) for mean, covariance in cases]
    off = max(abs(a - b) / b for a, b in zip(tried, closed, strict=True))
    law, mirrored, other = skewnorm(SKEW, loc=0.2), skewnorm(-SKEW, loc=-0.2), norm(0.2, 1.0)
    forth, back = divergence(mirrored, law), divergence(law, mirrored)
    unlike = divergence(other, law), divergence(law, other)
    return (
        Claim(
            "invariance of a normal law",
            "min over D of μ′Z(D − D₀)Λ⁻¹(D − D₀)Z′μ, quadratic in the mean",
            f"{tried[0]:.3g} α² for figure 4.15, over all 7 mirrors",
            f"4 min (z′μ)²/λ: the same for {len(cases)} laws, to {off:.0e}",
            agrees=off < 1e-9,
            why="the least change mirrors one axis",
            holds=off < 1e-9 and abs(tried[0] - 0.1) < 1e-12,
        ),
        Claim(
            "Eq 4.4: the symmetrised divergence",
            "KL(f_D‖f_D₀) + KL(f_D‖f_D₀), the same term twice",
            f"a skewed law and its mirror image: {forth:.4f} and {back:.4f}; were they no mirrors, {unlike[0]:.3f} and "
            f"{unlike[1]:.3f}",
            agrees=abs(forth - back) < 1e-6,
            why="L-g: the second term is meant the other way round. A mirror is its own inverse, so both are equal for "
            "every law, and the slip changes nothing",
            holds=abs(forth - back) < 1e-6 < 0.1 < abs(unlike[0] - unlike[1]),
        ),
    )


def least_change(mean: Matrix, covariance: Matrix) -> float:
    """Least symmetrised divergence of a normal law from its images under every sign matrix but the unit one."""
    vectors = np.linalg.eigh(covariance)[1]
    changes = []
    for signs in list(product((1.0, -1.0), repeat=len(mean)))[1:]:
        change = (vectors * signs) @ vectors.T @ mean - mean
        changes.append(float(change @ np.linalg.solve(covariance, change)))
    return min(changes)


def divergence(first: Any, second: Any) -> float:
    """KL(first‖second) by integration."""
    return float(quad(lambda t: first.pdf(t) * (first.logpdf(t) - second.logpdf(t)), -8.0, 8.0, limit=400)[0])


EXPERIMENT = Experiment(
    id="liu-fig4.15",
    title="Breach over the invariance",
    stated="10,000 normal records of covariance diag(.1, 2, 40) and mean α(1, 1, 1), α = 0 to 10; a 2 % sample, "
    f"ε = .05; {STATED}",
    chosen="nine α, 200 runs with a new matrix, table and sample each",
    run=run,
    errata=("L-g", "L-h", "L-i"),
)
