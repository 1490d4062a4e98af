"""Likelihood ratios for record linkage (A22): is a released row this person's, or somebody else's?

*Model.* A person's private values x are known, and a row y of the release. Each clue compares the density of y under
the published law of the perturbation, f(y | x), with the density h(y) of the rows in general (Fellegi and Sunter
1969): ``ln f(y | x) − ln h(y)``. Without h, rows with a missing value could not be compared with complete ones, and
common rows would be favoured. A value that the person's record or the row does not have is left out of both.

h is a normal density in the clue's own scale, with the release's mean and covariance, or the release's own
frequencies. What a law rules out counts as one in a million and not as impossible: external records have errors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numba
import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from veil.data.blocks import Matrix, Vector
from veil.numerics.factor_law import FactorLaw
from veil.numerics.laws import UNIFORM

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

RULED_OUT = math.log(1e-6)
"""Log-likelihood ratio of what a law rules out."""


_LEAST, _NEARLY_ALL = math.exp(RULED_OUT), 1.0 - 1e-6
_NEGLIGIBLE = -20.0  # a log-ratio that no posterior shows: truncation would only lower it
_FAR, _PER_UNIT = 5.0, 512.0  # the table of the normal law: how far, and how fine
_SHARES = ndtr(np.arange(-_FAR, _FAR + 1.0 / _PER_UNIT, 1.0 / _PER_UNIT))


class Clue(ABC):
    """What some columns say about every pair of an external record and a released row."""

    @abstractmethod
    def score(self, records: slice) -> Matrix:
        """Log-likelihood ratios of these external records (rows) and all rows of the release (columns)."""


class EqualityClue(Clue):
    """Columns that are equal for a person's own row, as codes; −1 says nothing.

    Public columns, classes (P17), and zeros of multiplicative noise. A common value says less than a rare one: the
    ratio is one over its share among the rows. ``gain`` and ``cost`` replace the ratios of equal and other values.
    """

    def __init__(self, records: Codes, rows: Codes, *, gain: float | None = None, cost: float = RULED_OUT) -> None:
        self._records, self._rows, self._cost = records, rows, cost
        self._gain = _rarity(rows) if gain is None else np.full(len(rows), gain)

    def score(self, records: slice) -> Matrix:
        """One over the share where equal, ``cost`` where not."""
        codes = self._records[records][:, None]
        scores = np.where(codes == self._rows, self._gain, self._cost)
        scores[(codes < 0) | (self._rows < 0)] = 0.0
        return scores


class EqualitiesClue(Clue):
    """Several columns that are equal for a person's own row, as codes: the sum of their :class:`EqualityClue`."""

    def __init__(self, columns: Sequence[tuple[Codes, Codes]]) -> None:
        self._records = np.column_stack([records for records, _ in columns])
        self._rows = np.ascontiguousarray([rows for _, rows in columns])
        self._gains = np.ascontiguousarray([_rarity(rows) for _, rows in columns])

    def score(self, records: slice) -> Matrix:
        """One over the share where equal, one in a million where not."""
        out = np.zeros((len(self._records[records]), self._rows.shape[1]))
        _add_equalities(np.ascontiguousarray(self._records[records]), self._rows, self._gains, out)
        return out


class TableClue(Clue):
    """Randomized responses: ``table[true, reported]`` of log-likelihood ratios by codes; −1 says nothing."""

    def __init__(self, table: Matrix, records: Codes, rows: Codes) -> None:
        self._table = np.pad(np.maximum(table, RULED_OUT), ((0, 1), (0, 1)))
        self._records, self._rows = records, rows

    def score(self, records: slice) -> Matrix:
        """The table's entries."""
        return np.take(self._table[self._records[records]], self._rows, axis=1)


class DistanceClue(Clue):
    """Minus half the squared distance of one column in units of ``spread``; 1 where a value is missing."""

    def __init__(self, records: Vector, rows: Vector, spread: float) -> None:
        self._records, self._rows = records / spread, rows / spread

    def score(self, records: slice) -> Matrix:
        """No likelihood: for nearest neighbours."""
        scores = -0.5 * (self._records[records][:, None] - self._rows) ** 2
        scores[np.isnan(scores)] = -0.5
        return np.asarray(scores)


