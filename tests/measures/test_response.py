"""Amplification, breaches, odds and information under randomized response (M7, M8, M11)."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures.response import (
    amplification,
    fisher_information_loss,
    local_epsilon,
    odds_factors,
    posterior_variance,
    response_gain,
    rho_breach_possible,
    suspicion_bounds,
)
from veil.numerics.response_matrix import gamma_matrix, keep_matrix, posterior, warner

PI = [0.3, 0.7]


def random_design(seed: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), size=k).T, rng.dirichlet(np.ones(k))


def test_amplification() -> None:
    assert amplification(warner(0.7)) == pytest.approx(7 / 3)
    assert amplification(gamma_matrix(19, 5)) == pytest.approx(19)
    assert amplification(np.full((4, 4), 0.25)) == 1.0
    assert amplification([[1.0, 0.5], [0.0, 0.5]]) == math.inf
    assert amplification([[1.0, 1.0], [0.0, 0.0]]) == 1.0  # a report that never comes tells nothing
    assert amplification([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]]) == pytest.approx(3.0)
    assert local_epsilon(warner(0.75)) == pytest.approx(math.log(3))
    assert local_epsilon(np.eye(2)) == math.inf
    assert amplification(warner(0.7)).higher_is == local_epsilon(warner(0.7)).higher_is == "exposed"


def test_five_to_fifty_per_cent_is_safe_exactly_below_19() -> None:
    assert not rho_breach_possible(0.05, 0.5, 18.9999999999)
    assert rho_breach_possible(0.05, 0.5, 19)
    assert rho_breach_possible(0.05, 0.5, math.inf)
    assert not rho_breach_possible(0.1, 0.5, 8.99)
    assert rho_breach_possible(0.1, 0.5, 9.0)


@given(st.floats(0.01, 0.5), st.floats(0.02, 0.99), st.floats(1.0, 200.0))
def test_a_breach_is_possible_when_some_prior_has_one(rho1: float, rho2: float, gamma: float) -> None:
    """The worst case is a property of prior ρ1 and a report γ times as probable under it."""
    assume(rho1 < rho2)
    most = gamma * rho1 / (gamma * rho1 + 1 - rho1)
    assume(abs(most - rho2) > 1e-9)
    assert rho_breach_possible(rho1, rho2, gamma) == (most > rho2)
    # and a two-category design attains it
    assert posterior(gamma_matrix(gamma, 2), np.array([rho1, 1 - rho1]))[0, 0] == pytest.approx(most, abs=1e-9)


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_amplification_bounds_every_posterior(seed: int, k: int) -> None:
    matrix, shares = random_design(seed, k)
    gamma = float(amplification(matrix))
    low, high = suspicion_bounds(matrix, shares)
    assert (high <= gamma * shares / (gamma * shares + 1 - shares) + 1e-9).all()
    assert (low >= shares / (shares + gamma * (1 - shares)) - 1e-9).all()


def test_the_tutorials_disclosure_numbers() -> None:
    """π_A = .3, P = .7: g = 2.333, .4286; posterior .5, .155 (rr-disclosure)."""
    factors = odds_factors(warner(0.7))
    assert factors[:, 0] == pytest.approx([7 / 3, 3 / 7], abs=1e-12)
    assert factors[:, 1] == pytest.approx([3 / 7, 7 / 3], abs=1e-12)
    low, high = suspicion_bounds(warner(0.7), PI)
    assert (low[0], high[0]) == pytest.approx((0.09 / 0.58, 0.5), abs=1e-12)
    # T's limits on g are met with equality by the bounds themselves
    assert factors[0, 0] == pytest.approx((0.7 / 0.3) * high[0] / (1 - high[0]))
    assert factors[1, 1] == pytest.approx((0.3 / 0.7) * (1 - low[0]) / low[0])
    gain = response_gain(warner(0.7), PI)
    assert gain.rise == pytest.approx(0.2)
    assert gain.fall == pytest.approx(0.2)  # of not A, by a yes
    assert gain.mean == pytest.approx(0.42 * 0.2 + 0.58 * (0.3 - 0.09 / 0.58))


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_odds_factors_turn_prior_odds_into_posterior_odds(seed: int, k: int) -> None:
    matrix, shares = random_design(seed, k)
    after = posterior(matrix, shares)
    odds = after / (1 - after)
    assert odds_factors(matrix, shares) * shares / (1 - shares) == pytest.approx(odds, rel=1e-6)


def test_odds_factors_at_the_ends() -> None:
    assert (odds_factors(warner(0.5)) == 1.0).all()  # no disclosure and no estimate
    assert odds_factors(np.eye(2)).tolist() == [[math.inf, 0.0], [0.0, math.inf]]
    assert odds_factors([[1.0, 1.0], [0.0, 0.0]]).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_posterior_variance() -> None:
    """E Var(X|Y) = λ·¼ + (1 − λ)·.155·.845; the same with the categories as 1 and 0."""
    p = 0.09 / 0.58
    expected = 0.42 * 0.25 + 0.58 * p * (1 - p)
    assert posterior_variance(warner(0.7), PI) == pytest.approx(expected, abs=1e-12)
    assert posterior_variance(warner(0.7), PI, values=[1, 0]) == pytest.approx(expected, abs=1e-12)
    assert posterior_variance(warner(0.7), PI, values=[1e6 + 2, 1e6]) == pytest.approx(4 * expected, abs=1e-9)
    assert posterior_variance(warner(0.5), PI) == pytest.approx(0.21)  # nothing learnt: Var(X)
    assert posterior_variance(np.eye(3), [0.2, 0.3, 0.5]) == 0.0
    assert posterior_variance(keep_matrix(1 / 3, 3), [0.2, 0.3, 0.5]) == pytest.approx(0.5 * (1 - 0.38))


@given(st.integers(0, 10_000))
def test_fisher_information_loss_of_two_categories(seed: int) -> None:
    """1 − I(Y)/I(X), I by its definition: the variance of the score of one report."""
    matrix, shares = random_design(seed, 2)
    lam, slope = matrix @ shares, matrix[:, 0] - matrix[:, 1]
    ratio = float((slope**2 / lam).sum()) * shares[0] * shares[1]
    assert fisher_information_loss(matrix, shares) == pytest.approx(1 - ratio, abs=1e-9)


def test_fisher_information_loss() -> None:
    """For Warner it is one minus the ratio of the variances, 2.1e−4 to 1.5225e−3."""
    assert fisher_information_loss(warner(0.7), PI) == pytest.approx(1 - 2.1e-4 / 1.5225e-3, abs=1e-12)
    assert fisher_information_loss(np.eye(4), [0.1, 0.2, 0.3, 0.4]) == pytest.approx(0.0, abs=1e-12)
    assert fisher_information_loss(np.full((3, 3), 1 / 3), [0.2, 0.3, 0.5]) == pytest.approx(1.0)
    # in matrices: the mean eigenvalue of I(X)⁻¹I(Y) on the free shares
    matrix, shares = random_design(3, 4)
    free = np.vstack([np.eye(3), -np.ones(3)])
    of_y = free.T @ matrix.T @ np.diag(1 / (matrix @ shares)) @ matrix @ free
    of_x = free.T @ np.diag(1 / shares) @ free
    assert fisher_information_loss(matrix, shares) == pytest.approx(1 - np.trace(np.linalg.solve(of_x, of_y)) / 3)
    # a category of share 0 has no part in it
    lost = fisher_information_loss(keep_matrix(0.6, 3), [0.3, 0.7, 0.0])
    merged = np.array([[0.6, 0.2], [0.2, 0.6], [0.2, 0.2]])
    assert lost == pytest.approx(fisher_information_loss(merged, PI), abs=1e-12)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: amplification([[0.5, 0.5], [0.4, 0.5]]), "matrix"),
        (lambda: rho_breach_possible(0.5, 0.05, 3), "rho1"),
        (lambda: rho_breach_possible(0.0, 0.5, 3), "rho1"),
        (lambda: rho_breach_possible(0.05, 0.5, 0.5), "gamma"),
        (lambda: odds_factors(keep_matrix(0.5, 3)), "proportions"),
        (lambda: odds_factors(warner(0.7), [1.0, 0.0]), "proportions"),
        (lambda: suspicion_bounds(warner(0.7), [0.5, 0.6]), "proportions"),
        (lambda: fisher_information_loss(warner(0.7), [1.0, 0.0]), "proportions"),
        (lambda: posterior_variance(warner(0.7), PI, values=[1, 2, 3]), "values"),
    ],
)
def test_refusals(call, name) -> None:
    with pytest.raises(InputError, match=name):
        call()
