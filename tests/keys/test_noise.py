"""Noise laws: the right distribution, both tails alike, and always on the grid."""

import numpy as np
import pytest
from scipy import special, stats

from veil.keys.noise import add_noise, grid_for, standard_draws, subtract_noise
from veil.keys.randomness import row_words
from veil.numerics.laws import LAWS

WORDS = row_words(b"q" * 32, 0, 400_000)
REFERENCE = {
    "normal": stats.norm(),
    "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "laplace": stats.laplace(scale=np.sqrt(0.5)),
}


def tail_probability(words):
    return (words & np.uint64(2**63 - 1)).astype(float) * 2.0**-64 + 2.0**-65


def test_normal_quantile_matches_an_independent_implementation():
    edges = np.array([0, 1, 2**20, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    words = np.concatenate([WORDS, edges])
    ours = standard_draws(words, "normal")
    size = -special.ndtri(tail_probability(words))
    np.testing.assert_allclose(np.abs(ours), size, rtol=5e-15)
    np.testing.assert_array_equal(np.signbit(ours), words < 2**63)


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    draws = standard_draws(WORDS, law)
    # One Kolmogorov-Smirnov test per law at level 1e-4.
    assert stats.kstest(draws, REFERENCE[law].cdf).pvalue > 1e-4
    se = np.sqrt((LAWS[law].kurtosis - 1) / len(draws))
    assert abs(draws.var() - 1) < 4 * se


def test_both_tails_are_resolved_alike():
    words = np.array([0, 2**64 - 1 - (2**63 - 1)], dtype=np.uint64)
    low, high = standard_draws(words, "normal")
    assert low == -high
    assert high == pytest.approx(9.1552938, abs=1e-6)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("std", [1e-3, 0.5, 3.7, 1e6])
def test_release_is_on_the_grid_and_comes_back(law, std):
    grid = grid_for(std)
    assert grid <= std / 2**20
    assert np.log2(grid) == round(np.log2(grid))
    x = np.random.default_rng(0).normal(size=1000) * 10 * std
    words = WORDS[:1000]
    y = add_noise(x, words, law, std, grid)
    np.testing.assert_array_equal(y / grid, np.rint(y / grid))
    back = subtract_noise(y, words, law, std, grid)
    assert np.abs(back - x).max() <= grid / 2


def test_integers_come_back_exactly():
    x = np.random.default_rng(0).integers(-(2**40), 2**40, 1000).astype(float)
    for std in (0.3, 1e3, 1e9):
        grid = grid_for(std)
        y = add_noise(x, WORDS[:1000], "normal", std, grid)
        np.testing.assert_array_equal(subtract_noise(y, WORDS[:1000], "normal", std, grid), x)


def test_missing_stays_missing():
    y = add_noise(np.array([1.0, np.nan]), WORDS[:2], "normal", 1.0, grid_for(1.0))
    assert np.isnan(y).tolist() == [False, True]
