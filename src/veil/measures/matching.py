"""Which guessed signal is which private column, for a guess that leaves order, sign and scale open.

Independent component analysis returns signals in an arbitrary order, sign and scale (A12, A16). The judge, who has
the truth, takes the matching that is best for the attacker: the contents are disclosed all the same (Liu 2007, §4.6.4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table
from veil.errors import InputError


class SignalMatch(NamedTuple):
    """The matching of guessed signals to private columns, one entry per private column.

    Attributes
    ----------
    order
        The guessed column matched to it; −1 where there is none.
    sign
        +1 or −1 to multiply that guess with; 0 where there is none.
    scale
        The factor, at least 0, that brings the guess nearest to the private column (least squares, both centred).
    correlations
        |correlation| of the matched pair; 0 where there is none.
    """

    order: npt.NDArray[np.intp]
    sign: Array
    scale: Array
    correlations: Array


def match_signals(truth: npt.ArrayLike, guess: npt.ArrayLike) -> SignalMatch:
    """Match guessed signals to private columns one to one, with the largest sum of |correlation|.

    Parameters
    ----------
    truth
        N × d private values.
    guess
        N × m guessed signals in any order, sign and scale. Records with a NaN are left out of the pair's correlation;
        a column that is NaN throughout, or constant, is matched to nothing.

    >>> import numpy as np
    >>> x = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 6.0], [4.0, 1.0]])
    >>> matched = match_signals(x, x[:, ::-1] * [-2.0, 10.0])
    >>> matched.order, matched.sign, matched.scale.round(6), matched.correlations.round(6)
    (array([1, 0]), array([ 1., -1.]), array([0.1, 0.5]), array([1., 1.]))
    """
    from scipy.optimize import linear_sum_assignment

    x, signals = as_table(truth, "truth"), as_table(guess, "guess")
    if len(x) != len(signals):
        raise InputError(f"guess: has {len(signals)} records where truth has {len(x)}; pass the same records")
    correlation, slope = _pairs(x, signals)
    rows, columns = linear_sum_assignment(-np.abs(correlation))
    d = x.shape[1]
    order, sign, scale, matched = np.full(d, -1, dtype=np.intp), np.zeros(d), np.zeros(d), np.zeros(d)
    for j, i in zip(rows, columns, strict=True):
        if correlation[j, i] != 0.0:
            order[j] = i
            sign[j] = np.sign(correlation[j, i])
            scale[j], matched[j] = abs(slope[j, i]), abs(correlation[j, i])
    return SignalMatch(order, sign, scale, matched)


def matched_signals(truth: npt.ArrayLike, guess: npt.ArrayLike, *, scale: bool = True, origin: bool = True) -> Array:
    """The guess in the private columns' order and sign, and in their scale and origin where those are open.

    Parameters
    ----------
    truth, guess
        As for :func:`match_signals`.
    scale
        Whether the guess leaves the scale open; if not, its own is kept.
    origin
        Whether it leaves the origin open; if not, its own is kept (turned with its sign).

    Private columns without a signal are NaN.
    """
    x, signals = as_table(truth, "truth"), as_table(guess, "guess")
    match = match_signals(x, signals)
    values = np.full(x.shape, np.nan)
    for j in np.flatnonzero(match.order >= 0):
        factor = match.sign[j] * (match.scale[j] if scale else 1.0)
        column = signals[:, match.order[j]] * factor
        if origin:
            both = np.isfinite(column) & np.isfinite(x[:, j])
            column = column + (x[both, j].mean() - column[both].mean())
        values[:, j] = column
    return values


def _pairs(x: Array, signals: Array) -> tuple[Array, Array]:
    """Correlation and slope of every private column on every signal; 0 where there is none."""
    correlation, slope = np.zeros((x.shape[1], signals.shape[1])), np.zeros((x.shape[1], signals.shape[1]))
    present = np.isfinite(x), np.isfinite(signals)
    # Columns without gaps are centred once, not once for each of the others.
    whole = [
        [_centred(column) if has.all() else None for column, has in zip(t.T, p.T, strict=True)]
        for t, p in zip((x, signals), present, strict=True)
    ]
    for j in range(x.shape[1]):
        for i in range(signals.shape[1]):
            left, right = whole[0][j], whole[1][i]
            if left is None or right is None:
                both = present[0][:, j] & present[1][:, i]
                left, right = _centred(x[both, j]), _centred(signals[both, i])
            if left.varies and right.varies:
                product = float(left.values @ right.values)
                correlation[j, i] = product / np.sqrt(left.squares * right.squares)
                slope[j, i] = product / right.squares
    return correlation, slope


class _Centred(NamedTuple):
    """Values less their mean, the sum of their squares, and whether they vary by more than rounding."""

    values: Array
    squares: float
    varies: bool


def _centred(column: Array) -> _Centred:
    if len(column) < 2:
        return _Centred(column, 0.0, varies=False)
    column = np.ascontiguousarray(column)
    values = column - column.mean()
    squares = float(values @ values)
    # Rounding leaves a constant column a spread of about eps times its size.
    least = (1e-14 * float(np.abs(column).max())) ** 2
    return _Centred(values, squares, varies=squares > len(column) * least)
