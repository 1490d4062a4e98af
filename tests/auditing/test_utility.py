"""Utilities: 1 for the private table, 0 for what needs no release, falling as the noise grows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import veil
from _tables import described
from veil.auditing.recovered import _skill, _steps, proportions_kept
from veil.auditing.truth import Truth
from veil.auditing.utility import utilities
from veil.data.schema import Kind
from veil.data.sources import as_table
from veil.measures import classification_retention, neighbour_retention
from veil.release.models import ResponseModel


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


def straight(n, seed=0):
    """Three columns, and gaps in the second and third that depend on the first."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    x = np.column_stack([a, 10 + a + rng.normal(size=n) / 2, a - rng.normal(size=n)])
    missing = np.zeros(x.shape, dtype=bool)
    missing[:, 1], missing[:, 2] = rng.random((2, n)) < 1 / (1 + np.exp(-2 * a))
    return np.where(missing, np.nan, x)


def test_moments_of_a_table_with_gaps_are_held_against_its_own_from_all_its_values():
    """Next to no noise keeps everything; of complete records alone the mean would be off by half a deviation."""
    x = straight(4_000)
    utility = kept_with_gaps(x, 1e-6)
    assert utility["means"] > 0.999
    assert utility["covariance"] > 0.999
    noisy = kept_with_gaps(x, 0.5)
    assert 0.9 < noisy["means"] < 1.0
    assert 0.8 < noisy["covariance"] < 1.0
    solitary = np.where(np.arange(12).reshape(4, 3) % 4 == 0, 1.0 * np.arange(12).reshape(4, 3), np.nan)
    assert "means" not in kept_with_gaps(solitary, 0.5, relative=False)


def kept_with_gaps(x, scale, **settings):
    release, _ = veil.publish(x, veil.AdditiveNoise(scale, random_state=0, **settings))
    return utilities(x, release)


def test_proportions_of_a_table_with_gaps_are_held_against_its_own_from_all_its_values():
    """Reports without a change, some of them missing depending on the other column: nothing is lost."""
    rng = np.random.default_rng(0)
    first = rng.choice(list("ab"), 4_000)
    second = np.where(rng.random(4_000) < np.where(first == "a", 0.2, 0.7), "yes", "no")
    frame = pd.DataFrame({"x": first, "y": np.where((first == "b") & (rng.random(4_000) < 0.5), None, second)})
    model = ResponseModel((("a", "b"), ("no", "yes")), (np.eye(2), np.eye(2)))
    table = as_table(frame).read()
    release = described(table, model, names=("x", "y"), dtypes="string", kind=Kind.CATEGORY)
    assert proportions_kept(Truth.of(table, ["x", "y"]), release) == pytest.approx(1.0)
