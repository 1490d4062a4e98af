"""Figure 5.12: four sounds projected to two mixtures; is none recovered?"""

from __future__ import annotations

import numpy as np

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.figures import Histogram
from veil_papers.liu.signals import nearest_bars, projection, separated
from veil_papers.liu.two_mixtures import nearness_claims

SIMULATED = (0.84, 0.53, 0.72, 0.57), 0.58, 50
"""Of an independent simulation: medians per source of the best |correlation|, the share of matrices for which some
source reaches .9, and the number of matrices."""


def run(context: Context) -> Result:
    """The best correlation per source over matrices."""
    x = np.ascontiguousarray(context.source.sounds().T)[:: context.pick(1, 4)]
    matrices = context.pick(100, 20)
    separation = separated(context, x, projection, matrices)
    alike = separated(context, x / x.std(axis=0), projection, matrices)
    claims = nearness_claims(context, "signals", separation, alike, SIMULATED, real=context.source.real("sounds"))
    best = separation.nearest.max(axis=1)
    series = (("as they are", separation), ("scaled to equal variance", alike))
    figures = (
        nearest_bars(f"The component nearest to each sound ({matrices} matrices)", series),
        Histogram("The best recovered sound of a matrix", "|correlation|", (("one matrix each", best),), bins=20),
    )
    return Result(claims, (separation.table(), alike.table("correlations-scaled")), figures)


EXPERIMENT = Experiment(
    id="liu-fig5.12",
    title="Sounds behind a projection",
    stated="the four sounds of figure 4.18, k = 2: two components are found, and none is an original",
    chosen="four sounds of 40,000 samples, FastICA from six starts, 100 matrices, also with sounds scaled to equal "
    "variance",
    run=run,
    data=("sounds",),
)
