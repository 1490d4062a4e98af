"""Figure 4.14: the breach over the smallest eigen-ratio of the data."""

from __future__ import annotations

import numpy as np

from veil import measures
from veil.reproduce.data import Matrix
from veil.reproduce.experiment import Claim, Context, Experiment, Result
from veil.reproduce.liu.known_sample import MEAN, STATED, N, breach_figure, expected_shares, rising, sweep

EPSILON, SHARE = 0.05, 0.02
RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0)
SHOWN = (0.08, 0.08, 0.27, 0.45, 0.71, 0.81, 0.86, 0.95, 0.97, 1.0, 1.0)
EXPECTED = expected_shares(RATIOS, {EPSILON: SHOWN})


def variances(ratio: float) -> tuple[float, float, float]:
    """diag(.1, 2, b) whose smallest eigen-ratio is b/2."""
    return 0.1, 2.0, 2.0 * ratio


def draw(ratio: float, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """A normal table and a sample drawn anew."""
    x, sample = (rng.normal(MEAN, np.sqrt(variances(ratio)), (n, 3)) for n in (N, round(N * SHARE)))
    return x, sample


def run(context: Context) -> Result:
    """Breach over the ratio."""
    ratios, repeats = context.pick(RATIOS, (1.0, 2.0, 5.0, 20.0)), context.pick(200, 15)
    found = sweep(context, draw, ratios, (EPSILON,), repeats)
    measured = [float(measures.eigen_ratio(np.diag(variances(r)), kind="covariance")) for r in ratios]
    start, error = float(found.mean[0, 0]), float(found.error[0, 0])
    claims = (
        rising("breach over the eigen-ratio", found, EXPECTED, (0,)),
        Claim(
            "the attack fails at ratio 1",
            "low",
            f"{start:.2f} ± {error:.2f}",
            why="two equal eigenvalues leave their eigenvectors free",
            holds=start + 4.5 * error < 0.5 and bool(np.allclose(measured, ratios)),
        ),
    )
    title = f"Normal records: breach at ε = {EPSILON:g} over the eigen-ratio ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "smallest eigen-ratio", found.over_settings("paper's variant"), "x")
    return Result(claims, (found.table("ratio", EXPECTED),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.14",
    title="Breach over the eigen-ratio",
    stated="10,000 normal records of mean (10, 10, 10) and covariance diag(.1, 2, b), b = 2 to 40, so that the "
    f"smallest eigen-ratio is 1 to 20; a 2 % sample, ε = .05; {STATED}",
    chosen="eleven ratios, 200 runs with a new matrix, table and sample each",
    run=run,
    errata=("L-f", "L-i"),
)
