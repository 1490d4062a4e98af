"""The best constant guess: what a breach rate must beat before it says anything (M5).

Whoever knows the distribution of a column but nothing about a record can always guess one
number for everybody. For values the best such number is found exactly: it is the centre
of the window of width 2·tolerance·s_j that holds most of the column. For records the
problem is to place a ball over most points, hard in many dimensions; there the best of a
set of candidates is taken, each moved to the mean of the records it captures.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, choice, number
from veil.measures.breach import Level, breach_rate
from veil.measures.measure import Measure
from veil.measures.units import column_units
from veil.numerics.ordering import row_order

_RECORD_CANDIDATES = 500
_MOVES = 4
_MOVED = 50
_FINALISTS = 5
_SCREENED = 50_000
_BLOCK = 4096
_EPS = float(np.finfo(np.float64).eps)


def constant_guess_baseline(
    truth: npt.ArrayLike, tolerance: float, level: Level = "value", units: npt.ArrayLike | None = None
) -> Measure:
    """Breach rate of the best constant guess, under the rules of :func:`breach_rate`.

    Exact at the value level (up to the rounding of a tie). At the record level it is the
    best found among the candidates of :func:`best_constant_guess`: a lower bound of the
    best possible, and a rate that a constant guess really has. The table is taken as it is,
    so the interval has no width.

    >>> constant_guess_baseline([[0.0], [0.0], [0.0], [4.0]], tolerance=0.1)
    0.75 [0.75, 0.75] higher is exposed
    """
    x = as_table(truth, "truth")
    s = column_units(x, units)
    constants = best_constant_guess(x, tolerance, s, level)
    return _exact(breach_rate(x, np.broadcast_to(constants, x.shape), tolerance, level, units=s))


def best_constant_guess(
    truth: npt.ArrayLike, tolerance: float, units: npt.ArrayLike | None = None, level: Level = "value"
) -> Array:
    """One guess per column, the same for every record, that breaches most.

    ``level="value"``: the midpoint of the fullest window of each sorted column, O(N log N);
    the most frequent value where tolerance·s_j = 0; NaN for a column without any value.

    ``level="record"``: the best found of the value optimum, the mean, the median, the most
    frequent value of each column, 500 records drawn with a fixed seed, and the means of the
    records that the better of these capture. Candidates are compared on at most 50,000
    records, the finalists on all.
    """
    x = as_table(truth, "truth")
    s = column_units(x, units)
    tolerance = number(tolerance, "tolerance", least=0.0)
    by_value = np.array([_fullest_window(column, tolerance * unit) for column, unit in zip(x.T, s, strict=True)])
    if choice(level, "level", ("value", "record")) == "value":
        return by_value
    return _best_record(x, s, tolerance, by_value)


def _fullest_window(column: Array, reach: float) -> float:
    """The number within ``reach`` of most values: widest run of sorted values spanning ≤ 2·reach."""
    values = np.sort(column[~np.isnan(column)])
    if values.size == 0:
        return float("nan")
    after = np.searchsorted(values, window_ends(values, reach), side="right")
    first = int(np.argmax(after - np.arange(values.size)))
    low, high = float(values[first]), float(values[after[first] - 1])
    return low + (high - low) / 2.0


def window_ends(starts: Array, reach: float) -> Array:
    """Where a window that begins at each start ends: the values in it are within ``reach`` of its midpoint.

    It is no wider than what :func:`veil.measures.breach.within` forgives at both ends, so that every value in it is
    breached by a guess of the midpoint.
    """
    return np.asarray(starts + (2.0 * reach + np.minimum(4.0 * _EPS * np.abs(starts), 1e-3 * reach)))


def _best_record(x: Array, s: Array, tolerance: float, by_value: Array) -> Array:
    order = row_order(x)
    # Whoever captures a share worth knowing of all records does so of this many; drawn ones come first.
    filled = _Filled(x[order[:_SCREENED]], s)
    modes = np.array([_fullest_window(column, 0.0) for column in x.T])
    named = np.array([by_value, filled.mean, filled.median, modes])
    candidates = np.concatenate([filled.standardise(named), filled.points[:_RECORD_CANDIDATES]])

    counts, centres = _capture(filled, candidates, tolerance)
    pool, pool_counts = candidates, counts
    for _ in range(_MOVES):
        moved = centres[_largest(counts, _MOVED)]
        counts, centres = _capture(filled, moved, tolerance)
        pool, pool_counts = np.concatenate([pool, moved]), np.concatenate([pool_counts, counts])

    # The screening above works with expanded squares; the last word is the definition's.
    finalists = np.concatenate([filled.restore(pool[_largest(pool_counts, _FINALISTS)]), named])
    finalists = np.where(s > 0.0, finalists, modes)
    rates = [breach_rate(x, np.broadcast_to(row, x.shape), tolerance, "record", units=s) for row in finalists]
    return np.asarray(finalists[int(np.argmax(np.nan_to_num(rates)))], dtype=np.float64)


class _Filled:
    """Records in standard units about the median; missing cells are 0 with weight 0."""

    def __init__(self, x: Array, s: Array) -> None:
        present = ~np.isnan(x)
        self.median = np.zeros(x.shape[1])
        self.mean = np.zeros(x.shape[1])
        for j in np.flatnonzero(present.any(axis=0)):
            self.median[j] = np.median(x[present[:, j], j])
            self.mean[j] = x[present[:, j], j].mean()
        self.scale = np.where(s > 0.0, s, 1.0)
        self.weights = (present & (s > 0.0)).astype(np.float64)
        self.points = np.where(self.weights > 0.0, (x - self.median) / self.scale, 0.0)

    def standardise(self, rows: Array) -> Array:
        return np.nan_to_num((rows - self.median) / self.scale)

    def restore(self, rows: Array) -> Array:
        return rows * self.scale + self.median


def _capture(filled: _Filled, candidates: Array, tolerance: float) -> tuple[npt.NDArray[np.int64], Array]:
    """How many records each candidate breaches, and the mean of those records."""
    counts = np.zeros(len(candidates), dtype=np.int64)
    sums = np.zeros_like(candidates)
    weights = np.zeros_like(candidates)
    squared = candidates**2
    for start in range(0, len(filled.points), _BLOCK):
        z = filled.points[start : start + _BLOCK]
        w = filled.weights[start : start + _BLOCK]
        norm = np.sum(z * z, axis=1, keepdims=True)
        width = w.sum(axis=1, keepdims=True)
        distance = norm - 2.0 * (z @ candidates.T) + w @ squared.T
        inside = (distance <= tolerance * tolerance * width + 16.0 * _EPS * (norm + width)) & (width > 0.0)
        counts += inside.sum(axis=0)
        share = inside.T.astype(np.float64)
        sums += share @ z
        weights += share @ w
    return counts, np.where(weights > 0.0, sums / np.maximum(weights, 1.0), candidates)


def _largest(counts: npt.NDArray[np.int64], how_many: int) -> npt.NDArray[np.int64]:
    return np.argsort(-counts, kind="stable")[:how_many]


def _exact(measure: Measure) -> Measure:
    return Measure(float(measure), higher_is=measure.higher_is)
