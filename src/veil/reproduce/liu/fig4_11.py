"""Figure 4.11: Adult, the share of breached records over the tolerance."""

from __future__ import annotations

import numpy as np

from veil.reproduce.experiment import Claim, Context, Experiment, Result
from veil.reproduce.liu.known_sample import SAID, STATED, breach_figure, rising, split, sweep

SHARES = (0.02, 0.10)
EPSILONS = (0.02, 0.05, 0.10, 0.15, 0.20, 0.30)
SHOWN = {
    0.02: (0.07, 0.19, 0.35, 0.45, 0.61, 0.81),
    0.10: (0.13, 0.30, 0.63, 0.84, 0.92, 0.98),
}
SIMULATED = {(s, e): v for s, values in SHOWN.items() for e, v in zip(EPSILONS, values, strict=True)}
RUNS = 100
"""At least, of the independent simulation."""


def run(context: Context) -> Result:
    """Breach over ε for two sizes of the sample."""
    table, real = context.source.adult(), context.source.real("adult")
    repeats = context.pick(200, 20)
    found = sweep(context, lambda share, rng: split(table, share, rng), SHARES, EPSILONS, repeats)
    small, large = found.mean
    spread = np.sqrt((found.error**2).sum(axis=0))
    above = bool((large - small > -3 * spread).all() and large.sum() > small.sum())
    claims = (
        rising("breach over ε, for each size", SAID["epsilon"], found, SIMULATED, 1, runs=RUNS, real=real),
        Claim(
            "a 10 % sample breaches more than a 2 % sample",
            SAID["size"],
            "10 %/2 %: " + ", ".join(f"{a:.2f}/{b:.2f}" for a, b in zip(large, small, strict=True)),
            agrees=above if real else None,
            why="" if real else "a stand-in was used",
            holds=above if real else None,
        ),
    )
    title = f"Adult: breach over ε ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "relative error ε", found.over_epsilons("sample {:.0%}"))
    return Result(claims, (found.table("sample", SIMULATED),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.11",
    title="Breach over the tolerance, Adult",
    stated=f"Adult as in figure 4.7, matrix fixed, samples of 2 % and 10 %, ε varies; {STATED}",
    chosen="ε from .02 to .3, 200 runs with a new split and matrix each: the attack turns along with the matrix",
    run=run,
    errata=("L-i",),
    data=("adult",),
)
