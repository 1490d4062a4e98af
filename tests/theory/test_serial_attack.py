"""A18 reaches the steady-state smoothing error, and equals A6 where records do not depend on time."""

import numpy as np
import pytest
from scipy.signal import lfilter

import veil
from veil.attacks.knowledge import TimeOrder
from veil.attacks.noise.shrinkage import pooled_prior
from veil.attacks.serial.serial import SerialAttack
from veil.attacks.serial.state_space import SeriesModel, choose_series, portmanteau
from veil.errors import InputError, MissingKnowledgeError


def autoregression(phi, n, variance, rng):
    shocks = rng.normal(size=n + 1_000) * np.sqrt(variance * (1 - phi**2))
    return lfilter([1.0], [1.0, -phi], shocks)[1_000:]


def noisy(x, scale, seed=0):
    return veil.publish(x, veil.AdditiveNoise(scale, relative=False, random_state=seed))[0]


def mse(guess, truth):
    return np.mean((guess.values - truth) ** 2, axis=0)


def smoothing_error(phi, innovation, noise):
    """(1/2π) ∫ Sx σ²/(Sx + σ²) dω for an AR(1) signal: the best any linear smoother can do."""
    return noise * innovation / np.sqrt((innovation + noise * (1 + phi**2)) ** 2 - 4 * noise**2 * phi**2)


def series_error(error, n, phi):
    """Standard error of a mean of squared errors that depend on each other over about (1+φ²)/(1−φ²) records."""
    return error * np.sqrt(2 / n * (1 + phi**2) / (1 - phi**2))


def test_the_smoother_is_the_conditional_mean():
    """Against the N × N normal equations, with gaps, for a model of each kind."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=60) * 2
    z[[5, 6, 30]] = np.nan
    seen = ~np.isnan(z)
    t = np.arange(60)
    ar1 = SeriesModel("ar1", (), (0.8, 0.0, 0.0), (3 * (1 - 0.64), 0.0), (3.0, 0.0))
    level = SeriesModel("level", (), (1.0, 0.0, 0.0), (0.5, 0.0), (100.0, 0.0))
    trend = SeriesModel("trend", (), (1.0, 1.0, 1.0), (0.0, 0.1), (50.0, 20.0))
    slopes = np.minimum(t[:, None], t)
    random_walk = np.tril(np.ones((60, 60)), -1)
    double = random_walk @ np.tril(np.ones((60, 60)), -1)
    covariances = {
        ar1: 3 * 0.8 ** np.abs(t[:, None] - t),
        level: 100 + 0.5 * slopes,
        trend: 50 + 20.0 * np.outer(t, t) + 0.1 * double @ double.T,
    }
    for model, covariance in covariances.items():
        solve = np.linalg.inv(covariance[np.ix_(seen, seen)] + np.eye(seen.sum()))
        exact = covariance[:, seen] @ solve @ z[seen]
        spread = np.diag(covariance - covariance[:, seen] @ solve @ covariance[seen]).mean()
        smoothed, variance = model.smooth(z)
        np.testing.assert_allclose(smoothed, exact, atol=1e-8, err_msg=model.name)
        assert variance == pytest.approx(spread, rel=1e-6), model.name


@pytest.mark.parametrize("phi", [0.5, 0.9, 0.98])
def test_an_ar1_column_reaches_the_steady_state_error(phi):
    n = 40_000
    x = autoregression(phi, n, 4.0, np.random.default_rng(1))[:, None]
    guess = SerialAttack().run(noisy(x, 2.0), TimeOrder())
    theory = smoothing_error(phi, 4 * (1 - phi**2), 4.0)
    assert guess.details["models"] == ("ar1",)
    assert mse(guess, x)[0] == pytest.approx(theory, abs=4 * series_error(theory, n, phi))
    assert guess.details["expected_mse"][0] == pytest.approx(theory, rel=0.08)


def test_a_random_walk_reaches_the_steady_state_error():
    n = 20_000
    x = np.cumsum(0.5 * np.random.default_rng(2).normal(size=n))[:, None]
    guess = SerialAttack().run(noisy(x, 2.0), TimeOrder())
    theory = 4 * np.sqrt(0.25 / (0.25 + 16))
    phi = 1 - np.sqrt(0.25 / 4)  # how the errors die out
    assert mse(guess, x)[0] == pytest.approx(theory, abs=4 * series_error(theory, n, phi))


def test_a_smooth_path_is_followed_as_a_trend():
    n = 3_000
    x = 100 * np.sin(np.arange(n) / 60)[:, None]
    release = noisy(x, 5.0)
    guess = SerialAttack().run(release, TimeOrder())
    y = release.to_numpy()[:, 0]
    model = choose_series((y - y.mean()) / 5.0)
    assert model.name == "trend"
    assert mse(guess, x)[0] < 0.1 * 25
    assert mse(guess, x)[0] <= 1.1 * np.mean((y.mean() + 5.0 * model.smooth((y - y.mean()) / 5.0)[0] - x[:, 0]) ** 2)
    assert mse(veil.BayesEstimateAttack().run(release), x)[0] > 0.9 * 25


def test_records_without_order_give_the_bayes_estimate():
    """Guessing: nothing depends on time, and the guess is A6's with pooled eigenvalues."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5_000, 4)) @ rng.normal(size=(4, 4))
    release = noisy(x, 1.5)
    guess = SerialAttack().run(release, TimeOrder())
    assert set(guess.details["models"]) == {"white"}
    y = release.to_numpy()
    noise = 2.25 * np.eye(4)
    prior = pooled_prior(np.cov(y.T, ddof=0), noise, len(y))
    exact = y.mean(axis=0) + (y - y.mean(axis=0)) @ np.linalg.solve(prior + noise, prior)
    np.testing.assert_allclose(guess.values, exact, rtol=0, atol=1e-9)


