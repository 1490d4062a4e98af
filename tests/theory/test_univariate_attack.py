"""A2 and the deconvolution behind it: closed forms, Bayes' optimum by quadrature, and the rules for falling back."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import veil
from veil.attacks.noise.univariate import UnivariateBayesAttack
from veil.checks import check_attack
from veil.numerics import column_priors, deconvolution
from veil.numerics.column_priors import deconvolve
from veil.numerics.deconvolution import fit_weights
from veil.numerics.laws import LAWS
from veil.numerics.priors import GridPrior

N = 20_000


def published(x, sigma, seed, law="normal"):
    return veil.publish(x, veil.AdditiveNoise(sigma, relative=False, distribution=law, random_state=seed))[0]


def squared_error(guess, truth):
    """The mean squared error and its standard error, over values."""
    squares = (guess.values - truth) ** 2
    return squares.mean(), squares.std() / np.sqrt(squares.size)


def bimodal(n, seed, modes=2.0, spread=0.3):
    rng = np.random.default_rng(seed)
    return (rng.choice([-modes, modes], n) + rng.normal(size=n) * spread)[:, None]


def best_possible(modes, spread, sigma):
    """Bayes' error for two normal modes under normal noise, by quadrature over y."""
    y = np.linspace(-12, 12, 40_001)
    total = spread**2 + sigma**2
    near, far = norm.pdf(y, modes, total**0.5), norm.pdf(y, -modes, total**0.5)
    share = near / (near + far)
    gain = spread**2 / total
    up, down = modes + gain * (y - modes), -modes + gain * (y + modes)
    inner = gain * sigma**2 + share * (1 - share) * (up - down) ** 2
    return np.trapezoid(inner * (near + far) / 2, y)


@pytest.mark.parametrize("variant", ["best", "paper", "normal"])
def test_keeps_the_contract(variant):
    check_attack(UnivariateBayesAttack(variant=variant))


@pytest.mark.parametrize(("law", "share"), [("normal", 0.01), ("uniform", 0.001), ("laplace", 0.04)])
def test_values_far_apart_are_found_exactly(law, share):
    """Three values ten standard deviations apart: hardly any of the noise is left."""
    x = np.random.default_rng(1).choice([0.0, 10.0, 30.0], (N, 1))
    release = published(x, 1.0, 1, law)
    assert squared_error(UnivariateBayesAttack().run(release), x)[0] < share
    assert squared_error(UnivariateBayesAttack(variant="normal").run(release), x)[0] > 0.9


def test_noise_that_swamps_a_column_leaves_its_mean():
    """σ = 30 standard deviations: no better than guessing the mean of everyone."""
    x = np.random.default_rng(2).gamma(2.0, size=(N, 1))
    for variant in ("best", "paper", "normal"):
        guess = UnivariateBayesAttack(variant=variant).run(published(x, 30 * x.std(), 2))
        assert squared_error(guess, x)[0] > 0.98 * x.var()


@pytest.mark.parametrize("draw", ["normal", "gamma", "uniform"])
@pytest.mark.parametrize("law", LAWS)
def test_linear_filter_has_its_closed_form_for_any_law(draw, law):
    """m.s.e. vσ²/(v + σ²), whatever the data and the noise."""
    rng = np.random.default_rng(3)
    x = {"normal": rng.normal(0, 3, (N, 1)), "gamma": rng.gamma(2.0, 2.0, (N, 1)), "uniform": 9 * rng.random((N, 1))}
    truth = x[draw]
    guess = UnivariateBayesAttack(variant="normal").run(published(truth, 2.0, 3, law))
    error, se = squared_error(guess, truth)
    theory = truth.var() * 4 / (truth.var() + 4)
    assert error == pytest.approx(theory, abs=4 * se)
    spread = 4 * 5 * np.sqrt(2 / N)  # of the estimated variance; the noise's kurtosis is at most 6
    assert guess.details["expected_mse"][0] == pytest.approx(theory, abs=spread)


