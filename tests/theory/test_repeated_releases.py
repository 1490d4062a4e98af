"""Averaging and differencing releases of the same people (A24): closed forms, exact cases, and cases of no gain."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from _tables import within_standard_errors
from veil.attacks.categories.response_posterior import ResponsePosteriorAttack
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.attacks.noise.additive import BayesEstimateAttack
from veil.attacks.noise.logarithmic import LogAttack
from veil.attacks.repeated.combination import NoisyView, averaged, joint_noise, noise_correlation
from veil.attacks.repeated.releases import RepeatedReleaseAttack
from veil.attacks.repeated.reports import Report, combined_posteriors, independent_reports
from veil.data.tables import MemoryTable
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.numerics.response_matrix import keep_matrix
from veil.release.release import Release

ATTACK = RepeatedReleaseAttack()


def normal_table(n=3000, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def noisy(x, scale, seed, **options):
    return veil.publish(x, veil.AdditiveNoise(scale, relative=False, random_state=seed, **options))[0]


def with_values(release, y):
    """A release of the same manifest with other values."""
    table = pa.table({name: pa.array(y[:, j], from_pandas=True) for j, name in enumerate(release.only_part.released)})
    return Release(MemoryTable(table), release.manifest)


def mse(guess, x):
    return float(np.mean((guess.values - x) ** 2))


def within(guess, x, expected, errors=4.5):
    """Whether the m.s.e. is the expected one, by the spread of squared errors over values."""
    squares = (guess.values - x) ** 2
    return abs(squares.mean() - expected) < errors * squares.std() / np.sqrt(squares.size)


# -- averages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 5])
def test_equal_noise_falls_with_the_number_of_releases(m):
    x, sigma = normal_table(), 0.8
    releases = [noisy(x, sigma, seed) for seed in range(m)]
    guess = ATTACK.run(releases[0], PreviousReleases(releases[1:]))
    s = sigma**2 / m
    np.testing.assert_allclose(guess.details["noise_scale"] ** 2, s)
    assert within(guess, x, s / (1 + s))
    assert guess.details["n_releases"] == m
    assert not guess.details["shared_correlation"]
    assert mse(BayesEstimateAttack().run(releases[0]), x) > 1.3 * mse(guess, x)


def test_precision_weights_in_closed_form():
    rng = np.random.default_rng(1)
    x, scales = rng.normal(size=(500, 1)), np.array([0.5, 1.0, 2.0])
    views = [NoisyView(np.array([0]), x + s * rng.normal(size=x.shape), np.array([[s**2]]), "normal") for s in scales]
    joint = np.diag(scales**2)
    values, (group,) = averaged(views, joint, 1)
    weights = scales**-2.0 / (scales**-2.0).sum()
    np.testing.assert_allclose(values, sum(w * v.values for w, v in zip(weights, views, strict=True)))
    np.testing.assert_allclose(group.noise, 1 / (scales**-2.0).sum())


def test_correlated_noise_in_matrix_form():
    """(S₁⁻¹ + S₂⁻¹)⁻¹ (S₁⁻¹ y₁ + S₂⁻¹ y₂), and no other linear weights do better."""
    rng = np.random.default_rng(2)
    roots = rng.normal(size=(2, 3, 3))
    s1, s2 = (root @ root.T + 0.1 * np.eye(3) for root in roots)
    y1, y2 = rng.normal(size=(2, 40, 3))
    views = [NoisyView(np.arange(3), y, s, "normal") for y, s in ((y1, s1), (y2, s2))]
    joint = np.block([[s1, np.zeros((3, 3))], [np.zeros((3, 3)), s2]])
    values, (group,) = averaged(views, joint, 3)
    both = np.linalg.inv(np.linalg.inv(s1) + np.linalg.inv(s2))
    np.testing.assert_allclose(group.noise, both, atol=1e-10)
    np.testing.assert_allclose(values, (y1 @ np.linalg.inv(s1) + y2 @ np.linalg.inv(s2)) @ both, atol=1e-9)


def test_correlated_noise_is_found_independent_and_averaged():
    x = normal_table(d=2)
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    a, b = (noisy(x, 1, s, covariance=covariance * f) for s, f in ((1, 1.0), (2, 0.5)))
    guess = ATTACK.run(a, PreviousReleases(b))
    left = covariance / 3
    expected = np.trace(left @ np.linalg.inv(left + np.eye(2))) / 2
    assert not guess.details["shared_correlation"]
    assert within(guess, x, expected)


def test_uniform_noise_leaves_an_interval():
    """Many uniform draws bound the value: the error falls below that of the best linear estimate."""
    x = normal_table(n=1000, d=1) * 10
    releases = [noisy(x, 1.0, s, distribution="uniform") for s in range(12)]
    guess = ATTACK.run(releases[0], PreviousReleases(releases[1:]))
    shown = np.stack([r.to_numpy() for r in releases])
    half = np.sqrt(3) * (1 + 1e-4)
    assert (guess.values >= shown.max(axis=0) - half).all()
    assert (guess.values <= shown.min(axis=0) + half).all()
    assert mse(guess, x) < 0.9 / 12


def test_a_mixture_prior_on_the_average():
    rng = np.random.default_rng(3)
    x = rng.choice([-2.0, 2.0], size=(1500, 2)) + 0.1 * rng.normal(size=(1500, 2))
    a, b = noisy(x, 1.5, 1), noisy(x, 1.5, 2)
    clustered = RepeatedReleaseAttack(prior="mixture").run(a, PreviousReleases(b))
    assert mse(clustered, x) < 0.8 * mse(ATTACK.run(a, PreviousReleases(b)), x)


# -- shared noise -------------------------------------------------------------------------------


def test_the_same_noise_at_two_scales_gives_the_table():
    """2 y₁ − y₂ at scales ½ and 1: exact up to the releases' own rounding, 2⁻²¹ and 2⁻²⁰."""
    x = normal_table(n=800)
    noise, grid = np.random.default_rng(4).normal(size=x.shape), 2.0**-21
    a, b = (with_values(noisy(x, s, 1), grid * np.rint((x + s * noise) / grid)) for s in (0.5, 1.0))
    guess = ATTACK.run(a, PreviousReleases(b))
    assert np.abs(guess.values - x).max() < 4 * 2.0**-20
    np.testing.assert_array_equal(guess.details["shared_correlation"][0, 1], 1.0)


