"""Pooled eigenvalues keep the Bayes filter below UDR and PCA-DR at every N (errata, huang2005)."""

import numpy as np
import pytest

from veil.attacks.noise.additive import clipped_prior
from veil.attacks.noise.shrinkage import bulk_start, direction_errors, pooled_eigenvalues, pooled_prior
from veil.errors import NotApplicableError

STRATEGY = np.array([400, 250, 150, 90, 60, 40, 25, 15, 10, 6, *(3 * 0.85 ** np.arange(25))])


def two_levels(p, d=100, small=1.0, average=100.0):
    """p large and d − p small eigenvalues with a given average."""
    return np.array([(average * d - small * (d - p)) / p] * p + [small] * (d - p))


def errors(eigenvalues, n, seed, variance=25.0):
    """M.s.e. of plain BE, pooled BE, PCA with the best p, UDR in closed form, and the estimate of pooled BE's."""
    rng = np.random.default_rng(seed)
    d = len(eigenvalues)
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    x = rng.normal(size=(n, d)) * np.sqrt(eigenvalues) @ q.T
    y = x + rng.normal(size=(n, d)) * np.sqrt(variance)
    mean = y.mean(axis=0)
    covariance, noise = np.cov(y.T, ddof=0), variance * np.eye(d)

    def bayes(prior):
        return np.mean((mean + (y - mean) @ np.linalg.solve(prior + noise, prior) - x) ** 2)

    found, basis = np.linalg.eigh(covariance)
    score, truth = (y - mean) @ basis[:, ::-1], (x - mean) @ basis[:, ::-1]
    change = np.mean(score**2 - 2 * score * truth, axis=0)
    pca = (np.mean(truth**2, axis=0).sum() + np.append(0, np.cumsum(change)).min()) / d
    v = q**2 @ eigenvalues
    scaled = found / variance
    expected = direction_errors(scaled, pooled_eigenvalues(scaled, n), n).mean() * variance
    udr = np.mean(v * variance / (v + variance))
    pooled = bayes(pooled_prior(covariance, noise, n))
    return np.array([bayes(clipped_prior(covariance, noise)), pooled, pca, udr, expected])


def mean_errors(eigenvalues, n, seeds, variance=25.0):
    runs = np.array([errors(eigenvalues, n, seed, variance) for seed in range(seeds)])
    return runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(seeds)


@pytest.mark.parametrize(
    ("n", "seeds", "published"),
    [(300, 20, 2.62), (1_000, 20, 2.30), pytest.param(10_000, 3, 2.16, marks=pytest.mark.slow)],
)
def test_pooling_repairs_the_filter_at_small_n(n, seeds, published):
    """d = 100, p = 5: the plain filter loses to PCA (3.1 to 2.35 at N = 1,000), the pooled one wins."""
    (plain, pooled, pca, _, _), se = mean_errors(two_levels(5), n, seeds)
    assert plain > pca > pooled
    assert pooled < published + 3 * se[1]
    assert pooled > np.mean(two_levels(5) * 25 / (two_levels(5) + 25)) - 3 * se[1]  # nobody beats the known prior


@pytest.mark.parametrize("p", [2, 5, 20, 50, 80, 90, 98, 100])
@pytest.mark.parametrize("n", [60, 300, 1_000])
def test_never_above_udr_or_pca(p, n):
    (_, pooled, pca, udr, _), _ = mean_errors(two_levels(p), n, 20 if n == 300 else 5)
    assert pooled < 1.01 * min(udr, pca)


@pytest.mark.slow
@pytest.mark.parametrize("p", [2, 5, 50, 90, 100])
@pytest.mark.parametrize("n", [10_000, 50_000])
def test_never_above_udr_or_pca_with_many_records(p, n):
    (plain, pooled, pca, udr, _), _ = mean_errors(two_levels(p), n, 3)
    assert pooled < 1.01 * min(udr, pca)
    assert pooled < plain


@pytest.mark.parametrize("variance", [0.5, 10.0, 80.0])
@pytest.mark.parametrize("n", [300, 3_000])
def test_a_smooth_spectrum_has_no_bulk_to_lose(variance, n):
    (plain, pooled, pca, udr, _), _ = mean_errors(STRATEGY, n, 5, variance)
    assert pooled < min(udr, pca)
    assert pooled < 1.002 * plain


def test_the_bulk_begins_after_the_large_eigenvalues():
    rng = np.random.default_rng(0)
    for p in (2, 5, 20, 50):
        y = rng.normal(size=(1_000, 100)) * np.sqrt(1 + two_levels(p) / 25)
        assert bulk_start(np.linalg.eigvalsh(np.cov(y.T, ddof=0))[::-1], 1_000) == p


def test_equal_eigenvalues_are_one_pool():
    """Columns alike and unrelated: the pooled filter is the univariate one, gain 1 − 1/mean(ℓ)."""
    y = np.random.default_rng(1).normal(size=(500, 40)) * 2
    found = np.linalg.eigvalsh(np.cov(y.T, ddof=0))
    pooled = pooled_eigenvalues(found, 500)
    assert np.ptp(pooled) == 0
    assert pooled[0] == pytest.approx(found.mean(), rel=0.01)


def test_pure_noise_is_filtered_to_nothing():
    """No signal, no guess better than the mean: the estimate's power is what its error bound allows."""
    y = np.random.default_rng(2).normal(size=(300, 100))
    prior = pooled_prior(np.cov(y.T, ddof=0), np.eye(100), 300, alone=False)
    assert np.trace(prior) / 100 < 4 * np.sqrt(2 / y.size)


def test_columns_of_unlike_signal_and_no_correlation_are_filtered_alone():
    rng = np.random.default_rng(3)
    scale = np.geomspace(0.3, 10, 60)
    x = rng.normal(size=(200, 60)) * scale
    y = x + rng.normal(size=x.shape)
    prior = pooled_prior(np.cov(y.T, ddof=0), np.eye(60), 200)
    assert not np.any(prior - np.diag(np.diag(prior)))
    guess = y.mean(axis=0) + (y - y.mean(axis=0)) @ np.linalg.solve(prior + np.eye(60), prior)
    assert np.mean((guess - x) ** 2) < 1.03 * np.mean(scale**2 / (scale**2 + 1))


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_the_risk_estimate_tells_the_error(n):
    """Stein's estimate is near the true error, where the prior's own 1 − 1/τ is 6 % too low at N = 1,000."""
    (_, pooled, _, _, expected), se = mean_errors(two_levels(5), n, 5 if n == 1_000 else 2)
    assert expected == pytest.approx(pooled, rel=0.02, abs=4 * se[4])


def test_order_of_eigenvalues_does_not_matter_and_few_records_do_not_stop_it():
    values = np.array([0.9, 50.0, 1.1, 7.0])
    np.testing.assert_array_equal(pooled_eigenvalues(values, 50)[::-1], pooled_eigenvalues(values[::-1], 50))
    for n in (1, 2, 3, 5):
        y = np.random.default_rng(n).normal(size=(n, 8))
        prior = pooled_prior(np.cov(y.T, ddof=0) if n > 1 else np.zeros((8, 8)), np.eye(8), n)
        assert np.isfinite(prior).all()
        assert np.linalg.eigvalsh(prior)[0] > -1e-9
    assert (pooled_eigenvalues(np.ones(3), 100) < 1.1).all()  # ties


def test_noise_without_power_in_some_direction_is_refused():
    with pytest.raises(NotApplicableError, match="singular"):
        pooled_prior(np.eye(2), np.ones((2, 2)), 100)
