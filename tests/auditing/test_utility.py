"""Utilities: 1 for the private table, 0 for what needs no release, falling as the noise grows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import veil
from veil.auditing.truth import Truth
from veil.auditing.utility import _skill, _steps, proportions_kept, utilities
from veil.data.sources import as_table
from veil.measures import classification_retention, neighbour_retention


def table(kind, n=1_000):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, 1))
    if kind == "normal":
        return latent + rng.normal(size=(n, 3))
    if kind == "skewed":
        return np.exp(latent / 2 + rng.normal(size=(n, 3)) / 2)
    return np.where(rng.random((n, 3)) < 0.5, 0.0, np.abs(latent + rng.normal(size=(n, 3))))


def kept(x, scale, key=0):
    release, _ = veil.publish(x, veil.AdditiveNoise(scale, random_state=key))
    return utilities(x, release, labels=x[:, 0] > np.quantile(x[:, 0], 0.6))


@pytest.mark.parametrize("kind", ["normal", "skewed", "half zeros"])
def test_noise_of_100_standard_deviations_keeps_nothing(kind):
    utility = kept(table(kind), 100.0)
    assert set(utility) == set(veil.auditing.goals.UTILITIES) - {"proportions"}
    assert {name: value for name, value in utility.items() if value > 0.05} == {}


@pytest.mark.parametrize("kind", ["normal", "skewed"])
def test_a_release_that_is_the_private_table_keeps_everything(kind):
    """Noise that no bin of a reconstruction could resolve leaves the distribution as it is released."""
    assert {name: value for name, value in kept(table(kind), 1e-6).items() if value < 0.99} == {}


def test_weak_noise_keeps_the_distribution_of_a_column_with_an_atom_and_a_long_tail():
    """Bins follow the noise. In 60 bins over the whole range, the zeros were spread over a fiftieth of it."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((5_000, 1)) < 0.9, 0.0, 5e3 + 1e4 * rng.pareto(3.0, (5_000, 1)))
    x[:3] = 5e5
    shares = []
    for scale in (0.1, 0.01, 0.001):
        release, _ = veil.publish(x, veil.AdditiveNoise(scale, random_state=0))
        shares.append(float(utilities(x, release)["distribution"]))
    assert shares[0] < shares[1] <= shares[2]
    assert shares[2] > 0.9


def test_utility_falls_as_the_noise_grows():
    """Over four keys, to within what keys differ by."""
    x, scales = table("normal"), (0.1, 0.5, 2.0, 10.0)
    means = {s: pd.DataFrame([kept(x, s, key) for key in range(4)]).astype(float).mean() for s in scales}
    for weak, strong in pairwise(scales):
        assert (means[strong] <= means[weak] + 0.02).all()


def test_the_skill_of_a_distribution_in_closed_form():
    """Of the uniform law on [0, 1] the median is off by ∫(F − H)² = 1/12, and the law moved by a by about a²."""
    x, quantiles = np.linspace(0.0, 1.0, 20_001), np.linspace(0.0, 1.0, 11)
    assert _skill(x, quantiles, quantiles) == pytest.approx(1.0, abs=1e-6)
    assert _skill(x, np.full(2, 0.5), np.array([0.0, 1.0])) == pytest.approx(0.0, abs=1e-4)
    a = 0.1  # the difference is a on [a, 1], and x up to a and 1 + a − x from 1 on
    moved = a * a * (1.0 - a) + 2.0 * a**3 / 3.0
    assert _skill(x, quantiles + a, quantiles) == pytest.approx(1.0 - 12.0 * moved, abs=1e-4)
    assert _skill(x, *_steps(x + a)) == pytest.approx(1.0 - 12.0 * moved, abs=1e-3)
    assert np.isnan(_skill(np.ones(5), quantiles, quantiles))


def test_the_majority_keeps_no_predictions_and_random_records_no_neighbours():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(1_000, 2)), rng.normal(size=(1_000, 2))
    labels = x[:, 0] > 1.0
    assert classification_retention(x, noise, labels) > 0.8
    assert classification_retention(x, noise, labels, over_chance=True) <= 0.0
    assert classification_retention(x, x, labels, over_chance=True) == 1.0
    assert np.isnan(classification_retention(noise, x, labels, over_chance=True))
    few = rng.integers(0, 3, size=(1_000, 2)).astype(float)
    assert neighbour_retention(few, noise) > 0.1
    assert abs(neighbour_retention(few, noise, over_chance=True)) < 4 * np.sqrt(0.1 / 2_000)
    assert neighbour_retention(few, few, over_chance=True) == 1.0


def test_proportions_that_the_majority_tells_are_not_kept():
    column = pd.DataFrame({"c": np.repeat(["a", "b", "c"], [800, 150, 50])})
    truth = Truth.of(as_table(column).read(), ["c"])
    release, _ = veil.publish(column, veil.RandomizedResponse(keep=0.9999, random_state=0))
    assert proportions_kept(truth, release) > 0.97
    recovered = []
    for key in range(10):
        release, _ = veil.publish(column, veil.RandomizedResponse(epsilon=0.002, random_state=key))
        recovered.append(float(proportions_kept(truth, release)))
    assert np.mean(recovered) < 0.05
