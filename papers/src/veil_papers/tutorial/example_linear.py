"""Slide "Linear Transformation Example": a general matrix and the same noise."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.tutorial.slides import LINEAR, NAMES, NOISE, RECORDS, USED

PRINTED = np.array(
    [
        [265.95, 394.30, 362.55],
        [286.63, 338.49, 394.11],
        [475.68, 569.58, 665.37],
        [581.71, 174.22, 776.46],
        [520.53, 277.79, 463.08],
    ]
)
"""Y of the slide, a record per row."""
DIGIT = 0.0005
"""Half a unit of the last digit to which R and E are printed: what rounding may have taken; cutting off takes twice."""


def run(context: Context) -> Result:
    """The product's linear map with the slide's matrix, plus the slide's noise."""
    seed = int(context.rng(0).integers(2**31))
    mix = veil.LinearTransform(LINEAR, scaling=None, dither=False, random_state=seed)
    shown = veil.publish(RECORDS, mix)[0].to_numpy() + NOISE
    used = veil.publish(USED, mix)[0].to_numpy() + NOISE
    margin = DIGIT * (USED.sum(axis=1, keepdims=True) + 1.0) + 0.005
    off = (np.abs(shown - PRINTED) > 2 * margin).any(axis=1)
    apart = np.abs(used - PRINTED)
    over = apart > margin
    claims = (
        Claim(
            "Y = R X + E",
            "15 printed values",
            f"records {', '.join(NAMES[i] for i in np.flatnonzero(~off))} within {apart[~off].max():.3f}; "
            f"{' and '.join(NAMES[i] for i in np.flatnonzero(off))} off by up to {np.abs(shown - PRINTED).max():.0f}",
            f"all within {apart.max():.3f} for (20, 120, 35) and (80, 40, 15) in their place",
            agrees=False,
            why="T-b: the same two records differ as in the rotation. Rounding of R, E and Y to their printed digits "
            f"allows {margin.min():.3f} to {margin.max():.3f} by record; {int(over.sum())} of 15 values are beyond "
            f"it, by at most {(apart - margin).max():.3f}; digits cut off, not rounded, would allow twice that",
            holds=bool(off.tolist() == [False, False, True, False, True] and (apart <= 2 * margin).all()),
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (NAMES[i], *shown[i].round(2), *used[i].round(2), *PRINTED[i]) for i in range(len(NAMES))
    ]
    columns = ("record", *(f"y{j} {kind}" for kind in ("as shown", "as used", "printed") for j in (1, 2, 3)))
    figure = Bars(
        "Y = R X + E: computed from the records shown, and as printed",
        tuple(f"y{j} of {name}" for j in (1, 2, 3) for name in NAMES),
        "released value",
        (("computed", shown.T.ravel()), ("printed", PRINTED.T.ravel())),
        width=9.5,
    )
    return Result(claims, (Table("mixed", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-example-linear",
    title="Five records, mixed by a general matrix, plus noise",
    stated="5 records, a printed 3×3 matrix R and the noise E of the additive example; Y = R X + E",
    chosen="Nothing is open. Equal means to the digits that are printed: one unit of the last of R and E, of each term",
    run=run,
    errata=("T-b",),
)
