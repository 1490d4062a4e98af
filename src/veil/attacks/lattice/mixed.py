"""The lattice behind a general linear map or projection of whole numbers (Nguyen and Stern 1999, hidden subset sums).

*Model.* ``y = R D⁻¹x``, R any secret k × d matrix, k ≤ d. Relations ``Σ c_i y_i = 0`` in whole numbers are, but for
chance, relations of the records, so they survive every map; a table of more rows than columns has many. What is
orthogonal to all of them is spanned by the private columns: ``X = W T`` with W from the release and T unimodular. The
columns of W are reduced (about their means), so that T is small. Known records are equations for T's columns, and the
public units say how long each private column is; without them, the reduced columns of fitting lengths are the guess.

The other rows follow: exactly for k = d, else as the only whole numbers in a box with their image
(:mod:`veil.attacks.projection.lattice`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.attacks.knowledge import KnownPairs
from veil.attacks.lattice.naming import assigned
from veil.attacks.projection.lattice import LatticeSearch
from veil.data.blocks import Matrix, Vector
from veil.numerics.lattices import coordinates, generated, reduce_rows
from veil.numerics.rounding import two_digits

ROWS_PER_COLUMN: Final = 5
MOST_GENERATING: Final = 160
"""Rows whose relations are searched: the work grows with the fourth power."""
_WIDER: Final = 4.0
"""Ranges of the first rows, which lie near the middle: how far from it others may be."""
_WHOLE: Final = 0.05


@dataclass(frozen=True, eq=False)
class Mixed:
    """What the lattice tells of the private columns.

    Attributes
    ----------
    values
        N × d guesses; NaN for rows that no whole numbers fit.
    grains
        The step between neighbouring values of each column.
    settled
        By private column, whether known records leave no other whole-number combination of the right length.
    """

    values: Matrix
    grains: Vector
    settled: npt.NDArray[np.bool_]


def hidden_columns(
    y: Matrix, unit: Vector, names: Sequence[str], pairs: KnownPairs | None, *, scaled: bool
) -> Mixed | None:
    """The private columns behind ``y``; None where its rows show no lattice of the columns' number.

    ``scaled``: the units are the columns' standard deviations, and not 1.
    """
    d = len(unit)
    known = np.empty(0, dtype=np.intp) if pairs is None else pairs.rows
    near = np.argsort(np.linalg.norm(y - y.mean(axis=0), axis=1), kind="stable")
    others = near[~np.isin(near, known)][: min(ROWS_PER_COLUMN * d, MOST_GENERATING)]
    rows = np.concatenate([known[: MOST_GENERATING // 2], others])
    lattice = generated(y[rows], d)
    if lattice is None:
        return None
    whole = _of_all_rows(y, rows, _reduced_columns(lattice.whole))
    seen = np.asarray(np.isfinite(whole).all(axis=1))
    whole[seen] = _reduced_columns(whole[seen])  # all rows say better what is short
    at = known[seen[known]]
    records = np.empty((0, d)) if pairs is None else pairs.records[seen[known]]
    grains = _grains(records)
    values = np.full((len(y), d), np.nan)
    columns, settled = _named(whole[seen], whole[at], records / grains, unit / grains, names, scaled=scaled)
    values[seen] = columns * grains
    return Mixed(values, grains, settled)


def _grains(records: Matrix) -> Vector:
    """The step of each column: the last decimal of known records; 1 where there are none."""
    steps = np.ones(records.shape[1])
    for j, column in enumerate(records.T):
        for digits in range(9):
            if np.abs(column * 10.0**digits - np.rint(column * 10.0**digits)).max(initial=0.0) < 1e-6:
                steps[j] = 10.0**-digits
                break
    return steps


def _reduced_columns(whole: Matrix) -> Matrix:
    """Columns that span the same lattice and are short about their means."""
    centred = np.ascontiguousarray((whole - whole.mean(axis=0)).T)
    transform, _ = reduce_rows(centred, 0.999)
    return np.asarray((whole.astype(np.int64) @ transform.T).astype(np.float64))


def _named(
    whole: Matrix, known: Matrix, records: Matrix, unit: Vector, names: Sequence[str], *, scaled: bool
) -> tuple[Matrix, npt.NDArray[np.bool_]]:
    """Private columns as combinations of the reduced ones, and which of them known records settle."""
    d = len(unit)
    spread = whole.std(axis=0)
    # Each reduced column as the private one whose length fits best.
    cost = np.abs(np.log(np.maximum(spread, 1e-9))[:, None] - np.log(unit))
    columns, settled = whole[:, assigned(cost, spread, names)], np.zeros(d, dtype=np.bool_)
    columns = columns * np.where(columns.mean(axis=0) >= 0, 1.0, -1.0)
    if not len(records):
        return columns, settled
    gram = np.linalg.inv(np.cov(whole.T, ddof=0).reshape(d, d))
    for j in range(d):
        # |t_i| ≤ length · (inverse Gram)_ii^½ for every combination t of that length
        reach = np.ceil(1.1 * unit[j] * np.sqrt(np.diag(gram))) if scaled else np.full(d, 64.0)
        search = LatticeSearch(known, -reach, reach, tolerance=0.25)
        matches = search.solve(records[:, j][None, :], most_matches=512, most_nodes=2_000_000)
        if not len(matches.values):
            continue
        candidates = whole @ matches.values.T
        length = candidates.std(axis=0)
        right = (
            np.array([abs(two_digits(float(each)) - unit[j]) < 1e-9 * unit[j] for each in length])
            if scaled
            else length > 0
        )
        miss = np.abs(np.log(np.maximum(length, 1e-9) / unit[j])) - right - (candidates.min(axis=0) >= 0)
        columns[:, j] = candidates[:, int(np.argmin(miss))]
        settled[j] = bool(matches.complete[0]) and int(right.sum()) == 1
    return columns, settled


def _of_all_rows(y: Matrix, rows: npt.NDArray[np.intp], whole: Matrix) -> Matrix:
    """Whole-number columns of some rows carried over to all; NaN for rows that no whole numbers fit."""
    d = whole.shape[1]
    basis = np.asarray(np.linalg.lstsq(whole, y[rows], rcond=None)[0], dtype=np.float64)
    if y.shape[1] == d:
        exact = coordinates(y, basis)
        fits = np.abs(exact - np.rint(exact)).max(axis=1) < _WHOLE
        return np.where(fits[:, None], np.rint(exact), np.nan)
    middle, reach = np.median(whole, axis=0), _WIDER * np.maximum(np.ptp(whole, axis=0), 1.0)
    values = np.full((len(y), d), np.nan)
    search = LatticeSearch(basis.T, np.floor(middle - reach), np.ceil(middle + reach))
    matches = search.solve(y, most_matches=2)
    unique = matches.unique[matches.record]
    values[matches.record[unique]] = matches.values[unique]
    return values
