"""What figures 4.10 to 4.13 share: breach over the sample's size, and over the tolerance, of Adult and of Letter."""

from __future__ import annotations

import numpy as np

from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Result
from veil_papers.liu.known_sample import SAID, Shares, breach_figure, rising, split, sweep

EPSILONS = (0.10, 0.15, 0.20)
SHARES = (0.005, 0.01, 0.02, 0.05, 0.10, 0.20)
"""Of figures 4.10 and 4.12."""
TOLERANCES = (0.02, 0.05, 0.10, 0.15, 0.20, 0.30)
SIZES = (0.02, 0.10)
"""Of figures 4.11 and 4.13."""
RUNS = 100
"""At least, of the independent simulation."""


def over_sizes(context: Context, name: str, table: Matrix, simulated: Shares, repeats: int, *, real: bool) -> Result:
    """Breach over the sample's size for three tolerances."""
    shares = context.pick(SHARES, (0.005, 0.02, 0.20))
    rates = sweep(context, lambda share, rng: split(table, share, rng), shares, EPSILONS, repeats)
    claims = (
        rising("breach over the sample's size, for each ε", SAID["size"], rates, simulated, 0, runs=RUNS, real=real),
        rising("breach over ε, for each size", SAID["epsilon"], rates, simulated, 1, runs=RUNS, real=real),
    )
    title = f"{name}: breach over the sample ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "sample, share of the private part", rates.over_settings())
    return Result(claims, (rates.table("sample", simulated),), (figure,))


def over_tolerances(
    context: Context, name: str, table: Matrix, simulated: Shares, repeats: int, *, real: bool
) -> Result:
    """Breach over ε for two sizes of the sample."""
    rates = sweep(context, lambda share, rng: split(table, share, rng), SIZES, TOLERANCES, repeats)
    small, large = rates.mean
    spread = np.sqrt((rates.error**2).sum(axis=0))
    above = bool((large - small > -3 * spread).all() and large.sum() > small.sum())
    claims = (
        rising("breach over ε, for each size", SAID["epsilon"], rates, simulated, 1, runs=RUNS, real=real),
        Claim(
            "a 10 % sample breaches more than a 2 % sample",
            SAID["size"],
            "10 %/2 %: " + ", ".join(f"{a:.2f}/{b:.2f}" for a, b in zip(large, small, strict=True)),
            agrees=above if real else None,
            why="" if real else "a stand-in was used",
            holds=above if real else None,
        ),
    )
    title = f"{name}: breach over ε ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "relative error ε", rates.over_epsilons("sample {:.0%}"))
    return Result(claims, (rates.table("sample", simulated),), (figure,))
