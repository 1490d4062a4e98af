"""P1 and the attacks on it obey their closed forms (Huang, Du and Chen 2005; catalogue)."""

import numpy as np
import pytest

import veil
from veil.attacks.noise.additive import clipped_prior
from veil.errors import NotApplicableError


def normal_table(eigenvalues, n, seed):
    """Normal records with the given covariance eigenvalues in a random basis."""
    rng = np.random.default_rng(seed)
    d = len(eigenvalues)
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * np.sqrt(eigenvalues) @ q.T


def mse(guess, truth):
    return float(np.mean((guess.values - truth) ** 2))


@pytest.mark.parametrize("distribution", ["normal", "uniform", "laplace"])
def test_scale_is_the_standard_deviation_of_the_noise(distribution):
    x = np.random.default_rng(0).normal(size=(100_000, 2)) * [1, 50]
    release, _ = veil.publish(x, veil.AdditiveNoise(0.5, distribution=distribution, random_state=0))
    noise = release.to_numpy() - x
    stated = np.array(release.only_part.parameters["scale"])
    kurtosis = {"normal": 3.0, "uniform": 1.8, "laplace": 6.0}[distribution]
    se = np.sqrt((kurtosis - 1) / len(x)) / 2
    np.testing.assert_allclose(noise.std(axis=0) / stated, 1, atol=4 * se)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 4 / np.sqrt(len(x))
    assert abs(np.corrcoef(noise[:, 0], x[:, 0])[0, 1]) < 4 / np.sqrt(len(x))


def test_published_scale_is_rounded_before_use():
    x = np.random.default_rng(0).normal(size=(1000, 1)) * 1.2345678
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    assert release.only_part.parameters["scale"] == [float(f"{x.std():.1e}")]


def test_face_value_attack_has_the_noise_variance():
    x = normal_table([9.0, 4.0, 1.0], 50_000, 1)
    release, _ = veil.publish(x, veil.AdditiveNoise(2.0, relative=False, random_state=1))
    se = 4 * np.sqrt(2 / x.size)
    assert mse(veil.NoiseDistributionAttack().run(release), x) == pytest.approx(4, abs=4 * se)


def test_bayes_estimate_reaches_the_theoretical_error():
    """Eigenvalues 100 five times and 1 forty-five times, σ² = 4, N = 20,000: within 2 %."""
    eigenvalues = np.array([100.0] * 5 + [1.0] * 45)
    x = normal_table(eigenvalues, 20_000, 2)
    release, _ = veil.publish(x, veil.AdditiveNoise(2.0, relative=False, random_state=2))
    guess = veil.BayesEstimateAttack().run(release)
    theory = np.mean(eigenvalues * 4 / (eigenvalues + 4))
    assert mse(guess, x) == pytest.approx(theory, rel=0.02)
    assert np.mean(guess.details["expected_mse"]) == pytest.approx(theory, rel=0.02)


def test_uncorrelated_columns_give_the_univariate_filter():
    """Nothing to exploit: the error is vσ²/(v + σ²) per column, no better."""
    x = np.random.default_rng(3).normal(size=(50_000, 4)) * 3
    release, _ = veil.publish(x, veil.AdditiveNoise(3.0, relative=False, random_state=3))
    guess = veil.BayesEstimateAttack().run(release)
    assert mse(guess, x) == pytest.approx(9 * 9 / 18, rel=0.02)


def test_clipping_in_the_eigenbasis_beats_the_plug_in():
    """Errata H: Σy − σ²I can be indefinite; at N = 100, d = 35 clipping takes .756 to .566."""
    clipped, plain = [], []
    for seed in range(20):
        x = normal_table(np.ones(35), 100, seed)
        release, _ = veil.publish(x, veil.AdditiveNoise(1.0, relative=False, random_state=seed))
        clipped.append(mse(veil.BayesEstimateAttack().run(release), x))
        y = release.to_numpy()
        cov = np.cov(y.T, ddof=0)
        wrong = y.mean(axis=0) + (y - y.mean(axis=0)) @ (np.eye(35) - np.linalg.inv(cov)).T
        plain.append(np.mean((wrong - x) ** 2))
    assert np.mean(clipped) < 0.8 * np.mean(plain)