def test_the_same_noise_at_one_scale_adds_nothing():
    x = normal_table(n=800)
    release = noisy(x, 0.5, 1)
    guess = ATTACK.run(release, PreviousReleases([release, release]))
    np.testing.assert_allclose(guess.values, BayesEstimateAttack().run(release).values)
    np.testing.assert_allclose(guess.details["noise_scale"], 0.5)


def test_the_same_correlated_noise_at_two_scales_gives_the_table():
    x = normal_table(n=800, d=2)
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    noise = np.random.default_rng(5).multivariate_normal([0, 0], covariance, size=len(x))
    a = with_values(noisy(x, 1, 1, covariance=covariance), x + noise)
    b = with_values(noisy(x, 1, 2, covariance=4 * covariance), x + 2 * noise)
    assert np.abs(ATTACK.run(a, PreviousReleases(b)).values - x).max() < 1e-6


@pytest.mark.parametrize("rho", [-1.0, 0.6])
def test_partly_shared_noise_in_closed_form(rho):
    """Equal scales σ: the average leaves σ²(1 + ρ)/2."""
    rng = np.random.default_rng(6)
    x = normal_table(n=4000, d=2)
    first = rng.normal(size=x.shape)
    second = rho * first + np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
    a, b = (with_values(noisy(x, 0.7, s), x + 0.7 * r) for s, r in ((1, first), (2, second)))
    guess = ATTACK.run(a, PreviousReleases(b))
    s = 0.49 * (1 + rho) / 2
    np.testing.assert_allclose(guess.details["shared_correlation"][0, 1], rho, atol=4.5 / np.sqrt(len(x)))
    assert within(guess, x, s / (1 + s)) if s else np.abs(guess.values - x).max() < 1e-8