def test_normal_columns_get_the_linear_filter():
    """Nothing beats it there, and the held-out likelihood says so."""
    x = np.random.default_rng(4).normal(5, 3, size=(N, 3))
    release = published(x, 3.0, 4)
    best, linear = UnivariateBayesAttack().run(release), UnivariateBayesAttack(variant="normal").run(release)
    error, se = squared_error(best, x)
    assert error == pytest.approx(4.5, abs=4 * se)
    assert best.details["prior"] == ("normal",) * 3
    np.testing.assert_allclose(best.values, linear.values, atol=1e-9)


def test_two_modes_are_told_apart():
    """Errata: raw 1.007, linear .807, NPMLE .376. Two modes at ±2 of spread .3, σ = 1; Bayes' error is .369."""
    x = bimodal(N, 0)
    release = published(x, 1.0, 1)
    raw, _ = squared_error(veil.NoiseDistributionAttack().run(release), x)
    linear, linear_se = squared_error(UnivariateBayesAttack(variant="normal").run(release), x)
    guess = UnivariateBayesAttack().run(release)
    best, se = squared_error(guess, x)
    bayes = best_possible(2.0, 0.3, 1.0)
    assert raw == pytest.approx(1, abs=4 * np.sqrt(2 / N))
    assert linear == pytest.approx(4.09 / 5.09, abs=4 * linear_se)
    assert best < 0.5 * linear
    assert guess.details["prior"] == ("nonparametric",)
    # Never better than Bayes' error but by chance, and within 3 % of it.
    assert bayes - 4 * se < best < 1.03 * bayes + 4 * se


@pytest.mark.parametrize("law", ["uniform", "laplace"])
def test_the_law_of_the_noise_is_used(law):
    x = bimodal(N, 5)
    release = published(x, 1.0, 5, law)
    told = squared_error(UnivariateBayesAttack().run(release), x)[0]
    misled = squared_error(UnivariateBayesAttack().run(release, veil.KnownNoise([1.0], "normal")), x)[0]
    assert told < 0.96 * misled
    assert told < 0.7 * squared_error(UnivariateBayesAttack(variant="normal").run(release), x)[0]


def test_few_values_get_the_linear_filter():
    x = bimodal(column_priors.FEWEST_VALUES - 1, 6)
    release = published(x, 1.0, 6)
    best, linear = UnivariateBayesAttack().run(release), UnivariateBayesAttack(variant="normal").run(release)
    assert best.details["prior"] == ("normal",)
    np.testing.assert_allclose(best.values, linear.values, atol=1e-12)


def test_small_tables_lose_nothing_by_the_choice():
    """N = 100, 40 tables of each kind: no loss on normal data beyond 3 %, a gain on two modes."""
    total = {"normal": np.zeros(2), "modes": np.zeros(2)}
    for seed in range(40):
        for kind, x in (
            ("normal", np.random.default_rng(seed).normal(size=(100, 1))),
            ("modes", bimodal(100, seed)),
        ):
            release = published(x, 1.0, seed)
            runs = [UnivariateBayesAttack(variant=variant).run(release) for variant in ("best", "normal")]
            total[kind] += [squared_error(run, x)[0] for run in runs]
    assert total["normal"][0] < 1.03 * total["normal"][1]
    assert total["modes"][0] < 0.7 * total["modes"][1]


@pytest.mark.parametrize("variant", ["best", "paper"])
def test_missing_values_stay_missing(variant):
    x = np.hstack([bimodal(4_000, 7), bimodal(4_000, 8)])
    holes = x.copy()
    holes[np.random.default_rng(7).random(x.shape) < 0.1] = np.nan
    guess = UnivariateBayesAttack(variant=variant).run(published(holes, 1.0, 7))
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(holes))
    assert np.nanmean((guess.values - x) ** 2) < 0.9


def test_units_and_far_outliers_do_not_matter():
    x = bimodal(5_000, 9)
    plain, se = squared_error(UnivariateBayesAttack().run(published(x, 1.0, 9)), x)
    far = 4 * np.sqrt(2) * se  # unrelated noise: two errors, each with its standard error
    large, _ = squared_error(UnivariateBayesAttack().run(published(x * 1e6, 1e6, 9)), x * 1e6)
    assert large / 1e12 == pytest.approx(plain, abs=far)
    x[:5] = [[1e5], [-1e5], [3e5], [1e4], [2e4]]
    guess = UnivariateBayesAttack().run(published(x, 1.0, 9))
    assert np.mean((guess.values - x)[5:] ** 2) == pytest.approx(plain, abs=far)
    assert np.abs((guess.values - x)[:5]).max() < 6


