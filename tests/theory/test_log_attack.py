"""A8: in logarithms multiplicative noise is additive."""

import numpy as np
import pytest
from scipy import stats

import veil
from veil.attacks.noise.additive import BayesEstimateAttack, NoiseDistributionAttack
from veil.attacks.noise.logarithmic import LogAttack, fullest_window
from veil.numerics.factor_law import factor_law


def lognormal(n, seed, correlation=0.95, sd=0.8):
    z = np.random.default_rng(seed).normal(size=(n, 4))
    shared = z[:, :1]
    return np.exp(sd * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * z))


def test_scheme_two_gives_correlation_no_handle():
    """The error in logarithms is c/(1+c)·Var(u) per column, within 3 % (rounded parameters included)."""
    c, x = 0.3, lognormal(50_000, 0)
    release, _ = veil.publish(x, veil.LogNormalNoise(c, random_state=0))
    guess = LogAttack().run(release)
    error = np.mean((guess.details["log_values"] - np.log(x)) ** 2, axis=0)
    np.testing.assert_allclose(error, c / (1 + c) * np.log(x).var(axis=0), rtol=0.05)


def test_independent_factors_are_filtered_by_correlation():
    """Lognormal data: the Bayes error in logarithms is its closed form, far below the factor's own variance."""
    x = lognormal(50_000, 1)
    release, _ = veil.publish(x, veil.MultiplicativeNoise(0.4, bounds=(0.2, 3.0), random_state=1))
    guess = LogAttack().run(release)
    noise = factor_law(1, 0.4, (0.2, 3.0), None).log_moments()[1]
    eigenvalues = np.linalg.eigvalsh(np.cov(np.log(x).T))
    theory = np.mean(eigenvalues * noise / (eigenvalues + noise))
    assert np.mean((guess.details["log_values"] - np.log(x)) ** 2) == pytest.approx(theory, rel=0.05)
    assert theory < 0.5 * noise


def test_the_mean_of_x_needs_half_the_variance():
    """exp of the mean logarithm is biased down; the corrected guess has the right mean."""
    x = lognormal(50_000, 2, correlation=0.1)
    release, _ = veil.publish(x, veil.LogNormalNoise(0.9, random_state=2))
    guess = LogAttack().run(release)
    plain = np.exp(guess.details["log_values"])
    assert plain.mean() < 0.93 * x.mean()
    assert guess.values.mean() == pytest.approx(x.mean(), rel=0.02)


def test_zeros_and_signs_are_returned_exactly():
    x = np.random.default_rng(3).normal(size=(2_000, 3))
    x[:50, 1] = 0
    release, _ = veil.publish(x, veil.MultiplicativeNoise())
    guess = LogAttack().run(release)
    np.testing.assert_array_equal(np.sign(guess.values), np.sign(x))


def test_any_additive_attack_serves_as_base():
    x = lognormal(5_000, 4)
    release, _ = veil.publish(x, veil.MultiplicativeNoise(0.4, bounds=(0.2, 3.0), random_state=4))
    face = LogAttack(NoiseDistributionAttack()).run(release).details["log_values"]
    best = LogAttack(BayesEstimateAttack()).run(release).details["log_values"]
    truth = np.log(x)
    assert np.mean((best - truth) ** 2) < np.mean((face - truth) ** 2)
    with pytest.raises(veil.InputError, match="base"):
        LogAttack(base=5).run(release)


@pytest.mark.parametrize(
    "method",
    [veil.MultiplicativeNoise(0.3, bounds=(0.2, 3.0), random_state=1), veil.LogNormalNoise(0.5, random_state=1)],
)
def test_hits_are_more_than_those_of_means(method):
    """Skewed posteriors: the fullest window lies below the mean; 4,000 records of 3 columns, 3 standard errors."""
    x = np.exp(np.random.default_rng(0).multivariate_normal([8.0, 2.0, 0.0], 0.4 * np.eye(3) + 0.3, 4_000))
    release, _ = veil.publish(x, method)
    unit = 0.1 * veil.measures.standard_units(x)
    mean, hit = (veil.LogAttack(aim=aim).run(release).values for aim in ("mean", "hit"))
    difference = ((np.abs(hit - x) <= unit).astype(float) - (np.abs(mean - x) <= unit)).mean(axis=1)
    assert difference.mean() > 3 * difference.std() / np.sqrt(len(x))
    assert ((mean - x) ** 2).mean() < ((hit - x) ** 2).mean()


def test_the_fullest_window_of_a_log_normal_value():
    """Within 0.5 % of the best of all windows, narrow and wide."""
    grid = np.exp(np.linspace(-4.0, 2.0, 6_001))
    for variance, reach in ((0.02, 0.01), (0.3, 0.1), (0.3, 1.0), (1.0, 0.3)):
        law = stats.lognorm(np.sqrt(variance))
        best = (law.cdf(grid + reach) - law.cdf(np.maximum(grid - reach, 0.0))).max()
        at = float(fullest_window(np.zeros((1, 1)), np.array([variance]), np.array([reach]))[0, 0])
        assert law.cdf(at + reach) - law.cdf(max(at - reach, 0.0)) > 0.995 * best
