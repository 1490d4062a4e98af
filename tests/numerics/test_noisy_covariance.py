"""The covariance behind noise, from the release and from what is published."""

import numpy as np
import pytest

from veil.numerics.laws import LAWS
from veil.numerics.noisy_covariance import combined, noise_variance, slopes_with_published


@pytest.mark.parametrize("law", ["normal", "laplace", "uniform"])
def test_the_noises_share_of_the_error(law):
    """3,000 draws of the noise on one table: variances within five of their standard errors."""
    rng, n = np.random.default_rng(0), 200
    x = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    factor = np.array([[1.0, 0.0], [0.7, 0.5]]) if law == "normal" else np.diag([1.0, 0.8])
    sample = {"normal": rng.normal, "laplace": rng.laplace, "uniform": rng.uniform}[law]
    bounds = {"normal": (0, 1), "laplace": (0, np.sqrt(0.5)), "uniform": (-np.sqrt(3), np.sqrt(3))}[law]
    estimates = np.array([np.cov((x + sample(*bounds, size=(n, 2)) @ factor.T).T, ddof=0) for _ in range(3_000)])
    expected = noise_variance(np.cov(x.T, ddof=0), factor @ factor.T, LAWS[law].kurtosis) / n
    # Nearly normal estimates: a variance over m draws has the relative error √(2/m); the mean takes 1/n of each record.
    np.testing.assert_allclose(estimates.var(axis=0), expected, rtol=5 * np.sqrt(2 / 3_000) + 1 / n)


def test_two_estimates_have_the_variance_that_is_said():
    rng, truth = np.random.default_rng(1), np.array([[2.0, -1.0], [-1.0, 5.0]])
    v, w = np.full((2, 2), 0.4), np.array([[0.1, 0.4], [0.4, 9.0]])
    draws = [
        combined(truth + rng.normal(size=(2, 2)) * np.sqrt(v), v, truth + rng.normal(size=(2, 2)) * np.sqrt(w), w)
        for _ in range(4_000)
    ]
    estimates, variances = np.array([d[0] for d in draws]), draws[0][1]
    np.testing.assert_allclose(variances, 1 / (1 / v + 1 / w))
    np.testing.assert_allclose(estimates.var(axis=0), variances, rtol=5 * np.sqrt(2 / 4_000))
    assert (np.abs(estimates.mean(axis=0) - truth) < 5 * np.sqrt(variances / 4_000)).all()


def test_an_estimate_that_is_not_there_changes_nothing():
    first, v = np.array([[1.0, 2.0]]), np.array([[0.1, 0.0]])
    estimate, variance = combined(first, v, np.full((1, 2), np.nan), np.full((1, 2), np.nan))
    np.testing.assert_array_equal(estimate, first)
    np.testing.assert_array_equal(variance, v)


def test_slopes_from_both_sources_beat_each():
    """Known columns of very different spreads: the weighted least squares' risk is the smallest, and as derived."""
    rng = np.random.default_rng(2)
    spread = np.array([[1.0, 0.999], [0.999, 1.0]])
    truth, noise, error = np.array([[0.5], [-0.3]]), np.array([0.02]), np.full((2, 1), 0.1)
    root, inverse = np.linalg.cholesky(noise[0] * np.linalg.inv(spread)), np.linalg.inv(spread)
    risks = []
    for _ in range(2_000):
        regression = truth + root @ rng.normal(size=(2, 1))
        told = spread @ truth + 0.1 * rng.normal(size=(2, 1))
        both = slopes_with_published(regression, spread, noise, told, error)
        risks.append([((b - truth).T @ spread @ (b - truth)).item() for b in (both, regression, inverse @ told)])
    means, errors = np.mean(risks, axis=0), np.std(risks, axis=0) / np.sqrt(2_000)
    expected = np.trace(spread @ np.linalg.inv(spread / noise[0] + spread @ spread / 0.1**2))
    assert abs(means[0] - expected) < 5 * errors[0]
    assert means[0] + 5 * errors[0] < means[1]
    assert means[0] + 5 * errors[0] < means[2]


def test_slopes_without_published_covariances_are_the_regressions():
    slopes, nothing = np.array([[0.5, 1.0], [-0.3, 2.0]]), np.full((2, 2), np.nan)
    same = slopes_with_published(slopes, np.eye(2), np.ones(2), nothing, nothing)
    np.testing.assert_array_equal(same, slopes)
