"""Released rows that are equal to private records, each paired with one, against chance.

*Count.* Private records and released rows are sorted into cells of equal ones; a cell of k records and r rows has
min(k, r) pairs. Numbers are equal up to single precision, or to the decimals that the release was rounded to.

*Chance.* If the rows were fresh draws of the population, records and rows together would be exchangeable: whose label
is "private" is random. So the number of pairs is compared with that after the labels were shuffled, which is exact for
every law, with twins and few categories too. Twins have little to tell, copies may have much: so the cells of two are
also gone through from the most telling down, as long as they hold one record and one row each. A run of L such cells
has probability 2^−L at most. The lesser p-value, doubled, is the result.

What strangers would share is told by the private table itself: the pairs between two random halves of it, for the whole
table twice as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from veil.data.blocks import Matrix, Vector

SAME = 2e-7
"""Numbers are equal when they differ by less than this share of the column's largest: single precision."""
SHUFFLES = 1_999
ENOUGH = 10
"""Shuffles with as many pairs after which no more are made."""
HALVES = 10
MOST_SHUFFLED = 30_000_000
"""Labels that are drawn in all, so that large tables are shuffled less often."""

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EqualRecords:
    """Pairs of a record and an equal row among ``n_records``, those of strangers, and how probable as many are."""

    n_records: int
    n_pairs: int
    n_chance: float
    p_value: float


def equal_records(private: Matrix, released: Matrix, steps: Vector) -> EqualRecords:
    """Pair equal records and rows; ``steps`` are what each column was rounded to, 0 for not at all."""
    n, m = len(private), len(released)
    ways = (np.rint, np.floor) if (steps > 0).any() else (np.rint,)
    codes = [_codes(private, released, steps, way) for way in ways]
    cells = [np.unique(each, axis=0, return_inverse=True)[1].ravel().astype(np.int64) for each in codes]
    best = max(range(len(cells)), key=lambda i: _pairs(cells[i][:n], cells[i][n:]))
    cell = cells[best]
    rng = np.random.default_rng(0)
    n_pairs = _pairs(cell[:n], cell[n:])
    shuffles = max(199, min(SHUFFLES, MOST_SHUFFLED // (n + m)))
    halves = [rng.permutation(cell[:n]) for _ in range(HALVES)]
    chance = 2.0 * float(np.mean([_pairs(half[: n // 2], half[n // 2 :]) for half in halves]))
    chance = min(chance * min(m / n, 2.0), float(n))
    if not n_pairs:
        return EqualRecords(n, 0, chance, 1.0)
    shuffled = (_pairs(each[:n], each[n:]) for each in (rng.permutation(cell) for _ in range(shuffles)))
    p_value = _p_value(n_pairs, shuffled)
    return EqualRecords(n, n_pairs, chance, min(1.0, 2.0 * min(p_value, 0.5 ** _leading_run(codes[best], cell, n))))


def _p_value(n_pairs: int, shuffled: Iterator[int]) -> float:
    """The share of shuffles with as many pairs; it is clear once some have (Besag and Clifford 1991).

    Of large tables, where few are made, by a normal law.
    """
    counts: list[int] = []
    reached = 0
    for count in shuffled:
        counts.append(count)
        reached += count >= n_pairs
        if reached == ENOUGH:
            return reached / len(counts)
    if len(counts) == SHUFFLES:
        return (1 + reached) / (1 + SHUFFLES)
    return float(norm.sf((n_pairs - 0.5 - np.mean(counts)) / max(float(np.std(counts)), 0.5)))


def _leading_run(codes: Codes, cell: Codes, n: int) -> int:
    """Cells of one record and one row, from the most telling down, before one of two records or two rows or of more."""
    information = np.zeros(len(codes))
    for column in codes.T:
        information -= np.log(np.bincount(column)[column] / len(column))
    sizes, records = np.bincount(cell), np.bincount(cell[:n], minlength=int(cell.max()) + 1)
    telling = np.zeros(len(sizes))
    telling[cell] = np.round(information, 9)
    several = np.flatnonzero(sizes > 1)
    single = (sizes[several] == 2) & (records[several] == 1)
    single = single[np.lexsort((single, -telling[several]))]  # of equally telling cells, others come first
    return len(single) if single.all() else int(np.argmin(single))


def _codes(private: Matrix, released: Matrix, steps: Vector, rounded: np.ufunc) -> Codes:
    """Codes of records and then of rows, column by column, that are equal where the values are."""
    codes = []
    for x, y, step in zip(private.T, released.T, steps, strict=True):
        both = np.concatenate([rounded(x / step) * step if step else x, y])
        codes.append(_column_codes(both))
    return np.column_stack(codes)


def _column_codes(values: Vector) -> Codes:
    """Codes that are equal for numbers that single precision does not tell apart, and for missing ones."""
    order = np.argsort(values, kind="stable")  # NaN last
    rising = values[order]
    known = np.abs(values[np.isfinite(values)])
    apart = np.diff(rising) > SAME * float(known.max(initial=0.0))
    apart |= np.isnan(rising[1:]) & ~np.isnan(rising[:-1])
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.concatenate([[0], np.cumsum(apart)])
    return codes


def _pairs(a: Codes, b: Codes) -> int:
    """How many of two lists of cells can be paired, each once."""
    size = int(max(a.max(initial=0), b.max(initial=0))) + 1
    return int(np.minimum(np.bincount(a, minlength=size), np.bincount(b, minlength=size)).sum())
