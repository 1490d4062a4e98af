"""A7's intervals hold what they promise, and M10 has its closed form (PKDD 2006 tutorial)."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import veil
from veil.attacks.noise.intervals import IntervalAttack
from veil.checks import check_attack
from veil.errors import InputError
from veil.measures.disclosure import complete_disclosure_share, completely_disclosed

N = 40_000
SIGMA = np.array([[9.0, 6.0, 0.0], [6.0, 5.0, 0.0], [0.0, 0.0, 4.0]])


def published(x, sigma, seed, law="normal"):
    return veil.publish(x, veil.AdditiveNoise(sigma, relative=False, distribution=law, random_state=seed))[0]


def normal_table(n, seed):
    return np.random.default_rng(seed).multivariate_normal([10.0, 0.0, -5.0], SIGMA, size=n, method="cholesky")


def covered(guess, x):
    """Whether each value lies in its interval."""
    return (guess.details["lower"] <= x) & (x <= guess.details["upper"])


def coverage_error(confidence, n, variance, noise):
    """Standard error of a coverage: of counting, and of the estimated standard deviation of the interval."""
    z = norm.ppf((1 + confidence) / 2)
    width = np.sqrt(1 / (2 * n)) * (variance + noise) / variance
    return np.sqrt(confidence * (1 - confidence) / n + (2 * z * norm.pdf(z) * width) ** 2)


@pytest.mark.parametrize("variant", ["best", "paper"])
@pytest.mark.parametrize("joint", [False, True])
def test_keeps_the_contract(variant, joint):
    check_attack(IntervalAttack(0.9, joint=joint, variant=variant))


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("variant", ["best", "paper"])
def test_intervals_cover_what_they_say(confidence, variant):
    """T: normal data, c = 50, 80, 95 %: within 3 standard errors, in every column."""
    x = normal_table(N, 1)
    guess = IntervalAttack(confidence, variant=variant).run(published(x, 2.0, 1))
    for j, rate in enumerate(covered(guess, x).mean(axis=0)):
        assert rate == pytest.approx(confidence, abs=3 * coverage_error(confidence, N, SIGMA[j, j], 4.0))


def test_widths_have_their_closed_forms():
    """Paper: 2z√v for everyone. Best: 2z times the posterior's standard deviation, which correlation shrinks."""
    x = normal_table(N, 2)
    release = published(x, 2.0, 2)
    z = norm.ppf(0.975)
    exact = np.diag(SIGMA - SIGMA @ np.linalg.inv(SIGMA + 4 * np.eye(3)) @ SIGMA)
    tolerance = 3 * np.sqrt(1 / (2 * N)) * (np.diag(SIGMA) + 4) / np.diag(SIGMA)
    for variant, variance in (("paper", np.diag(SIGMA)), ("best", exact)):
        guess = IntervalAttack(variant=variant).run(release)
        width = (guess.details["upper"] - guess.details["lower"]).mean(axis=0)
        assert (np.abs(width / (2 * z * np.sqrt(variance)) - 1) < tolerance).all()
        np.testing.assert_allclose(guess.values, (guess.details["upper"] + guess.details["lower"]) / 2)


def test_values_under_little_noise_are_completely_disclosed():
    """The interval is ± 1.96σ: with τ of twice that, every value that is covered is disclosed; below σ, none."""
    x = normal_table(10_000, 3)[:, :1]
    details = IntervalAttack().run(published(x, 0.01, 3)).details
    se = np.sqrt(0.95 * 0.05 / len(x))
    share = complete_disclosure_share(x, details["lower"], details["upper"], tau=0.04)
    assert share == pytest.approx(0.95, abs=3 * se)
    assert complete_disclosure_share(x, details["lower"], details["upper"], tau=0.019) == 0
    # The paper's interval is as wide as the column: nobody is disclosed.
    details = IntervalAttack(variant="paper").run(published(x, 0.01, 3)).details
    assert complete_disclosure_share(x, details["lower"], details["upper"], tau=0.04) == 0


@pytest.mark.parametrize("tau", [2.2, 3.0, 3.6])
def test_complete_disclosure_has_its_closed_form(tau):
    """Half width w = zs, x̂ − x normal with variance s²: P(|x̂ − x| ≤ min(w, τ − w)) = 2Φ(min(w, τ − w)/s) − 1."""
    x = np.random.default_rng(4).normal(0, 2.0, size=(N, 1))
    details = IntervalAttack(0.8).run(published(x, 2.0, 4)).details
    s = np.sqrt(2.0)
    half = norm.ppf(0.9) * s
    theory = 2 * norm.cdf(min(half, tau - half) / s) - 1
    share = complete_disclosure_share(x, details["lower"], details["upper"], tau)
    slope = 2 * norm.pdf(0) * half / s * np.sqrt(1 / (2 * N)) * 2  # the width is estimated
    assert share == pytest.approx(theory, abs=3 * np.sqrt(theory * (1 - theory) / N + slope**2))


def test_noise_that_swamps_the_columns_leaves_the_interval_of_everyone():
    """No better than guessing: the ranges of all records are nearly those of the column."""
    x = np.random.default_rng(5).normal(0, 1.0, size=(N, 2))
    best = IntervalAttack().run(published(x, 3.0, 5)).details
    width = best["upper"] - best["lower"]
    # Posterior variance 9/10; the estimated variance of x has a standard error of 10·√(2/N).
    least = np.sqrt(0.9) * (1 - 3 * 10 * np.sqrt(2 / N) / 2)
    assert (width > least * 2 * norm.ppf(0.975)).all()
    assert complete_disclosure_share(x, best["lower"], best["upper"], tau=1.5) == 0


