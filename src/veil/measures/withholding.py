"""Records to withhold from an orthogonal release when the attacker's known records are known (D4; Liu 2007, 4.4.4).

*Threat.* ``y = M x``, M orthogonal. The attacker knows k private records with their rows (A9), and the owner knows
which. With U a basis of their span and δ the distance of x from it, the paper's ratio is

    γ(x, ε) = ‖x‖ε/(2δ)

and a guess drawn from the consistent matrices breaches, ‖x̂ − x‖ ≤ ε‖x‖, with the exact probability of a spherical
cap, :func:`breach_probability` of γ in n − rank dimensions (the paper's (2/π)asin γ is the case of two, errata L-a).
The attacker can do better: the projection on the known span errs by exactly δ, so that from γ = ½ on the breach is
certain. What counts here is the better of the two.

The advice is as narrow as the threat. Rows that stay protect the rest no longer when the attacker learns one more
record; withholding the known records themselves takes the pairs away and does more; and a sample of the population
(A11) needs no known record at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, number, renamed
from veil.errors import InputError
from veil.measures.geometry import breach_probability

CERTAIN = 0.5  # the γ from which the projection on the known span breaches
_SPAN = 1e-9


@dataclass(frozen=True)
class Withholding:
    """What :func:`records_to_withhold` found.

    Attributes
    ----------
    rows
        The rows to leave out, in order; never a known one.
    gamma
        γ of every row, infinite inside the known span.
    probability
        The probability that the better guess breaches the row; 1 from γ = ½ on.
    dimension
        How many dimensions the known records leave open.
    """

    rows: npt.NDArray[np.intp]
    gamma: Array
    probability: Array
    dimension: int


@renamed("epsilon", "tolerance")
def records_to_withhold(
    table: npt.ArrayLike,
    known: Sequence[int] | npt.NDArray[np.integer],
    tolerance: float,
    *,
    gamma: float | None = None,
    probability: float | None = None,
    translated: bool = False,
    proper: bool = False,
) -> Withholding:
    """Rows that an attacker with known records would breach too easily.

    Parameters
    ----------
    table
        The records in the units that are rotated, N × n, without missing values.
    known
        The rows that the attacker knows.
    tolerance
        Relative error that counts as a breach.
    gamma, probability
        The limit, one of the two: withhold the rows whose γ, or whose breach probability, is above it. The paper's
        rule is γ; a limit of ½ or more lets certain breaches through. One open dimension is a coin flip: no limit
        on the probability below ½ keeps anything then.
    translated, proper
        Whether the release has a translation (distances to the known records' affine hull count), and whether M is
        a rotation (one open dimension is then none).

    >>> x = [[25.0, 75.0], [30.0, 90.0], [45.0, 105.0]]  # Liu 2007, Table 4.1
    >>> withheld = records_to_withhold(x, [0], 0.01, probability=0.6)
    >>> withheld.rows.tolist(), withheld.probability.tolist()
    ([1], [1.0, 1.0, 0.5])
    """
    records = as_table(table, "table")
    if missing := int(np.isnan(records).sum()):
        raise InputError(f"table: has {missing} missing value(s); leave out those records")
    rows = _rows(known, len(records))
    eps = number(tolerance, "tolerance", least=0.0)
    if (gamma is None) == (probability is None):
        raise InputError("gamma: give either a limit on gamma or one on the probability")
    origin = records[rows[0]] if translated and len(rows) else np.zeros(records.shape[1])
    outside, dimension = _outside(records - origin, records[rows] - origin, proper=proper)
    if translated and not len(rows):
        outside = np.full(len(records), np.inf)  # without an origin nothing is known
    length = np.linalg.norm(records, axis=1)
    inside = outside <= _SPAN * np.maximum(length, np.linalg.norm(records - origin, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(inside, np.inf, length * eps / (2.0 * np.where(inside, 1.0, outside)))
    breach = np.where(ratio >= CERTAIN, 1.0, breach_probability(ratio, dimension))
    if gamma is not None:
        above = ratio > number(gamma, "gamma", least=0.0)
    else:
        above = breach > number(probability, "probability", least=0.0, most=1.0)
    above[rows] = False
    return Withholding(np.flatnonzero(above), ratio, breach, dimension)


def _outside(records: Array, known: Array, *, proper: bool) -> tuple[Array, int]:
    """Distances from the span of the known records, and the dimension that it leaves open."""
    n = records.shape[1]
    basis = np.zeros((0, n))
    if known.size:
        _, size, right = np.linalg.svd(known, full_matrices=False)
        basis = right[size > _SPAN * size[0]] if size[0] > 0.0 else basis
    dimension = n - len(basis)
    if proper and dimension == 1:
        return np.zeros(len(records)), 0
    return np.linalg.norm(records - records @ basis.T @ basis, axis=1), dimension


def _rows(known: Sequence[int] | npt.NDArray[np.integer], n: int) -> npt.NDArray[np.intp]:
    rows = np.asarray(known)
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(np.unique(rows)) != len(rows):
        raise InputError("known: must be different whole numbers; pass rows of the table, counted from 0")
    if rows.min() < 0 or rows.max() >= n:
        raise InputError(f"known: names rows that are not there; pass rows from 0 to {n - 1}")
    return rows.astype(np.intp)