def test_independent_noise_is_seldom_called_shared():
    """At four standard errors of one test, none of 300 pairs of few or heavy-tailed draws."""
    rng = np.random.default_rng(7)
    draws = [rng.normal(size=(100, 20)), rng.laplace(size=(100, 200)) / np.sqrt(2), rng.normal(size=(100, 2000))]
    found = [noise_correlation(np.sqrt(5) * d, 1.0, 2.0) for part in draws for d in part]
    assert found.count((0.0, 0.0)) >= 299


def test_changed_values_are_noise_of_the_earlier_release():
    """x moved by c² = 4 since: averaging as if it had not would be worse than not averaging."""
    x, scale = normal_table(n=4000, d=2), 0.8
    old = x + 2.0 * np.random.default_rng(8).normal(size=x.shape)
    a, b = noisy(x, scale, 1), noisy(old, scale, 2)
    guess = ATTACK.run(a, PreviousReleases(b))
    s = 1 / (1 / 0.64 + 1 / 4.64)
    assert not guess.details["shared_correlation"]
    assert within(guess, x, s / (1 + s))
    assert np.mean(((a.to_numpy() + b.to_numpy()) / 2 - x) ** 2) > 0.64


def test_inconsistent_correlations_do_not_blow_up():
    rng = np.random.default_rng(9)
    views = [NoisyView(np.array([0]), rng.normal(size=(12, 1)), np.array([[s]]), "normal") for s in (1e-9, 1.0, 1e6)]
    joint, _ = joint_noise(views)
    values, (group,) = averaged(views, joint, 1)
    assert np.isfinite(values).all()
    assert np.linalg.eigvalsh(joint)[0] >= -1e-9
    assert 0 <= group.noise[0, 0] <= 1e-9 * (1 + 1e-9)


# -- who is in which release --------------------------------------------------------------------


def test_people_have_the_releases_that_hold_them():
    x, sigma = normal_table(n=4000, d=2), 0.8
    rows = np.full(4000, -1)
    rows[1000:] = np.random.default_rng(10).permutation(3500)[:3000]
    earlier = np.random.default_rng(11).normal(size=(3500, 2))
    earlier[rows[1000:]] = x[1000:]
    guess = ATTACK.run(noisy(x, sigma, 1), PreviousReleases(noisy(earlier, sigma, 2), rows))
    for here, s in ((slice(0, 1000), sigma**2), (slice(1000, None), sigma**2 / 2)):
        squares = (guess.values[here] - x[here]) ** 2
        assert within_standard_errors(squares.mean(), s / (1 + s), squares.std() / np.sqrt(squares.size), 4.5)


def test_columns_and_cells_that_only_some_share():
    x = pd.DataFrame(normal_table(n=3000), columns=list("abc"))
    gaps = x.mask(np.random.default_rng(12).random(x.shape) < 0.1)
    current, earlier = noisy(gaps, 0.8, 1), noisy(x[["c", "a"]], 0.8, 2)
    guess = ATTACK.run(current, PreviousReleases(earlier))
    squares = (guess.values - x.to_numpy()) ** 2
    twice, once, missing = 0.32 / 1.32, 0.64 / 1.64, gaps.isna().to_numpy()
    np.testing.assert_array_equal(np.isnan(guess.values), missing & (x.columns == "b"))
    for at, expected in ((~missing[:, 0], twice), (missing[:, 0], once)):
        part = squares[at, 0]
        assert within_standard_errors(part.mean(), expected, part.std() / np.sqrt(len(part)), 4.5)
    part = squares[~missing[:, 1], 1]
    assert within_standard_errors(part.mean(), once, part.std() / np.sqrt(len(part)), 4.5)


