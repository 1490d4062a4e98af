"""Matrices of randomized response and the sampler that implements them (P16, P19)."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from veil.errors import InputError
from veil.numerics.response_matrix import (
    UNITS,
    check_proportions,
    check_response_matrix,
    cumulative,
    draw_reports,
    epsilon_matrix,
    exact_probabilities,
    gamma_matrix,
    implemented_epsilon,
    invariant_matrix,
    keep_matrix,
    kron_apply,
    kron_solve,
    posterior,
    warner,
)

SURVEY = np.array(
    [[0.60, 0.20, 0.00, 0.10], [0.20, 0.50, 0.20, 0.10], [0.15, 0.15, 0.70, 0.30], [0.05, 0.15, 0.10, 0.50]]
)
PRAM = np.array([[0.95, 0, 0, 0.10], [0.05, 0.98, 0, 0], [0, 0.02, 0.95, 0], [0, 0, 0.05, 0.90]])


def random_matrix(rng: np.random.Generator, k: int) -> np.ndarray:
    return rng.dirichlet(np.ones(k), size=k).T


def exact_exp(epsilon: float) -> Fraction:
    """e^ε to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp())


def exact_ratio(rows: tuple[tuple[Fraction, ...], ...]) -> Fraction:
    return max(max(row) / min(row) for row in rows)


def test_the_tutorials_survey() -> None:
    """Columns are true classes; read by rows the slide's numbers do not come out (rr-4, pram-4)."""
    true = np.array([0.10, 0.30, 0.20, 0.40])
    assert check_response_matrix(SURVEY, 4) @ true == pytest.approx([0.16, 0.25, 0.32, 0.27], abs=1e-12)
    assert np.abs(SURVEY.T @ true - [0.16, 0.25, 0.32, 0.27]).max() > 0.03
    kept = np.array([0.2, 0.5, 0.2, 0.1])
    assert check_response_matrix(PRAM, 4) @ kept == pytest.approx(kept, abs=1e-12)


def test_named_matrices() -> None:
    assert warner(0.7) @ [0.3, 0.7] == pytest.approx([0.42, 0.58], abs=1e-12)
    assert keep_matrix(0.7, 4) == pytest.approx(0.1 + 0.6 * np.eye(4), abs=1e-12)
    x = 1 / (5 + 3 - 1)
    assert gamma_matrix(5, 3) == pytest.approx(x + 4 * x * np.eye(3), abs=1e-12)
    assert epsilon_matrix(math.log(5), 3) == pytest.approx(gamma_matrix(5, 3), abs=1e-12)
    assert (gamma_matrix(1, 3) == 1 / 3).all()
    for matrix in (keep_matrix(0.2, 1), gamma_matrix(7, 1), epsilon_matrix(0, 1)):
        assert matrix.tolist() == [[1.0]]


@given(st.integers(2, 6), st.integers(0, 10_000))
def test_invariant_matrices_leave_proportions(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, shares = random_matrix(rng, k), rng.dirichlet(np.ones(k))
    kept = check_response_matrix(invariant_matrix(matrix, shares), k)
    assert kept @ shares == pytest.approx(shares, abs=1e-12)
    # It only processes reports, so that no ratio grows.
    assert (kept.max(axis=1) / kept.min(axis=1)).max() <= (matrix.max(axis=1) / matrix.min(axis=1)).max() * (1 + 1e-9)


def test_invariant_matrix_with_categories_that_do_not_occur() -> None:
    shares = np.array([0.5, 0.5, 0.0])
    kept = invariant_matrix([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]], shares)
    assert kept @ shares == pytest.approx(shares)
    assert kept.sum(axis=0) == pytest.approx(np.ones(3))


def test_posterior() -> None:
    """π_A = .3, P = .7: .5 and .155 (rr-disclosure)."""
    assert posterior(warner(0.7), np.array([0.3, 0.7]))[:, 0] == pytest.approx([0.5, 0.09 / 0.58], abs=1e-12)
    assert posterior(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([0.3, 0.7]))[1].tolist() == [0.0, 1.0]


def test_kronecker_order() -> None:
    """The last attribute is fastest: 2 × 2 by 3 × 3 is numpy.kron(P1, P2), and the other order is another matrix."""
    rng = np.random.default_rng(1)
    p1, p2, p3 = (random_matrix(rng, k) for k in (2, 3, 4))
    table = rng.random((2, 3))
    assert kron_apply([p1, p2], table).ravel() == pytest.approx(np.kron(p1, p2) @ table.ravel(), abs=1e-12)
    assert np.abs(kron_apply([p1, p2], table).ravel() - np.kron(p2, p1) @ table.ravel()).max() > 0.01
    three = rng.random((2, 3, 4))
    whole = np.kron(np.kron(p1, p2), p3)
    assert kron_apply([p1, p2, p3], three).ravel() == pytest.approx(whole @ three.ravel(), abs=1e-12)
    assert kron_solve([p1, p2, p3], kron_apply([p1, p2, p3], three)) == pytest.approx(three, abs=1e-9)
    with pytest.raises(InputError, match="shape"):
        kron_apply([p1, p2], table.T)
    with pytest.raises(InputError, match="number 2 is singular"):
        kron_solve([p1, np.full((3, 3), 1 / 3)], table)


