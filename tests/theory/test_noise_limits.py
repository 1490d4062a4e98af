"""Noise at its limits: constants, few rows, many columns, exact collinearity, missing values."""

import numpy as np
import pytest

import veil
from veil.attacks import ATTACKS

NOISES = [
    veil.AdditiveNoise(0.5, random_state=0),
    veil.AdditiveNoise(0.5, similarity=0.8, random_state=0),
    veil.MultiplicativeNoise(random_state=0),
    veil.LogNormalNoise(0.2, random_state=0),
    veil.CombinedNoise(random_state=0),
]


def table(n, d, seed=0):
    return np.random.default_rng(seed).gamma(3.0, size=(n, d)) + 0.5


def applicable(release):
    return [cls() for cls in ATTACKS.values() if not cls.requires and cls.applies_to(release.step.model)]


@pytest.mark.parametrize("noise", NOISES, ids=lambda m: m.describe())
@pytest.mark.parametrize("shape", [(2, 3), (6, 30), (50, 1)], ids=["two rows", "more columns than rows", "one column"])
def test_few_rows_and_many_columns(noise, shape):
    """Everything is published, restored, attacked and recovered, or refused in one line."""
    x = table(*shape)
    release, key = veil.publish(x, noise)
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-4, atol=1e-4)
    for attack in applicable(release):
        try:
            guess = attack.run(release)
        except veil.NotApplicableError:
            continue
        assert guess.values.shape == x.shape
        assert np.isfinite(guess.values).all(), attack
    found = veil.MomentRecovery().fit(release)
    assert np.isfinite(found.mean_).all()


@pytest.mark.parametrize("noise", NOISES, ids=lambda m: m.describe())
def test_exactly_collinear_columns(noise):
    """One column is the sum of two others, as in the CASC census table: the covariance is singular."""
    x = table(2_000, 3)
    x = np.column_stack([x, x[:, 0] + x[:, 1]])
    release, key = veil.publish(x, noise)
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-4, atol=1e-4)
    attacks = applicable(release)
    assert attacks or isinstance(noise, veil.CombinedNoise)
    for attack in attacks:
        try:
            values = attack.run(release).values
        except veil.NotApplicableError:
            continue
        assert np.isfinite(values).all(), attack


@pytest.mark.parametrize("noise", NOISES, ids=lambda m: m.describe())
def test_missing_values_and_constants(noise):
    x = table(500, 3)
    x[::9, 1] = np.nan
    release, _ = veil.publish(x, noise)
    np.testing.assert_array_equal(np.isnan(release.to_numpy()), np.isnan(x))
    for attack in applicable(release):
        try:
            values = attack.run(release).values
        except veil.NotApplicableError:
            continue
        assert (np.isnan(values) == np.isnan(x)).all(), attack
    constant = table(50, 3)
    constant[:, 2] = 4.0
    with pytest.raises(veil.InputError, match="'x2': all 50 values are equal"):
        veil.publish(constant, noise)


def test_absolute_noise_takes_a_constant():
    x = table(500, 2)
    x[:, 1] = 4.0
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, relative=False))
    guess = veil.BayesEstimateAttack().run(release)
    assert abs(guess.values[:, 1] - 4.0).max() < 1.0, "a constant under noise is averaged out"
