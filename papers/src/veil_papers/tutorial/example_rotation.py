"""Slide "Rotation Randomization Example": five records turned by a printed orthonormal matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Points
from veil_papers.tutorial.slides import NAMES, RECORDS, ROTATION, USED

PRINTED = np.array(
    [
        [61.33, 49.33, -33.67],
        [63.67, 30.67, -21.33],
        [110.00, 55.00, -30.00],
        [119.67, -59.33, 51.67],
        [63.33, -31.67, -51.67],
    ]
)
"""Y of the slide, a record per row."""
SLIP = (4, 2)
"""Printed −51.67, where (80, 40, 15) gives −56.67."""


def run(context: Context) -> Result:
    """The product's linear map with the slide's matrix, on the records shown and on those used."""
    seed = int(context.rng(0).integers(2**31))
    turn = veil.LinearTransform(ROTATION, scaling=None, dither=False, random_state=seed)
    shown = veil.publish(RECORDS, turn)[0].to_numpy()
    used = veil.publish(USED, turn)[0].to_numpy()
    off = np.abs(shown - PRINTED).max(axis=1) > 0.005
    near = np.abs(used - PRINTED) <= 0.005
    orthonormal = float(np.abs(ROTATION @ ROTATION.T - np.eye(3)).max())
    distortion = float(veil.measures.distance_distortion(RECORDS, shown))
    claims = (
        Claim(
            "R Rᵀ = I",
            "R Rᵀ = Rᵀ R = I",
            f"within {orthonormal:.0e}, with the printed 0.3333 and 0.6667 as thirds",
            agrees=orthonormal < 1e-12,
            holds=orthonormal < 1e-12,
        ),
        Claim(
            "Y = R X",
            "15 printed values",
            f"records {', '.join(NAMES[i] for i in np.flatnonzero(~off))} equal to print; "
            f"{' and '.join(NAMES[i] for i in np.flatnonzero(off))} do not",
            f"{int(near.sum())} of 15 equal for (20, 120, 35) and (80, 40, 15) in their place; "
            f"{used[SLIP]:.2f} for {PRINTED[SLIP]}",
            agrees=False,
            why="T-b: columns 3 and 5 of Y are not those of the records shown; a digit of the last value is wrong",
            holds=bool(
                off.tolist() == [False, False, True, False, True] and np.argwhere(~near).tolist() == [list(SLIP)]
            ),
        ),
        Claim(
            "Lengths, distances and inner products are kept",
            "|Rx| = |x|, |Rxᵢ − Rxⱼ| = |xᵢ − xⱼ|, ⟨Rxᵢ, Rxⱼ⟩ = ⟨xᵢ, xⱼ⟩",
            f"largest mean distortion {distortion:.1e}",
            agrees=distortion < 1e-12,
            holds=bool(distortion < 1e-12 and np.allclose(shown @ shown.T, RECORDS @ RECORDS.T, rtol=1e-12)),
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (NAMES[i], *shown[i].round(2), *used[i].round(2), *PRINTED[i]) for i in range(len(NAMES))
    ]
    columns = ("record", *(f"y{j} {kind}" for kind in ("as shown", "as used", "printed") for j in (1, 2, 3)))
    clouds = (
        ("x", RECORDS[:, :2]),
        ("y of the records shown", shown[:, :2]),
        ("y as printed", PRINTED[:, :2]),
    )
    figure = Points("Five records and their rotated images", "first coordinate", "second coordinate", clouds)
    return Result(claims, (Table("rotated", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-example-rotation",
    title="Five records, rotated",
    stated="5 records and R = ⅓[[1, 2, 2], [−2, 2, −1], [−2, −1, 2]]; Y = R X",
    chosen="Nothing is open. Two printed columns belong to other records, and −51.67 should read −56.67",
    run=run,
    errata=("T-b",),
)