def test_equal_columns_average_the_noise_away():
    """m equal columns with independent noise: the error tends to σ²/m (H, introduction)."""
    value = np.random.default_rng(4).normal(size=(100_000, 1)) * 10
    for m in (4, 16):
        x = np.repeat(value, m, axis=1)
        release, _ = veil.publish(x, veil.AdditiveNoise(1.0, relative=False, random_state=m))
        theory = 100 / (100 * m + 1)
        assert mse(veil.BayesEstimateAttack().run(release), x) == pytest.approx(theory, rel=0.1)


def test_columns_of_different_noise_are_whitened():
    x = normal_table([50.0, 1.0, 1.0], 50_000, 5) * [1, 10, 100]
    scale = np.array([2.0, 5.0, 300.0])
    release, _ = veil.publish(x, veil.AdditiveNoise(scale, relative=False, random_state=5))
    sigma = np.cov(x.T, ddof=0)
    noise = np.diag(scale**2)
    exact = np.diag(sigma - sigma @ np.linalg.inv(sigma + noise) @ sigma)
    guess = veil.BayesEstimateAttack().run(release)
    np.testing.assert_allclose(np.mean((guess.values - x) ** 2, axis=0), exact, rtol=0.03)


def test_missing_cells_are_conditioned_on_the_rest():
    x = normal_table([50.0, 1.0, 1.0], 20_000, 6)
    holes = x.copy()
    holes[np.random.default_rng(0).random(x.shape) < 0.05] = np.nan
    release, _ = veil.publish(holes, veil.AdditiveNoise(2.0, relative=False, random_state=6))
    guess = veil.BayesEstimateAttack().run(release)
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(holes))
    assert np.nanmean((guess.values - x) ** 2) < np.nanmean((release.to_numpy() - x) ** 2)


def test_a_granted_noise_law_replaces_the_manifest():
    x = normal_table([9.0, 1.0], 5_000, 7)
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, relative=False, random_state=7))
    told = veil.BayesEstimateAttack().run(release, veil.KnownNoise([1.0, 1.0]))
    np.testing.assert_allclose(told.values, veil.BayesEstimateAttack().run(release).values)
    louder = veil.BayesEstimateAttack().run(release, veil.KnownNoise([4.0, 4.0]))
    assert louder.values.std() < told.values.std()


def test_noise_without_power_in_some_direction_is_refused():
    with pytest.raises(NotApplicableError, match="singular"):
        clipped_prior(np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]]))


def test_units_of_very_different_size_do_not_stop_the_attack():
    x = normal_table([50.0, 1.0, 1.0], 5_000, 8)
    scale = np.array([1e-9, 1.0, 1e9])
    same = veil.publish(x, veil.AdditiveNoise(0.5, random_state=8))[0]
    moved = veil.publish(x * scale, veil.AdditiveNoise(0.5, random_state=8))[0]
    plain = mse(veil.BayesEstimateAttack().run(same), x)
    rescaled = veil.BayesEstimateAttack().run(moved)
    assert np.mean((rescaled.values / scale - x) ** 2) == pytest.approx(plain, rel=0.1)


def test_no_complete_record_is_no_obstacle():
    x = normal_table([50.0, 1.0, 1.0, 1.0], 4_000, 9)
    holes = x.copy()
    holes[np.arange(4_000), np.arange(4_000) % 4] = np.nan
    release, _ = veil.publish(holes, veil.AdditiveNoise(2.0, relative=False, random_state=9))
    guess = veil.BayesEstimateAttack().run(release)
    assert np.nanmean((guess.values - x) ** 2) < 0.7 * np.nanmean((release.to_numpy() - x) ** 2)
