"""Slide "Additive Noise Randomization Example": five records plus a printed noise matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.tutorial.slides import ATTRIBUTES, NAMES, NOISE, RECORDS

PRINTED = np.array(
    [
        [17.334, 88.750, 2.099],
        [19.199, 77.537, 25.939],
        [50.100, 128.447, 38.678],
        [51.208, 30.313, 135.939],
        [80.048, 115.692, 21.318],
    ]
)
DAMAGED = {(2, 0): 59.199, (4, 0): 89.048}
"""Entries whose digits did not survive, and what they must have been."""


def run(context: Context) -> Result:
    """The sums of the slide, and the same table released by the product and taken back with the key."""
    # The slide's own E has 3.750 for record 1; the linear example prints the same noise as 3.759.
    own = np.where(np.isclose(NOISE, 3.759), 3.750, NOISE)
    sums = RECORDS + own
    off = np.abs(sums - PRINTED) > 1e-9
    right = set(zip(*np.nonzero(off), strict=True)) == set(DAMAGED)
    mended = all(abs(sums[place] - value) < 1e-9 for place, value in DAMAGED.items())
    noise = veil.AdditiveNoise(own.std(), relative=False, random_state=int(context.rng(0).integers(2**31)))
    release, key = veil.publish(RECORDS, noise)
    back = float(np.abs(veil.restore(release, key) - RECORDS).max())
    claims = (
        Claim(
            "Y = X + E",
            "15 printed sums",
            f"{int((~off).sum())} equal; {', '.join(f'{v:g}' for v in DAMAGED.values())} for the other {off.sum()}",
            agrees=False,
            why="two sums are not those of the printed terms: 50.100 and 80.048. With E as the linear example prints "
            "it, 3.759 for 3.750, a third would be 88.759",
            holds=bool(right and mended),
        ),
        Claim(
            "The owner takes the noise off again",
            "–",
            f"largest difference {back:.1e} after restoring with the key",
            agrees=None,
            holds=back < 1e-6,
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (NAMES[i], ATTRIBUTES[j], RECORDS[i, j], own[i, j], round(float(sums[i, j]), 3), PRINTED[i, j])
        for i in range(5)
        for j in range(3)
    ]
    table = Table("sums", ("record", "attribute", "x", "noise", "x + noise", "printed"), tuple(rows))
    figure = Bars(
        "Five records before and after the printed noise",
        tuple(f"{a[:3]}. {n}" for a in ATTRIBUTES for n in NAMES),
        "thousands",
        (("x", RECORDS.T.ravel()), ("x + noise", sums.T.ravel())),
        width=9.5,
    )
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-example-additive",
    title="Five records plus additive noise",
    stated="5 records (balance, income, interest) and a printed noise matrix E; Y = X + E",
    chosen="Nothing is open. E as this slide prints it, with 3.750 for record 1, which goes with its sum of 88.750; "
    "the linear example prints 3.759",
    run=run,
)