def test_white_series_pass_for_white():
    """99.9 % of them by the portmanteau test; of 300, more than 3 rejections have probability 3e-5."""
    rng = np.random.default_rng(4)
    values = np.array([portmanteau(rng.normal(size=1_000)) for _ in range(300)])
    assert (values > 29.6).sum() <= 3
    assert values.mean() == pytest.approx(10, abs=4 * np.sqrt(20 / 300))
    assert choose_series(rng.normal(size=1_000) * 3).name == "white"


def test_time_and_correlation_are_used_together():
    """Ten columns that mix AR(1) sources in an orthogonal basis: each source's own error is reached."""
    rng = np.random.default_rng(5)
    phis = (0.98, 0.95, 0.9, 0.8, 0.0, 0.0)
    sources = np.column_stack([autoregression(phi, 20_000, 4.0, rng) for phi in phis])
    x = sources @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    release = noisy(x, 2.0)
    guess = SerialAttack().run(release, TimeOrder())
    theory = np.mean([smoothing_error(phi, 4 * (1 - phi**2), 4.0) for phi in phis])
    assert mse(guess, x).mean() == pytest.approx(theory, rel=0.05)
    assert mse(veil.BayesEstimateAttack().run(release), x).mean() > 1.4 * theory


def test_a_shuffled_release_needs_the_order():
    rng = np.random.default_rng(6)
    x = autoregression(0.95, 5_000, 4.0, rng)[:, None]
    order = rng.permutation(5_000)
    shuffled = np.empty_like(x)
    shuffled[order] = x
    release = noisy(shuffled, 2.0)
    told = mse(SerialAttack().run(release, TimeOrder(order)), shuffled)[0]
    blind = mse(SerialAttack().run(release, TimeOrder()), shuffled)[0]
    assert told < 0.5 * blind
    assert blind == pytest.approx(2.0, rel=0.1)


def test_missing_values_are_skipped():
    rng = np.random.default_rng(7)
    x = np.column_stack([autoregression(0.95, 5_000, 4.0, rng), rng.normal(size=(5_000, 2))])
    holes = x.copy()
    holes[rng.random(x.shape) < 0.1] = np.nan
    guess = SerialAttack().run(noisy(holes, 2.0), TimeOrder())
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(holes))
    assert guess.details["models"] == ("ar1", "white", "white")
    error = np.nanmean((guess.values - holes) ** 2, axis=0)
    assert error[0] < 1.25 * smoothing_error(0.95, 4 * (1 - 0.95**2), 4.0)
    np.testing.assert_allclose(error[1:], 4 / 5, rtol=0.1)


@pytest.mark.slow
def test_a_hundred_thousand_rows_of_ten_series():
    rng = np.random.default_rng(8)
    x = np.column_stack([autoregression(0.9, 100_000, 4.0, rng) for _ in range(10)])
    release = noisy(x, 2.0)
    guess = SerialAttack().run(release, TimeOrder())
    alone = veil.BayesEstimateAttack().run(release)
    assert np.mean((guess.values - x) ** 2) < 0.6 * np.mean((alone.values - x) ** 2)


def test_what_does_not_fit_is_refused():
    release = noisy(np.random.default_rng(9).normal(size=(100, 2)), 1.0)
    with pytest.raises(MissingKnowledgeError, match="TimeOrder"):
        SerialAttack().run(release)
    with pytest.raises(InputError, match="99 rows"):
        SerialAttack().run(release, TimeOrder(np.arange(99)))
    with pytest.raises(InputError, match="once"):
        TimeOrder([0, 0, 1])