def test_a_column_that_was_public_is_the_truth():
    x = pd.DataFrame(normal_table(n=200), columns=list("abc"))
    earlier = veil.publish(x, veil.AdditiveNoise(0.5), roles={"b": "public"})[0]
    guess = ATTACK.run(noisy(x, 0.8, 1), PreviousReleases(earlier))
    np.testing.assert_allclose(guess.values[:, 1], x["b"], atol=1e-6)


# -- exact mixes --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [veil.OrthogonalTransform, veil.PairwiseRotation])
@pytest.mark.parametrize("mixed_first", [True, False])
def test_a_rotation_and_noise_give_the_table_up_to_the_regression(method, mixed_first):
    """Squared error σ²(d + 1)/n per column: a χ² of d + 1 degrees for each of d columns."""
    x, sigma, errors = normal_table(n=400, d=4), 1.0, []
    for seed in range(20):
        mixed, noise = veil.publish(x, method(random_state=seed))[0], noisy(x, sigma, seed + 100)
        current, earlier = (mixed, noise) if mixed_first else (noise, mixed)
        guess = ATTACK.run(current, PreviousReleases(earlier))
        assert guess.details["determined"].all()
        errors.append(mse(guess, x) * len(x) / sigma**2)
    assert within_standard_errors(np.mean(errors), 5, np.sqrt(2 * 5 / (4 * 20)), 4.5)


def test_mixed_rows_without_noisy_ones_follow_too():
    x = normal_table(n=2000, d=3)
    rows = np.r_[np.arange(500), np.full(1500, -1)]
    mixed = veil.publish(x, veil.OrthogonalTransform(random_state=1))[0]
    guess = ATTACK.run(mixed, PreviousReleases(noisy(x, 0.5, 2), rows))
    assert np.mean((guess.values[500:] - x[500:]) ** 2) < 5 * 0.25 * 4 / 500


def test_a_projection_adds_what_it_keeps():
    """The noise stays only where the projection says nothing: one direction of three."""
    x = normal_table(n=4000, d=3)
    projected = veil.publish(x, veil.RandomProjection(2, random_state=1))[0]
    guess = ATTACK.run(noisy(x, 0.8, 2), PreviousReleases(projected))
    assert not guess.details["determined"].any()
    lengths = ((guess.values - x) ** 2).sum(axis=1)
    regression = 0.64 * 3 * 3 / len(x)
    assert abs(lengths.mean() - 0.64 / 1.64) < 4.5 * lengths.std() / np.sqrt(len(x)) + regression


def test_a_mix_of_changed_values_does_not_determine():
    x = normal_table(n=2000, d=2)
    old = x + np.random.default_rng(13).normal(size=x.shape)
    a, mixed = noisy(x, 0.5, 1), veil.publish(old, veil.OrthogonalTransform(random_state=1))[0]
    guess = ATTACK.run(a, PreviousReleases(mixed))
    assert not guess.details["determined"].any()
    # Given the old value, x has variance 1/2 before its own noisy release.
    assert within(guess, x, 1 / (2 + 4))


def test_few_records_are_not_regressed():
    x = normal_table(n=8, d=3)
    mixed = veil.publish(x, veil.OrthogonalTransform(random_state=1))[0]
    a = noisy(x, 0.5, 1)
    guess = ATTACK.run(a, PreviousReleases(mixed))
    np.testing.assert_allclose(guess.values, BayesEstimateAttack().run(a).values, atol=1e-6)


# -- factors ------------------------------------------------------------------------------------


