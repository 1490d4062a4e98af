"""Figure 4.12: Letter, the share of breached records over the size of the sample."""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.breach_curves import SHARES, over_sizes
from veil_papers.liu.known_sample import STATED, simulated_shares

SIMULATED = simulated_shares(
    SHARES,
    {
        0.10: (0.12, 0.33, 0.51, 0.79, 0.90, 0.97),
        0.15: (0.34, 0.59, 0.76, 0.93, 0.98, 1.0),
        0.20: (0.53, 0.73, 0.85, 0.98, 1.0, 1.0),
    },
)


def run(context: Context) -> Result:
    """Breach over the sample's size for three tolerances."""
    table, real = context.source.letter(), context.source.real("letter")
    return over_sizes(context, "Letter", table, SIMULATED, context.pick(200, 10), real=real)


EXPERIMENT = Experiment(
    id="liu-fig4.12",
    title="Breach over sample size, Letter",
    stated=f"Letter as in figure 4.8, matrix fixed, the sample's size varies, ε = .10, .15, .20; {STATED}",
    chosen="ratios .5 to 20 %, 200 runs with a new split and matrix each: the attack turns along with the matrix",
    run=run,
    errata=("L-i",),
    data=("letter",),
)
