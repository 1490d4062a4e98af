"""A9 against binary projection (P9): secret subsets of bits, found from known records."""

import numpy as np
import pytest

import veil
from veil.attacks.rotation.parity import _eliminated, solve_parities


def basket(n=400, d=60, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.uniform(size=(n, d)) < rng.uniform(0.2, 0.8, size=d)).astype(float)


def test_elimination_finds_what_follows():
    matrix = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    determined, source = _eliminated(matrix)
    assert determined.tolist() == [True, True, False, False]
    np.testing.assert_array_equal(source[0], [True, True, False])


def test_as_many_records_as_attributes_give_everything_that_the_matrix_determines():
    x = basket(300, 20)
    release, _ = veil.publish(x, veil.BinaryProjection(400, epsilon=0.5, scale=2, random_state=1))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:60], range(60)))
    assert guess.details["understood"] == 400
    assert guess.details["determined"].all()
    np.testing.assert_array_equal(guess.values, x)


def test_a_few_records_find_the_attributes_released_as_they_are():
    """With d·p = .25 ones a row, most rows are empty and a fifth of them are one attribute itself."""
    x = basket(500, 60)
    release, _ = veil.publish(x, veil.BinaryProjection(600, random_state=2))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:16], range(16)))
    told = guess.details["determined"]
    assert told.mean() > 0.8
    # A wrong subset of at most two agrees on all 16 by chance in 60²/2¹⁷ of the bits.
    assert (guess.values[:, told] == x[:, told]).mean() > 0.98
    assert (guess.values == x).mean() > (np.maximum(x.mean(axis=0), 1 - x.mean(axis=0))).mean() + 0.1


def test_one_record_tells_nothing():
    x = basket(500, 60)
    release, _ = veil.publish(x, veil.BinaryProjection(600, random_state=3))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:1], [0]))
    assert not guess.details["determined"].any()
    np.testing.assert_array_equal(guess.values, np.tile(x[0], (500, 1)))


@pytest.mark.parametrize("d", [64, 70])
def test_wider_than_a_word(d):
    x = basket(200, d, seed=4)
    matrix = np.eye(d)
    found = solve_parities(x[:20], (x[:20] @ matrix.T) % 2, (x @ matrix.T) % 2, 0.01)
    assert (found.values[:, found.determined] == x[:, found.determined]).mean() > 0.98