def test_factors_are_averaged_in_logarithms():
    x = np.exp(0.5 * normal_table(n=3000, d=2)) * np.random.default_rng(14).choice([-1, 1], size=(3000, 2))
    x[:50, 0] = 0.0
    releases = [veil.publish(x, veil.MultiplicativeNoise(std=0.4, random_state=s))[0] for s in range(4)]
    guess = ATTACK.run(releases[0], PreviousReleases(releases[1:]))
    variance = releases[0].only_part.model.law.log_moments()[1]
    np.testing.assert_allclose(guess.details["noise_scale"] ** 2, variance / 4)
    np.testing.assert_array_equal(np.sign(guess.values), np.sign(x))
    squares = np.log(guess.values[x != 0] / x[x != 0]) ** 2
    s = variance / 4
    left = s * 0.25 / (0.25 + s)
    # The guess is exp(û + v/2): its logarithm's mean square is v + v²/4 about ln x.
    assert within_standard_errors(squares.mean() - left, left**2 / 4, squares.std() / np.sqrt(squares.size), 4.5)
    assert mse(guess, x) < 0.5 * mse(LogAttack().run(releases[0]), x)


def test_lognormal_noise_is_averaged_by_its_covariance():
    rng = np.random.default_rng(15)
    x = np.exp(rng.multivariate_normal([0, 0], [[1.0, 0.7], [0.7, 1.0]], size=3000))
    releases = [veil.publish(x, veil.LogNormalNoise(0.4, random_state=s))[0] for s in range(2)]
    guess = ATTACK.run(releases[0], PreviousReleases(releases[1]))
    covariance = releases[0].only_part.model.covariance
    np.testing.assert_allclose(guess.details["noise_scale"] ** 2, np.diag(covariance) / 2, rtol=0.02)
    single, both = (np.mean(np.log(g.values / x) ** 2) for g in (LogAttack().run(releases[0]), guess))
    assert both < 0.75 * single


def test_factors_and_noise_are_averaged_linearly():
    x = 5 + normal_table(n=3000, d=1)
    factors = veil.publish(x, veil.MultiplicativeNoise(std=0.15, random_state=1))[0]
    other = noisy(x, 1.0, 2)
    guess = ATTACK.run(factors, PreviousReleases(other))
    law = factors.only_part.model.law
    own = law.variance / law.expectation**2 * 26
    s = 1 / (1 / own + 1)
    assert within(guess, x, s / (1 + s))


# -- reports ------------------------------------------------------------------------------------


def exact_rate(prior, matrix, m):
    """Share of right guesses of the Bayes rule with m independent reports, by summing over all of them."""
    tuples = itertools.product(range(len(matrix)), repeat=m)
    return sum(float(np.max(prior * np.prod(matrix[list(r)], axis=0))) for r in tuples)


@pytest.mark.parametrize("m", [2, 4])
def test_reports_multiply(m):
    prior, n = np.array([0.5, 0.3, 0.2]), 6000
    x = np.random.default_rng(16).choice(["a", "b", "c"], size=n, p=prior)
    frame = pd.DataFrame({"v": x})
    releases = [veil.publish(frame, veil.RandomizedResponse(keep=0.6, random_state=s))[0] for s in range(m)]
    guess = ATTACK.run(releases[0], PreviousReleases(releases[1:]))
    right = np.mean(np.array(["a", "b", "c"])[guess.values[:, 0].astype(int)] == x)
    expected = exact_rate(prior, keep_matrix(0.6, 3), m)
    assert within_standard_errors(right, expected, np.sqrt(expected * (1 - expected) / n), 4.5)
    assert abs(guess.details["expected_rate"][0] - expected) < 0.03
    assert guess.details["used"] == (m,)


def test_kept_draws_add_nothing():
    x = pd.DataFrame({"v": np.random.default_rng(17).choice(list("ab"), size=1000, p=[0.7, 0.3])})
    release = veil.publish(x, veil.RandomizedResponse(keep=0.8, random_state=1))[0]
    guess = ATTACK.run(release, PreviousReleases([release, release]))
    assert guess.details["used"] == (1,)
    single = ResponsePosteriorAttack().run(release)
    np.testing.assert_array_equal(guess.values, single.values)
    np.testing.assert_allclose(guess.details["confidence"], single.details["confidence"], atol=1e-4)


