"""Proportions of largest likelihood under randomized response, always a distribution (R4, A20).

*Model.* Counts of reported combinations, multinomial with ``λ = (P1 ⊗ P2 ⊗ …) π``. The log-likelihood Σ n_r ln λ_r is
concave in π. Its maximum is P⁻¹λ̂ where that has no negative entry, and on the border of the simplex otherwise.

The EM step multiplies π by its gradient ``P′(λ̂/λ)``, and ``max(gradient) − 1`` bounds how far the mean log-likelihood
is from its maximum: that is the rule to stop. Steps are extrapolated in pairs (SQUAREM, Varadhan and Roland 2008); an
extrapolation that loses likelihood is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.data.blocks import Matrix
from veil.numerics.response_matrix import kron_apply, kron_solve

GAP = 1e-9
MOST_STEPS = 3_000
WELL_CONDITIONED = 1e6
_FLOOR = 1e-4  # an extrapolated share is at least this part of the plain step's


def gradient(shares: Matrix, matrices: Sequence[Matrix], proportions: Matrix) -> Matrix:
    """Derivative of the mean log-likelihood Σ shares·ln λ by the proportions; its mean under them is 1.

    Reports that the proportions make impossible are passed over.
    """
    reported = kron_apply(matrices, proportions)
    ratio = np.divide(shares, reported, out=np.zeros_like(reported), where=(shares > 0.0) & (reported > 0.0))
    return kron_apply([matrix.T for matrix in matrices], ratio)


def mean_log_likelihood(shares: Matrix, matrices: Sequence[Matrix], proportions: Matrix) -> float:
    """Σ shares·ln λ: minus infinity where something was reported that cannot be."""
    reported, counted = kron_apply(matrices, proportions), shares > 0.0
    if not (reported[counted] > 0.0).all():
        return -np.inf
    return float(shares[counted] @ np.log(reported[counted]))


def em_step(shares: Matrix, matrices: Sequence[Matrix], proportions: Matrix) -> Matrix:
    """One step of expectation–maximization; the likelihood never falls."""
    step = proportions * gradient(shares, matrices, proportions)
    return np.asarray(step / step.sum())


def _inside(shares: Matrix, matrices: Sequence[Matrix]) -> Matrix | None:
    """P⁻¹λ̂ where it is a distribution, and none of the matrices is nearly singular."""
    if any(np.linalg.cond(matrix) > WELL_CONDITIONED for matrix in matrices):
        return None
    direct = kron_solve(matrices, shares)
    return np.asarray(direct / direct.sum()) if (direct >= 0.0).all() else None


def most_likely(counts: Matrix, matrices: Sequence[Matrix], *, gap: float = GAP) -> Matrix:
    """The distribution of largest likelihood, its mean log-likelihood within ``gap`` of the maximum.

    ``counts`` has one axis per matrix and a positive sum. Ill-conditioned matrices may end after 3,000 steps with a
    larger gap; the shape of the likelihood is then so flat that the data hardly tell the difference.
    """
    shares = np.asarray(counts / counts.sum())
    if (direct := _inside(shares, matrices)) is not None:
        return direct
    at = np.full(shares.shape, 1.0 / shares.size)
    reached = mean_log_likelihood(shares, matrices, at)
    for _ in range(MOST_STEPS // 2):
        slope = gradient(shares, matrices, at)
        if slope.max() - 1.0 <= gap:
            break
        first = at * slope / (at * slope).sum()
        second = em_step(shares, matrices, first)
        change, bend = first - at, (second - first) - (first - at)
        size = float(np.linalg.norm(bend))
        length = max(1.0, float(np.linalg.norm(change)) / size) if size > 0.0 else 1.0
        far = np.maximum(at + 2.0 * length * change + length**2 * bend, _FLOOR * second)
        far /= far.sum()
        value = mean_log_likelihood(shares, matrices, far)
        if value < reached:
            far, value = second, mean_log_likelihood(shares, matrices, second)
        at, reached = far, value
    return at
