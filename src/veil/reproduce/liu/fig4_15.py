"""Figure 4.15: the breach over how far the data are from looking the same when mirrored."""

from __future__ import annotations

import numpy as np

from veil import measures
from veil.reproduce.data import Matrix
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.liu.known_sample import STATED, N, breach_figure, expected_shares, rising, sweep

EPSILON, SHARE = 0.05, 0.02
VARIANCES = (0.1, 2.0, 40.0)
ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
EXPECTED = expected_shares(ALPHAS, {EPSILON: (0.19, 0.44, 0.63, 0.69, 0.85, 0.99, 0.99, 1.0, 0.99)})
FLOOR = 0.125
"""One of 2³ sign patterns."""


def draw(alpha: float, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """A normal table of mean α(1, 1, 1) and a sample drawn anew."""
    x, sample = (rng.normal(alpha, np.sqrt(VARIANCES), (n, 3)) for n in (N, round(N * SHARE)))
    return x, sample


def run(context: Context) -> Result:
    """Breach over α, and the invariance of the law."""
    alphas, repeats = context.pick(ALPHAS, (0.0, 0.3, 1.0, 10.0)), context.pick(200, 20)
    found = sweep(context, draw, alphas, (EPSILON,), repeats)
    law = np.diag(VARIANCES)
    invariance = [float(measures.invariance([alpha] * 3, law)) for alpha in alphas]
    start, error = float(found.mean[0, 0]), float(found.error[0, 0])
    claims = (
        rising("breach over the mean's size α", found, EXPECTED, (0,)),
        Claim(
            "breach where the mean is 0",
            "0",
            f"{start:.2f} ± {error:.2f}",
            agrees=False,
            why="L-h: a guessed sign pattern is right once in 2³; a mirrored small axis is within ε for some more",
            holds=start + 4.5 * error > FLOOR and start - 4.5 * error < 2 * FLOOR and start > 0,
        ),
        Claim(
            "invariance of the law",
            "4 min μ²/λ",
            ", ".join(f"{v:.3g}" for v in invariance),
            why="L-g: symmetrised, it is .1 α²",
            holds=bool(np.allclose(invariance, 0.1 * np.square(alphas), atol=1e-12)),
        ),
    )
    title = f"Normal records: breach at ε = {EPSILON:g} over the mean ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "mean α of every attribute", found.over_settings("paper's variant"))
    told = Table.of("invariance", {"alpha": alphas, "invariance": invariance})
    return Result(claims, (found.table("alpha", EXPECTED), told), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.15",
    title="Breach over the invariance",
    stated="10,000 normal records of covariance diag(.1, 2, 40) and mean α(1, 1, 1), α = 0 to 10; a 2 % sample, "
    f"ε = .05; {STATED}",
    chosen="nine α, 200 runs with a new matrix, table and sample each",
    run=run,
    errata=("L-g", "L-h", "L-i"),
)