def test_draws_that_a_key_keeps_are_recognized():
    x = pd.DataFrame({"id": range(800), "v": np.random.default_rng(21).choice(list("ab"), size=800)})
    key, options = veil.Key(), {"consistent_on": "id", "roles": {"id": "public"}}
    first = veil.publish(x, veil.RandomizedResponse(keep=0.7), key=key, **options)[0]
    second = veil.publish(x[::-1], veil.RandomizedResponse(keep=0.7), key=key, again=True, **options)[0]
    guess = ATTACK.run(first, PreviousReleases(second, np.arange(800)[::-1]))
    assert guess.details["used"] == (1,)


def test_a_prior_from_a_part_of_the_records_serves_all(monkeypatch):
    """With room for 900 records of 4,000 the rate falls by less than a third of what the other columns bring."""
    rng = np.random.default_rng(22)
    common = rng.integers(2, size=4000)
    truth = np.where(rng.random((4000, 3)) < 0.9, common[:, None], rng.integers(2, size=(4000, 3)))
    matrix = keep_matrix(0.65, 2)
    answers = np.where(rng.random((2, 4000, 3)) < 0.65, truth, 1 - truth)
    reports = [[Report(answer[:, j], matrix) for answer in answers] for j in range(3)]

    def rate(columns):
        return np.mean([np.mean(a.argmax(axis=1) == t) for a, t in zip(columns, truth.T, strict=True)])

    alone = rate([combined_posteriors([report])[0][0] for report in reports])
    whole = rate(combined_posteriors(reports)[0])
    monkeypatch.setattr("veil.attacks.repeated.reports.MOST_CELLS", 900 * 8)
    part = rate(combined_posteriors(reports)[0])
    assert whole > alone + 0.05
    assert part > whole - (whole - alone) / 3


def test_reports_of_other_columns_help_as_in_one_release():
    rng = np.random.default_rng(18)
    common = rng.integers(3, size=4000)
    x = pd.DataFrame(
        {n: np.where(rng.random(4000) < 0.9, common, rng.integers(3, size=4000)).astype(str) for n in "abc"}
    )
    releases = [veil.publish(x, veil.RandomizedResponse(keep=0.55, random_state=s))[0] for s in range(2)]
    guess = ATTACK.run(releases[0], PreviousReleases(releases[1]))
    right = np.mean(guess.values == x.to_numpy().astype(float))
    assert right > np.mean(ResponsePosteriorAttack().run(releases[0]).values == x.to_numpy().astype(float)) + 0.05
    assert right > exact_rate(np.full(3, 1 / 3), keep_matrix(0.55, 3), 2) + 0.05


def test_categories_are_matched_by_name_and_rows_by_number():
    rng = np.random.default_rng(19)
    x = rng.choice(list("abc"), size=2000)
    rows = np.where(rng.random(2000) < 0.5, np.arange(2000), -1)
    first = veil.publish(pd.DataFrame({"v": x}), veil.RandomizedResponse(keep=0.5, random_state=1))[0]
    options = {"keep": 0.999, "categories": {"v": ["d", "c", "b", "a"]}, "random_state": 2}
    second = veil.publish(pd.DataFrame({"v": x}), veil.RandomizedResponse(**options))[0]
    right = np.array(list("abc"))[ATTACK.run(first, PreviousReleases(second, rows)).values[:, 0].astype(int)] == x
    assert right[rows >= 0].mean() > 0.99
    assert right[rows < 0].mean() < 0.6


def test_compound_reports_are_combined_as_one_variable():
    rng = np.random.default_rng(20)
    x = pd.DataFrame({n: rng.choice(list("ab"), size=3000, p=[0.6, 0.4]) for n in ("u", "v")})
    joint = veil.publish(x, veil.RandomizedResponse(keep=0.6, joint=True, random_state=1))[0]
    apart = veil.publish(x, veil.RandomizedResponse(keep=0.8, random_state=2))[0]
    truth = (x == "b").to_numpy().astype(float)
    single = np.mean(ResponsePosteriorAttack().run(joint).values == truth)
    assert np.mean(ATTACK.run(joint, PreviousReleases(apart)).values == truth) > single + 0.05


