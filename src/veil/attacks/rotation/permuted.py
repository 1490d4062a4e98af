"""Transform coefficients in a secret order: find the order (P10).

*Model.* ``y = P F z`` with a public orthonormal F: only which coefficient each released column is, is secret. Known
records with their rows show it directly; a sample of the population wherever coefficients differ in distribution.
Coefficients that were dropped are guessed from the kept ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from veil.attacks.base import Details
from veil.data.blocks import Matrix, Vector
from veil.release.models import PermutedTransformModel

Order = npt.NDArray[np.intp]
QUANTILES = np.linspace(0.005, 0.995, 100)


@dataclass(frozen=True, eq=False)
class OrderDetails(Details):
    """The order of the coefficients of a permuted transform.

    Attributes
    ----------
    order
        The place of each released column.
    unsettled, misfit
        How many places known pairs leave open, and by which share the pairs miss their rows.
    margins
        By how many standard errors a sample settles each place.
    """

    order: npt.NDArray[np.intp]
    unsettled: int | None = None
    misfit: float | None = None
    margins: Vector | None = None


def order_from_pairs(model: PermutedTransformModel, known_z: Matrix, known_y: Matrix) -> tuple[Order, int, float]:
    """Which coefficient each released column is, how many columns could as well be another, and the relative misfit."""
    coefficients = known_z @ model.transform.T
    cost = ((known_y[:, :, None] - coefficients[:, None, :]) ** 2).sum(axis=0)
    size = float((coefficients**2).sum()) or 1.0
    fits = (cost <= 1e-12 * size).sum(axis=1)
    order = linear_sum_assignment(cost)[1]
    misfit = float(np.sqrt(cost[np.arange(len(order)), order].sum() / size))
    return order, int((fits > 1).sum()), misfit


def order_from_sample(model: PermutedTransformModel, sample: Matrix, y: Matrix) -> tuple[Order, Vector]:
    """Which coefficient each released column is most like, and by how much the next best differs, in sampling errors.

    Likeness is the mean distance of quantiles. Its sampling error is about that of a mean of as many records
    as the sample has.
    """
    coefficients = sample @ model.transform.T
    there, here = np.quantile(coefficients, QUANTILES, axis=0), np.quantile(y, QUANTILES, axis=0)
    cost = np.abs(here[:, :, None] - there[:, None, :]).mean(axis=0)
    order = linear_sum_assignment(cost)[1]
    rival = cost.copy()
    rival[np.arange(len(order)), order] = np.inf
    error = coefficients[:, order].std(axis=0) / np.sqrt(len(sample))
    apart = rival.min(axis=1) - cost[np.arange(len(order)), order]
    return order, np.divide(apart, error, out=np.full(len(order), np.inf), where=error > 0)


def from_coefficients(
    model: PermutedTransformModel, y: Matrix, order: Order, mean: Vector, covariance: Matrix
) -> Matrix:
    """Records from their released coefficients; dropped ones by their mean given the kept, from the prior."""
    transform = model.transform
    dropped = np.setdiff1d(np.arange(len(transform)), order)
    if not len(dropped):
        return np.asarray(y @ transform[order])
    centre, spread = transform @ mean, transform @ covariance @ transform.T
    ordered = spread[np.ix_(order, order)]
    share = np.linalg.lstsq(ordered, spread[np.ix_(order, dropped)], rcond=1e-9)[0]
    rest = centre[dropped] + (y - centre[order]) @ share
    return np.asarray(y @ transform[order] + rest @ transform[dropped])
