"""The largest values of a column: whoever is known to be the richest is easily looked for, and a share tells enough.

*Model.* Offices call a cell of a table sensitive where somebody could estimate a contribution to it within p per cent
of its value (the p % rule), or where a few contributors dominate it (Hundepool et al., *Statistical Disclosure
Control*, Wiley 2012, on magnitude tables). The same of microdata: of the n largest values of a column, how many does a
guess state within p % of the value, |x̂ − x| ≤ p·x?

A value counts if it is positive and further over the median than ``beyond`` standard units: inside the crowd it hides
among others, and there value breaches are counted. A column with a light tail has few such values, or none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_pair, as_table, number, whole
from veil.measures.breach import exposure, within
from veil.measures.far_out import column_medians, far_out, most_stabbed
from veil.measures.measure import Measure

N_LARGEST, SHARE = 10, 0.1
BEYOND = 3.0
MANY = 200
"""Values of which one more or less makes no other constant: those of a long tie."""


@dataclass(frozen=True)
class LargestRule:
    """How many of the largest values of a column are looked at, and how near a guess tells one, as a share of it."""

    n: int = N_LARGEST
    share: float = SHARE


USUAL_LARGEST = LargestRule()


def largest_rate(
    truth: npt.ArrayLike,
    guess: npt.ArrayLike,
    n: int = N_LARGEST,
    share: float = SHARE,
    units: npt.ArrayLike | None = None,
    centre: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Measure:
    """Share of the n largest values of every column that the guess states within a ``share`` of them.

    Values that equal the n-th count, too. ``units`` and ``centre`` (medians) are those of ``truth`` when left out.
    Wilson interval over the records with such a value; NaN where no column has any.

    >>> crowd = [float(income) for income in range(20, 60)]
    >>> float(largest_rate([*crowd, 900.0, 2000.0], [*crowd, 980.0, 1500.0], n=2))
    0.5
    """
    x, guessed = as_pair(truth, guess, infinite=True)
    most = largest(x, LargestRule(whole(n, "n", least=1), number(share, "share", least=0.0)), units, centre)
    return exposure(told(x, guessed, share), most, confidence)


def largest_baseline(
    truth: npt.ArrayLike,
    n: int = N_LARGEST,
    share: float = SHARE,
    units: npt.ArrayLike | None = None,
    centre: npt.ArrayLike | None = None,
) -> Measure:
    """:func:`largest_rate` of the best constant for the largest values of each column.

    It is what anybody could say who knows who the largest are, and how such values are spread.

    >>> crowd = [float(income) for income in range(20, 60)]
    >>> float(largest_baseline([*crowd, 900.0, 1000.0, 2000.0], n=3)) == 2 / 3
    True
    """
    x = as_table(truth, "truth")
    most = largest(x, LargestRule(whole(n, "n", least=1), number(share, "share", least=0.0)), units, centre)
    return Measure(float(exposure(told(x, best_constants(x, most, share), share), most)), higher_is="exposed")


def best_constants(x: Array, most: Mask, share: float) -> Array:
    """For each column the constant that tells most of its largest values, in every row; NaN without any."""
    constants = [most_stabbed(x[most[:, j], j], share * x[most[:, j], j]) for j in range(x.shape[1])]
    return np.asarray(np.broadcast_to(np.array(constants), x.shape))


def constants_of_others(values: Array, share: float, codes: npt.NDArray[np.intp]) -> Array:
    """For each value the constant within a share of most of the others; of equally good ones the smallest.

    Values with the same code are one. It is the middle of where these values' intervals meet, NaN without any others.

    >>> constants_of_others(np.array([100.0, 104.0, 108.0, 900.0]), 0.1, np.arange(4))[[0, 3]].round(1)
    array([105.8, 103.6])
    """
    _, first, back = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) > MANY:
        return np.full(len(values), most_stabbed(values, share * np.abs(values)))
    order = np.argsort(values[first], kind="stable")
    x = values[first][order]
    left, right = x - share * np.abs(x), x + share * np.abs(x)
    slack = 4.0 * np.finfo(np.float64).eps * np.abs(x)
    meets = (left[None, :] <= left[:, None] + slack) & (left[:, None] <= right[None, :] + slack)
    constants, total = np.full(len(x), np.nan), meets.sum(axis=1)
    for i in range(len(x) if len(x) > 1 else 0):
        others = np.arange(len(x)) != i
        counts = np.where(others, total - meets[:, i], -1)
        best = int(counts.argmax())
        constants[i] = (left[best] + right[meets[best] & others].min()) / 2.0
    return np.asarray(constants[np.argsort(order)][back])


def largest(
    x: Array,
    rule: LargestRule,
    units: npt.ArrayLike | None = None,
    centre: npt.ArrayLike | None = None,
    groups: tuple[npt.NDArray[np.intp] | None, ...] = (),
) -> Mask:
    """Which values are among the n largest of their column, positive, and far over its median; those of a tie are all.

    With ``groups``, which name for each column the groups in which it is constant (or None), the n largest groups.
    """
    middle = column_medians(x, centre)
    over = far_out(x, units, BEYOND, middle)[1] & (x > np.maximum(middle, 0.0))
    for j in range(x.shape[1]):
        rows = np.flatnonzero(over[:, j])
        if j < len(groups) and (codes := groups[j]) is not None:
            rows = rows[np.unique(codes[rows], return_index=True)[1]]
        if len(rows) > rule.n:
            over[:, j] &= x[:, j] >= np.partition(x[rows, j], -rule.n)[-rule.n]
    return over


def told(x: Array, guess: Array, share: float) -> Mask:
    """Whether a guess is within a share of the value: |x̂ − x| ≤ share·|x|."""
    with np.errstate(over="ignore", invalid="ignore"):
        return within(np.abs(guess - x), share * np.abs(x), np.abs(guess) + np.abs(x))