def test_a_report_that_was_impossible_earlier_falls_back():
    """The earlier matrix never reports category 1 for itself: a contradiction is not a division by zero."""
    current = Report(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    earlier = Report(np.array([0, 0, 1]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    (after,), (prior,) = combined_posteriors([[current, earlier]])
    assert np.isfinite(after).all()
    assert np.isfinite(prior).all()
    assert after[0, 0] == 1.0
    assert independent_reports([current, earlier]) == [0, 1]


# -- inputs -------------------------------------------------------------------------------------


def test_bad_rows_are_named():
    x = normal_table(n=20)
    a, b = noisy(x, 0.5, 1), noisy(x, 0.5, 2)
    with pytest.raises(InputError, match="beyond the 20 rows"):
        ATTACK.run(a, PreviousReleases(b, np.arange(20) + 1))
    with pytest.raises(InputError, match="one entry per row of the current release \\(20\\); got 19"):
        ATTACK.run(a, PreviousReleases(b, np.arange(19)))
    with pytest.raises(InputError, match="has 19 rows and the current one 20"):
        ATTACK.run(a, PreviousReleases(noisy(x[:19], 0.5, 2)))
    with pytest.raises(InputError, match="more than once"):
        PreviousReleases(b, np.zeros(20, dtype=int))
    with pytest.raises(InputError, match="a lower number"):
        PreviousReleases(b, np.full(20, -2))
    with pytest.raises(InputError, match="whole numbers"):
        PreviousReleases(b, np.arange(20) + 0.5)
    with pytest.raises(InputError, match="equally long"):
        PreviousReleases([b, b], [np.arange(20), np.arange(19)])
    with pytest.raises(InputError, match="one list of rows per earlier release \\(2\\); got 1"):
        PreviousReleases([b, b], [np.arange(20)])
    with pytest.raises(InputError, match="at least one"):
        PreviousReleases([])
    with pytest.raises(InputError, match="a release or a list"):
        PreviousReleases(x)
    with pytest.raises(MissingKnowledgeError, match="needs PreviousReleases"):
        ATTACK.run(a)


def test_shuffled_rows_must_be_matched():
    x = normal_table(n=20)
    shuffled = veil.publish(x, veil.AdditiveNoise(0.5), shuffle=True)[0]
    with pytest.raises(InputError, match="shuffled"):
        ATTACK.run(noisy(x, 0.5, 1), PreviousReleases(shuffled))
    assert ATTACK.run(noisy(x, 0.5, 1), PreviousReleases(shuffled, np.arange(20))).values.shape == (20, 3)


def test_releases_that_cannot_be_combined():
    x = pd.DataFrame(normal_table(n=50), columns=list("abc"))
    rotated = [veil.publish(x, veil.OrthogonalTransform(random_state=s))[0] for s in (1, 2)]
    with pytest.raises(NotApplicableError, match="unmixed"):
        ATTACK.run(rotated[0], PreviousReleases(rotated[1]))
    with pytest.raises(NotApplicableError, match="no earlier release adds"):
        ATTACK.run(noisy(x, 0.5, 1), PreviousReleases(noisy(x.rename(columns=str.upper), 0.5, 2)))
    words = pd.DataFrame({"w": list("ab") * 25})
    reports = veil.publish(words, veil.RandomizedResponse(keep=0.7))[0]
    with pytest.raises(NotApplicableError, match="no earlier release holds reports"):
        ATTACK.run(reports, PreviousReleases(noisy(x, 0.5, 1)))


def test_sizes_are_told_and_values_are_not():
    x = normal_table(n=1200)
    release = noisy(x, 0.5, 1)
    assert repr(PreviousReleases(release)) == "<PreviousReleases: 1 earlier release of the same rows>"
    rows = np.r_[np.arange(1000), np.full(200, -1)]
    told = repr(PreviousReleases([release, release], [rows, None]))
    assert told == "<PreviousReleases: 2 earlier releases, with 1,000 of 1,200 rows matched>"
