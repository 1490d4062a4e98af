"""The mixture prior comes near the Bayes-optimal error where the normal prior cannot (Bovy et al. 2011)."""

import numpy as np
import pytest
from scipy import stats

import veil
from veil.attacks.noise.mixture import MixturePrior, mixture_estimate
from veil.attacks.noise.shrinkage import pooled_prior
from veil.errors import InputError, NotApplicableError


def normal_estimate(y, noise):
    mean = y.mean(axis=0)
    prior = pooled_prior(np.cov(y.T, ddof=0).reshape(noise.shape), noise, len(y))
    return mean + (y - mean) @ np.linalg.solve(prior + noise, prior)


def optimal_estimate(y, density, low, high):
    """E[x|y] for one column with unit normal noise, by numeric integration."""
    grid = np.linspace(low, high, 8001)
    at = np.linspace(y.min(), y.max(), 1001)
    weight = stats.norm.pdf(at[:, None] - grid) * density(grid)
    return np.interp(y, at, weight @ grid / weight.sum(axis=1))


def mse(guess, truth):
    return float(np.mean((guess - truth) ** 2))


def clusters(n, k, d, seed):
    """Records from a known mixture with unit noise, and the mixture; the narrowest width is .25."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(k, d, d)) * np.sqrt(0.3 / d)
    prior = MixturePrior(
        rng.dirichlet(np.full(k, 5.0)),
        rng.normal(size=(k, d)) * 2,
        roots @ roots.transpose(0, 2, 1) + 0.0625 * np.eye(d),
        np.eye(d),
    )
    label = rng.choice(k, n, p=prior.weights)
    spread = np.einsum("nij,nj->ni", np.linalg.cholesky(prior.covariances)[label], rng.normal(size=(n, d)))
    x = prior.means[label] + spread
    return x, x + rng.normal(size=x.shape), prior


def test_one_component_is_the_normal_filter():
    v, noise = np.array([[4.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 3.0])
    y = np.random.default_rng(0).normal(size=(50, 2))
    prior = MixturePrior(np.ones(1), np.array([[1.0, -1.0]]), v[None], noise)
    exact = [1.0, -1.0] + (y - [1.0, -1.0]) @ np.linalg.solve(v + noise, v)
    np.testing.assert_allclose(prior.posterior_mean(y, rows=7), exact)
    np.testing.assert_allclose(prior.log_density(y), stats.multivariate_normal([1, -1], v + noise).logpdf(y))


def test_two_values_give_the_hyperbolic_tangent():
    """x = ±a with unit noise: E[x|y] = a tanh(a y), in closed form."""
    a, y = 1.5, np.linspace(-4, 4, 41)[:, None]
    prior = MixturePrior(np.full(2, 0.5), np.array([[-a], [a]]), np.zeros((2, 1, 1)), np.eye(1))
    np.testing.assert_allclose(prior.posterior_mean(y), a * np.tanh(a * y), atol=1e-12)


@pytest.mark.parametrize(("n", "slack"), [(2_000, 1.1), (10_000, 1.03)])
@pytest.mark.parametrize("width", [0.25, 0.5])
def test_two_modes(n, slack, width):
    rng = np.random.default_rng(1)
    x = (rng.choice([-2.0, 2.0], n) + width * rng.normal(size=n))[:, None]
    y = x + rng.normal(size=x.shape)
    truth = MixturePrior(np.full(2, 0.5), np.array([[-2.0], [2.0]]), np.full((2, 1, 1), width**2), np.eye(1))
    values, details = mixture_estimate(y, np.eye(1))
    assert mse(values, x) < slack * mse(truth.posterior_mean(y), x)
    assert mse(values, x) < 0.65 * mse(normal_estimate(y, np.eye(1)), x)
    assert details["components"] >= 2


LAWS = {
    "exponential": (stats.gamma(1, scale=2), 0.84),
    "gamma": (stats.gamma(2), 0.92),
    "log-normal": (stats.lognorm(1), 0.72),
}


@pytest.mark.parametrize(("n", "slack"), [pytest.param(1_000, 1.1, marks=pytest.mark.slow), (10_000, 1.03)])
@pytest.mark.parametrize("law", LAWS)
def test_skewed_columns(law, n, slack):
    distribution, margin = LAWS[law]
    x = distribution.rvs(size=(n, 1), random_state=2)
    y = x + np.random.default_rng(3).normal(size=x.shape)
    best = optimal_estimate(y, distribution.pdf, 1e-6, 1.3 * x.max())
    values, _ = mixture_estimate(y, np.eye(1))
    assert mse(values, x) < slack * mse(best, x)
    if n == 10_000:
        assert mse(values, x) < margin * mse(normal_estimate(y, np.eye(1)), x)


@pytest.mark.parametrize(("k", "d"), [(4, 3), pytest.param(5, 10, marks=pytest.mark.slow)])
def test_clusters_in_several_columns(k, d):
    x, y, prior = clusters(10_000, k, d, 4)
    values, _ = mixture_estimate(y, np.eye(d))
    assert mse(values, x) < 1.04 * mse(prior.posterior_mean(y), x)
    assert mse(values, x) < 0.85 * mse(normal_estimate(y, np.eye(d)), x)


@pytest.mark.parametrize(
    ("k", "d"), [(3, 5), pytest.param(2, 10, marks=pytest.mark.slow), pytest.param(3, 10, marks=pytest.mark.slow)]
)
def test_a_thousand_records_in_clusters(k, d):
    """Within 10 % of optimal; with four clusters in ten columns, not even the true labels bring every fit there."""
    for seed in range(2):
        x, y, prior = clusters(1_000, k, d, seed)
        values, _ = mixture_estimate(y, np.eye(d))
        assert mse(values, x) < 1.1 * mse(prior.posterior_mean(y), x)


@pytest.mark.parametrize("n", [50, pytest.param(1_000, marks=pytest.mark.slow), 5_000])
@pytest.mark.parametrize("d", [1, 5])
def test_normal_data_lose_nothing(n, d):
    """Nothing to gain: never 2 % above the normal filter."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
        y = x + rng.normal(size=x.shape)
        values, _ = mixture_estimate(y, np.eye(d), max_components=4)
        assert mse(values, x) < 1.02 * mse(normal_estimate(y, np.eye(d)), x)


