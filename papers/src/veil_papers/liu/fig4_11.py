"""Figure 4.11: Adult, the share of breached records over the tolerance."""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.breach_curves import TOLERANCES, over_tolerances
from veil_papers.liu.known_sample import STATED

SHOWN = {
    0.02: (0.07, 0.19, 0.35, 0.45, 0.61, 0.81),
    0.10: (0.13, 0.30, 0.63, 0.84, 0.92, 0.98),
}
SIMULATED = {(s, e): v for s, values in SHOWN.items() for e, v in zip(TOLERANCES, values, strict=True)}


def run(context: Context) -> Result:
    """Breach over ε for two sizes of the sample."""
    table, real = context.source.adult(), context.source.real("adult")
    return over_tolerances(context, "Adult", table, SIMULATED, context.pick(200, 20), real=real)


EXPERIMENT = Experiment(
    id="liu-fig4.11",
    title="Breach over the tolerance, Adult",
    stated=f"Adult as in figure 4.7, matrix fixed, samples of 2 % and 10 %, ε varies; {STATED}",
    chosen="ε from .02 to .3, 200 runs with a new split and matrix each: the attack turns along with the matrix",
    run=run,
    errata=("L-i",),
    data=("adult",),
)
