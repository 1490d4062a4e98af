"""A19 reaches the conditional normal error, and gains nothing from attributes that say nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veil
from veil.attacks.knowledge import KnownAttributes
from veil.attacks.noise.partial import PartialDisclosureAttack, conditional_estimate
from veil.errors import InputError, NotApplicableError


def correlated(n, d, seed):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d))
    return rng.normal(size=(n, d)) @ mixing, mixing.T @ mixing


def noisy(x, scale, seed=0):
    return veil.publish(x, veil.AdditiveNoise(scale, relative=False, random_state=seed))[0]


def conditional_error(covariance, known, noise):
    """Σ|a − Σ|a (Σ|a + Σr)⁻¹ Σ|a with Σ|a = Σxx − Σxa Σaa⁻¹ Σax."""
    rest = np.setdiff1d(np.arange(len(covariance)), known)
    across = covariance[np.ix_(rest, known)]
    left = covariance[np.ix_(rest, rest)] - across @ np.linalg.solve(covariance[np.ix_(known, known)], across.T)
    return np.diag(left - left @ np.linalg.solve(left + noise, left))


def test_the_error_is_the_conditional_normal_one():
    x, covariance = correlated(40_000, 6, 1)
    guess = PartialDisclosureAttack().run(noisy(x[:, :4], 1.5), KnownAttributes(["a", "b"], x[:, 4:]))
    theory = conditional_error(covariance, [4, 5], 2.25 * np.eye(4))
    se = theory * np.sqrt(2 / len(x))
    found = np.mean((guess.values - x[:, :4]) ** 2, axis=0)
    np.testing.assert_array_less(np.abs(found - theory), 4 * se)
    np.testing.assert_allclose(guess.details["expected_mse"], theory, rtol=0.1)
    alone = np.mean((veil.BayesEstimateAttack().run(noisy(x[:, :4], 1.5)).values - x[:, :4]) ** 2)
    own = covariance[:4, :4]
    unaided = np.mean(np.diag(own - own @ np.linalg.solve(own + 2.25 * np.eye(4), own)))
    assert found.mean() / alone == pytest.approx(theory.mean() / unaided, rel=0.02)
    assert theory.mean() / unaided < 0.95


def test_a_sum_of_known_attributes_is_disclosed_entirely():
    """x = a₁ − 2a₂ + 5: only the regression's own error is left, σ²·3/N."""
    a = np.random.default_rng(2).normal(size=(5_000, 2)) * [1, 1e6] + [0, 1e8]
    x = (a @ [1.0, -2e-6] + 5)[:, None]
    guess = PartialDisclosureAttack().run(noisy(x, 2.0), KnownAttributes(["a1", "a2"], a))
    error = np.mean((guess.values - x) ** 2)
    # Four times three degrees of freedom, and a prior of the order of its own sampling error.
    assert error < 4 * 3 * 4 / len(x) + 4 * (2 * np.sqrt(2 / len(x))) ** 2


def test_attributes_that_say_nothing_change_nothing():
    """Guessing: unrelated attributes leave the error at A6's, up to the k/N that their regression costs."""
    x, _ = correlated(20_000, 3, 3)
    release = noisy(x, 1.0)
    told = PartialDisclosureAttack().run(
        release, KnownAttributes(["u", "v"], np.random.default_rng(4).normal(size=(20_000, 2)))
    )
    alone = veil.BayesEstimateAttack().run(release)
    difference = (told.values - x) ** 2 - (alone.values - x) ** 2
    se = difference.mean(axis=1).std() / np.sqrt(len(x))
    assert abs(difference.mean()) < 4 * se + 2 / len(x)


def test_a_known_private_column_is_guessed_as_known_and_helps_the_rest():
    x, covariance = correlated(20_000, 3, 5)
    guess = PartialDisclosureAttack().run(noisy(x, 2.0), KnownAttributes("x1", x[:, 1]))
    np.testing.assert_array_equal(guess.values[:, 1], x[:, 1])
    theory = conditional_error(covariance, [1], 4 * np.eye(2))
    found = np.mean((guess.values - x) ** 2, axis=0)[[0, 2]]
    np.testing.assert_array_less(np.abs(found - theory), 4 * theory * np.sqrt(2 / len(x)) + 1e-3)


