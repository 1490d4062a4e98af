"""Figure 4.10: Adult, the share of breached records over the size of the sample."""

from __future__ import annotations

from veil.reproduce.experiment import Context, Experiment, Result
from veil.reproduce.liu.known_sample import SAID, STATED, breach_figure, rising, simulated_shares, split, sweep

EPSILONS = (0.10, 0.15, 0.20)
SHARES = (0.005, 0.01, 0.02, 0.05, 0.10, 0.20)
SIMULATED = simulated_shares(
    SHARES,
    {
        0.10: (0.23, 0.34, 0.35, 0.52, 0.63, 0.78),
        0.15: (0.33, 0.44, 0.45, 0.76, 0.84, 0.94),
        0.20: (0.41, 0.56, 0.61, 0.87, 0.92, 0.99),
    },
)
RUNS = 100
"""At least, of the independent simulation."""


def run(context: Context) -> Result:
    """Breach over the sample's size for three tolerances."""
    table, real = context.source.adult(), context.source.real("adult")
    shares, repeats = context.pick(SHARES, (0.005, 0.02, 0.20)), context.pick(200, 12)
    found = sweep(context, lambda share, rng: split(table, share, rng), shares, EPSILONS, repeats)
    claims = (
        rising("breach over the sample's size, for each ε", SAID["size"], found, SIMULATED, 0, runs=RUNS, real=real),
        rising("breach over ε, for each size", SAID["epsilon"], found, SIMULATED, 1, runs=RUNS, real=real),
    )
    title = f"Adult: breach over the sample ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "sample, share of the private part", found.over_settings())
    return Result(claims, (found.table("sample", SIMULATED),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.10",
    title="Breach over sample size, Adult",
    stated=f"Adult as in figure 4.7, matrix fixed, the sample's size varies, ε = .10, .15, .20; {STATED}",
    chosen="ratios .5 to 20 %, 200 runs with a new split and matrix each: the attack turns along with the matrix",
    run=run,
    errata=("L-i",),
    data=("adult",),
)
