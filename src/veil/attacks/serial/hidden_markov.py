"""Categories over the order of rows: a hidden Markov model behind randomized reports (A18).

*Model.* Over the rows of a column runs a Markov chain of regimes, each named after a category. A record has its
regime's category, or with probability η another one, drawn from the column's distribution. What is reported of it
depends on its category alone, by the published matrix.

*Fit.* The chain keeps its regime with probability 1 − ρ. A *sticky* one draws else a regime anew; a *sorted* one moves
up the list of categories, or down, by one place or with falling probability by more. ρ and what is drawn from are
fitted by expectation–maximisation (Baum et al. 1970); η is tried at a few values. From the best, the same steps fit a
matrix without a form. The likelihood chooses, at half the logarithm of the number of rows for each parameter (Schwarz
1978), where an entry of a free matrix counts as far as it is expected to be used. The posterior of each category given
all reports is that of the forward–backward recursions (Rabiner 1989).

Answers to other questions of the same record count afterwards, by their probability given the category, as A20 learns
it. Where no chain is likelier than independent records, the posterior is that of A20.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import log
from typing import Any

import numpy as np

from veil.data.blocks import Matrix, Vector

MOST_ROWS = 20_000
"""Records, from the start, that the chain is fitted to."""
MOST_STATES, MOST_FREE_STATES = 300, 64
"""Categories up to which a chain is tried, and those up to which its matrix is free."""
FEWEST_ROWS = 80
CHANGES = (0.5, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""The ρ that are tried first."""
OTHERS = (0.3, 0.6)
"""The η that are tried beside 0."""
FURTHER = 0.3
"""How much less probable each place further on is for a sorted chain."""
STEPS, FREE_STEPS = 12, 60


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain of regimes: where it starts, the probability ρ of a move, where moves go, η, and how likely all is.

    ``score`` is the gain in log-likelihood over independent records, less the price of parameters; ``fixed`` says that
    the moves are not fitted.
    """

    name: str
    start: Vector
    change: float
    moves: Matrix
    shared: Matrix
    score: float
    fixed: bool

    @property
    def transition(self) -> Matrix:
        """A."""
        return np.asarray((1.0 - self.change) * np.eye(len(self.start)) + self.change * self.moves)

    def posterior(self, emission: Matrix) -> Matrix:
        """P(a_t | all reports): the regime's posterior without row t, times what the row reports."""
        seen = emission @ self.shared.T
        regimes = forward_backward(seen, self.transition, self.start)[0]
        around = np.divide(regimes, seen, out=np.zeros_like(regimes), where=seen > 0.0)
        after = emission * (around @ self.shared)
        return np.asarray(after / np.maximum(after.sum(axis=1, keepdims=True), 1e-300))


def posterior_over_order(emission: Matrix) -> tuple[Matrix, str] | None:
    """P(a_t | all reports) from ``emission[t, a] ∝ P(report of row t | a)``, rows in order, and the name of the chain.

    The name is "sticky", "sorted" or "Markov chain"; None where the order tells nothing.
    """
    n, m = emission.shape
    if n < FEWEST_ROWS or not 1 < m <= MOST_STATES:
        return None
    emission = emission / np.maximum(emission.max(axis=1, keepdims=True), 1e-300)
    chain = best_chain(emission[:MOST_ROWS])
    return None if chain.score <= 0.0 else (chain.posterior(emission), chain.name)


def best_chain(emission: Matrix) -> Chain:
    """The chain of the best Bayes information criterion; its score is not positive if independent records are."""
    m = emission.shape[1]
    prior = _prior(emission)
    alone = float(np.log(np.maximum(emission @ prior, 1e-300)).sum())
    # A chain changes rarely, so that a flat start costs little, and the prior may leave out what is rare.
    start = (prior + 1.0 / m) / 2.0
    up = np.triu(FURTHER ** np.maximum(np.subtract.outer(-np.arange(m), -np.arange(m)), 0.0), 1)
    up[-1, -1] = 1.0
    up /= up.sum(axis=1, keepdims=True)
    sticky = Chain("sticky", start, 0.0, np.tile(start, (m, 1)), np.eye(m), -np.inf, fixed=False)
    rising = Chain("sorted", start, 0.0, up, np.eye(m), -np.inf, fixed=True)
    tried = [_fitted(chain, emission, alone) for chain in (sticky, rising, replace(rising, moves=up[::-1, ::-1]))]
    best = max(tried, key=lambda chain: chain.score)
    for others in OTHERS:
        shared = (1.0 - others) * np.eye(m) + others * prior
        tried.append(_fitted(replace(best, shared=shared), emission, alone, n_parameters=2))
    best = max(tried, key=lambda chain: chain.score)
    if best.score <= 0.0 or m > MOST_FREE_STATES:
        return best
    free = _freed(best, emission, alone)
    return free if free.score > best.score else best