@pytest.mark.parametrize("k", [2, 3, 7, 100])
@pytest.mark.parametrize("epsilon", [0.0, 1e-17, 1e-13, 1e-9, 0.1, 0.5, 1.0, math.log(3), 5.0, 30.0, 43.0, 44.0, 690.0])
def test_no_implemented_ratio_exceeds_e_to_the_epsilon(epsilon: float, k: int) -> None:
    rows = exact_probabilities(cumulative(epsilon_matrix(epsilon, k)))
    assert [sum(column) for column in zip(*rows, strict=True)] == [1] * k
    ratio = exact_ratio(rows)
    assert ratio <= exact_exp(epsilon)
    if 1e-9 <= epsilon <= 5.0:  # and little is given away
        assert math.log(ratio) == pytest.approx(epsilon, rel=1e-4, abs=1e-12)
    assert implemented_epsilon(cumulative(epsilon_matrix(epsilon, k))) <= epsilon * (1 + 1e-14)


@given(st.floats(0, 40), st.integers(2, 40))
def test_no_implemented_ratio_exceeds_any_bound(epsilon: float, k: int) -> None:
    assert exact_ratio(exact_probabilities(cumulative(epsilon_matrix(epsilon, k)))) <= exact_exp(epsilon)
    gamma = math.exp(epsilon)
    assert exact_ratio(exact_probabilities(cumulative(gamma_matrix(gamma, k)))) <= Fraction(gamma)


def test_plain_rounding_would_exceed_it() -> None:
    """Floats of γx and x, cumulated and rounded to words, break e^ε for some ε: the care is needed."""
    broken = 0
    for epsilon in np.linspace(0.1, 3, 30):
        gamma = math.exp(epsilon)
        off = 1 / (gamma + 2)
        ends = [0, *(round(Fraction(end) * UNITS) for end in np.cumsum([gamma * off, off])), UNITS]
        sizes = np.diff(np.array(ends, dtype=object))
        broken += Fraction(sizes[0], min(sizes[1:])) > exact_exp(epsilon)
    assert broken > 5


def test_the_sampler_has_the_exact_probabilities() -> None:
    """At every threshold the report changes, and not a word earlier."""
    thresholds = cumulative(SURVEY)
    for s in range(4):
        for r in range(3):
            end = int(thresholds[r, s])
            (after,) = draw_reports(thresholds, np.array([s]), np.array([2 * end], dtype=np.uint64))
            assert after > r
            if end > 0:
                (before,) = draw_reports(thresholds, np.array([s]), np.array([2 * end - 1], dtype=np.uint64))
                assert before <= r
    rows = exact_probabilities(thresholds)
    assert np.array(rows, dtype=float) == pytest.approx(SURVEY, abs=1e-15)
    assert rows[0][2] == 0  # a structural zero stays one
    assert implemented_epsilon(thresholds) == math.inf
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert draw_reports(cumulative(np.eye(3)), np.array([2, 0]), ends).tolist() == [2, 0]
    assert draw_reports(cumulative(warner(0.0)), np.array([0, 1]), ends).tolist() == [1, 0]


def test_drawn_reports_follow_the_matrix() -> None:
    rng = np.random.default_rng(5)
    n = 40_000
    true = rng.integers(0, 4, n)
    reports = draw_reports(cumulative(SURVEY), true, rng.integers(0, 2**64, n, dtype=np.uint64))
    for s in range(4):
        expected = SURVEY[:, s] * (true == s).sum()
        seen = np.bincount(reports[true == s], minlength=4)
        assert (seen[expected == 0] == 0).all()
        assert chisquare(seen[expected > 0], expected[expected > 0]).pvalue > 1e-4


def test_implemented_epsilon_of_any_matrix() -> None:
    matrix = np.array([[0.5, 0.2, 0.25], [0.3, 0.6, 0.25], [0.2, 0.2, 0.5]])
    assert implemented_epsilon(cumulative(matrix)) == pytest.approx(math.log(2.5), abs=1e-12)
    assert math.exp(implemented_epsilon(cumulative(matrix))) >= exact_ratio(exact_probabilities(cumulative(matrix)))
    assert implemented_epsilon(cumulative(np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]))) == 0.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: check_response_matrix([[0.5, 0.5], [0.5, 0.5]], 3), "2 × 2; 3 categories"),
        (lambda: check_response_matrix([[0.7, 0.7], [0.3, 0.2]], 2, "matrix of 'a'"), "matrix of 'a' has 1 columns"),
        (lambda: check_response_matrix([[1.2, 0.0], [-0.2, 1.0]], 2), "2 entries"),
        (lambda: check_response_matrix([[math.nan, 0.0], [1.0, 1.0]], 2), "1 entries"),
        (lambda: check_response_matrix([["a", "b"]], 2), "table of numbers"),
        (lambda: check_response_matrix([1.0], 1), "one row per reported"),
        (lambda: check_proportions([0.5, 0.6], 2), "sum 1"),
        (lambda: check_proportions([0.5], 2), "2 numbers"),
        (lambda: check_proportions(["x"], 1), "1 numbers"),
        (lambda: keep_matrix(1.1, 3), "keep"),
        (lambda: keep_matrix(0.5, 0), "k must be"),
        (lambda: gamma_matrix(0.9, 3), "gamma"),
        (lambda: epsilon_matrix(-1, 3), "epsilon"),
        (lambda: epsilon_matrix(math.nan, 3), "epsilon"),
        (lambda: invariant_matrix([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]], [0.2, 0.3, 0.5]), "2 × 3"),
    ],
)
def test_refusals(call, said) -> None:
    with pytest.raises(InputError, match=said):
        call()
