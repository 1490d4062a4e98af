"""Reconstruction errors (M1, M12): how far a guess is from the private table.

Every function compares the cells that are present in both tables; what the attack leaves
as NaN is left out, not punished, so read these beside a breach rate. An infinite guess is
refused. Where nothing is left to compare the value and its interval are NaN. Intervals are
95 %, by normal theory over records (:func:`veil.measures.intervals.ratio_interval`).
"""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_pair, as_table
from veil.measures.intervals import ratio_interval
from veil.measures.measure import Measure


@overload
def variance_privacy(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: Literal[True]) -> Array: ...
@overload
def variance_privacy(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: Literal[False] = False) -> Measure: ...
def variance_privacy(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: bool = False) -> Measure | Array:
    """Var(X − X̂)/Var(X), the mean over columns or each column's (M1; Muralidhar et al. 1999).

    A constant error costs nothing here: it is a variance, not a mean square. Columns that are
    constant on the compared cells are NaN and left out of the mean. Fewer than three
    compared records give the interval (0, ∞).

    >>> variance_privacy([[0.0], [2.0]], [[0.5], [1.5]], per_column=True)
    array([0.25])
    """
    x, guessed, present = _compared(truth, guess)
    counts = present.sum(axis=0)
    error = _centred(guessed - x, present)
    deviation = _centred(x, present)
    spread = _mean(deviation**2, counts)
    constant = _constant(x, present)
    scale = np.where(constant, 1.0, spread)
    ratios = np.where(constant, np.nan, _mean(error**2, counts) / scale)
    if per_column:
        return ratios
    varies = ~constant
    if not varies.any():
        return _nothing()
    # Influence of each record on each column's ratio; columns then average like the ratios do.
    influence = (error**2 - ratios * deviation**2)[:, varies] / (scale * counts)[varies]
    return _with_error(float(ratios[varies].mean()), influence.mean(axis=1)[present[:, varies].any(axis=1)])


@overload
def mean_squared_error(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: Literal[True]) -> Array: ...
@overload
def mean_squared_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: Literal[False] = False
) -> Measure: ...
def mean_squared_error(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: bool = False) -> Measure | Array:
    """Mean of (x̂ − x)² over the compared cells, or over each column's.

    >>> mean_squared_error([[0.0, 0.0]], [[1.0, 3.0]], per_column=True)
    array([1., 9.])
    """
    x, guessed, present = _compared(truth, guess)
    squares = (guessed - x) ** 2
    if per_column:
        return _quotient(squares.sum(axis=0), present.sum(axis=0))
    return _measure(squares.sum(axis=1), present.sum(axis=1))


@overload
def nrmse(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: Literal[True]) -> Array: ...
@overload
def nrmse(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: Literal[False] = False) -> Measure: ...
def nrmse(truth: npt.ArrayLike, guess: npt.ArrayLike, *, per_column: bool = False) -> Measure | Array:
    """Root mean square of (x̂ − x)/s_j, s_j the population standard deviation of column j.

    s_j is that of all present values of ``truth``, guessed or not. Guessing each column's
    mean scores exactly 1. Constant columns have no unit: NaN, and left out of the total.

    >>> float(nrmse([[0.0], [2.0]], [[1.0], [1.0]]))
    1.0
    """
    x, guessed, present = _compared(truth, guess)
    full = as_table(truth, "truth")
    known = ~np.isnan(full)
    full = np.where(known, full, 0.0)
    counts = known.sum(axis=0)
    deviation = _centred(full, known) ** 2
    varies = ~_constant(full, known)
    spread = np.where(varies, _mean(deviation, counts), 1.0)
    squares = (guessed - x) ** 2 / spread
    if per_column:
        return np.where(varies, np.sqrt(_quotient(squares.sum(axis=0), present.sum(axis=0))), np.nan)
    squares, present, known = squares[:, varies], present[:, varies], known[:, varies]
    cells = int(present.sum())
    if cells == 0:
        return _nothing()
    square = float(squares.sum()) / cells
    own = squares.sum(axis=1) - square * present.sum(axis=1)
    # A record also moves the units: one with a large deviation makes every error look smaller.
    units = np.where(known, (deviation / spread)[:, varies] - 1.0, 0.0) / counts[varies] @ squares.sum(axis=0)
    return _root(_with_error(square, ((own - units) / cells)[known.any(axis=1)]))


