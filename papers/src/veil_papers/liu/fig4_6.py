"""Figure 4.6: normal records, the share of breached ones over the tolerance."""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.known_sample import SAID, STATED, breach_figure, normal_table, rising, sweep

SHARE = 0.02
EPSILONS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05)
SIMULATED = {(SHARE, e): v for e, v in zip(EPSILONS, (0.03, 0.19, 0.37, 0.58, 0.86, 0.96, 0.99), strict=True)}


def run(context: Context) -> Result:
    """Breach over ε, from the same runs: that it rises is sure, how high it is is not."""
    repeats = context.pick(200, 40)
    rates = sweep(context, normal_table, (SHARE,), EPSILONS, repeats)
    claim = rising("breach over ε", SAID["epsilon"], rates, SIMULATED, 1)
    title = f"Normal records: breach with a 2 % sample over ε ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "relative error ε", rates.over_epsilons("paper's variant"))
    return Result((claim,), (rates.table("sample", SIMULATED),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.6",
    title="Breach over the tolerance, normal records",
    stated=f"the normal table of figure 4.4, matrix fixed, a 2 % sample, ε varies; {STATED}",
    chosen="ε from .005 to .05, 200 runs with a new matrix, table and sample each. No polynomial is fitted",
    run=run,
    errata=("L-i",),
)
