"""Likelihood ratios for linkage (A22, A30) where nobody said how the release was made.

*Model.* Each column has its own law, a mixture: a number is ``y = x + r`` with r normal of one of several widths, from
a copy to more than the column's spread; a code is kept with some probability, and is anybody's otherwise. The weights
of the mixture are learned from the release and the people at hand (:func:`learn`), by expectation and maximisation as
for record linkage (Winkler 1988): a row is one of the people's or a stranger's, and each pair teaches the laws as much
as it is believed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from veil.attacks.linkage.likelihood import RULED_OUT, Background, Clue, Codes, Mask, NumericClue
from veil.data.blocks import Matrix, Vector

Rows = npt.NDArray[np.intp]

WIDTHS = np.array([1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5])
"""Standard deviations of the noise, in units of the released column's spread."""
NARROW = 0.01
"""The least deviation of the rows in general, in the same units."""
KEPT = 0.9
"""The share of codes that are taken to be kept before anything is learned."""
PRIOR, PRIOR_OF_OTHERS = 60.0, 5.0
"""Pairs of codes that a column's first table counts for, beside those that are believed; and of codes nobody has."""
PAIRS = 500_000
"""Pairs of a person and a row that the laws are learned from; ``FEWEST_ROWS`` whatever the people."""
FEWEST_ROWS = 100
MEMBERS = 0.5
"""The share of the people who are taken to be in the release."""
LEAST_STRANGERS = 1e-3
"""The share of rows that may be nobody's of the external table, however large it is: its records have errors."""
ROUNDS = 12
BELIEVED = 1e-3
"""Pairs that are less probable teach nothing."""
_LEAST = math.exp(RULED_OUT)
_POINTS, _WIDE = 2_001, 8.0  # the table of a density: how fine, and how far it reaches
_PER_UNIT = (_POINTS - 1) / math.sqrt(math.sqrt(_WIDE))


class UnknownClue(Clue):
    """A clue whose law is learned; ``law`` is the shares of a mixture."""

    law: npt.NDArray[np.float64]

    @abstractmethod
    def learn(self, people: Rows, rows: Rows, beliefs: Vector) -> None:
        """Fit the law to pairs of a person and a row that are believed to be the same person's."""


class UnknownNoiseClue(NumericClue, UnknownClue):
    """Columns of numbers with noise of any width, each column with its own; ``law`` has a line for each.

    Where all widths rule a value out it counts as one in a million: it may have been changed altogether.
    """

    def __init__(self, records: Matrix, rows: Matrix) -> None:
        unit = np.array([spread(column) for column in rows.T])
        super().__init__(records / unit, rows / unit, Background(rows / unit, np.full(len(unit), NARROW**2)))
        self.law = np.full((len(unit), len(WIDTHS)), 1.0 / len(WIDTHS))
        # Points lie close where the law is narrow: at the fourth powers of a regular grid.
        self._densities = _normal((np.arange(_POINTS) / _PER_UNIT) ** 4)

    def learn(self, people: Rows, rows: Rows, beliefs: Vector) -> None:
        """The weights of the widths."""
        for j, law in enumerate(self.law):
            sizes = np.abs(self._records[people, j] - self._rows[rows, j])
            both = np.isfinite(sizes)
            places = np.minimum(np.rint(np.sqrt(np.sqrt(sizes[both])) * _PER_UNIT), _POINTS - 1).astype(np.intp)
            counts = np.bincount(places, beliefs[both], _POINTS)
            parts = law[:, None] * self._densities
            # One pair more, of no width in particular, keeps every width possible.
            weights = parts @ (counts / np.maximum(parts.sum(axis=0), _LEAST)) + 1.0 / len(WIDTHS)
            self.law[j] = weights / weights.sum()

    def _add(self, x: Matrix, y: Matrix, both: Mask, out: Matrix) -> None:
        logs: Matrix = np.log(np.maximum(self.law[both] @ self._densities, _LEAST))
        _add_table(x, y, logs, out)


