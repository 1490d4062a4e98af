"""A2 as the paper has it: E[x | y] under the density that Agrawal and Srikant's iteration reconstructs (H §4.2)."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

import veil
from veil.numerics.column_priors import BINS_PER_SIGMA
from veil.numerics.deconvolution import reconstructed_weights
from veil.numerics.laws import LAWS
from veil.recovery import DistributionRecovery

N = 10_000


def published(x, sigma, seed, law="normal"):
    return veil.publish(x, veil.AdditiveNoise(sigma, relative=False, distribution=law, random_state=seed))[0]


def mse(guess, x):
    return float(np.mean((guess.values - x) ** 2))


def modes(n, seed):
    rng = np.random.default_rng(seed)
    return (rng.choice([-2.0, 2.0], n) + 0.3 * rng.normal(size=n))[:, None]


def test_the_guess_is_the_papers_integral():
    """Eq. 4 by plain sums: x, f_X and f_R on the points of a grid, f_Y their convolution."""
    x = modes(2_000, 0)
    release = published(x, 1.0, 0)
    guess = veil.UnivariateBayesAttack(variant="paper").run(release)
    y = release.to_numpy()[:, 0]
    width = 1.0 / BINS_PER_SIGMA
    start = y.min() - width / 2
    counts = np.bincount(((y - start) / width).astype(int))
    counts = np.append(counts, 0) if len(counts) * width + start <= y.max() + width else counts
    places = start + (np.arange(len(counts)) + 0.5) * width
    # Agrawal and Srikant's iteration with whole matrices.
    edges = start + np.arange(len(counts) + 1) * width
    kernel = np.diff(ndtr(edges[:, None] - places), axis=0)
    f_x, last = np.full(len(counts), 1.0 / len(counts)), np.inf
    while last >= 0.01 * chi2.ppf(0.95, len(counts) - 1):
        following = f_x * (kernel.T @ (counts / (kernel @ f_x))) / len(y)
        following /= following.sum()
        last = len(y) * ((following - f_x) ** 2 / f_x).sum()
        f_x = following
    near = f_x * np.exp(-0.5 * (places - y[:, None]) ** 2)
    expected = (near @ places) / near.sum(axis=1)
    assert np.abs(guess.values[:, 0] - expected).max() < 0.05
    assert np.sqrt(np.mean((guess.values[:, 0] - expected) ** 2)) < 0.01
    assert guess.details.prior == ("reconstructed",)


def test_two_modes_come_near_the_bayes_error():
    """Bayes' own error is .369 (test_univariate_attack); the early stop costs a few percent."""
    x = modes(N, 1)
    release = published(x, 1.0, 1)
    guess = veil.UnivariateBayesAttack(variant="paper").run(release)
    paper, error = mse(guess, x), np.std((guess.values - x) ** 2) / np.sqrt(N)
    assert 0.369 - 4 * error < paper < 1.05 * 0.369 + 4 * error
    assert paper < 0.5 * mse(veil.UnivariateBayesAttack(variant="normal").run(release), x)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_normal_columns_come_near_the_closed_form(scale):
    """vσ²/(v + σ²), up to what reconstructing costs."""
    x = np.random.default_rng(2).normal(3.0, 1.0, (N, 1))
    guess = veil.UnivariateBayesAttack(variant="paper").run(published(x, scale, 2))
    theory = x.var() * scale**2 / (x.var() + scale**2)
    error = np.std((guess.values - x) ** 2) / np.sqrt(N)
    assert theory - 4 * error < mse(guess, x) < 1.03 * theory + 4 * error
    # What it expects itself is too much: it starts flat and stops early, so that its density is too wide.
    assert 0.95 * theory < guess.details.expected_mse[0] < 1.3 * theory


def test_the_density_is_that_of_the_analysts_reconstruction():
    """R1 with Agrawal and Srikant's own threshold, on intervals of its own: distribution functions within .02."""
    x = np.random.default_rng(3).gamma(2.0, size=(N, 1))
    release = published(x, 1.0, 3)
    y = release.to_numpy()[:, 0]
    width = 1.0 / BINS_PER_SIGMA
    bins = ((y - y.min()) / width).astype(int)
    weights, steps = reconstructed_weights(np.bincount(bins).astype(float), LAWS["normal"].bin_masses(BINS_PER_SIGMA))
    edges = y.min() + width * np.arange(1, len(weights) + 1)
    recovery = DistributionRecovery(stop=0.01).fit(release)
    assert np.abs(np.cumsum(weights) - recovery.cdf(edges)).max() < 0.02
    assert 1 < steps < 100


def test_the_law_of_the_noise_counts():
    x = modes(N, 4)
    release = published(x, 1.0, 4, "uniform")
    told = mse(veil.UnivariateBayesAttack(variant="paper").run(release), x)
    misled = mse(veil.UnivariateBayesAttack(variant="paper").run(release, veil.KnownNoise([1.0], "normal")), x)
    assert told < 0.9 * misled
