"""Figure 4.14: the breach over the smallest eigen-ratio of the data."""

from __future__ import annotations

import numpy as np

from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result
from veil_papers.liu.known_sample import (
    LIMIT,
    MEAN,
    ROUNDING,
    STATED,
    N,
    breach_figure,
    rising,
    simulated_shares,
    sweep,
)

EPSILON, SHARE = 0.05, 0.02
RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0)
SHOWN = (0.08, 0.08, 0.27, 0.45, 0.71, 0.81, 0.86, 0.95, 0.97, 1.0, 1.0)
SIMULATED = simulated_shares(RATIOS, {EPSILON: SHOWN})


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
    rates = sweep(context, draw, ratios, (EPSILON,), repeats)
    ends = [float(measures.eigen_ratio(np.diag(variances(r)), kind="covariance")) for r in (RATIOS[0], RATIOS[-1])]
    spectrum = variances(RATIOS[-1])
    start, error = float(rates.mean[0, 0]), float(rates.error[0, 0])
    fails = abs(start - SHOWN[0]) < LIMIT * 2**0.5 * error + ROUNDING
    statement = "“the higher the eigen-ratio, the better the performance of the attack algorithm”"
    claims = (
        rising("breach over the eigen-ratio", statement, rates, SIMULATED, 0),
        Claim(
            "the attack fails at ratio 1",
            "with equal eigenvalues “the PCA attack algorithm will fail”",
            f"{start:.2f} ± {error:.2f} of records are breached; {SHOWN[0]:.2f} in an independent simulation",
            agrees=fails,
            why="two equal eigenvalues leave their eigenvectors free; a few guesses are near all the same",
            holds=fails,
        ),
        Claim(
            "b = 2 to 40 makes the minimum ratio “of any pair of eigenvalues” 1 to 20",
            "min{λᵢ/λⱼ : i ≠ j} from 1 to 20",
            f"over any pair it is {min(spectrum) / max(spectrum):g} at b = 40",
            f"over neighbours in descending order {ends[0]:g} to {ends[1]:g}",
            agrees=False,
            why="L-f: neighbouring eigenvalues are meant, the larger over the smaller",
            holds=bool(np.allclose(ends, (1.0, 20.0))),
        ),
    )
    title = f"Normal records: breach at ε = {EPSILON:g} over the eigen-ratio ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "smallest eigen-ratio", rates.over_settings("paper's variant"), "x")
    return Result(claims, (rates.table("ratio", SIMULATED),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.14",
    title="Breach over the eigen-ratio",
    stated="10,000 normal records of mean (10, 10, 10) and covariance diag(.1, 2, b), b = 2 to 40, so that the "
    f"smallest eigen-ratio is 1 to 20; a 2 % sample, ε = .05; {STATED}",
    chosen="eleven ratios, 200 runs with a new matrix, table and sample each",
    run=run,
    errata=("L-f", "L-i"),
)
