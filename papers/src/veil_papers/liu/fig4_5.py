"""Figure 4.5: normal records, the share of breached ones over the size of the sample."""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.known_sample import STATED, breach_figure, normal_table, rising, simulated_shares, sweep

EPSILON = 0.02
SHARES = (0.005, 0.01, 0.02, 0.05, 0.10, 0.15, 0.20)
SIMULATED = simulated_shares(SHARES, {EPSILON: (0.20, 0.40, 0.58, 0.91, 0.99, 1.0, 1.0)})
SAID = "“the probability of privacy breach increases as the sample size increases”"


def run(context: Context) -> Result:
    """Breach over the sample's size."""
    shares, repeats = context.pick(SHARES, (0.005, 0.02, 0.10, 0.20)), context.pick(200, 15)
    rates = sweep(context, normal_table, shares, (EPSILON,), repeats)
    claim = rising("breach over the sample's size", SAID, rates, SIMULATED, 0)
    title = f"Normal records: breach at ε = {EPSILON:g} over the sample ({repeats} runs, ± 2 s.e.)"
    figure = breach_figure(title, "sample, share of the table", rates.over_settings("paper's variant"))
    return Result((claim,), (rates.table("sample", SIMULATED),), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig4.5",
    title="Breach over sample size, normal records",
    stated=f"the normal table of figure 4.4, matrix fixed, ε = .02, the sample's size varies; {STATED}",
    chosen="ratios .5 to 20 %, 200 runs with a new matrix each: the attack turns along with the matrix, so fixing it "
    "changes nothing. No polynomial is fitted",
    run=run,
    errata=("L-i",),
)
