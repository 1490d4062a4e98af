"""The hidden chain: exact recursions, the right chain, and none where there is none."""

from itertools import product

import numpy as np
import pytest

from veil.attacks.serial.hidden_markov import best_chain, forward_backward, other_answers, posterior_over_order


def chained(transition, n, rng):
    m = len(transition)
    state = np.empty(n, dtype=int)
    state[0] = rng.integers(m)
    for t in range(1, n):
        state[t] = rng.choice(m, p=transition[state[t - 1]])
    return state


def reports(state, matrix, rng):
    return np.array([rng.choice(len(matrix), p=matrix[:, a]) for a in state])


def kept(keep, m):
    return np.full((m, m), (1 - keep) / (m - 1)) + np.eye(m) * (keep - (1 - keep) / (m - 1))


def test_recursions_are_the_sum_over_all_paths():
    rng = np.random.default_rng(0)
    n, m = 6, 3
    emission, start = rng.random((n, m)), rng.dirichlet(np.ones(m))
    transition = rng.dirichlet(np.ones(m), size=m)
    posterior, counts, total = np.zeros((n, m)), np.zeros((m, m)), 0.0
    for path in product(range(m), repeat=n):
        weight = start[path[0]] * np.prod([transition[path[t], path[t + 1]] for t in range(n - 1)])
        weight *= np.prod([emission[t, path[t]] for t in range(n)])
        total += weight
        for t in range(n):
            posterior[t, path[t]] += weight
            if t:
                counts[path[t - 1], path[t]] += weight
    found = forward_backward(emission, transition, start)
    np.testing.assert_allclose(found[0], posterior / total, atol=1e-12)
    np.testing.assert_allclose(found[1], counts / total, atol=1e-12)
    assert found[2] == pytest.approx(np.log(total), abs=1e-12)


def test_two_states_have_the_closed_form():
    """A chain of two equally frequent states in the middle of one report: P(right) by the sum of log odds."""
    rho, p = 0.2, 0.7
    matrix = kept(p, 2)
    transition = np.array([[1 - rho, rho], [rho, 1 - rho]])
    posterior = forward_backward(matrix[[0, 0, 1]], transition, np.full(2, 0.5))[0]
    around = [(1 - rho) * p + rho * (1 - p), (1 - rho) * (1 - p) + rho * p]
    weights = np.array([around[0] * p * around[1], around[1] * (1 - p) * around[0]])
    np.testing.assert_allclose(posterior[1], weights / weights.sum(), atol=1e-12)


def test_independent_records_have_no_chain():
    rng = np.random.default_rng(1)
    matrix = kept(0.5, 4)
    found = [
        posterior_over_order(matrix[reports(rng.choice(4, 500, p=[0.4, 0.3, 0.2, 0.1]), matrix, rng)])
        for _ in range(40)
    ]
    # 2 LR exceeds ln n = 6.2 with probability .006 for one parameter on its boundary; five such chains are tried.
    assert sum(chain is not None for chain in found) <= 4


def test_the_chain_is_recovered_and_its_posterior_is_calibrated():
    rng = np.random.default_rng(2)
    transition = np.array([[0.95, 0.05, 0.0], [0.0, 0.95, 0.05], [0.05, 0.0, 0.95]])  # around a circle
    state = chained(transition, 8_000, rng)
    matrix = kept(0.6, 3)
    codes = reports(state, matrix, rng)
    chain = best_chain(matrix[codes])
    assert chain.name == "Markov chain"
    np.testing.assert_allclose(chain.transition, transition, atol=0.02)
    posterior = chain.posterior(matrix[codes])
    right = posterior.argmax(axis=1) == state
    exact = forward_backward(matrix[codes], transition, np.full(3, 1 / 3))[0]
    best = (exact.argmax(axis=1) == state).mean()
    assert right.mean() > best - 0.01
    # Errors come in runs of about 20 records.
    assert right.mean() == pytest.approx(posterior.max(axis=1).mean(), abs=4 * np.sqrt(0.2 * 0.8 * 20 / 8_000))


def test_a_sorted_column_is_found_from_reports_that_say_little():
    rng = np.random.default_rng(3)
    state = np.sort(rng.choice(8, 3_000, p=rng.dirichlet(np.full(8, 4.0))))
    matrix = kept(0.3, 8)
    posterior, name = posterior_over_order(matrix[reports(state, matrix, rng)])
    assert name == "sorted"
    assert (posterior.argmax(axis=1) == state).mean() > 0.9


def test_records_that_differ_from_their_regime_are_not_smoothed_away():
    """Half of the records in a block have the block's category: a chain of the categories would name all alike."""
    rng = np.random.default_rng(4)
    regime = np.repeat(rng.integers(0, 3, 20), 300)
    state = np.where(rng.random(6_000) < 0.5, regime, rng.integers(0, 3, 6_000))
    matrix = kept(0.8, 3)
    codes = reports(state, matrix, rng)
    posterior, _ = posterior_over_order(matrix[codes])
    right = posterior.argmax(axis=1) == state
    ideal = matrix[codes] * (0.5 * np.eye(3)[regime] + 0.5 / 3)
    assert right.mean() > (ideal.argmax(axis=1) == state).mean() - 0.02
    assert right.mean() == pytest.approx(posterior.max(axis=1).mean(), abs=0.03)


def test_other_answers_are_what_the_posterior_adds_to_the_own_report():
    prior, own = np.array([0.5, 0.3, 0.2]), np.array([[0.8, 0.1, 0.1]])
    others = np.array([[0.2, 0.5, 0.9]])
    posterior = prior * own * others
    found = other_answers(posterior / posterior.sum(), prior, own)
    np.testing.assert_allclose(found / found[0, 0], others / others[0, 0])
    zero = np.array([0.6, 0.4, 0.0])
    unknown = other_answers(zero * own * others, zero, own)
    assert unknown[0, 2] == pytest.approx(0.6 * 0.2 + 0.4 * 0.5)
