"""How much columns tell about each other, along a line or not.

Linfoot's (1957) informational coefficient of correlation: 1 − exp(−2I) of the mutual information I. For normal columns
it is the squared correlation; unlike that, it is not 0 for a column and its absolute value. I is that of columns cut at
their quantiles, less (r − 1)(c − 1)/2n, its expectation where r × c classes of n records are independent (Miller 1955).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

MOST_CLASSES: Final = 16
RECORDS_PER_CELL: Final = 5
MOST_RECORDS: Final = 20_000


def dependence(values: Matrix) -> Matrix:
    """The informational correlation of every pair of columns without gaps, d × d between 0 and 1; 1 with itself.

    >>> x = np.random.default_rng(0).normal(size=2_000)
    >>> dependence(np.column_stack([x, np.abs(x), np.roll(x, 1)])).round(1)[0]
    array([1., 1., 0.])
    """
    values = values[:: max(1, len(values) // MOST_RECORDS)]
    n = len(values)
    most = int(np.clip(np.sqrt(n / RECORDS_PER_CELL), 2, MOST_CLASSES))
    classes = [_classes(column, most) for column in values.T]
    shares = np.eye(values.shape[1])
    for i, (a, r) in enumerate(classes):
        for j, (b, c) in enumerate(classes[:i]):
            counts = np.bincount(a * c + b, minlength=r * c).reshape(r, c)
            shares[i, j] = shares[j, i] = 1.0 - np.exp(-2.0 * max(0.0, _information(counts / n) - _bias(counts)))
    return shares


def _classes(column: Vector, most: int) -> tuple[npt.NDArray[np.intp], int]:
    """The class of every value, between quantiles or by value where these are few, and the number of classes."""
    distinct, codes = np.unique(column, return_inverse=True)
    if len(distinct) <= most:
        return codes.ravel(), len(distinct)
    edges = np.unique(np.quantile(column, np.arange(1, most) / most))
    return np.searchsorted(edges, column, side="right"), len(edges) + 1


def _information(joint: Matrix) -> float:
    """Mutual information of two classifications, in nats."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / product[there])).sum())


def _bias(counts: npt.NDArray[np.intp]) -> float:
    r, c = (int((counts.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    return (r - 1) * (c - 1) / (2.0 * float(counts.sum()))
