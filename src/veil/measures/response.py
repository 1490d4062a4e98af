"""What randomized response discloses (M7, M8, M11): functions of its matrix and of the true proportions.

*Model.* ``P[reported, true]``, columns sum to 1, ``λ = P π`` (pkdd2006 tutorial, "Disclosure Analysis with RR").
*Threat.* The attacker knows P and sees one report; for M8 and M11 also π. Amplification needs no π: it bounds what any
prior can be moved to (Evfimievski, Gehrke and Srikant 2003), and ε = ln γ is local differential privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, number, per_column
from veil.errors import InputError
from veil.measures.measure import Measure
from veil.measures.posterior import PosteriorGain, posterior_gain
from veil.numerics.response_matrix import check_channel, check_proportions, posterior


def amplification(matrix: npt.ArrayLike) -> Measure:
    """γ (M7): the largest ratio of two probabilities of the same report, over all reports and true categories.

    1 where reports do not depend on the truth; infinite where a report rules a category out. Reports that never occur
    do not count.

    >>> round(amplification([[0.7, 0.3], [0.3, 0.7]]), 4)
    2.3333
    """
    channel = check_channel(matrix)
    rows = channel[channel.any(axis=1)]
    least = rows.min(axis=1)
    worst = math.inf if (least == 0.0).any() else float((rows.max(axis=1) / least).max())
    return Measure(worst, higher_is="exposed")


def local_epsilon(matrix: npt.ArrayLike) -> Measure:
    """ε = ln γ of local differential privacy (M7), γ by :func:`amplification`.

    >>> round(local_epsilon([[0.75, 0.25], [0.25, 0.75]]), 4)
    1.0986
    """
    return Measure(math.log(amplification(matrix)), higher_is="exposed")


def rho_breach_possible(rho1: float, rho2: float, gamma: float) -> bool:
    """Whether some property of prior ρ1 or less may get a posterior of ρ2 or more (M7), upward or downward.

    No such breach can happen as long as ``γ < ρ2(1 − ρ1)/(ρ1(1 − ρ2))``; from there on, some prior has one. Numbers
    are taken as their decimals are written, so that the limit of (5 %, 50 %) is 19 and not a rounding error off it.

    >>> rho_breach_possible(0.05, 0.5, 18.99), rho_breach_possible(0.05, 0.5, 19)
    (False, True)
    """
    low, high = number(rho1, "rho1", least=0.0, most=1.0), number(rho2, "rho2", least=0.0, most=1.0)
    factor = number(gamma, "gamma", least=1.0, infinite=True)
    if not 0.0 < low < high < 1.0:
        raise InputError("rho1: must be above 0 and below rho2, and rho2 below 1; pass two such probabilities")
    if math.isinf(factor):
        return True
    before, after = Fraction(repr(low)), Fraction(repr(high))
    return Fraction(repr(factor)) * before * (1 - after) >= after * (1 - before)


def response_gain(matrix: npt.ArrayLike, proportions: npt.ArrayLike) -> PosteriorGain:
    """Posterior minus prior (M8) over all reports, each weighed by how often it comes.

    >>> gain = response_gain([[0.7, 0.3], [0.3, 0.7]], [0.3, 0.7])
    >>> f"{gain.largest:.3f} {gain.mean:.4f}"
    '0.200 0.1680'
    """
    shares, after, reported = _posteriors(matrix, proportions)
    return posterior_gain(shares, after, weights=reported)


def odds_factors(matrix: npt.ArrayLike, proportions: npt.ArrayLike | None = None) -> Array:
    """g(R|A) = P(R|A)/P(R|Ā) (M11; Warner 1976), reports × true categories: what a report does to the odds of A.

    1 everywhere means no disclosure, and no estimate either; R jeopardizes A where g(R|A) > 1. With two categories g
    needs no proportions; with more, P(R|Ā) is the mean over the others, weighed by ``proportions``.

    >>> odds_factors([[0.7, 0.3], [0.3, 0.7]])[:, 0].round(4).tolist()
    [2.3333, 0.4286]
    """
    channel = check_channel(matrix)
    k = channel.shape[1]
    if proportions is None and k > 2:
        raise InputError(f"proportions: are needed for {k} categories; pass one share per category")
    shares = np.full(k, 1.0 / k) if proportions is None else check_proportions(proportions, k)
    others = np.where(np.eye(k, dtype=bool), 0.0, shares[:, None])
    total = others.sum(axis=0)
    if count := int((total == 0.0).sum()):
        raise InputError(f"proportions: {count} category has all of the share; odds need at least two categories")
    rest = channel @ (others / total)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = channel / rest
    return np.where((channel == 0.0) & (rest == 0.0), 1.0, factors)


class SuspicionBounds(NamedTuple):
    """The lowest and the highest posterior of each category."""

    low: Array
    high: Array


def suspicion_bounds(matrix: npt.ArrayLike, proportions: npt.ArrayLike) -> SuspicionBounds:
    """ξ1 and ξ2 (M11): the lowest and the highest posterior of each category over all reports that occur.

    With A the first of two categories: ``ξ1 ≤ P(A|R) ≤ ξ2`` for every R.

    >>> low, high = suspicion_bounds([[0.7, 0.3], [0.3, 0.7]], [0.3, 0.7])
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.155, 0.5)
    """
    _, after, _ = _posteriors(matrix, proportions)
    return SuspicionBounds(after.min(axis=0), after.max(axis=0))


def posterior_variance(
    matrix: npt.ArrayLike, proportions: npt.ArrayLike, *, values: npt.ArrayLike | None = None
) -> Measure:
    """E Var(X|Y) (M11): what is left to guess of a respondent after the report; the more the better protected.

    ``values`` are numbers for the categories. Without them two categories differ by 1 and Var(X|y) is
    ½(1 − Σ posterior²), half the probability that two draws from the posterior differ. For two categories both are
    p(1 − p), the variance of the indicator.

    >>> round(posterior_variance([[0.7, 0.3], [0.3, 0.7]], [0.3, 0.7]), 4)
    0.181
    """
    shares, after, reported = _posteriors(matrix, proportions)
    if values is None:
        left = 0.5 * (1.0 - (after**2).sum(axis=1))
    else:
        x = per_column(values, "values", len(shares))
        x = x - shares @ x
        left = after @ x**2 - (after @ x) ** 2
    return Measure(max(0.0, float(reported @ left)), higher_is="private")


def fisher_information_loss(matrix: npt.ArrayLike, proportions: npt.ArrayLike) -> Measure:
    """L = 1 − I(Y)/I(X) (M11): the share of the information on π that the randomization costs.

    With k categories of positive share the information is a matrix of k − 1 dimensions, and the ratio its mean over
    them, ``tr(I(X)⁻¹ I(Y))/(k − 1) = (Σ P(r, s)²/(λ_r π_s) − 1)/(k − 1)``. For two categories it is the ratio of the
    variances of the direct and the randomized estimate.

    >>> round(fisher_information_loss([[0.7, 0.3], [0.3, 0.7]], [0.3, 0.7]), 4)
    0.8621
    """
    shares, after, reported = _posteriors(matrix, proportions)
    there = shares > 0.0
    if there.sum() < 2:
        raise InputError("proportions: one category has all of the share; pass at least two positive shares")
    retained = float(reported @ (after[:, there] ** 2 / shares[there]).sum(axis=1)) - 1.0
    return Measure(min(1.0, max(0.0, 1.0 - retained / (there.sum() - 1))), higher_is="private")


def _posteriors(matrix: npt.ArrayLike, proportions: npt.ArrayLike) -> tuple[Array, Array, Array]:
    """Proportions, posteriors of the reports that occur, and how often these come."""
    channel = check_channel(matrix)
    shares = check_proportions(proportions, channel.shape[1])
    reported = channel @ shares
    occurs = reported > 0.0
    return shares, posterior(channel, shares)[occurs], reported[occurs]
