"""The odds that a person is in a release at all, by all of its rows (A30).

*Model.* Let L_ei be the likelihood ratio of person e and row i (:mod:`veil.attacks.linkage.likelihood`). If e is in the
table, one of the N rows is theirs, any as likely as another; the others are other people's either way. So the ratio of
the likelihoods of the whole release is the mean over its rows::

    Λ_e = (1/N) Σ_i L_ei / o_i ,   o_i = Σ_{e' ≠ e} a L_e'i + 1 − (m − 1) a

with o_i what everybody else explains of row i, as in A22 (:mod:`veil.attacks.linkage.search`): the m people whose
records are at hand are a better measure of how usual a row is than a fitted density. By the lemma of Neyman and Pearson
no test tells members from strangers better than Λ, as far as L and o are right.

*All but one.* Who knows all records but one, and their rows, has one row left: then Λ is L_ei/o_i of that row alone.
That is the attacker whom differential privacy bounds. Methods that mix columns by one secret matrix hide nothing from
him, since the records and rows that he has give the matrix (:mod:`veil.attacks.linkage.regression`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import numpy.typing as npt

from veil.attacks.knowledge import ExternalTable
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.linkage.evidence import Evidence
from veil.attacks.linkage.restored import restored_parts
from veil.attacks.linkage.search import HELD, add_up, log_odds, pair_scores
from veil.attacks.linkage.unknown import LEAST_STRANGERS, MEMBERS
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.release.release import Release

Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
NOTHING = "the release has no column, and no length, that a record can be compared with"


class Presence:
    """A release beside people who may be in it.

    ``columns`` are those that both have.
    """

    def __init__(self, release: Release, external: ExternalTable) -> None:
        self._m, self._n = external.table.num_rows, count_rows(release)
        if not self._n:
            raise NotApplicableError("the release has no rows")
        self._evidence = Evidence(release, external, restored_parts(release, external))
        self.columns, self._clues = self._evidence.columns, self._evidence.clues()
        self._each = min(MEMBERS, self._n / self._m) / max(self._n - 1, 1)
        self._held = list(self._pairs()) if self._m * self._n <= HELD else None
        top, mass = np.zeros(self._n), np.full(self._n, max(1.0 - (self._m - 1) * self._each, LEAST_STRANGERS))
        for _, scores in self._held or self._pairs():
            add_up(scores + np.log(self._each), top, mass)
        self._others: Vector = top + np.log(mass)

    def _pairs(self) -> Iterator[tuple[slice, Matrix]]:
        yield from pair_scores(self._clues, self._m, self._n) if self._clues else ()

    def scores(self) -> Vector:
        """ln Λ of everybody."""
        return np.asarray(self.among(np.ones((1, self._n), dtype=np.bool_))[0])

    def among(self, rows: Mask) -> Matrix:
        """ln Λ of everybody by some rows of the release at a time; one line for each choice of rows."""
        counts, sums = rows.astype(np.float64), np.empty((len(rows), self._m))
        for people, top, ratios in self._ratios():
            with np.errstate(divide="ignore"):
                sums[:, people] = np.log(counts @ ratios.T) + top
        return np.asarray(sums - np.log(np.maximum(counts.sum(axis=1), 1.0))[:, None])

    def without(self, own: Rows) -> Vector:
        """ln Λ of everybody with one row taken out for each; −1 takes out none."""
        scores = np.empty(self._m)
        for people, top, ratios in self._ratios():
            there = np.flatnonzero(own[people] >= 0)
            ratios[there, own[people][there]] = 0.0
            with np.errstate(divide="ignore"):
                scores[people] = np.log(ratios.sum(axis=1)) + top
        return np.asarray(scores - np.log(np.maximum(self._n - (own >= 0), 1)))

    def of_rows(self, rows: Rows, own: Rows) -> Vector:
        """ln Λ of everybody by one row each, for who knows all other people's rows: ``own``, −1 where there is none."""
        scores, mixed = np.zeros(self._m), self._evidence.of_pairs(rows, own)
        if mixed is None and not self._clues:
            raise NotApplicableError(NOTHING)
        if mixed is not None and self._evidence.mixed:
            return mixed
        for people, pairs in self._held or self._pairs():
            alone = pairs[np.arange(len(pairs)), rows[people]]
            _against(alone[None], self._others[rows[people]], np.log(self._each), scores[None, people])
        return scores if mixed is None else scores + mixed

    def _ratios(self) -> Iterator[tuple[slice, Vector, Matrix]]:
        """L/o of all pairs, by blocks of people, in units of each person's largest, whose logarithm goes along."""
        for people, odds in self._log_ratios():
            top = odds.max(axis=1)
            yield people, top, np.exp(odds - top[:, None])

    def _log_ratios(self) -> Iterator[tuple[slice, Matrix]]:
        """ln L/o of all pairs, by blocks of people."""
        if not self._clues:
            raise NotApplicableError(NOTHING)
        for people, scores in self._held or self._pairs():
            odds = np.empty_like(scores)
            _against(scores, self._others, np.log(self._each), odds)
            yield people, odds


@numba.njit(cache=True, nogil=True)
def _against(scores: Matrix, others: Vector, each: float, odds: Matrix) -> None:
    """Log-odds of pairs against everybody else."""
    for e in range(len(scores)):
        for i in range(len(others)):
            odds[e, i] = log_odds(scores[e, i], others[i], each)
