"""Figure 4.13: Letter, the share of breached records over the tolerance."""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.breach_curves import TOLERANCES, over_tolerances
from veil_papers.liu.known_sample import STATED

SHOWN = {
    0.02: (0.0, 0.10, 0.51, 0.76, 0.85, 0.93),
    0.10: (0.09, 0.59, 0.90, 0.98, 1.0, 1.0),
}
SIMULATED = {(s, e): v for s, values in SHOWN.items() for e, v in zip(TOLERANCES, values, strict=True)}


def run(context: Context) -> Result:
    """Breach over ε for two sizes of the sample."""
    table, real = context.source.letter(), context.source.real("letter")
    return over_tolerances(context, "Letter", table, SIMULATED, context.pick(200, 14), real=real)


EXPERIMENT = Experiment(
    id="liu-fig4.13",
    title="Breach over the tolerance, Letter",
    stated=f"Letter as in figure 4.8, matrix fixed, samples of 2 % and 10 %, ε varies; {STATED}",
    chosen="ε from .02 to .3, 200 runs with a new split and matrix each: the attack turns along with the matrix",
    run=run,
    errata=("L-i",),
    data=("letter",),
)
