"""Figure 4.10: Adult, the share of breached records over the size of the sample."""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.breach_curves import SHARES, over_sizes
from veil_papers.liu.known_sample import STATED, simulated_shares

SIMULATED = simulated_shares(
    SHARES,
    {
        0.10: (0.23, 0.34, 0.35, 0.52, 0.63, 0.78),
        0.15: (0.33, 0.44, 0.45, 0.76, 0.84, 0.94),
        0.20: (0.41, 0.56, 0.61, 0.87, 0.92, 0.99),
    },
)


def run(context: Context) -> Result:
    """Breach over the sample's size for three tolerances."""
    table, real = context.source.adult(), context.source.real("adult")
    return over_sizes(context, "Adult", table, SIMULATED, context.pick(200, 12), real=real)


EXPERIMENT = Experiment(
    id="liu-fig4.10",
    title="Breach over sample size, Adult",
    stated=f"Adult as in figure 4.7, matrix fixed, the sample's size varies, ε = .10, .15, .20; {STATED}",
    chosen="ratios .5 to 20 %, 200 runs with a new split and matrix each: the attack turns along with the matrix",
    run=run,
    errata=("L-i",),
    data=("adult",),
)