@overload
def frobenius_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, centred: bool = False, per_column: Literal[True]
) -> Array: ...
@overload
def frobenius_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, centred: bool = False, per_column: Literal[False] = False
) -> Measure: ...
def frobenius_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, centred: bool = False, per_column: bool = False
) -> Measure | Array:
    """‖X̂ − X‖_F / ‖X‖_F (F-RE in Guo and Wu 2006), or the same per column.

    ``centred=True`` first subtracts the truth's column means (over the compared cells) from
    both tables, so that a large mean cannot make a poor guess look good; the interval takes
    these means as fixed. NaN where the norm in the denominator is zero.

    >>> float(frobenius_error([[3.0, 4.0]], [[3.0, 3.0]]))
    0.2
    """
    x, guessed, present = _compared(truth, guess)
    base = _about_mean(x, present) if centred else x
    squares = (guessed - x) ** 2
    if per_column:
        return np.sqrt(_quotient(squares.sum(axis=0), (base**2).sum(axis=0)))
    return _root(_measure(squares.sum(axis=1), (base**2).sum(axis=1)))


@overload
def relative_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, centred: bool = False, per_column: Literal[True]
) -> Array: ...
@overload
def relative_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, centred: bool = False, per_column: Literal[False] = False
) -> Measure: ...
def relative_error(
    truth: npt.ArrayLike, guess: npt.ArrayLike, *, centred: bool = False, per_column: bool = False
) -> Measure | Array:
    """Mean over records of ‖x̂ − x‖/‖x‖ (Liu 2007), or per column the mean of |x̂ − x|/|x|.

    The norms of a record run over its compared cells. Records (per column: values) of norm
    zero have no relative error and are left out. ``centred=True`` subtracts the truth's
    column means from both tables first.

    >>> float(relative_error([[3.0, 4.0], [0.0, 0.0]], [[3.0, 9.0], [1.0, 1.0]]))
    1.0
    """
    x, guessed, present = _compared(truth, guess)
    base = np.abs(_about_mean(x, present) if centred else x)
    error = np.abs(guessed - x)
    if per_column:
        scored = base > 0.0
        shares = np.where(scored, error / np.where(scored, base, 1.0), 0.0)
        return _quotient(shares.sum(axis=0), scored.sum(axis=0))
    lengths = np.sqrt((base**2).sum(axis=1))
    positive = lengths > 0.0
    return _measure(np.sqrt((error**2).sum(axis=1))[positive] / lengths[positive], np.ones(int(positive.sum())))


def _compared(truth: npt.ArrayLike, guess: npt.ArrayLike) -> tuple[Array, Array, Mask]:
    """Both tables with 0 in the cells not compared, and the mask of those that are."""
    x, guessed = as_pair(truth, guess)
    present = ~(np.isnan(x) | np.isnan(guessed))
    return np.where(present, x, 0.0), np.where(present, guessed, 0.0), present


def _mean(values: Array, counts: npt.NDArray[np.int64]) -> Array:
    return np.asarray(values.sum(axis=0) / np.maximum(counts, 1))


def _centred(values: Array, present: Mask) -> Array:
    return np.where(present, values - _mean(values, present.sum(axis=0)), 0.0)


def _about_mean(x: Array, present: Mask) -> Array:
    # A constant column is exactly zero about its mean; the mean of equal floats need not equal them.
    return np.where(_constant(x, present), 0.0, _centred(x, present))


def _constant(x: Array, present: Mask) -> Mask:
    return np.asarray(
        np.where(present, x, -np.inf).max(axis=0) <= np.where(present, x, np.inf).min(axis=0), dtype=np.bool_
    )


def _quotient(above: Array, below: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> Array:
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


def _measure(numerators: Array, denominators: npt.ArrayLike) -> Measure:
    below = np.asarray(denominators, dtype=np.float64)
    value, low, high = ratio_interval(numerators, below)
    return Measure(value, low=low, high=high, higher_is="private")


def _root(square: Measure) -> Measure:
    return Measure(math.sqrt(square), low=math.sqrt(square.low), high=math.sqrt(square.high), higher_is="private")


def _with_error(value: float, influence: Array) -> Measure:
    """Interval from each record's influence on the value (they sum to zero)."""
    if len(influence) < 3:  # two records have the same squared deviation, whatever the truth
        return Measure(value, low=0.0, high=math.inf, higher_is="private")
    _, low, high = ratio_interval(influence, np.full(len(influence), 1.0 / len(influence)), lower=-math.inf)
    return Measure(value, low=max(0.0, value + low), high=value + high, higher_is="private")


def _nothing() -> Measure:
    return Measure(math.nan, low=math.nan, high=math.nan, higher_is="private")