def test_the_shape_of_a_column_narrows_its_intervals():
    """Two modes: the column's own posterior holds what it says, in less width than the normal one."""
    rng = np.random.default_rng(6)
    x = (rng.choice([-2.0, 2.0], N) + rng.normal(size=N) * 0.3)[:, None]
    for law in ("normal", "uniform", "laplace"):
        guess = IntervalAttack(0.9).run(published(x, 1.0, 6, law))
        assert guess.details["source"] == ("column",)
        rate = covered(guess, x).mean()
        # Rounding outwards and the stopping rule may only widen.
        assert 0.9 - 3 * np.sqrt(0.09 / N) < rate < 0.985
        width = (guess.details["upper"] - guess.details["lower"]).mean()
        assert width < 0.85 * 2 * norm.ppf(0.95) * np.sqrt(4.09 / 5.09)


def test_the_ellipsoid_holds_a_record_and_its_box_more():
    """T, with ≤: uncorrelated columns make the ellipsoid Σ((x − m)/half)² ≤ 1, which covers c."""
    x = np.random.default_rng(7).normal(size=(N, 3)) * [1.0, 2.0, 3.0]
    release = published(x, [1.0, 2.0, 3.0], 7)
    radius = np.sqrt(chi2.ppf(0.8, 3))
    for variant, spread in (("best", np.sqrt(0.5)), ("paper", 1.0)):
        guess = IntervalAttack(0.8, joint=True, variant=variant).run(release)
        half = (guess.details["upper"] - guess.details["lower"]) / 2
        np.testing.assert_allclose(half.mean(axis=0), radius * spread * np.array([1.0, 2.0, 3.0]), rtol=0.03)
        ellipsoid = (((x - guess.values) / half) ** 2).sum(axis=1) <= 1
        assert ellipsoid.mean() == pytest.approx(0.8, abs=3 * coverage_error(0.8, N, 1.0, 1.0) * np.sqrt(3))
        assert covered(guess, x).all(axis=1).mean() > ellipsoid.mean() + 0.02


@pytest.mark.parametrize("variant", ["best", "paper"])
@pytest.mark.parametrize("joint", [False, True])
def test_missing_values_stay_missing_and_widen_the_rest(variant, joint):
    x = normal_table(N, 8)
    holes = x.copy()
    holes[: N // 2, 1] = np.nan
    guess = IntervalAttack(0.8, joint=joint, variant=variant).run(published(holes, 2.0, 8))
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(holes))
    width = guess.details["upper"] - guess.details["lower"]
    assert np.isnan(width[: N // 2, 1]).all()
    if variant == "best" and not joint:
        assert width[0, 0] > 1.05 * width[-1, 0]
        for part in (slice(None, N // 2), slice(N // 2, None)):
            rate = covered(guess, x)[part, 0].mean()
            assert rate == pytest.approx(0.8, abs=3 * coverage_error(0.8, N // 2, 9.0, 4.0))


def test_disclosure_follows_its_definition():
    truth = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    lower = np.array([[0.5, 4.0], [2.0, 0.0], [3.1, np.nan]])
    upper = np.array([[1.5, 8.0], [2.0, 1.0], [3.2, np.nan]])
    mask = completely_disclosed(truth, lower, upper, [1.0, 2.0])
    np.testing.assert_array_equal(mask, [[True, False], [True, False], [False, False]])
    share = complete_disclosure_share(truth, lower, upper, [1.0, 3.0])
    assert share == pytest.approx(3 / 5)
    assert share.low < share < share.high
    assert share.higher_is == "exposed"
    whole = complete_disclosure_share(truth, np.full((3, 2), -np.inf), np.full((3, 2), np.inf), 1e9)
    assert whole == 0


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 1.5, "0.9", None, True])
def test_bad_confidence_is_refused(confidence):
    with pytest.raises(InputError, match="confidence must be a share"):
        IntervalAttack(confidence).run(published(normal_table(50, 9), 1.0, 9))


def test_bad_intervals_are_refused():
    x = np.zeros((3, 2))
    for bad, words in (
        ((x, x[:, :1], x, 1.0), "lower: has shape"),
        ((x, x, x[:2], 1.0), "upper: has shape"),
        ((x, x + 1, x, 1.0), "lower: exceeds upper in 6 of 6"),
        ((x, x, x, -1.0), "tau"),
        ((x, x, x, [1.0, 1.0, 1.0]), "tau"),
    ):
        with pytest.raises(InputError, match=words):
            complete_disclosure_share(*bad)


@pytest.mark.parametrize("n", [60, 200, 2_000])
def test_few_records_of_many_columns_do_not_make_it_too_sure(n):
    """Three strong directions of 35: the plug-in posterior covers 88 % at N = 60; ours allows for fitted noise."""
    covered, d = [], 35
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        x = rng.normal(size=(n, d)) @ (q * np.sqrt(np.r_[[20.0] * 3, [0.2] * 32])).T
        release, _ = veil.publish(x, veil.AdditiveNoise(1.0, relative=False, random_state=seed))
        found = veil.IntervalAttack(0.95).run(release).details
        covered.append(np.mean((found["lower"] <= x) & (x <= found["upper"])))
    # Values of a record share their error, so the standard error is over records.
    assert np.mean(covered) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / (6 * n))
