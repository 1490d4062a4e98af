"""A matrix for randomized response from a bound on disclosure (D3).

*Model.* Keep the truth with probability θ, else draw a report from q: ``P = θI + (1 − θ) q 1′``. Then
``Var(π̂) = (diag λ − λλ′)/(nθ²)``, of trace ``(1 − |λ|²)/(nθ²)`` with ``λ = θπ + (1 − θ)q``.

Every bound here reads ``θ/(1 − θ) ≤ q_r b_r`` for each report r:

=====================  ============================================================
γ or ε = ln γ          b_r = γ − 1
ξ1 ≤ P(a|R) ≤ ξ2       b_r = min((ξ2 − π_r)/(1 − ξ2), (π_b − ξ1)/ξ1 for b ≠ r)/π_r
=====================  ============================================================

so that q_r ∝ 1/b_r, with all bounds tight, has the largest θ: ``P = θ(I + (1/b) 1′)``, 1/θ = 1 + S, S = Σ 1/b_r. It has
the smallest trace too. With u = (1 − θ)/θ the trace is ((1 + u)² − |π + uq|²)/n; given u ≥ S it is smallest with all
slack on one report, uq = 1/b + (u − S)e_j, and there it grows with u, at the rate 2(1 − π_j + S − 1/b_j)/n. So under γ
the γ-diagonal matrix of FRAPP is the best keep-or-draw design, whatever π is.

With two categories every informative 2 × 2 matrix (up to naming the answers) keeps or draws, and the design is the best
of all. With more it need not be: square designs in which a report stands for several categories (k = 7, γ = 1.1: the
lines of the Fano plane) estimate better at a small γ, but such a report is no category of the table.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, per_column, whole
from veil.errors import InputError
from veil.numerics.response_matrix import check_proportions, epsilon_matrix, gamma_matrix


def design_response(
    k: int,
    *,
    epsilon: float | None = None,
    gamma: float | None = None,
    xi: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    proportions: npt.ArrayLike | None = None,
) -> Array:
    """The k × k matrix of smallest estimator variance within one bound.

    Parameters
    ----------
    k
        Number of categories.
    epsilon, gamma, xi
        The bound, one of the three: local ε, amplification γ, or (ξ1, ξ2), the limits of a posterior. With two
        categories ξ1 and ξ2 bound the first one's (T: P(A|R)); with more, every category's, and each may also be a
        list of one number per category.
    proportions
        The true shares, as known or guessed beforehand. ξ needs them, each strictly within its bounds; for ε and γ
        the best design does not depend on them.

    >>> design_response(2, xi=(0.09 / 0.58, 0.5), proportions=[0.3, 0.7]).round(6).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """
    k = whole(k, "k", least=2)
    if sum(bound is not None for bound in (epsilon, gamma, xi)) != 1:
        raise InputError("epsilon: give one of epsilon, gamma and xi")
    shares = None if proportions is None else check_proportions(proportions, k)
    if epsilon is not None:
        return epsilon_matrix(epsilon, k)
    if gamma is not None:
        return gamma_matrix(gamma, k)
    if shares is None:
        raise InputError("proportions: are needed with xi; pass the expected share of each category")
    low, high = _limits(xi, k)
    if count := int((~((low < shares) & (shares < high))).sum()):
        raise InputError(f"xi: {count} of {k} shares are not between their limits; a posterior starts from them")
    draw = _inverse_bounds(shares, low, high)
    return np.asarray((np.eye(k) + draw[:, None]) / (1.0 + draw.sum()))


def _inverse_bounds(shares: Array, low: Array, high: Array) -> Array:
    """1/b_r of the posterior bounds."""
    with np.errstate(divide="ignore"):
        upward = (high - shares) / (1.0 - high)
        downward = (shares - low) / low
    others = np.where(np.eye(len(shares), dtype=bool), np.inf, downward[None, :]).min(axis=1)
    return np.asarray(shares / np.minimum(upward, others))


def _limits(xi: object, k: int) -> tuple[Array, Array]:
    if not isinstance(xi, tuple | list) or len(xi) != 2:
        raise InputError("xi: must be a pair (xi1, xi2), the lowest and the highest posterior")
    low, high = per_column(xi[0], "xi", k, least=0.0), per_column(xi[1], "xi", k, least=0.0)
    if (high > 1.0).any():
        raise InputError("xi: must hold probabilities; pass numbers from 0 to 1")
    if k == 2 and np.ndim(xi[0]) == 0 and np.ndim(xi[1]) == 0:
        return np.array([low[0], 1.0 - high[0]]), np.array([high[0], 1.0 - low[0]])
    return low, high