class Background:
    """h: a normal density with the mean and covariance of some transformed released columns.

    ``least`` are variances that no column's falls below (the noise's own); ``jacobian`` is added to the log-density,
    N × d. A small release has its covariance drawn to the diagonal.
    """

    def __init__(self, rows: Matrix, least: Vector, jacobian: Matrix | None = None) -> None:
        self._rows, self._jacobian = rows, jacobian
        present = ~np.isnan(rows)
        counts = np.maximum(present.sum(axis=0), 1)
        self._mean = np.where(present, rows, 0.0).sum(axis=0) / counts
        centred = np.where(present, rows - self._mean, 0.0)
        variance = np.maximum((centred**2).sum(axis=0) / counts, least)
        complete = centred[present.all(axis=1)]
        n, d = len(complete), rows.shape[1]
        weight = n / (n + d + 1.0)
        covariance = complete.T @ complete / n if n else np.zeros((d, d))
        self._covariance = weight * covariance + (1.0 - weight) * np.diag(variance) + 1e-9 * np.diag(variance)

    def log_density(self, columns: Mask) -> Vector:
        """ln h of every row by some of the columns; NaN where one is missing."""
        root = np.linalg.cholesky(self._covariance[np.ix_(columns, columns)])
        z = np.linalg.solve(root, (self._rows[:, columns] - self._mean[columns]).T)
        constant = np.log(np.diag(root)).sum() + 0.5 * math.log(2 * math.pi) * int(columns.sum())
        extra = 0.0 if self._jacobian is None else self._jacobian[:, columns].sum(axis=1)
        return np.asarray(-0.5 * (z * z).sum(axis=0) - constant + extra)


class NumericClue(Clue):
    """Columns of numbers with a joint law of the noise. ``records`` is m × d, ``rows`` N × d, NaN is missing."""

    def __init__(self, records: Matrix, rows: Matrix, background: Background) -> None:
        self._records, self._rows, self._background = records, rows, background
        self._patterns = list(_patterns(~np.isnan(rows)))
        self._kept: dict[bytes, Vector] = {}

    def score(self, records: slice) -> Matrix:
        """Log-likelihood ratios, by the columns that both sides have."""
        x = self._records[records]
        out = np.zeros((len(x), len(self._rows)))
        for have, people in _patterns(~np.isnan(x)):
            for present, rows in self._patterns:
                both = have & present
                if not both.any():
                    continue
                values = np.ascontiguousarray(self._rows[np.ix_(rows, both)].T)
                scores = np.tile(-self._log_density(both)[rows], (len(people), 1))
                self._add(x[np.ix_(people, both)], values, both, scores)
                if scores.shape == out.shape:
                    return scores
                out[np.ix_(people, rows)] = scores
        return out

    def _log_density(self, both: Mask) -> Vector:
        key = both.tobytes()
        if key not in self._kept:
            self._kept[key] = self._background.log_density(both)
        return self._kept[key]

    @abstractmethod
    def _add(self, x: Matrix, y: Matrix, both: Mask, out: Matrix) -> None:
        """Add ln f(y | x) of the columns ``both``; y has one row per column."""


class NormalClue(NumericClue):
    """``y = x + r``, r normal with a public covariance: additive noise, log-normal noise in logarithms, lengths."""

    def __init__(self, records: Matrix, rows: Matrix, background: Background, covariance: Matrix) -> None:
        super().__init__(records, rows, background)
        self._covariance = covariance + 1e-12 * np.diag(np.diag(covariance))

    def _add(self, x: Matrix, y: Matrix, both: Mask, out: Matrix) -> None:
        root = np.linalg.cholesky(self._covariance[np.ix_(both, both)])
        out -= np.log(np.diag(root)).sum() + 0.5 * math.log(2 * math.pi) * len(root)
        a, b = np.linalg.solve(root, x.T).T, np.linalg.solve(root, y)
        _add_squares(np.ascontiguousarray(a), np.ascontiguousarray(b), out)


class IndependentClue(NumericClue):
    """``y = x + r``, r uniform or Laplace, independent over columns; ``slack`` is what rounding may add."""

    def __init__(
        self, records: Matrix, rows: Matrix, background: Background, law: str, scale: Vector, slack: Vector
    ) -> None:
        super().__init__(records, rows, background)
        self._uniform = law == UNIFORM.name
        self._width = scale * UNIFORM.support + slack if self._uniform else scale / math.sqrt(2.0)

    def _add(self, x: Matrix, y: Matrix, both: Mask, out: Matrix) -> None:
        width = self._width[both]
        out -= np.log(2.0 * width).sum()
        _add_sizes(x / width, y / width[:, None], self._uniform, out)


