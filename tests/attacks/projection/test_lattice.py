"""All whole-number records with a given image: complete, exact, and honest about what it did not finish."""

import itertools

import numpy as np
import pytest

from veil.attacks.projection.lattice import LatticeSearch
from veil.errors import InputError


def table(d, k, n, high, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d)) / np.sqrt(k), rng.integers(0, high + 1, size=(n, d)).astype(float)


def search(a, high, **options):
    return LatticeSearch(a, np.zeros(a.shape[1]), np.full(a.shape[1], float(high)), **options)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_letter_like_records_are_unique(k):
    """Errata L-x: six attributes of 16 levels follow exactly from k = 1 equation on."""
    a, x = table(6, k, 1_000, 15)
    found = search(a, 15).solve(x @ a.T)
    assert found.unique.all()
    np.testing.assert_array_equal(found.values, x)
    np.testing.assert_array_equal(found.record, np.arange(1_000))


@pytest.mark.parametrize(("d", "k", "high"), [(16, 2, 15), (30, 15, 100), (6, 3, 100_000), (4, 6, 9)])
def test_many_attributes_wide_boxes_and_more_equations_than_unknowns(d, k, high):
    a, x = table(d, k, 50, high)
    found = search(a, high).solve(x @ a.T)
    assert found.unique.all()
    np.testing.assert_array_equal(found.values, x)


@pytest.mark.parametrize("tolerance", [0.02, 0.1, 0.3])
def test_every_match_is_found_and_nothing_else(tolerance):
    """Against all 4⁴ candidates, with a coarse y."""
    a, x = table(4, 2, 40, 3, seed=1)
    y = np.round(x @ a.T / (2 * tolerance)) * 2 * tolerance
    box = np.array(list(itertools.product(range(4), repeat=4)), dtype=float)
    found = search(a, 3, tolerance=tolerance).solve(y, most_matches=256)
    assert found.complete.all()
    for i in range(40):
        expected = {tuple(c) for c in box[(np.abs(box @ a.T - y[i]) <= tolerance + 1e-12).all(axis=1)]}
        assert {tuple(c) for c in found.values[found.record == i]} == expected
    assert found.count.max() > 1 or tolerance < 0.1


def test_equal_coefficients_are_ambiguous():
    found = search(np.array([[1.0, 1.0]]), 3).solve(np.array([[0.0], [2.0], [6.0], [7.0]]))
    np.testing.assert_array_equal(found.count, [1, 3, 1, 0])
    assert found.complete.all()


def test_a_y_that_no_record_has_matches_none():
    a, x = table(6, 3, 100, 15)
    found = search(a, 15).solve(x @ a.T + 1e-6)
    assert not found.count.any()
    assert found.complete.all()
    assert not len(found.values)


def test_expected_matches_follow_the_count():
    """With a tolerance so coarse that chance matches abound, their mean number is as stated."""
    a, x = table(5, 1, 300, 9, seed=2)
    plan = search(a, 9, tolerance=0.0005)
    found = plan.solve(x @ a.T, most_matches=4_000)
    assert found.complete.all()
    chance = found.count - 1
    # The formula is for the middle of the box's image; by the normal law a drawn record has √2 times less.
    assert np.mean(chance) == pytest.approx(plan.expected_matches / np.sqrt(2), rel=0.15)


def test_limits_are_reported():
    a, x = table(12, 1, 5, 15)
    plan = search(a, 15)
    assert plan.expected_matches > 10
    assert plan.expected_nodes > 10_000
    assert not plan.solve(x @ a.T, most_nodes=1_000).complete.any()
    assert search(np.ones((1, 6)), 15).solve(np.array([[45.0]]), most_matches=4).count[0] == 4


def test_fixed_columns_and_empty_equations():
    a = np.array([[1.0, 0.37, 0.0], [0.0, 0.0, 0.0]])
    plan = LatticeSearch(a, np.array([2.0, 0.0, 5.0]), np.array([2.0, 9.0, 5.0]))
    found = plan.solve(np.array([[2 + 3 * 0.37, 0.0]]))
    np.testing.assert_array_equal(found.values, [[2, 3, 5]])


def test_an_empty_box_is_refused():
    with pytest.raises(InputError, match="lower and upper"):
        LatticeSearch(np.ones((1, 2)), np.array([0.2, 0.0]), np.array([0.8, 1.0]))