def _fitted(chain: Chain, emission: Matrix, alone: float, n_parameters: int = 1) -> Chain:
    """Fit ρ, and what a sticky chain draws from."""
    (n, m), seen = emission.shape, emission @ chain.shared.T
    tried = [replace(chain, change=change) for change in CHANGES]
    chain = tried[int(np.argmax([forward_backward(seen, each.transition, each.start)[2] for each in tried]))]
    for _ in range(STEPS):
        counts, transition = forward_backward(seen, chain.transition, chain.start)[1], chain.transition
        # Of the transitions from i to j, the share that is a move.
        moved = counts * np.divide(chain.change * chain.moves, transition, out=np.zeros((m, m)), where=transition > 0)
        change = float(np.clip(moved.sum() / (n - 1), 1e-6, 1.0))
        chain = replace(chain, change=change)
        if not chain.fixed:
            drawn = (moved.sum(axis=0) + 1.0) / (moved.sum() + m)
            chain = replace(chain, start=drawn, moves=np.tile(drawn, (m, 1)))
    likelihood = forward_backward(seen, chain.transition, chain.start)[2]
    return replace(chain, score=likelihood - alone - n_parameters * log(n) / 2.0)


def _freed(chain: Chain, emission: Matrix, alone: float) -> Chain:
    """Fit all transitions that the chain does not rule out."""
    (n, m), seen = emission.shape, emission @ chain.shared.T
    transition, counts = chain.transition, np.zeros((m, m))
    for _ in range(FREE_STEPS):
        counts = forward_backward(seen, transition, chain.start)[1]
        total = counts.sum(axis=1, keepdims=True)
        transition = np.where(total > 1e-6, counts / np.maximum(total, 1e-300), transition)
    used = max(float(np.minimum(counts, 1.0).sum()) - m, 1.0)
    likelihood = forward_backward(seen, transition, chain.start)[2]
    score = likelihood - alone - (used + (chain.shared[0, 0] < 1.0)) * log(n) / 2.0
    return replace(chain, name="Markov chain", change=1.0, moves=transition, score=score)


def _prior(emission: Matrix, steps: int = 200) -> Vector:
    """The likeliest distribution of independent records, by expectation–maximisation."""
    kinds, counts = np.unique(emission, axis=0, return_counts=True)
    prior = np.full(emission.shape[1], 1.0 / emission.shape[1])
    for _ in range(steps):
        weights = kinds * prior
        prior = counts @ (weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)) / len(emission)
    return np.asarray(prior)


def other_answers(posterior: Matrix, prior: Vector, own: Matrix) -> Matrix:
    """What other columns of a record tell of a category, up to a factor, from A20's posterior and the own report.

    Of a category that the prior leaves out, other answers tell as much as on average.
    """
    known = (prior > 0.0) & (own > 0.0)
    others = np.divide(posterior, prior * own, out=np.zeros_like(posterior), where=known)
    usual = (others * prior).sum(axis=1) / np.maximum((known * prior).sum(axis=1), 1e-300)
    return np.asarray(np.where(known, others, usual[:, None]))


def forward_backward(emission: Matrix, transition: Matrix, start: Vector) -> tuple[Matrix, Matrix, float]:
    """Posterior of every row's category, expected numbers of transitions, and the log-likelihood."""
    posterior, counts = np.empty(emission.shape), np.zeros(transition.shape)
    likelihood = _compiled()(np.ascontiguousarray(emission), transition, start, posterior, counts)
    return posterior, counts * transition, float(likelihood)


@cache
def _compiled() -> Any:
    from numba import njit

    return njit(_recursions, cache=True, nogil=True, error_model="numpy")


def _recursions(emission: Matrix, transition: Matrix, start: Vector, posterior: Matrix, counts: Matrix) -> float:
    """Forward with scaled probabilities in ``posterior``, then backward; counts lack their factor A.

    Products are loops: of few states they are over before a library of matrices is called.
    """
    n, m = emission.shape
    total = 0.0
    ahead, later, back = start.copy(), np.empty(m), np.ones(m)
    for t in range(n):
        if t > 0:
            ahead[:] = 0.0
            for i in range(m):
                share = posterior[t - 1, i]
                for j in range(m):
                    ahead[j] += share * transition[i, j]
        size = 0.0
        for a in range(m):
            posterior[t, a] = ahead[a] * emission[t, a]
            size += posterior[t, a]
        if size <= 0.0:  # reports that the chain rules out tell nothing
            size = 1.0
            posterior[t] = ahead
        total += np.log(size)
        posterior[t] /= posterior[t].sum()
    for t in range(n - 2, -1, -1):
        size = 0.0
        for j in range(m):
            later[j] = emission[t + 1, j] * back[j]
            size += later[j]
        if size <= 0.0:
            later[:] = back
        scale = 0.0
        for i in range(m):
            ahead[i] = 0.0
            for j in range(m):
                ahead[i] += transition[i, j] * later[j]
            scale += posterior[t, i] * ahead[i]
        if scale <= 0.0:
            scale = 1.0
        for i in range(m):
            share = posterior[t, i] / scale
            if share > 0.0:
                for j in range(m):
                    counts[i, j] += share * later[j]
        size = 0.0
        for i in range(m):
            posterior[t + 1, i] *= back[i]
            size += posterior[t + 1, i]
        for i in range(m):
            posterior[t + 1, i] /= size
            # A regime that cannot be any more may explain all that follows without a limit.
            back[i] = min(ahead[i] / scale, 1e100)
    posterior[0] *= back
    posterior[0] /= posterior[0].sum()
    return total
