"""Which signal is which? Signed permutations by the distance of densities (A12, A13).

*Model.* Signals found in a release, in arbitrary order and sign, and columns of a known sample (or the signals found
in it) with the same laws. The distance of two laws is the area between their quantile functions (Wasserstein, order 1);
the signed permutation of least total distance is an assignment problem (tutorial T: "How to determine J?").

Densities say nothing about the sign of a symmetric law; where the origin was kept, the means do (errata, AK-ICA).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from veil.attacks.findings import Ambiguity
from veil.data.blocks import Matrix, Vector

DECIDED: Final = 2.0
"""Margin from which a sign or an order counts as decided; that of a coin toss stays below it nearly always."""

_LEVELS: Final = 400


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """A signed permutation: signal i is column ``columns[i]`` times ``signs[i]``.

    Attributes
    ----------
    columns, signs
        One per signal.
    sign_margin, order_margin
        Per signal, how much further apart the laws are with its sign turned, or with its column swapped for the next
        best one, times the square root of the number of records of the shorter table.
    """

    columns: npt.NDArray[np.intp]
    signs: Vector
    sign_margin: Vector
    order_margin: Vector

    @property
    def ambiguity(self) -> Ambiguity:
        """What was not decided: "none", "sign", "order" or "order, sign"."""
        order, sign = (np.min(m, initial=math.inf) < DECIDED for m in (self.order_margin, self.sign_margin))
        if order:
            return Ambiguity.ORDER_SIGN if sign else Ambiguity.ORDER
        return Ambiguity.SIGN if sign else Ambiguity.NONE

    @property
    def matrix(self) -> Matrix:
        """J, with ``columns = J signals`` for records as columns."""
        matrix = np.zeros((len(self.columns), len(self.columns)))
        matrix[self.columns, np.arange(len(self.columns))] = self.signs
        return matrix


def standardized(signals: Matrix) -> Matrix:
    """Columns of mean 0 and variance 1; a constant column becomes 0."""
    centred = signals - signals.mean(axis=0)
    size = centred.std(axis=0)
    return np.asarray(centred / np.where(size > 0, size, 1.0))


def density_distances(signals: Matrix, columns: Matrix) -> Matrix:
    """Distances [s, i, j] of signal i, as it is (s = 0) or turned (s = 1), from column j, in deviations of j."""
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    here, there = np.quantile(signals, levels, axis=0), np.quantile(columns, levels, axis=0)
    unit = columns.std(axis=0)
    sides = (here, -here[::-1])
    distances = [np.abs(side[:, :, None] - there[:, None, :]).mean(axis=0) for side in sides]
    return np.asarray(np.array(distances) / np.where(unit > 0, unit, 1.0))


def mean_distances(here: Vector, there: Vector) -> Matrix:
    """Distances [s, i, j] of the uncentred means of unit-variance signals.

    An error in an unmixing matrix moves every mean by its share of all of them, so the distance is in units of the
    length of the vector of means, like the densities' of order 1/√n if the signals are the same.
    """
    unit = math.sqrt(1.0 + float(there @ there))
    return np.asarray(np.array([np.abs(side[:, None] - there[None, :]) for side in (here, -here)]) / unit)


def pair(distances: Matrix, n_records: int) -> Pairing:
    """The signed permutation of least total distance; no more signals than columns."""
    both = distances.min(axis=0)
    rows, columns = linear_sum_assignment(both)
    chosen = both[rows, columns]
    turned = distances.max(axis=0)[rows, columns]
    signs = np.where(distances[0] <= distances[1], 1.0, -1.0)[rows, columns]
    order = np.full(len(rows), np.inf)
    owner = {int(column): i for i, column in enumerate(columns)}
    for i in range(len(rows)):
        for j in range(both.shape[1]):
            if j == columns[i]:
                continue
            other = owner.get(j)
            swapped = both[i, j] - chosen[i]
            if other is not None:
                swapped += both[other, columns[i]] - chosen[other]
            order[i] = min(order[i], swapped)
    root = math.sqrt(n_records)
    return Pairing(np.asarray(columns, dtype=np.intp), signs, root * (turned - chosen), root * order)
