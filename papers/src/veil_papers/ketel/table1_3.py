"""Tables 1 to 3: six people, their z-scores, and the rotation by 13.7."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

THETA = 13.7
PEOPLE = np.array([[36, 72_000], [21, 19_000], [32, 36_000], [45, 38_000], [33, 42_000], [41, 35_000]], dtype=float)
NORMALIZED = np.array(
    [[0.1757, 1.9939], [-1.8014, -1.3433], [-0.3515, -0.2729], [1.3621, -0.1469], [-0.2197, 0.1049], [0.8348, -0.3358]]
)
"""Table 2."""
ROTATED = np.array(
    [[1.8808, 0.6850], [-1.9796, 1.0633], [-0.3961, 0.2029], [0.4436, -1.2962], [0.0020, 0.2435], [0.0492, -0.8985]]
)
"""Table 3."""


def rotated(theta: float) -> Matrix:
    """The people's z-scores, rotated by θ radians."""
    method = veil.PairwiseRotation(pairs=[(0, 1)], angles=[theta], random_state=0)
    release, _ = veil.publish(PEOPLE, method)
    return np.asarray(release.to_numpy())


def run(_: Context) -> Result:
    """The printed tables beside the product's, for the readings that the paper leaves open."""
    quarter, table3 = rotated(math.pi / 2), rotated(THETA)
    scores = np.column_stack([-quarter[:, 1], quarter[:, 0]])  # a quarter of a turn exchanges the columns
    narrower = scores * math.sqrt(5 / 6)  # z-scores with the sample's standard deviation, n − 1
    readings = {
        "Table 2, population std": float(np.abs(scores - NORMALIZED).max()),
        "Table 2, sample std": float(np.abs(narrower - NORMALIZED).max()),
        "Table 3, radians": float(np.abs(table3 - ROTATED).max()),
        "Table 3, degrees": float(np.abs(rotated(math.radians(THETA)) - ROTATED).max()),
        "Table 3, sample std": float(np.abs(table3 * math.sqrt(5 / 6) - ROTATED).max()),
    }
    spread = table3.var(axis=0)
    distortion = float(veil.measures.distance_distortion(scores, table3))
    claims = (
        Claim(
            "Table 2: normalized ages and salaries",
            "six pairs to 4 digits",
            f"largest difference {readings['Table 2, population std']:.1e}",
            agrees=readings["Table 2, population std"] <= 1e-4,
            why=f"K-a: the population standard deviation; with n − 1 off by {readings['Table 2, sample std']:.2f}",
            holds=readings["Table 2, population std"] <= 1e-4 < readings["Table 2, sample std"],
        ),
        Claim(
            "Table 3: rotated by θ = 13.7",
            "six pairs to 4 digits",
            f"largest difference {readings['Table 3, radians']:.1e}",
            agrees=readings["Table 3, radians"] <= 1e-4,
            why=f"K-a: radians, {THETA % math.tau:.4f} after two turns; degrees differ by "
            f"{readings['Table 3, degrees']:.2f}, n − 1 by {readings['Table 3, sample std']:.2f}",
            holds=readings["Table 3, radians"]
            <= 1e-4
            < min(readings["Table 3, degrees"], readings["Table 3, sample std"]),
        ),
        Claim(
            "distances between records are kept",
            "“preserving their underlying statistical properties”",
            f"mean relative change {distortion:.1e}",
            agrees=distortion < 1e-9,
            holds=distortion < 1e-9,
        ),
        Claim(
            "each attribute's variance is kept",
            "“preserving their underlying statistical properties”",
            f"1 and 1 become {spread[0]:.3f} and {spread[1]:.3f}",
            agrees=bool(np.allclose(spread, 1, atol=1e-3)),
            why="K-d: distances and inner products are kept, variances of single attributes are not: 1 ± r sin 2θ",
            holds=bool(np.allclose(spread, (1.302, 0.698), atol=6e-4)),
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (i + 1, *people, *scores[i], *NORMALIZED[i], *table3[i], *ROTATED[i]) for i, people in enumerate(PEOPLE)
    ]
    columns: tuple[str, ...] = ("record", "age", "salary", "age z", "salary z", "paper age z", "paper salary z")
    columns += ("age rotated", "salary rotated", "paper age rotated", "paper salary rotated")
    differences = Table("readings", ("reading", "largest difference"), tuple(readings.items()))
    curves = (
        Curve("normalized", scores[:, 0], scores[:, 1], kind="points"),
        Curve("rotated", table3[:, 0], table3[:, 1], kind="points"),
        Curve("rotated, as printed", ROTATED[:, 0], ROTATED[:, 1], kind="paper", colour=5),
    )
    title = "Six people, normalized and rotated by 13.7 radians"
    figure = Curves(title, "age (standard units)", "salary (standard units)", curves)
    return Result(claims, (Table("people", columns, tuple(rows)), differences), (figure,))


EXPERIMENT = Experiment(
    id="ketel-table1-3",
    title="Six people, normalized and rotated",
    stated="6 people with age and salary, z-scores, clockwise rotation by θ = 13.7",
    chosen="θ in radians and the population standard deviation: with degrees or n − 1 other tables come out",
    run=run,
    errata=("K-a", "K-d"),
    also=("table1", "table2", "table3"),
)
