"""A22: link the rows of a release to the people of an external table (Liu 2007, §3.3; Ketel).

*Model.* Any, and all parts of a release at once. *Known*: an external table with some of the private columns, or of the
public ones, for people some or all of whom are in the release. Trottini et al. (cited by Liu) let a Bayesian attacker
link this way through additive and multiplicative noise.

With L the likelihood ratio of a person and a row (:mod:`veil.attacks.linkage.likelihood`), a row that is not person e's
belongs to one of the m − 1 others or to a stranger. So the odds that row i is e's are, with a = π/(N − 1) and π the
share of the people that are in the release::

    L_ei / (Σ_{e' ≠ e} a L_e'i + 1 − (m − 1) a)

and the posterior over rows is proportional to these; a person who is in no row has the odds (1 − π)N/π. For two people
and two rows that is Bayes' rule exactly; for more it is one round of belief propagation over all ways to give the
rows to the people. Taking L alone, as a nearest neighbour does, leaves out that a row which suits others better is
theirs: fewer links are right, and more are claimed. The single most likely way to give every row to one person (an
assignment) finds fewer links too: it maximises the chance that *all* are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numba
import numpy as np
import numpy.typing as npt

from veil.arguments import choice, number
from veil.attacks.findings import Links
from veil.attacks.knowledge import ExternalTable
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.linkage.evidence import Evidence
from veil.attacks.linkage.likelihood import Clue
from veil.attacks.linkage.unknown import LEAST_STRANGERS
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.release.release import Release

BLOCK = 4_000_000
"""Entries of a block of pairs."""
HELD = 16_000_000
"""Pairs whose ratios are held for the second pass; more are worked out twice."""
VARIANTS = ("best", "nearest")


def link_records(release: Release, external: ExternalTable, *, variant: str = "best", overlap: float = 1.0) -> Links:
    """Link the records of an external table to rows of a release; see :class:`LinkageAttack`.

    >>> import numpy as np, veil
    >>> from veil.attacks.knowledge import ExternalTable
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(0.01, random_state=0))
    >>> links = link_records(release, ExternalTable(x[[5, 17]]))
    >>> links.rows.tolist(), bool((links.probability > 0.9).all())
    ([5, 17], True)
    """
    choice(variant, "variant", VARIANTS)
    share = number(overlap, "overlap", least=1e-9, most=1.0, rule="a share above 0 and up to 1")
    if not isinstance(external, ExternalTable):
        raise InputError(f"external must be an ExternalTable; got a {type(external).__name__}")
    m, n = external.table.num_rows, count_rows(release)
    if not n:
        raise NotApplicableError("the release has no rows")
    evidence = Evidence(release, external)
    clues = evidence.distances() if variant == "nearest" else evidence.clues()
    if not clues:
        raise NotApplicableError(
            "the columns that ExternalTable shares with the release are hidden by methods that do not tell rows apart"
        )
    rows, probability, present = np.empty(m, dtype=np.intp), np.full(m, np.nan), np.full(m, np.nan)
    if variant == "nearest":
        for records, scores in pair_scores(clues, m, n):
            rows[records] = scores.argmax(axis=1)
        return Links(rows, probability, present, evidence.columns)
    share = min(share, n / m)
    each = share / max(n - 1, 1)
    stranger = max(1.0 - (m - 1) * each, LEAST_STRANGERS)
    scored = list(pair_scores(clues, m, n)) if m * n <= HELD else None
    top, mass = np.zeros(n), np.full(n, stranger)
    for _, scores in scored or pair_scores(clues, m, n):
        add_up(scores + np.log(each), top, mass)
    others = top + np.log(mass)
    for records, scores in scored or pair_scores(clues, m, n):
        rows[records], probability[records], present[records] = posterior(scores, others, each, share)
    return Links(rows, probability, present, evidence.columns)


def pair_scores(clues: Sequence[Clue], m: int, n: int) -> Iterator[tuple[slice, Matrix]]:
    """Sums of the clues' log-likelihood ratios, a block of external records at a time."""
    height = max(1, BLOCK // n)
    for start in range(0, m, height):
        records = slice(start, min(start + height, m))
        total = clues[0].score(records)
        for clue in clues[1:]:
            total += clue.score(records)
        yield records, total


def posterior(scores: Matrix, others: Vector, each: float, share: float) -> tuple[npt.NDArray[np.intp], Vector, Vector]:
    """Best row, its probability and the probability of any row, for each record of a block."""
    rows, best, total = np.empty(len(scores), dtype=np.intp), np.empty(len(scores)), np.empty(len(scores))
    _pick(scores, others, np.log(each), rows, best, total)
    n = len(others)
    # best and total are logarithms of odds; those of no row are (1 − share) N / share.
    absent = np.log((1.0 - share) * n / share) if share < 1.0 else -np.inf
    everything = np.logaddexp(total, absent)
    rows[best < absent] = -1
    probability: Vector = np.exp(np.maximum(best, absent) - everything)
    present: Vector = np.exp(total - everything)
    return rows, probability, present


@numba.njit(cache=True, nogil=True)
def add_up(scores: Matrix, top: Vector, mass: Vector) -> None:
    """Add exp(scores) over records to ``mass · exp(top)``, without overflow."""
    for e in range(len(scores)):
        for i in range(len(top)):
            over = scores[e, i] - top[i]
            if over > 0.0:
                mass[i] = mass[i] * np.exp(-over) + 1.0
                top[i] = scores[e, i]
            elif over > -40.0:
                mass[i] += np.exp(over)


@numba.njit(cache=True, inline="always")
def log_odds(score: float, others: float, each: float) -> float:
    """Log-odds of a pair against everybody else: the record itself is taken out of ``others``."""
    odds = score - others
    own = odds + each
    if own > -9.0:  # where it matters to a ten-thousandth
        odds -= np.log(max(-np.expm1(min(own, 0.0)), 1e-15))
    return float(odds)


@numba.njit(cache=True, nogil=True)
def _pick(scores: Matrix, others: Vector, each: float, rows: npt.NDArray[np.intp], best: Vector, total: Vector) -> None:
    """Log-odds of the best row, and the log-sum of all, against everybody else."""
    for e in range(len(scores)):
        top, mass, row = -np.inf, 0.0, 0
        for i in range(len(others)):
            odds = log_odds(scores[e, i], others[i], each)
            if odds > top:
                mass = mass * np.exp(top - odds) + 1.0
                top, row = odds, i
            elif odds > top - 40.0:
                mass += np.exp(odds - top)
        rows[e], best[e], total[e] = row, top, top + np.log(mass)
