"""Quantile intervals hold for every law and shape, and are no wider than the noise makes them."""

import numpy as np
import pytest

import veil
from veil.recovery.bands import quantile_interval

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "bimodal": lambda rng, n: rng.choice([-3.0, 3.0], n) + 0.2 * rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "whole numbers": lambda rng, n: rng.integers(0, 4, n).astype(float),
}


@pytest.mark.parametrize("law", ["normal", "uniform", "laplace"])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_quantiles_are_covered_at_once(law, shape):
    """100 tables: the band may fail in 5; being conservative it fails in none or one."""
    failures = 0
    for seed in range(100):
        x = SHAPES[shape](np.random.default_rng(seed), 2_000)[:, None]
        release, _ = veil.publish(x, veil.AdditiveNoise(1.0, distribution=law, random_state=seed))
        scale = release.only_part.parameters["scale"][0]
        y = release.to_numpy()[:, 0]
        for q in (0.05, 0.25, 0.5, 0.75, 0.95):
            low, high = quantile_interval(y, q, (law, scale))
            # The table's own q-quantile is any point at which its distribution function passes q.
            left, right = np.quantile(x, q, method="inverted_cdf"), np.quantile(x, q, method="higher")
            failures += not (low <= right and left <= high)
    assert failures <= 5


def test_the_interval_is_about_the_noise_wide_and_vanishes_with_it():
    y = np.random.default_rng(0).normal(size=200_000)
    exact = quantile_interval(y, 0.5, ("normal", 0.0))
    assert exact[1] - exact[0] < 0.02
    noisy = y + 0.5 * np.random.default_rng(1).normal(size=len(y))
    low, high = quantile_interval(noisy, 0.5, ("normal", 0.5))
    assert low < 0 < high
    assert high - low < 4 * 0.5


def test_ends_that_cannot_be_bounded_are_infinite_and_bad_input_is_refused():
    few = np.array([1.0, 2.0, 3.0])
    assert quantile_interval(few, 0.05, ("normal", 1.0))[0] == -np.inf
    with pytest.raises(veil.InputError, match="q must"):
        quantile_interval(few, 2.0, ("normal", 1.0))
    with pytest.raises(veil.InputError, match="no values"):
        quantile_interval(np.array([np.nan]), 0.5, ("normal", 1.0))
    with pytest.raises(veil.InputError, match="noise"):
        quantile_interval(few, 0.5, ("cauchy", 1.0))
