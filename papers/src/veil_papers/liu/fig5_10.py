"""Figure 5.10: accuracy and privacy of a random projection against its dimension, and the range that meets both."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

ETA, EPSILON = 0.1, 0.01
ACCURACY, ZERO_BREACH = 0.8, 0.7
PAPER_RANGE = (320, 750)
EXPECTED_RANGE = (328, 742)
EXPECTED = {100: (0.521, 0.888), 328: (0.800, 0.798), 500: (0.887, 0.752), 742: (0.946, 0.700), 1_000: (0.975, 0.655)}
"""Accuracy and probability of no breach at some k, by an independent calculation."""


def run(context: Context) -> Result:
    """Both curves from the chi-square law, and the range of k."""
    dimensions = sorted({*range(1, 2_001, context.pick(1, 25)), *EXPECTED})
    rows: list[tuple[Any, ...]] = [
        (k, float(measures.projection_accuracy(k, ETA)), float(measures.projection_zero_breach(k, EPSILON)))
        for k in dimensions
    ]
    chosen = measures.choose_projection_dimension(
        eta=ETA, accuracy=ACCURACY, tolerance=EPSILON, zero_breach=ZERO_BREACH
    )
    at = {row[0]: row[1:] for row in rows}
    off = max(float(np.abs(np.array(at[k]) - values).max()) for k, values in EXPECTED.items())
    accuracy, private = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
    monotone = bool((np.diff(accuracy) > 0).all() and (np.diff(private) < 0).all())
    claims = (
        Claim(
            "k with accuracy of at least 80 % and no breach with at least 70 %",
            f"a k in ({PAPER_RANGE[0]}, {PAPER_RANGE[1]})",
            f"{chosen[0]} to {chosen[1]}",
            agrees=False,
            why="L-r: read off a plot",
            holds=chosen == EXPECTED_RANGE,
        ),
        Claim(
            "accuracy rises and privacy falls with k",
            "accuracy increases, zero privacy breach decreases",
            f"{accuracy[0]:.3f} → {accuracy[-1]:.3f} and {private[0]:.3f} → {private[-1]:.3f}",
            agrees=monotone,
            holds=monotone,
        ),
        Claim(
            "values at five k",
            "–",
            f"within {off:.4f} of an independent calculation",
            agrees=None,
            holds=off <= 0.0005 + 1e-9,
        ),
    )
    figure = Curves(
        "Where a projection is accurate and private enough",
        "released dimension k",
        "probability",
        (
            Curve(f"distance² within ±{ETA:.0%}", dimensions, accuracy, kind="dashed", colour=0),
            Curve(f"no breach at ε = {EPSILON:g}", dimensions, private, kind="dashed", colour=1),
            Curve("paper's range", PAPER_RANGE, (ACCURACY, ZERO_BREACH), kind="paper", colour=4),
        ),
        marks=((chosen[0], f"k = {chosen[0]}"), (chosen[1], f"k = {chosen[1]}")),
    )
    table = Table("curves", ("k", "accuracy", "no breach"), tuple(rows))
    notes = ("The limit on k is about a guess from the length alone; known records (liu-tables5.5) tell far more.",)
    return Result(claims, (table,), (figure,), notes)


EXPERIMENT = Experiment(
    id="liu-fig5.10",
    title="The dimension of a projection between accuracy and privacy",
    stated="distance² kept within 10 % with probability 80 %, no breach at ε = .01 with probability 70 %",
    chosen="k from 1 to 2,000; both probabilities are exact for a normal matrix, so nothing is left to chance",
    run=run,
    errata=("L-r",),
)
