"""Figure 5.11: four images projected to two mixtures; is nothing separated?"""

from __future__ import annotations

import numpy as np

from veil.reproduce.experiment import Claim, Context, Experiment, Result
from veil.reproduce.liu.signals import image_figures, listed, nearest_bars, projection, separated, thinned_images

EXPECTED, EXPECTED_SOME = (0.90, 0.78, 0.31, 0.59), 0.9
"""Median of the best |correlation| per source, and the share of matrices for which some source reaches .9."""


def run(context: Context) -> Result:
    """The best correlation per source over matrices, with the images as they are and scaled alike."""
    x, _ = thinned_images(context)
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
            agrees=False if real else None,
            why="the strongest sources dominate a mixture, so contents show without being separated"
            if real
            else "a stand-in was used",
            holds=abs(found.some - EXPECTED_SOME) < 4.5 * spread if real else None,
        ),
    )
    series = (("as they are", found), ("scaled to equal variance", alike))
    figures = (
        *image_figures(context, "Four images, two mixtures, two components", x, found, projection),
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
