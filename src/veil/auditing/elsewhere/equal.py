"""Released rows that are equal to private records, each paired with one, against chance.

*Count.* Private records and released rows are sorted into cells of equal ones; a cell of k records and r rows has
min(k, r) pairs. Numbers are equal up to single precision, or to the decimals that the release was rounded to.

*Chance.* If the rows were fresh draws of the population, records and rows together would be exchangeable: whose label
is "private" is random. So the number of pairs is compared with that after the labels were shuffled, which is exact for
every law, with twins and few categories too.

What strangers would share is told by the private table itself: the pairs between two random halves of it, for the whole
table twice as many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

SAME = 2e-7
"""Numbers are equal when they differ by less than this share of the column's largest: single precision."""
SHUFFLES = 999
HALVES = 10
MOST_SHUFFLED = 30_000_000
"""Labels that are drawn in all; of large tables, some of the records and rows are looked at."""

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
    cells = [
        _cells(private, released, steps, way) for way in ((np.rint, np.floor) if (steps > 0).any() else (np.rint,))
    ]
    cell = max(cells, key=lambda each: _pairs(each[:n], each[n:]))
    rng = np.random.default_rng(0)
    n_pairs = _pairs(cell[:n], cell[n:])
    shuffles = max(199, min(SHUFFLES, MOST_SHUFFLED // (n + m)))
    reached = 0
    for _ in range(shuffles if n_pairs else 0):
        shuffled = rng.permutation(cell)
        reached += _pairs(shuffled[:n], shuffled[n:]) >= n_pairs
    halves = [rng.permutation(cell[:n]) for _ in range(HALVES)]
    chance = 2.0 * float(np.mean([_pairs(half[: n // 2], half[n // 2 :]) for half in halves]))
    chance = min(chance * min(m / n, 2.0), float(n))
    return EqualRecords(n, n_pairs, chance, (1 + reached) / (1 + shuffles) if n_pairs else 1.0)


def _cells(private: Matrix, released: Matrix, steps: Vector, rounded: np.ufunc) -> Codes:
    """The cell of every record and then of every row."""
    codes = []
    for x, y, step in zip(private.T, released.T, steps, strict=True):
        both = np.concatenate([rounded(x / step) * step if step else x, y])
        codes.append(_column_codes(both))
    return np.asarray(np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].ravel(), dtype=np.int64)


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
