"""Which lattice direction is which private column, in which direction and from which origin.

A direction i of length ``l_i`` and a column j of public unit ``u_j`` belong together only if ``l_i · u_j`` is the
column's grain, and grains are round numbers (1, 0.1, 0.5, …); if the column that results has the standard deviation
that rounds to ``u_j``; and if it agrees with known records, ranges and samples. The cheapest assignment names the
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from veil.attacks.knowledge import KnownPairs, KnownRanges, KnownSample
from veil.data.blocks import Matrix, Vector
from veil.numerics.rounding import two_digits

_ROUND: Final = {1.0: 0.0, 5.0: 2.0, 2.0: 2.0, 2.5: 4.0}
"""Leading digits of grains, by how unusual they are; each power of ten away from 1 costs another 1."""
_ODD: Final = 40.0
"""The cost of a grain that is no round number: a column in converted units, for example."""
_REFUTED: Final = 1000.0
_SAME: Final = 1e-6


@dataclass(frozen=True)
class Evidence:
    """What is known beside the release, in the private columns' order."""

    names: tuple[str, ...]
    unit: Vector
    scaled: bool
    translated: bool
    pairs: KnownPairs | None = None
    ranges: KnownRanges | None = None
    sample: KnownSample | None = None


@dataclass(frozen=True, eq=False)
class Named:
    """Private columns from lattice directions.

    Attributes
    ----------
    values
        N × d guesses in private units.
    order
        For each private column, the direction that it is.
    grains
        The step between neighbouring values of each column.
    order_settled, sign_settled, origin_settled
        Whether the evidence leaves no other order of the columns, directions of them, or origins.
    """

    values: Matrix
    order: npt.NDArray[np.intp]
    grains: Vector
    order_settled: bool
    sign_settled: bool
    origin_settled: bool


@dataclass(frozen=True, eq=False)
class Candidate:
    """One direction as one private column."""

    values: Vector
    cost: float
    sign_settled: bool
    origin_settled: bool


def named_columns(whole: Matrix, lengths: Vector, evidence: Evidence) -> Named:
    """The private columns of whole-number coordinates along orthogonal directions of these lengths."""
    d = len(evidence.unit)
    table = [[_candidate(whole[:, i] * lengths[i], lengths[i], j, evidence) for j in range(d)] for i in range(d)]
    cost = finite(np.array([[candidate.cost for candidate in row] for row in table]))
    order = assigned(cost, np.abs(whole).mean(axis=0), evidence.names)
    chosen = [table[order[j]][j] for j in range(d)]
    return Named(
        values=np.column_stack([candidate.values for candidate in chosen]),
        order=order,
        grains=lengths[order] * evidence.unit,
        order_settled=_only(cost, order),
        sign_settled=all(candidate.sign_settled for candidate in chosen),
        origin_settled=all(candidate.origin_settled for candidate in chosen),
    )


def assigned(cost: Matrix, size: Vector, names: Sequence[str]) -> npt.NDArray[np.intp]:
    """For each private column, the direction of the cheapest assignment.

    Of equally cheap ones, larger directions go to names later in the alphabet: in whatever order columns come, the
    guess is the same.
    """
    directions, columns = np.argsort(size, kind="stable"), np.argsort(np.array(names), kind="stable")
    chosen, place = linear_sum_assignment(finite(cost)[np.ix_(directions, columns)])
    order = np.empty(len(names), dtype=np.intp)
    order[columns[place]] = directions[chosen]
    return order


def finite(cost: Matrix) -> Matrix:
    """Costs of which those that cannot be told are dear: a direction without any spread is no column.

    >>> finite(np.array([[0.5, np.inf], [np.nan, 1.0]])).tolist()
    [[0.5, 10000.0], [10000.0, 1.0]]
    """
    dear = 10 * _REFUTED
    return np.nan_to_num(cost, nan=dear, posinf=dear, neginf=dear)


def _only(cost: Matrix, order: npt.NDArray[np.intp]) -> bool:
    """Whether every other assignment costs more."""
    d = len(order)
    best = cost[order, np.arange(d)].sum()
    for j in range(d):
        other = cost.copy()
        other[order[j], j] = d * 10 * _REFUTED
        if other[linear_sum_assignment(other)].sum() <= best + 0.5:
            return False
    return True


def _candidate(scaled: Vector, length: float, j: int, evidence: Evidence) -> Candidate:
    """A direction as column j, with the better of both signs."""
    unit = float(evidence.unit[j])
    values = scaled * unit
    cost = _grain_cost(length * unit)
    spreads = {two_digits(float(values.std(ddof=ddof))) for ddof in (0, 1)}
    if evidence.scaled and values.std() > 0 and min(abs(spread / unit - 1.0) for spread in spreads) > _SAME:
        cost += _REFUTED
    both = [_placed(sign * values, j, evidence) for sign in (1.0, -1.0)]
    (placed, miss), (_, other) = sorted(both, key=lambda each: each[1])
    origin = not evidence.translated or evidence.pairs is not None or evidence.ranges is not None
    return Candidate(placed, cost + miss, other - miss > 0.5, origin)


def _grain_cost(grain: float) -> float:
    power = np.floor(np.log10(grain) + 1e-9)
    lead = grain / 10.0**power
    round_one = min(_ROUND, key=lambda digit: abs(digit - lead))
    return float(_ROUND[round_one] + abs(power)) if abs(lead - round_one) < _SAME * lead else _ODD


def _placed(values: Vector, j: int, evidence: Evidence) -> tuple[Vector, float]:
    """Values from the most plausible origin, and what speaks against them."""
    if evidence.translated:
        values = values + _origin(values, j, evidence)
    miss, spread = 0.0, float(np.ptp(values)) or 1.0
    if evidence.pairs is not None and len(evidence.pairs.rows):
        error = np.abs(values[evidence.pairs.rows] - evidence.pairs.records[:, j]).max()
        miss += _REFUTED if error > _SAME * spread else 0.0
    if evidence.ranges is not None:
        lower, upper = evidence.ranges.for_columns(len(evidence.unit))
        outside = max(lower[j] - values.min(), values.max() - upper[j])
        miss += _REFUTED if outside > _SAME * spread else 0.0
    if evidence.sample is not None and len(evidence.sample.sample):
        miss += 20.0 * _distance(values, evidence.sample.sample[:, j])
    # Most columns of people count or measure something, and are positive.
    return values, miss + 1.0 * float((values < 0).mean())


def _distance(values: Vector, others: Vector) -> float:
    """The largest difference of two samples' distribution functions (Kolmogorov and Smirnov); gaps are left out."""
    here, there = np.sort(values), np.sort(others[~np.isnan(others)])
    if not len(there):
        return 0.0
    steps = np.concatenate([here, there])
    shares = [np.searchsorted(each, steps, side="right") / len(each) for each in (here, there)]
    return float(np.abs(shares[0] - shares[1]).max())


def _origin(values: Vector, j: int, evidence: Evidence) -> float:
    """What to add to values that are known up to a translation."""
    if evidence.pairs is not None and len(evidence.pairs.rows):
        return float(np.median(evidence.pairs.records[:, j] - values[evidence.pairs.rows]))
    if evidence.ranges is not None:
        lower, upper = evidence.ranges.for_columns(len(evidence.unit))
        return float((lower[j] - values.min() + upper[j] - values.max()) / 2)
    if evidence.sample is not None and len(evidence.sample.sample):
        return float(np.median(evidence.sample.sample[:, j]) - np.median(values))
    return float(-values.min())
