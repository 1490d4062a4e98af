"""Find the rows of known records in a release that keeps lengths and distances (A10).

*Model.* ``y = M z + t``, M orthogonal. *Known*: p records z, not their rows, and some of them may not be in the
release at all. Without translation a row must have its record's length, and rows of two records their distance
(tutorial, "a-priori knowledge"; Giannella, Liu and Kargupta 2013); with one only the distances count.

The answer is the largest set of records with rows that agree with all lengths and distances within the tolerance;
:mod:`veil.attacks.rotation.consistent_sets` searches for it. Several sets may be equally large, and whole numbers agree
so exactly that only rounding noise tells their errors apart: who knows more about the table judges them first. What
they do not agree on is not called unique.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.attacks.rotation.consistent_sets import ConsistentSets, Pairs, Rows
from veil.data.blocks import Matrix, Vector

Judge = Callable[[Rows, Rows], float]

ACCIDENT = 0.01
WIDER = 1_000.0


@dataclass(frozen=True)
class Matching:
    """Which rows belong to which known records.

    Attributes
    ----------
    rows
        The row of each known record, −1 where none fits.
    unique
        Whether the row is settled: all best matchings agree on it, no other row is the same point, and no more than
        one record in 100 that is not in the release would find a row that agrees as well.
    alternatives
        How many best matchings were found, rows that are the same point counted as one. More than 1 leaves the
        secret matrix open.
    misfit
        The largest difference between a length or distance of the matched records and their rows'.
    tolerance
        By how much a length was allowed to differ, in the units that were rotated.
    complete
        Whether the search came to its end, so that no larger or other best matching exists.
    """

    rows: Rows
    unique: npt.NDArray[np.bool_]
    alternatives: int
    misfit: float
    tolerance: float
    complete: bool


def match_records(
    known: Matrix,
    released: Matrix,
    *,
    translated: bool = False,
    tolerance: float | None = None,
    budget: int = 20_000,
    judge: Judge | None = None,
) -> Matching:
    """Match known records (p × d, in the units that were rotated) to rows of a release (N × d).

    ``tolerance`` is the largest error of a released record, as a length; None reads it off the release
    (:func:`release_tolerance`). ``budget`` limits the steps of the search. Rows with missing values match nothing.
    ``judge`` says of matched records and their rows how strange they would make the table; of several best matchings
    the least strange is taken, and of equally strange ones the most consistent.
    """
    allowed = release_tolerance(released) if tolerance is None else tolerance
    number(allowed, "tolerance", least=0.0, infinite=True, rule="a length of at least 0, or None")
    whole(budget, "budget", least=1)
    present = np.flatnonzero(np.isfinite(released).all(axis=1))
    search = ConsistentSets(known, released[present], allowed, budget, least=2 if translated else 1)
    if translated:
        search.from_pairs()
    else:
        search.from_zero()
    return _settled(search, present, judge, translated=translated)


def release_tolerance(released: Matrix) -> float:
    """By how much rounding may have changed a released record's length: √d times the largest error of a value.

    Values with few decimals, or of single precision, are taken to have been rounded to them.

    >>> round(release_tolerance(np.array([[1.25, 3.5], [0.75, 2.0]])), 6)
    0.007071
    """
    sample = released[np.isfinite(released).all(axis=1)][:2_000]
    if not sample.size:
        return 0.0
    largest = float(np.abs(sample).max())
    error = 1e-10 * largest
    if np.array_equal(sample, sample.astype(np.float32)):
        error = max(error, 2.0**-23 * largest)
    for decimals in range(9):
        if 0.5 * 10.0**-decimals > error and np.array_equal(np.round(sample, decimals), sample):
            error = 0.5 * 10.0**-decimals
            break
    return error * math.sqrt(released.shape[1])


def _settled(search: ConsistentSets, present: Rows, judge: Judge | None, *, translated: bool) -> Matching:
    """The least strange, then the most consistent of the best matchings, with each row given to one record."""
    p = len(search.known)
    rows, unique = np.full(p, -1, dtype=np.intp), np.zeros(p, dtype=bool)
    if not search.best:
        return Matching(rows, unique, 0, 0.0, search.tolerance, search.complete)
    errors = [search.errors(matched, translated=translated) for matched in search.best]
    strange = [0.0] * len(errors)
    if judge is not None and len(errors) > 1:
        parts = [np.array(matched, dtype=np.intp).T for matched in search.best]
        strange = [round(judge(records, present[rows]), 6) for records, rows in parts]
    least = min(range(len(errors)), key=lambda k: (strange[k], float((errors[k] ** 2).sum())))
    chosen = search.best[least]
    others = [dict(matched) for matched in search.best]
    free: dict[int, list[int]] = {}
    for record, row in chosen:
        if row not in free:
            free[row] = [row, *(twin for twin in _twins(search, row) if twin != row)]
        unique[record] = len(free[row]) == 1 and all(
            record in other and _one_point(search, row, other[record]) for other in others
        )
    unique &= search.complete and _no_accident(search, chosen, translated=translated)
    given: set[int] = set()
    for record, row in chosen:
        left = [twin for twin in free[row] if twin not in given]
        if left:
            given.add(left[0])
            rows[record] = present[left[0]]
        else:
            unique[record] = False
    return Matching(rows, unique, len(search.best), float(errors[least].max()), search.tolerance, search.complete)


def _twins(search: ConsistentSets, row: int) -> list[int]:
    """Rows that are the same point, itself included."""
    near = np.flatnonzero(np.abs(search.released[:, 0] - search.released[row, 0]) <= search.grain)
    return [other for other in near.tolist() if _one_point(search, row, other)]


def _one_point(search: ConsistentSets, row: int, other: int) -> bool:
    return float(np.linalg.norm(search.released[row] - search.released[other])) <= search.grain


def _no_accident(search: ConsistentSets, matched: Pairs, *, translated: bool) -> npt.NDArray[np.bool_]:
    """Per known record, whether its row agrees too well for an accident.

    Expected less than ``ACCIDENT`` times: strangers' rows that agree with all other matched records, and whole sets
    of strangers' rows, one record after the other, that agree among themselves.
    """
    d = search.known.shape[1]
    origin = [] if translated else [(np.zeros(d), np.zeros(d), search.tolerance)]
    points = [(search.known[i], search.released[row], 2.0 * search.tolerance) for i, row in matched]
    whole = 1.0
    for j in range(len(matched)):
        whole *= _strangers(search, points[j][0], [*origin, *points[:j]])
        if whole <= ACCIDENT:
            break
    good = np.zeros(len(search.known), dtype=bool)
    if whole <= ACCIDENT:
        for j, (record, _) in enumerate(matched):
            others = [*origin, *points[:j], *points[j + 1 :]]
            good[record] = _strangers(search, points[j][0], others) <= ACCIDENT
    return good


def _strangers(search: ConsistentSets, record: Vector, anchors: list[tuple[Vector, Vector, float]]) -> float:
    """How many rows of strangers are expected at the record's distances from known points, from the rows around."""
    rows = np.arange(len(search.released))
    used = anchors[: search.known.shape[1]]  # more do not narrow the place down
    for z, y, allowed in used:
        apart = np.linalg.norm(search.released[rows] - y, axis=1)
        wide = allowed * WIDER ** (1.0 / len(used))
        rows = rows[np.abs(apart - np.linalg.norm(record - z)) <= wide]
    return max(len(rows) - 1, 0) / (WIDER if used else 1.0)
