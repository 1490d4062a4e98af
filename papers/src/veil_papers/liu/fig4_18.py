"""Figures 4.18–4.20: four sounds mixed by an orthogonal matrix, and separated again."""

from __future__ import annotations

import numpy as np

from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result
from veil_papers.figures import Curve, Curves
from veil_papers.liu.signals import listed, rotation, separated

LEAST, ROUNDING = 0.97, 0.0005
"""At least; an independent simulation with the same sounds and 50 matrices has 1.000 of each."""
SHOWN = slice(2_000, 2_150)


def run(context: Context) -> Result:
    """Correlations of the recovered sounds with their originals, over matrices."""
    x = np.ascontiguousarray(context.source.sounds().T)[: context.pick(None, 10_000)]
    real = context.source.real("sounds")
    separation = separated(context, x, rotation, context.pick(50, 6))
    best = separated(context, x, rotation, context.pick(10, 1), "best")
    median = np.median(separation.matched, axis=0)
    # The first 10,000 samples, as in a quick run, are other sounds.
    near = context.quick or not real or bool((median > 1 - ROUNDING).all())
    least = float(separation.matched.min())
    claims = (
        Claim(
            "the sounds are recovered",
            "“recovered very well”; order and amplitude are lost",
            f"|correlation| {listed(median)} (least of all runs {least:.3f})",
            listed(np.median(best.matched, axis=0)),
            agrees=least >= LEAST if real else None,
            why="" if real else "a stand-in was used",
            holds=least >= LEAST and near,
        ),
    )
    figures = (
        waves(
            "Four sounds, and what independence finds", x, measures.matched_signals(x, separation.signals), "separated"
        ),
        waves("Four sounds, and their mixtures", x, separation.released, "released"),
    )
    return Result(claims, (separation.table(),), figures)


def waves(title: str, x: Matrix, other: Matrix, name: str) -> Curves:
    """Sounds one above the other in their own units, a short while of them."""
    curves = []
    at = range(*SHOWN.indices(len(x)))
    for label, signal, kind in (("private", x, "dashed"), (name, other, "thin")):
        for j in range(x.shape[1]):
            part = signal[SHOWN, j]
            part = (part - part.mean()) / part.std() + 6 * (x.shape[1] - 1 - j)
            curves.append(Curve(label if j == 0 else "", at, part, kind=kind, colour=5 if label == "private" else j))
    return Curves(title, "time (samples)", "amplitude (one above the other)", tuple(curves), height=4.6)


EXPERIMENT = Experiment(
    id="liu-fig4.18",
    title="Sounds behind an orthogonal matrix (figures 4.18–4.20)",
    stated="four sounds, 4 × 13,129, multiplied by a 4 × 4 orthogonal matrix; ICA",
    chosen="four sounds of 40,000 samples, since the paper's are not available; 50 matrices",
    run=run,
    data=("sounds",),
    also=("fig4.19", "fig4.20"),
)
