"""Table 5.2: relative errors of the squared distance of two attributes of Adult."""

from __future__ import annotations

import numpy as np

from veil_papers.arrays import Matrix, Vector
from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.attribute_errors import compare
from veil_papers.liu.projected import squared_distance

PRINTED = {
    "mean": (10.44, 4.97, 2.70, 2.59, 1.80),
    "variance": (0.67, 0.29, 0.05, 0.03, 0.01),
    "min": (1.51, 0.23, 0.11, 0.31, 0.61),
    "max": (32.58, 18.32, 7.21, 6.90, 3.91),
}
"""In percent, at k = 100, 500, 1,000, 2,000 and 3,000."""
SIMULATED = ((8.3, 14.6), (3.4, 6.5), (2.5, 4.9), (1.8, 3.3), (1.5, 2.8))
"""95 % bands of a 20-run mean in an independent simulation of 3,000 runs."""


def per_row(rows: Matrix) -> Vector:
    """Each released row's share of the squared distance."""
    return np.asarray((rows[:, 0] - rows[:, 1]) ** 2)


def factor(_: Matrix) -> float:
    """√k times the mean relative error of a chi-square: √(2/π)·√2, whatever the attributes."""
    return float(np.sqrt(4 / np.pi))


def run(context: Context) -> Result:
    """Errors over k, with the paper's means beside the band of such means."""
    return compare(context, "squared distance", squared_distance, per_row, factor, PRINTED, SIMULATED)


EXPERIMENT = Experiment(
    id="liu-table5.2",
    title="Errors of the squared distance of two attributes",
    stated="Adult, first 10,000 rows, fnlwgt and education-num; records projected, entries N(0, 4), 20 runs",
    chosen="As table 5.1. The law of the error does not depend on the attributes",
    run=run,
    data=("adult",),
)
