"""The odds that a person is in a release at all, by all of its rows (A30).

*Model.* Let L_ei be the likelihood ratio of person e and row i (:mod:`veil.attacks.linkage.likelihood`). If e is in the
table, one of the N rows is theirs, any as likely as another; the others are other people's either way. So the ratio of
the likelihoods of the whole release is the mean over its rows::

    Λ_e = (1/N) Σ_i L_ei / o_i ,   o_i = Σ_{e' ≠ e} a L_e'i + 1 − (m − 1) a

with o_i what everybody else explains of row i, as in A22 (:mod:`veil.attacks.linkage.search`): the m people whose
records are at hand are a better measure of how usual a row is than a fitted density. By the lemma of Neyman and Pearson
no test tells members from strangers better than Λ, as far as L and o are right.

*All but one.* Who knows all records but one, and their rows, has one row left: then Λ is L_ei/o_i of that row alone.
That is the attacker whom differential privacy bounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import numpy.typing as npt

from veil.attacks.knowledge import ExternalTable
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.linkage.evidence import Evidence
from veil.attacks.linkage.search import HELD, LEAST_STRANGERS, add_up, log_odds, pair_scores
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.release.release import Release

Rows = npt.NDArray[np.intp]
MEMBERS = 0.5
"""The share of the people that are taken to be in the table."""


class Presence:
    """A release beside people who may be in it."""

    def __init__(self, release: Release, external: ExternalTable) -> None:
        m, n = external.table.num_rows, count_rows(release)
        if not n:
            raise NotApplicableError("the release has no rows")
        evidence = Evidence(release, external)
        self.columns, self._clues = evidence.columns, evidence.clues()
        if not self._clues:
            raise NotApplicableError("the release has no column, and no length, that a record can be compared with")
        self._m, self._n = m, n
        self._held = list(pair_scores(self._clues, m, n)) if m * n <= HELD else None
        self._each = min(MEMBERS, n / m) / max(n - 1, 1)
        top, mass = np.zeros(n), np.full(n, max(1.0 - (m - 1) * self._each, LEAST_STRANGERS))
        for _, scores in self._scores():
            add_up(scores + np.log(self._each), top, mass)
        self._others: Vector = top + np.log(mass)

    def _scores(self) -> Iterator[tuple[slice, Matrix]]:
        yield from self._held or pair_scores(self._clues, self._m, self._n)

    def odds(self, rows: Rows | None = None, use: npt.NDArray[np.bool_] | None = None) -> tuple[Vector, Vector]:
        """ln Λ of everybody, without the ``rows`` named (one for each person, −1 for none), and that of these alone.

        ``use`` says which rows of the release are looked at; all of them by default.
        """
        left_out = np.full(self._m, -1, dtype=np.intp) if rows is None else rows.astype(np.intp)
        used = np.ones(self._n, dtype=np.bool_) if use is None else use
        total, alone = np.full(self._m, -np.inf), np.full(self._m, -np.inf)
        for records, scores in self._scores():
            _sum_up(scores, self._others, np.log(self._each), used, left_out[records], total[records], alone[records])
        n = int(used.sum()) - ((left_out >= 0) & used[left_out])
        return total - np.log(np.maximum(n, 1)), alone

    def among(self, use: npt.NDArray[np.bool_]) -> Vector:
        """ln Λ of everybody by some rows of the release."""
        return self.odds(use=use)[0]


@numba.njit(cache=True, nogil=True)
def _sum_up(
    scores: Matrix,
    others: Vector,
    each: float,
    used: npt.NDArray[np.bool_],
    left_out: Rows,
    total: Vector,
    alone: Vector,
) -> None:
    """The logarithm of the sum of odds over rows, but for one, and that one's."""
    for e in range(len(scores)):
        top, mass = -np.inf, 0.0
        for i in range(len(others)):
            odds = log_odds(scores[e, i], others[i], each)
            if i == left_out[e]:
                alone[e] = odds
            elif not used[i]:
                continue
            elif odds > top:
                mass = mass * np.exp(top - odds) + 1.0
                top = odds
            elif odds > top - 40.0:
                mass += np.exp(odds - top)
        total[e] = top + np.log(mass) if mass > 0.0 else -np.inf
