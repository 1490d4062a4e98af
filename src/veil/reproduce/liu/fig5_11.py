"""Figure 5.11: four images projected to two mixtures; is nothing separated?"""

from __future__ import annotations

import numpy as np

from veil.reproduce.experiment import Claim, Context, Experiment, Result
from veil.reproduce.figures import Images
from veil.reproduce.liu.signals import listed, nearest_bars, pictures, projection, separated, thinned_images

EXPECTED, EXPECTED_SOME = (0.90, 0.78, 0.31, 0.59), 0.9
"""Median of the best |correlation| per source, and the share of matrices for which some source reaches .9."""


def run(context: Context) -> Result:
    """The best correlation per source over matrices, with the images as they are and scaled alike."""
    x, side = thinned_images(context)
    matrices, real = context.pick(20, 8), context.source.real("images")
    found = separated(context, x, projection, matrices)
    alike = separated(context, x / x.std(axis=0), projection, matrices)
    spread = (EXPECTED_SOME * (1 - EXPECTED_SOME) / matrices) ** 0.5
    claims = (
        Claim("components found", "2", f"{found.n_signals}", holds=found.n_signals == 2),
        Claim(
            "nothing is separated",
            "none of the four",
            f"best |correlation|, medians {listed(np.median(found.nearest, axis=0))}; in {found.some:.0%} of "
            f"{matrices} draws some source reaches .9 (scaled alike: {alike.some:.0%})",
            agrees=False,
            why="the strongest sources dominate a mixture, so contents show without being separated",
            holds=abs(found.some - EXPECTED_SOME) < 4.5 * spread if real else None,
        ),
    )
    rows = (
        ("private", pictures(x, side)),
        ("released", pictures(found.released, side)),
        ("components", pictures(found.signals, side)),
    )
    series = (("as they are", found), ("scaled to equal variance", alike))
    figures = (
        Images("Four images, two mixtures, two components", rows, height=5.6),
        nearest_bars(f"The component nearest to each image ({matrices} matrices)", series),
    )
    return Result(claims, (found.table(), alike.table("correlations-scaled")), figures)


EXPERIMENT = Experiment(
    id="liu-fig5.11",
    title="Images behind a projection",
    stated="the four images of figure 4.17, k = 2: nothing is separated",
    chosen="four images of 256 × 256 pixels, 20 matrices, also with images scaled to equal variance; the paper shows "
    "one matrix, and matrices differ widely",
    run=run,
    data=("images",),
)