class FactorClue(NumericClue):
    """``y = x r + e``, r of a public law, e normal: the Bayesian form for additive and multiplicative noise.

    Without truncation y is normal with mean xμ and variance x²σ² + τ², and r given y is normal too; f is that density
    times the probability that this r lies where the law allows, over the share of the normal that the law keeps.
    """

    def __init__(self, records: Matrix, rows: Matrix, background: Background, law: FactorLaw, noise: Vector) -> None:
        super().__init__(records, rows, background)
        self._law, self._noise = law, noise
        self._pieces = np.array(law.pieces)

    def _add(self, x: Matrix, y: Matrix, both: Mask, out: Matrix) -> None:
        law = self._law
        out -= math.log(law.acceptance) * int(both.sum())
        columns = [(np.ascontiguousarray(x[:, j]), y[j], float(tau)) for j, tau in enumerate(self._noise[both])]
        for known, observed, tau in columns:
            _add_products(known, observed, law.mean, law.std, tau, out)
        for known, observed, tau in columns:
            _add_truncation(known, observed, law.mean, law.std, tau, self._pieces, out)


def _patterns(present: Mask) -> Iterator[tuple[Mask, npt.NDArray[np.intp]]]:
    """Which columns are present, and the rows that have just these."""
    if present.all():
        yield np.ones(present.shape[1], dtype=bool), np.arange(len(present))
        return
    patterns, at = np.unique(present, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(at.ravel() == i)


def _rarity(rows: Codes) -> Vector:
    """Minus the logarithm of the share of each row's value."""
    _, at, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return np.asarray(-np.log(counts / max(int((rows >= 0).sum()), 1))[at])


@numba.njit(cache=True, nogil=True)
def _add_equalities(a: Codes, b: Codes, gains: Matrix, out: Matrix) -> None:
    for e in range(len(a)):
        row = out[e]
        for j in range(len(b)):
            code, line, gain = a[e, j], b[j], gains[j]
            if code < 0:
                continue
            for i in range(len(line)):
                if line[i] >= 0:
                    row[i] += gain[i] if line[i] == code else RULED_OUT


@numba.njit(cache=True, nogil=True)
def _add_squares(a: Matrix, b: Matrix, out: Matrix) -> None:
    for e in range(len(a)):
        row = out[e]
        for j in range(len(b)):
            x, line = a[e, j], b[j]
            for i in range(len(line)):
                row[i] -= 0.5 * (x - line[i]) * (x - line[i])


@numba.njit(cache=True, nogil=True)
def _add_sizes(a: Matrix, b: Matrix, uniform: bool, out: Matrix) -> None:
    for e in range(len(a)):
        row = out[e]
        for j in range(len(b)):
            x, line = a[e, j], b[j]
            for i in range(len(line)):
                size = abs(x - line[i])
                row[i] += (RULED_OUT if size > 1.0 else 0.0) if uniform else -size


@numba.njit(cache=True, inline="always")
def _below(z: float) -> float:
    """The standard normal's share below a point, by a table: to 2e-7."""
    if z <= -_FAR:
        return 0.0
    if z >= _FAR:
        return 1.0
    at = (z + _FAR) * _PER_UNIT
    i = int(at)
    return float(_SHARES[i] + (at - i) * (_SHARES[i + 1] - _SHARES[i]))


@numba.njit(cache=True, nogil=True)
def _add_products(x: Vector, y: Vector, mean: float, std: float, noise: float, out: Matrix) -> None:
    """Add the log-density of ``y = x r + e`` for a factor that is not truncated."""
    for e in range(len(x)):
        row, variance, centre = out[e], (x[e] * std) ** 2 + noise * noise, x[e] * mean
        constant, half = -0.5 * math.log(2.0 * math.pi * variance), 0.5 / variance
        for i in range(len(y)):
            row[i] += constant - half * (y[i] - centre) * (y[i] - centre)


@numba.njit(cache=True, nogil=True)
def _add_truncation(x: Vector, y: Vector, mean: float, std: float, noise: float, pieces: Matrix, out: Matrix) -> None:
    """Add the logarithm of the probability that the factor, given y, lies where the law allows."""
    for e in range(len(x)):
        row = out[e]
        variance = (x[e] * std) ** 2 + noise * noise
        gain, narrow = x[e] * std * std / variance, math.sqrt(variance) / (std * noise)
        for i in range(len(y)):
            if row[i] < _NEGLIGIBLE:
                continue
            factor = mean + gain * (y[i] - x[e] * mean)
            share = 0.0
            for k in range(len(pieces)):
                share += _below((pieces[k, 1] - factor) * narrow) - _below((pieces[k, 0] - factor) * narrow)
            if share <= _LEAST:
                row[i] += RULED_OUT
            elif share < _NEARLY_ALL:
                row[i] += math.log(share)
