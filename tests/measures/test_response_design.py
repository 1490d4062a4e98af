"""Response matrices from a bound on disclosure (D3)."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures.response import amplification, suspicion_bounds
from veil.measures.response_design import design_response
from veil.numerics.response_matrix import gamma_matrix, warner


def trace(matrix: np.ndarray, shares: np.ndarray) -> float:
    """n·tr Var(π̂)."""
    inverse, lam = np.linalg.inv(matrix), matrix @ shares
    return float(np.trace(inverse @ (np.diag(lam) - np.outer(lam, lam)) @ inverse.T))


def test_epsilon_and_gamma_give_the_gamma_diagonal_matrix() -> None:
    assert design_response(4, epsilon=math.log(19)) == pytest.approx(gamma_matrix(19, 4))
    assert design_response(4, gamma=19, proportions=[0.1, 0.2, 0.3, 0.4]) == pytest.approx(gamma_matrix(19, 4))
    assert design_response(2, epsilon=math.log(7 / 3)) == pytest.approx(warner(0.7))


def test_the_bounds_of_warner_give_warner() -> None:
    assert design_response(2, xi=(0.09 / 0.58, 0.5), proportions=[0.3, 0.7]) == pytest.approx(warner(0.7), abs=1e-12)


@given(st.floats(0.05, 0.95), st.floats(0.0, 0.9), st.floats(0.1, 1.0))
def test_two_categories_are_solved_exactly(share: float, below: float, above: float) -> None:
    """Both bounds are met with equality: P(A|yes) = ξ2 and P(A|no) = ξ1."""
    shares = np.array([share, 1 - share])
    xi = (share * below, share + (1 - share) * above)
    low, high = suspicion_bounds(design_response(2, xi=xi, proportions=shares), shares)
    assert (low[0], high[0]) == pytest.approx(xi, abs=1e-9)


def test_no_other_matrix_of_two_categories_is_better() -> None:
    """A fine grid of all 2 × 2 matrices, under γ and under ξ."""
    shares = np.array([0.2, 0.8])
    a, b = (g.ravel() for g in np.meshgrid(np.linspace(0.002, 0.998, 400), np.linspace(0.002, 0.998, 400)))
    a, b = a[a > b], b[a > b]
    yes = a * shares[0] + b * shares[1]
    variance = yes * (1 - yes) / (a - b) ** 2
    within = {
        "gamma": (a / b <= 3) & ((1 - b) / (1 - a) <= 3),
        "xi": (a * shares[0] / yes <= 0.45) & ((1 - a) * shares[0] / (1 - yes) >= 0.1),
    }
    designs = {
        "gamma": design_response(2, gamma=3),
        "xi": design_response(2, xi=(0.1, 0.45), proportions=shares),
    }
    for bound, matrix in designs.items():
        ours = trace(matrix, shares) / 2  # both shares have the same variance
        assert ours <= variance[within[bound]].min() * (1 + 1e-9)
        assert ours >= variance[within[bound]].min() * 0.97  # the grid comes close
    assert np.abs(designs["xi"] - designs["xi"].T).max() > 0.05  # the best one is not symmetric


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(3, 5))
def test_no_other_keep_or_draw_design_is_better(seed: int, k: int) -> None:
    """Random q with the largest θ that its bound allows, for γ and ξ."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(k, 5.0))
    gamma, xi = 1 + 5 * rng.random(), (0.5 * shares.min() * rng.random(), shares.max() + 0.5 * (1 - shares.max()))
    ours = design_response(k, gamma=gamma)
    posterior_bound = design_response(k, xi=xi, proportions=shares)
    low, high = suspicion_bounds(posterior_bound, shares)
    assert low.min() >= xi[0] - 1e-9
    assert high.max() <= xi[1] + 1e-9
    for _ in range(10):
        q = rng.dirichlet(np.ones(k))
        t = q.min() * (gamma - 1)
        other = (t * np.eye(k) + q[:, None]) / (1 + t)
        assert amplification(other) <= gamma * (1 + 1e-6)
        assert trace(ours, shares) <= trace(other, shares) * (1 + 1e-6)
        grid = [(t * np.eye(k) + q[:, None]) / (1 + t) for t in np.geomspace(1e-3, 30, 30)]
        fits = [m for m in grid if _within(m, shares, xi)]
        if fits:
            assert trace(posterior_bound, shares) <= min(trace(m, shares) for m in fits) * (1 + 1e-6)


def _within(matrix: np.ndarray, shares: np.ndarray, xi: tuple[float, float]) -> bool:
    low, high = suspicion_bounds(matrix, shares)
    return bool(low.min() >= xi[0] and high.max() <= xi[1])


def test_lists_of_bounds_and_no_bound_at_all() -> None:
    shares = [0.1, 0.3, 0.6]
    matrix = design_response(3, xi=([0.0, 0.1, 0.2], [0.4, 0.7, 0.9]), proportions=shares)
    low, high = suspicion_bounds(matrix, shares)
    assert (low >= np.array([0.0, 0.1, 0.2]) - 1e-12).all()
    assert (high <= np.array([0.4, 0.7, 0.9]) + 1e-12).all()
    assert (design_response(3, xi=(0.0, 1.0), proportions=shares) == np.eye(3)).all()


def test_reports_that_stand_for_several_categories_can_do_better() -> None:
    """What the design leaves out: the lines of the Fano plane at γ = 1.1, but not at γ = 5."""
    shares = np.full(7, 1 / 7)
    lines = np.array([[(s - r) % 7 in (0, 1, 3) for s in range(7)] for r in range(7)])
    for gamma, better in ((1.1, True), (5.0, False)):
        fano = np.where(lines, gamma, 1.0) / (3 * gamma + 4)
        assert amplification(fano) == pytest.approx(gamma)
        assert (trace(fano, shares) < trace(design_response(7, gamma=gamma), shares)) == better


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give one of"),
        ({"epsilon": 1.0, "gamma": 2.0}, "give one of"),
        ({"xi": (0.1, 0.5)}, "proportions"),
        ({"xi": (0.1, 0.25), "proportions": [0.3, 0.3, 0.4]}, "xi: 3 of 3"),
        ({"xi": 0.5, "proportions": [0.3, 0.3, 0.4]}, "xi: must be a pair"),
        ({"xi": (0.1, 1.5), "proportions": [0.3, 0.3, 0.4]}, "probabilities"),
        ({"gamma": 0.5}, "gamma"),
        ({"gamma": 2.0, "proportions": [0.5, 0.5]}, "proportions"),
    ],
)
def test_refusals(options, said) -> None:
    with pytest.raises(InputError, match=said):
        design_response(3, **options)