def test_correlated_noise_and_units_are_whitened():
    x, y, _ = clusters(5_000, 3, 2, 5)
    mixing = np.array([[1.0, 0.9], [0.0, 1e4]])
    plain, _ = mixture_estimate(y, np.eye(2))
    turned, _ = mixture_estimate(y @ mixing.T, mixing @ mixing.T)
    assert mse(turned @ np.linalg.inv(mixing).T, x) == pytest.approx(mse(plain, x), rel=0.01)


def test_a_column_without_noise_is_returned_and_used():
    """x1 = ±1 decides the mean ±3 of x0: given x1 the rest is normal and the error v/(1 + v)."""
    rng = np.random.default_rng(6)
    sign = rng.choice([-1.0, 1.0], 5_000)
    x = np.column_stack([3 * sign + 0.5 * rng.normal(size=5_000), sign])
    y = x + np.column_stack([rng.normal(size=5_000), np.zeros(5_000)])
    values, _ = mixture_estimate(y, np.diag([1.0, 0.0]))
    np.testing.assert_array_equal(values[:, 1], x[:, 1])
    se = 0.2 * np.sqrt(2 / 5_000)
    assert mse(values[:, 0], x[:, 0]) == pytest.approx(0.25 / 1.25, abs=4 * se)


@pytest.mark.slow
def test_wide_tables_are_reduced_first():
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(4, 80)) * 0.7
    x = centres[rng.integers(4, size=6_000)] + 0.3 * rng.normal(size=(6_000, 80))
    y = x + rng.normal(size=x.shape)
    values, details = mixture_estimate(y, np.eye(80))
    assert details["dimensions"] <= 50
    assert mse(values, x) < 0.9 * mse(normal_estimate(y, np.eye(80)), x)


def test_the_same_seed_gives_the_same_estimate():
    y = np.random.default_rng(8).gamma(1.0, size=(300, 2))
    first, second = (mixture_estimate(y, 0.2 * np.eye(2), seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_what_it_cannot_do_is_refused():
    y = np.random.default_rng(9).normal(size=(100, 2))
    with pytest.raises(NotApplicableError, match="laplace"):
        mixture_estimate(y, np.eye(2), distribution="laplace")
    with pytest.raises(InputError, match="noise"):
        mixture_estimate(y, np.eye(3))
    with pytest.raises(InputError, match="max_components"):
        mixture_estimate(y, np.eye(2), max_components=0)
    y[3, 1] = np.nan
    with pytest.raises(NotApplicableError, match="1 of 100"):
        mixture_estimate(y, np.eye(2))


def test_hits_of_a_mixture_are_no_fewer_than_those_of_its_means():
    """Two clusters under noise of their distance: means lie between them, hits do not; 4,000 records of 3 columns."""
    rng = np.random.default_rng(5)
    x = rng.choice([-2.0, 2.0], size=(4_000, 1)) + 0.15 * rng.standard_normal((4_000, 3))
    release, _ = veil.publish(x, veil.AdditiveNoise(1.2, random_state=5))
    unit = 0.1 * x.std(axis=0)
    guesses = [veil.BayesEstimateAttack(prior="mixture", aim=aim).run(release).values for aim in ("mean", "hit")]
    hits = [np.abs(guess - x) <= unit for guess in guesses]
    difference = (hits[1].astype(float) - hits[0]).mean(axis=1)
    assert difference.mean() > 3 * difference.std() / np.sqrt(len(x))
    errors = [((guess - x) ** 2).mean() for guess in guesses]
    assert errors[0] < errors[1]


def test_the_aim_changes_nothing_under_a_normal_prior():
    y = np.random.default_rng(6).normal(size=(300, 2))
    release, _ = veil.publish(y, veil.AdditiveNoise(0.5, random_state=6))
    mean, hit = (veil.BayesEstimateAttack(aim=aim).run(release).values for aim in ("mean", "hit"))
    assert np.array_equal(mean, hit)
    with pytest.raises(veil.InputError, match="aim must be"):
        veil.BayesEstimateAttack(aim="mode").run(release)
