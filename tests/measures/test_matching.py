"""Matching guessed signals to private columns: up to order, sign and scale, and no further."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures.matching import match_signals, matched_signals


def table(seed, n=200, d=4):
    return np.random.default_rng(seed).gamma(1.5, np.arange(1, d + 1), (n, d))


@given(
    st.integers(0, 10_000),
    st.permutations(range(4)),
    st.lists(st.sampled_from([-3.0, -0.5, 0.01, 40.0]), min_size=4, max_size=4),
)
def test_order_sign_and_scale_are_undone_exactly(seed, order, factors):
    x = table(seed)
    guess = (x * factors + 7.0)[:, order]
    found = match_signals(x, guess)
    np.testing.assert_array_equal(np.array(order)[found.order], np.arange(4))
    np.testing.assert_array_equal(found.sign, np.sign(factors))
    np.testing.assert_allclose(found.scale, 1 / np.abs(factors), rtol=1e-9)
    np.testing.assert_allclose(found.correlations, 1.0, atol=1e-12)
    np.testing.assert_allclose(matched_signals(x, guess), x, atol=1e-8)


def test_the_assignment_is_optimal_not_greedy():
    """Correlations about [[.75, .66], [.70, 0]]: the largest first would leave the second column with nothing."""
    a, b, e = np.random.default_rng(0).normal(size=(3, 50_000))
    x = np.column_stack([0.75 * a + 0.66 * b, 0.7 * a + 0.71 * e])
    guess = np.column_stack([a, b])
    found = match_signals(x, guess)
    np.testing.assert_array_equal(found.order, [1, 0])
    every = np.abs(np.corrcoef(x.T, guess.T)[:2, 2:])
    np.testing.assert_allclose(found.correlations, [every[0, 1], every[1, 0]])
    assert every.argmax() == 0


def test_noise_is_shrunk_by_its_scale_and_matched_by_chance_only():
    """|correlation| of unrelated signals has standard deviation 1/√N; the best of four is below 5 of them."""
    n = 10_000
    found = match_signals(table(1, n), np.random.default_rng(2).normal(size=(n, 4)))
    assert found.correlations.max() < 5 / np.sqrt(n)
    assert np.all(found.scale < 5 / np.sqrt(n) * table(1, n).std(axis=0))


def test_nan_and_constant_columns_are_matched_to_nothing():
    x = table(3)
    guess = np.full_like(x, np.nan)
    guess[:, 0], guess[:, 1] = -x[:, 2], 1e6
    found = match_signals(x, guess)
    np.testing.assert_array_equal(found.order, [-1, -1, 0, -1])
    np.testing.assert_array_equal(found.sign, [0, 0, -1, 0])
    np.testing.assert_allclose(found.correlations, [0, 0, 1, 0], atol=1e-12)
    values = matched_signals(x, guess)
    np.testing.assert_allclose(values[:, 2], x[:, 2])
    assert np.isnan(values[:, [0, 1, 3]]).all()


def test_single_missing_values_are_left_out():
    x = table(4)
    guess = x[:, ::-1].copy()
    guess[::7, 1] = np.nan
    found = match_signals(x, guess)
    np.testing.assert_array_equal(found.order, [3, 2, 1, 0])
    np.testing.assert_allclose(found.correlations, 1.0)


def test_fewer_or_more_signals_than_columns():
    x = table(5)
    few = match_signals(x, x[:, [3, 1]])
    np.testing.assert_array_equal(few.order, [-1, 1, -1, 0])
    more = match_signals(x[:, :2], x[:, ::-1])
    np.testing.assert_array_equal(more.order, [3, 2])


def test_scale_and_origin_are_kept_where_the_guess_has_them():
    x = table(6)
    guess = -(0.5 * x + 1.0)[:, ::-1]
    np.testing.assert_allclose(matched_signals(x, guess, scale=False, origin=False), 0.5 * x + 1.0)
    kept = matched_signals(x, guess, scale=False)
    np.testing.assert_allclose(kept.mean(axis=0), x.mean(axis=0))
    np.testing.assert_allclose(kept.std(axis=0), 0.5 * x.std(axis=0))


def test_another_number_of_records_is_refused():
    with pytest.raises(InputError, match="guess: has 3 records where truth has 4"):
        match_signals(np.ones((4, 2)), np.ones((3, 2)))
