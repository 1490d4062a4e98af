"""Figure 5.12: four sounds projected to two mixtures; is none recovered?"""

from __future__ import annotations

import numpy as np

from veil.reproduce.experiment import Claim, Context, Experiment, Result
from veil.reproduce.figures import Histogram
from veil.reproduce.liu.signals import listed, nearest_bars, projection, separated

EXPECTED, EXPECTED_SOME = (0.84, 0.53, 0.72, 0.57), 0.58
"""Median of the best |correlation| per source, and the share of matrices for which some source reaches .9."""


def run(context: Context) -> Result:
    """The best correlation per source over matrices."""
    x = np.ascontiguousarray(context.source.sounds().T)[:: context.pick(1, 4)]
    matrices, real = context.pick(50, 20), context.source.real("sounds")
    found = separated(context, x, projection, matrices)
    alike = separated(context, x / x.std(axis=0), projection, matrices)
    spread = (EXPECTED_SOME * (1 - EXPECTED_SOME) / matrices) ** 0.5
    claims = (
        Claim("components found", "2", f"{found.n_signals}", holds=found.n_signals == 2),
        Claim(
            "no sound is recovered",
            "none of the four",
            f"best |correlation|, medians {listed(np.median(found.nearest, axis=0))}; in {found.some:.0%} of "
            f"{matrices} draws some source reaches .9 (scaled alike: {alike.some:.0%})",
            agrees=False if real else None,
            why="a strong source dominates a mixture; how many are heard depends on the matrix"
            if real
            else "a stand-in was used",
            holds=abs(found.some - EXPECTED_SOME) < 4.5 * spread if real else None,
        ),
    )
    best = found.nearest.max(axis=1)
    series = (("as they are", found), ("scaled to equal variance", alike))
    figures = (
        nearest_bars(f"The component nearest to each sound ({matrices} matrices)", series),
        Histogram("The best recovered sound of a matrix", "|correlation|", (("one matrix each", best),), bins=20),
    )
    return Result(claims, (found.table(), alike.table("correlations-scaled")), figures)


EXPERIMENT = Experiment(
    id="liu-fig5.12",
    title="Sounds behind a projection",
    stated="the four sounds of figure 4.18, k = 2: two components are found, and none is an original",
    chosen="four sounds of 40,000 samples, 50 matrices, also with sounds scaled to equal variance",
    run=run,
    data=("sounds",),
)