class UnknownCodesClue(UnknownClue):
    """One column of codes, −1 for none, released by an unknown table P[y | x]; ``law`` has the ratios P[y | x]/P[y].

    At first, and as far as few pairs tell more (:data:`PRIOR`), a code that people have, too, is kept with some
    probability, and is otherwise as common as in the release; one that nobody has (a class, a mark for a suppressed
    cell) is anybody's. What is believed then tells which codes it stands for.
    """

    def __init__(self, records: Codes, rows: Codes) -> None:
        private, x = np.unique(records, return_inverse=True)
        released, y = np.unique(rows, return_inverse=True)
        self._x, self._y = x.ravel(), y.ravel()
        self._none = private < 0, released < 0
        self._share: Vector = np.bincount(self._y, weights=rows >= 0) / max(int((rows >= 0).sum()), 1)
        self._same = private[:, None] == released
        self._shared = np.isin(released, private)
        self.law = self._ratios(KEPT, np.zeros(self._same.shape))

    def _ratios(self, kept: float, counts: Matrix) -> Matrix:
        """P[y | x]/P[y], from the share of codes that are kept and believed pairs of codes."""
        share = np.maximum(self._share, 1e-12)
        common = float(share[self._shared].sum())
        usual = np.where(self._shared, kept * self._same * common + (1.0 - kept) * share, share)
        learned = np.empty(counts.shape)
        for of, prior in ((self._shared, PRIOR), (~self._shared, PRIOR_OF_OTHERS)):
            block, law = counts[:, of], usual[:, of]
            both = counts.sum(axis=1, keepdims=True) + PRIOR_OF_OTHERS
            mass = (block.sum(axis=1, keepdims=True) + PRIOR_OF_OTHERS * law.sum(axis=1, keepdims=True)) / both
            shape = law / np.maximum(law.sum(axis=1, keepdims=True), _LEAST)
            learned[:, of] = mass * (block + prior * shape) / (block.sum(axis=1, keepdims=True) + prior)
        ratios = np.maximum(learned / share, _LEAST)
        ratios[self._none[0]], ratios[:, self._none[1]] = 1.0, 1.0
        return np.asarray(ratios)

    def learn(self, people: Rows, rows: Rows, beliefs: Vector) -> None:
        """The share of codes that are kept, and what stands for what."""
        x, y = self._x[people], self._y[rows]
        both = ~self._none[0][x] & ~self._none[1][y]
        x, y, beliefs = x[both], y[both], beliefs[both]
        counts = np.zeros(self._same.shape)
        np.add.at(counts, (x, y), beliefs)
        told = counts[:, self._shared].sum()
        same = float(counts[self._same].sum())
        # Of equal codes some are so by chance: E[same] = kept + (1 − kept) Σ P[y].
        chance = float((counts.sum(axis=1) * (self._same * self._share).sum(axis=1)).sum()) / max(counts.sum(), _LEAST)
        kept = ((same + 0.5) / (told + 1.0) - chance) / max(1.0 - chance, 1e-9)
        self.law = self._ratios(min(max(kept, 0.0), 1.0 - 1e-9), counts)

    def score(self, records: slice) -> Matrix:
        """The ratio of a code's probability given the person's to its share."""
        return np.take(np.log(self.law)[self._x[records]], self._y, axis=1)


def rows_to_learn_from(m: int, n: int) -> Rows:
    """Some of n rows that m people are weighed against."""
    return np.arange(0, n, max(1, n // max(FEWEST_ROWS, PAIRS // m)))


def learn(clues: Sequence[Clue], m: int, n: int) -> None:
    """Learn the laws of the clues that nobody described, from m people and some of n rows.

    Each row is one of the people's, as likely as not, or a stranger's.
    """
    unknown = [clue for clue in clues if isinstance(clue, UnknownClue)]
    each = min(MEMBERS, n / m) / max(n - 1, 1)
    stranger = max(1.0 - m * each, LEAST_STRANGERS)
    for _ in range(ROUNDS):
        scores = np.sum([clue.score(slice(0, m)) for clue in clues], axis=0) + math.log(each)
        top = np.maximum(scores.max(axis=0), math.log(stranger))
        beliefs = np.exp(scores - top)
        beliefs /= beliefs.sum(axis=0) + stranger * np.exp(-top)
        people, rows = np.nonzero(beliefs > BELIEVED)
        for clue in unknown:
            clue.learn(people, rows, beliefs[people, rows])


def _normal(sizes: Vector) -> Matrix:
    """The density of each width, one row each, at some distances from 0."""
    w = WIDTHS[:, None]
    return np.asarray(np.exp(-0.5 * (sizes / w) ** 2) / (math.sqrt(2.0 * math.pi) * w))


def spread(column: Vector) -> float:
    """The standard deviation of the values there are; 1 where they do not differ."""
    present = column[np.isfinite(column)]
    return float(np.std(present)) if present.size and present.min() < present.max() else 1.0


@numba.njit(cache=True, nogil=True)
def _add_table(a: Matrix, b: Matrix, logs: Matrix, out: Matrix) -> None:
    """Add the logarithm of a density, by a table over the fourth root of the size of a difference."""
    last = logs.shape[1] - 1
    for e in range(len(a)):
        row = out[e]
        for j in range(len(b)):
            x, line, table = a[e, j], b[j], logs[j]
            for i in range(len(line)):
                at = math.sqrt(math.sqrt(abs(x - line[i]))) * _PER_UNIT
                k = int(at)
                row[i] += table[k] + (at - k) * (table[k + 1] - table[k]) if k < last else RULED_OUT
