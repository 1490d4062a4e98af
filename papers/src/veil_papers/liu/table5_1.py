"""Table 5.1: relative errors of the inner product of two attributes of Adult."""

from __future__ import annotations

import numpy as np

from veil_papers.arrays import Matrix, Vector
from veil_papers.experiment import Context, Experiment, Result
from veil_papers.liu.attribute_errors import compare
from veil_papers.liu.projected import inner_product

PRINTED = {
    "mean": (9.91, 5.84, 2.94, 2.69, 1.81),
    "variance": (0.41, 0.25, 0.05, 0.04, 0.03),
    "min": (0.07, 0.12, 0.03, 0.01, 0.27),
    "max": (23.47, 18.41, 7.53, 7.00, 6.32),
}
"""In percent, at k = 100, 500, 1,000, 2,000 and 3,000."""
SIMULATED = ((8.8, 16.4), (3.8, 7.3), (2.7, 5.3), (2.0, 3.4), (1.6, 3.1))
"""95 % bands of a 20-run mean in an independent simulation of 3,000 runs."""


def per_row(rows: Matrix) -> Vector:
    """Each released row's share of the inner product."""
    return np.asarray(rows[:, 0] * rows[:, 1])


def factor(pair: Matrix) -> float:
    """√k times the mean relative error: √(2/π)·√(1 + 1/cos²)."""
    squares = (pair**2).sum(axis=0)
    cosine = inner_product(pair) / float(np.sqrt(squares[0] * squares[1]))
    return float(np.sqrt(2 / np.pi * (1 + 1 / cosine**2)))


def run(context: Context) -> Result:
    """Errors over k, with the paper's means beside the band of such means."""
    return compare(context, "inner product", inner_product, per_row, factor, PRINTED, SIMULATED)


EXPERIMENT = Experiment(
    id="liu-table5.1",
    title="Errors of the inner product of two attributes",
    stated="Adult, first 10,000 rows, fnlwgt and education-num; records projected, entries N(0, 4), 20 runs",
    chosen="20 runs on the table itself; the band of 20-run means from some 500 (k = 3,000) to 15,000 (k = 100) more "
    "runs, drawn on a table of 501 rows with the same inner products, which has the same law for normal entries",
    run=run,
    data=("adult",),
)