def test_shared_noise_of_a_known_column_is_subtracted():
    """Noise that correlates .99 over two unrelated columns: knowing one shows nearly all noise of the other."""
    x = np.random.default_rng(6).normal(size=(20_000, 2)) * 3
    noise = np.array([[1.0, 0.99], [0.99, 1.0]])
    y = x + np.random.default_rng(7).multivariate_normal([0, 0], noise, size=len(x))
    release = noisy(y, 1e-6)
    guess = PartialDisclosureAttack().run(release, veil.KnownNoise(noise), KnownAttributes(["x0"], x[:, :1]))
    left = 1 - 0.99**2
    theory = 9 * left / (9 + left)
    error = np.mean((guess.values[:, 1] - x[:, 1]) ** 2)
    assert error == pytest.approx(theory, abs=4 * theory * np.sqrt(2 / len(x)))


def test_public_columns_of_the_release_are_used():
    x, covariance = correlated(10_000, 3, 8)
    frame = pd.DataFrame(x, columns=["pay", "debt", "age"]).assign(town="here")
    release, _ = veil.publish(
        frame, veil.AdditiveNoise(2.0, relative=False, random_state=8), roles={"age": "public", "town": "public"}
    )
    guess = PartialDisclosureAttack().run(release)
    assert guess.details["known"] == ("age",)
    theory = conditional_error(covariance, [2], 4 * np.eye(2))
    found = np.mean((guess.values - x[:, :2]) ** 2, axis=0)
    np.testing.assert_array_less(np.abs(found - theory), 4 * theory * np.sqrt(2 / len(x)) + 1e-3)


def test_missing_values_stay_missing_and_are_conditioned_on_the_rest():
    x, _ = correlated(5_000, 4, 9)
    holes = x[:, :3].copy()
    holes[np.random.default_rng(0).random(holes.shape) < 0.1] = np.nan
    release = noisy(holes, 2.0)
    guess = PartialDisclosureAttack().run(release, KnownAttributes(["a"], x[:, 3:]))
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(holes))
    alone = veil.BayesEstimateAttack().run(release)
    assert np.nanmean((guess.values - holes) ** 2) < np.nanmean((alone.values - holes) ** 2)


def test_without_attributes_the_estimate_is_the_bayes_filter():
    x, covariance = correlated(50_000, 3, 10)
    y = x + np.random.default_rng(11).normal(size=x.shape)
    values, _ = conditional_estimate(y, np.empty((len(y), 0)), np.eye(3))
    exact = y.mean(axis=0) + (y - y.mean(axis=0)) @ np.linalg.solve(covariance + np.eye(3), covariance)
    np.testing.assert_allclose(values, exact, atol=0.1)


def test_what_does_not_fit_is_refused():
    x, _ = correlated(50, 3, 12)
    release = noisy(x, 1.0)
    with pytest.raises(NotApplicableError, match="KnownAttributes"):
        PartialDisclosureAttack().run(release)
    with pytest.raises(InputError, match="49 records"):
        PartialDisclosureAttack().run(release, KnownAttributes(["a"], x[1:, :1]))
    with pytest.raises(InputError, match="one column"):
        KnownAttributes(["a", "b"], x)
    with pytest.raises(InputError, match="more than once"):
        KnownAttributes(["a", "a"], x[:, :2])
    with pytest.raises(NotApplicableError, match="48 known"):
        PartialDisclosureAttack().run(release, KnownAttributes([f"k{j}" for j in range(48)], np.ones((50, 48))))


@pytest.mark.parametrize("known", [1, 3])
def test_published_covariances_make_it_stronger_on_small_tables(known):
    """Noise of similarity 1 on 200 records: without ``unit`` the error is larger, by over three standard errors."""
    gains = []
    for seed in range(12):
        x, _ = correlated(200, 8, seed)
        release, _ = veil.publish(x, veil.AdditiveNoise(1.5, similarity=1.0, random_state=seed))
        part = release.only_part
        silent = replace(part, model=replace(part.model, unit=None, similarity=None))
        bare = veil.Release(release.table, replace(release.manifest, parts=(silent,)))
        granted = KnownAttributes(part.names[:known], x[:, :known])
        errors = [
            np.mean(((PartialDisclosureAttack().run(r, granted).values - x) / x.std(axis=0))[:, known:] ** 2)
            for r in (release, bare)
        ]
        gains.append(errors[1] - errors[0])
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(len(gains))
