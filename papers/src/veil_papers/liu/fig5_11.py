"""Figure 5.11: four images projected to two mixtures; is nothing separated?"""

from __future__ import annotations

from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.signals import image_figures, nearest_bars, projection, separated, thinned_images
from veil_papers.liu.two_mixtures import nearness_claims

SIMULATED = (0.90, 0.78, 0.31, 0.59), 0.9, 20
"""Of an independent simulation: medians per source of the best |correlation|, the share of matrices for which some
source reaches .9, and the number of matrices."""


def run(context: Context) -> Result:
    """The best correlation per source over matrices, with the images as they are and scaled alike."""
    x, _ = thinned_images(context)
    matrices = context.pick(100, 8)
    separation = separated(context, x, projection, matrices)
    alike = separated(context, x / x.std(axis=0), projection, matrices)
    claims = nearness_claims(context, "pictures", separation, alike, SIMULATED, real=context.source.real("images"))
    series = (("as they are", separation), ("scaled to equal variance", alike))
    figures = (
        *image_figures(context, "Four images, two mixtures, two components", x, separation, projection),
        nearest_bars(f"The component nearest to each image ({matrices} matrices)", series),
    )
    return Result(claims, (separation.table(), alike.table("correlations-scaled")), figures)


EXPERIMENT = Experiment(
    id="liu-fig5.11",
    title="Images behind a projection",
    stated="the four images of figure 4.17, k = 2: no picture can be separated out",
    chosen="four images of 256 × 256 pixels, FastICA from six starts, 100 matrices, also with images scaled to equal "
    "variance; the paper shows one matrix, and matrices differ widely",
    run=run,
    data=("images",),
)
