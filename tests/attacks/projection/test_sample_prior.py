"""A15 with a sample: the Gaussian conditional mean on normal records, and better on others."""

import numpy as np
import pytest

from _tables import release_of
from veil.attacks.knowledge import KnownMatrix, KnownSample
from veil.attacks.projection.disclosed_matrix import DisclosedMatrixAttack
from veil.attacks.projection.linear_bayes import conditional_mean, prior_moments
from veil.attacks.projection.sample_prior import SamplePrior, best_prior
from veil.release.models import ProjectionModel

SIZES = [(3, 1), (3, 2), (6, 3), (6, 5), (12, 4), (12, 8)]


def setting(d, k, seed):
    rng = np.random.default_rng([seed, d, k])
    return rng, rng.normal(size=(d, d)), rng.normal(size=(k, d)) / np.sqrt(k)


def mse(guess, z):
    return float(((guess - z) ** 2).mean())


def chosen(sample, r, noise=None):
    k, d = r.shape
    return best_prior(sample, r, np.zeros(k) if noise is None else noise, np.arange(d), np.arange(k))


@pytest.mark.parametrize(("d", "k"), SIZES)
def test_normal_records_get_the_conditional_mean(d, k):
    """At most 1.01 times the error of the true moments with 2,000 records, where (k + 1)/n of it is their own error."""
    ratios = []
    for seed in range(6):
        rng, root, r = setting(d, k, seed)
        z, sample = (rng.normal(size=(n, d)) @ root.T + 4.0 for n in (3_000, 2_000))
        release = release_of(z @ r.T, ProjectionModel(np.ones(d), k, "gaussian", np.zeros(k)))
        guess = DisclosedMatrixAttack()._run(release, (KnownMatrix(r), KnownSample(sample))).values
        ideal = conditional_mean(z @ r.T, r, (np.full(d, 4.0), root @ root.T), np.zeros(k))
        ratios.append(mse(guess, z) / mse(ideal, z))
    assert np.mean(ratios) <= 1.01


@pytest.mark.parametrize(("d", "k", "n"), [(6, 3, 100), (12, 4, 100), (6, 5, 200)])
def test_few_records_cost_what_a_regression_costs(d, k, n):
    """1 + (k + 1)/(n − k − 2) for normal records (Stein 1960), over 40 samples; a shrunk covariance is far off."""
    ratios, shrunk = [], []
    for seed in range(40):
        rng, root, r = setting(d, k, seed)
        z, sample = (rng.normal(size=(m, d)) @ root.T for m in (2_000, n))
        y, none = z @ r.T, np.zeros(k)
        ideal = mse(conditional_mean(y, r, (np.zeros(d), root @ root.T), none), z)
        ratios.append(mse(chosen(sample, r).mean(y, r, none), z) / ideal)
        shrunk.append(mse(conditional_mean(y, r, prior_moments(sample), none), z) / ideal)
    theory = 1.0 + (k + 1) / (n - k - 2)
    assert np.mean(ratios) == pytest.approx(theory, abs=4 * np.std(ratios) / np.sqrt(40) + 0.005)
    assert np.mean(shrunk) > np.mean(ratios)


def test_a_shrunk_covariance_ruins_columns_that_nearly_depend():
    """Five of six directions are known exactly: what is left must not be shrunk."""
    worst = []
    for seed in range(10):
        rng, root, r = setting(6, 5, seed)
        z, sample = (rng.normal(size=(m, 6)) @ root.T for m in (1_000, 200))
        y, none = z @ r.T, np.zeros(5)
        ideal = mse(conditional_mean(y, r, (np.zeros(6), root @ root.T), none), z)
        worst.append(
            [mse(p.mean(y, r, none), z) / ideal for p in (chosen(sample, r), SamplePrior(prior_moments(sample)))]
        )
    ours, shrunk = np.max(worst, axis=0)
    assert ours < 1.2
    assert shrunk > 3.0


def clusters(rng, n, d, root):
    centres = 2.0 * np.random.default_rng(99).normal(size=(4, d))
    return (centres[rng.integers(0, 4, n)] + 0.5 * rng.normal(size=(n, d))) @ root.T


def curve(rng, n, d, root):
    t = rng.uniform(0.0, 2 * np.pi, n)
    return np.column_stack([np.cos((j // 2 + 1) * t + j % 2 * np.pi / 2) for j in range(d)]) @ root.T


@pytest.mark.parametrize(("draw", "share"), [(clusters, 0.8), (curve, 0.5)])
def test_other_records_are_followed_by_the_mixture(draw, share):
    ratios = []
    for seed in range(4):
        rng, root, r = setting(6, 3, seed)
        z, sample = draw(rng, 1_000, 6, root), draw(rng, 300, 6, root)
        y, none = z @ r.T, np.zeros(3)
        prior = chosen(sample, r)
        linear = SamplePrior((sample.mean(axis=0), np.cov(sample.T)))
        assert prior.centres is not None
        ratios.append(mse(prior.mean(y, r, none), z) / mse(linear.mean(y, r, none), z))
    assert np.mean(ratios) < share


def test_noise_counts_in_the_choice():
    """Normal records seen with noise: the regression on noisy equations, tr(Σ − ΣRᵀ(RΣRᵀ + D)⁻¹RΣ)."""
    rng, root, r = setting(5, 3, 0)
    covariance, noise = root @ root.T, np.array([0.5, 1.0, 0.1])
    z, sample = (rng.normal(size=(n, 5)) @ root.T for n in (20_000, 2_000))
    y = z @ r.T + noise * rng.normal(size=(20_000, 3))
    guess = chosen(sample, r, noise).mean(y, r, noise)
    seen = r @ covariance
    left = np.trace(covariance - seen.T @ np.linalg.solve(seen @ r.T + np.diag(noise**2), seen))
    error = ((guess - z) ** 2).sum(axis=1)
    assert error.mean() == pytest.approx(left, abs=4 * error.std() / np.sqrt(20_000) + 0.01 * left)


def test_the_choice_does_not_depend_on_the_order_of_the_sample():
    rng, root, r = setting(4, 2, 1)
    sample = clusters(rng, 120, 4, root)
    first, second = chosen(sample, r), chosen(sample[rng.permutation(120)], r)
    assert (first.centres is None, first.width) == (second.centres is None, second.width)
    few = chosen(sample[:6], r)
    assert few.centres is not None