def test_likelihood_never_falls_and_the_rule_stops(monkeypatch):
    release = published(bimodal(2_000, 10), 1.0, 10)
    prior = deconvolve(release.to_numpy()[:, 0], "normal", 1.0)
    assert isinstance(prior, GridPrior)
    assert 5 < prior.steps < deconvolution.MOST_STEPS
    kernel, reached = LAWS["normal"].bin_masses(column_priors.BINS_PER_SIGMA), []
    for steps in range(1, 40, 4):
        monkeypatch.setattr(deconvolution, "MOST_STEPS", steps)
        weights, _ = fit_weights(prior.counts, kernel)
        seen = prior.counts > 0
        reached.append(prior.counts[seen] @ np.log(deconvolution.convolve(weights, kernel)[seen]))
    assert (np.diff(reached) > -1e-9).all()
    assert reached[-1] > reached[0] + 10


@pytest.mark.parametrize("law", LAWS)
def test_bin_masses_are_a_law_of_standard_deviation_one(law):
    mass = LAWS[law].bin_masses(8)
    place = (np.arange(len(mass)) - len(mass) // 2) / 8
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert mass @ place**2 == pytest.approx(1 + 1 / 8**2 / 12, rel=2e-3)


def test_the_aim_to_hit_reads_whole_numbers_through_the_noise():
    """Repeated whole numbers: the mean falls between them and misses; the likeliest window is the truth more often."""
    rng = np.random.default_rng(3)
    x = rng.choice([0, 3, 4, 8], size=4_000, p=[0.3, 0.3, 0.2, 0.2])
    table = pa.table({"a": x, "b": x[::-1]})
    release, _ = veil.publish(table, veil.AdditiveNoise(0.3, random_state=3))
    rates = {
        aim: veil.measures.breach_rate(
            np.column_stack([x, x[::-1]]), veil.UnivariateBayesAttack(aim=aim).run(release).values, 0.1
        )
        for aim in ("mean", "hit")
    }
    sigma = release.only_part.parameters["scale"][0]
    # The best guess of x given y is the most probable of the four: its rate, by numeric integration.
    y = np.linspace(-10, 20, 30_001)
    joint = norm.pdf(y[:, None] - [0, 3, 4, 8], scale=sigma) * [0.3, 0.3, 0.2, 0.2]
    best = joint.max(axis=1).sum() * (y[1] - y[0])
    assert rates["hit"] > best - 4.5 * np.sqrt(best * (1 - best) / 4_000) - 0.01
    assert rates["hit"] > rates["mean"] + 0.1
    with pytest.raises(veil.InputError, match="aim must be"):
        veil.UnivariateBayesAttack(aim="miss").run(release)


def test_on_normal_data_both_aims_are_the_same():
    x = np.random.default_rng(4).normal(size=(3_000, 1))
    release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=4))
    mean, hit = (veil.UnivariateBayesAttack(aim=aim).run(release).values for aim in ("mean", "hit"))
    assert np.sqrt(np.mean((mean - hit) ** 2)) < 0.05


def test_a_sample_sharpens_the_prior():
    """Noise too large to show the grid of values: 200 records of the population do, and the hits rise."""
    rng = np.random.default_rng(5)
    x = rng.choice([10.0, 13.0, 20.0, 40.0], size=(16_200, 1), p=[0.4, 0.2, 0.2, 0.2])
    release, _ = veil.publish(x[200:], veil.AdditiveNoise(0.4, random_state=5))
    attack, sample = veil.UnivariateBayesAttack(aim="hit"), veil.KnownSample(x[:200])
    alone, known = (
        veil.measures.breach_rate(x[200:], attack.run(release, *knowledge).values, 0.1) for knowledge in ((), (sample,))
    )
    assert known > alone + 5 * np.sqrt(0.5 / 16_000)  # five standard errors of a difference of shares, at the most
    with pytest.raises(veil.InputError, match="2 columns"):
        attack.run(release, veil.KnownSample(np.ones((5, 2))))
