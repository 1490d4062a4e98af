"""P3, P4 and P22 obey their laws; the papers' printed moments would fail here (errata L-k, L-l, L-m)."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veil
from _tables import within_standard_errors
from veil.numerics.factor_law import factor_law

N = 200_000


@pytest.mark.parametrize(
    ("mean", "std", "bounds", "notch"),
    [
        (1, 0.15, (0.4, 1.6), None),
        (1, 0.5, (0.7, 2.5), None),
        (1, 0.15, (0.4, 1.6), 0.01),
        (1.2, 0.3, (0.9, 3.0), None),
    ],
)
def test_moments_of_the_factor(mean, std, bounds, notch):
    law = factor_law(mean, std, bounds, notch)
    x = np.full((N, 1), 3.0)
    x[0] = 4.0
    release, _ = veil.publish(x, veil.MultiplicativeNoise(std, mean=mean, bounds=bounds, notch=notch, random_state=1))
    r = (release.to_numpy() / x)[1:, 0]
    assert r.min() >= bounds[0] - 1e-5
    assert r.max() <= bounds[1] + 1e-5
    assert within_standard_errors(r.mean(), law.expectation, r.std() / np.sqrt(N))
    spread = ((r - r.mean()) ** 2).std() / np.sqrt(N)
    assert within_standard_errors(r.var(), law.variance, spread)
    if notch is None:
        a, b = (bounds[0] - mean) / std, (bounds[1] - mean) / std
        assert law.expectation == pytest.approx(stats.truncnorm(a, b, mean, std).mean(), rel=1e-12)
        assert law.variance == pytest.approx(stats.truncnorm(a, b, mean, std).var(), rel=1e-9)
        assert stats.kstest(r, stats.truncnorm(a, b, mean, std).cdf).pvalue > 1e-4
    else:
        assert np.abs(r - 1).min() >= notch - 1e-5


def test_the_notch_raises_the_variance():
    """Errata L-l: .02374, not .0225; 94.7 % of draws are kept."""
    law = factor_law(1, 0.15, (0.4, 1.6), 0.01)
    assert law.variance == pytest.approx(0.02374, abs=5e-6)
    assert law.acceptance == pytest.approx(0.947, abs=5e-4)


def test_the_printed_mean_fails_when_the_truncation_is_lopsided():
    """Errata L-k: without σ before K the mean is off by far more than its error."""
    law = factor_law(1, 0.5, (0.7, 2.5), None)
    a, b = (0.7 - 1) / 0.5, (2.5 - 1) / 0.5
    k = 1 / (stats.norm.cdf(b) - stats.norm.cdf(a))
    printed = 1 + k * (stats.norm.pdf(a) - stats.norm.pdf(b))
    assert abs(printed - law.expectation) > 0.2


def test_zeros_and_signs_go_out_and_the_docs_say_so():
    x = np.random.default_rng(0).normal(size=(1000, 2))
    x[:100, 0] = 0
    release, _ = veil.publish(x, veil.MultiplicativeNoise())
    np.testing.assert_array_equal(np.sign(release.to_numpy()), np.sign(x))
    assert "Zeros and signs" in veil.MultiplicativeNoise.__doc__
    combined, _ = veil.publish(x, veil.CombinedNoise())
    assert (np.sign(combined.to_numpy()[:100, 0]) != 0).mean() > 0.99


def test_combined_noise_has_both_variances():
    x = np.random.default_rng(1).gamma(4.0, size=(N, 1))
    release, _ = veil.publish(x, veil.CombinedNoise(0.2, bounds=(0.5, 1.8), scale=0.5, random_state=1))
    law, sigma = factor_law(1, 0.2, (0.5, 1.8), None), release.only_part.parameters["scale"][0]
    expected = law.variance * np.mean(x**2) + sigma**2
    error = release.to_numpy() - law.expectation * x
    assert np.mean(error**2) == pytest.approx(expected, abs=5 * (error**2).std() / np.sqrt(N))
    streams = np.corrcoef(error[: N // 2, 0], error[N // 2 :, 0])[0, 1]
    assert abs(streams) < 5 / np.sqrt(N / 2)


def test_factor_and_noise_of_combined_noise_are_unrelated():
    x = np.full((N, 1), 1.0)
    x[0] = 3.0
    kept, _ = veil.publish(x, veil.CombinedNoise(0.3, bounds=(0.1, 1.9), scale=1e-3, random_state=5))
    both, _ = veil.publish(x, veil.CombinedNoise(0.3, bounds=(0.1, 1.9), scale=30.0, random_state=5))
    assert abs(np.corrcoef(kept.to_numpy()[1:, 0], both.to_numpy()[1:, 0])[0, 1]) < 5 / np.sqrt(N)


def test_scheme_two_has_the_logarithms_correlations():
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(3, 3))
    u = rng.normal(size=(N, 3)) @ mixing * 0.4
    release, _ = veil.publish(np.exp(u), veil.LogNormalNoise(c=0.3, random_state=2))
    noise = np.log(release.to_numpy()) - u
    stated = release.only_part.model.covariance
    se = np.sqrt((np.outer(np.diag(stated), np.diag(stated)) + stated**2) / N)
    assert within_standard_errors(np.cov(noise.T), stated, se, 5)
    # Rounded to two digits before use: within a few per cent of c·Cov(u).
    assert np.abs(stated / (0.3 * np.cov(u.T)) - 1).max() < 0.1
    assert abs(np.corrcoef(noise[:, 0], u[:, 0])[0, 1]) < 5 / np.sqrt(N)


def test_singular_logarithms_are_no_obstacle():
    """Seven records of seven marks have a log covariance of rank 6: Cholesky fails there (Pandya)."""
    marks = np.exp(np.random.default_rng(3).normal(size=(7, 7)))
    release, key = veil.publish(marks, veil.LogNormalNoise(c=0.1))
    np.testing.assert_allclose(veil.restore(release, key), marks, rtol=1e-5)


def test_what_has_no_logarithm_is_refused_by_column_and_count():
    table = pd.DataFrame({"good": [1.0, 2, 3, 4], "zero": [0.0, 1, 2, 0], "minus": [-1.0, 1, 2, 3]})
    with pytest.raises(veil.InputError, match=r"'zero' \(2\), 'minus' \(1\)"):
        veil.publish(table, veil.LogNormalNoise())


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (veil.MultiplicativeNoise(std=0), "std"),
        (veil.MultiplicativeNoise(bounds=(1.6, 0.4)), "bounds"),
        (veil.MultiplicativeNoise(bounds=(-1, 2)), "bounds"),
        (veil.MultiplicativeNoise(bounds=3), "bounds"),
        (veil.MultiplicativeNoise(notch=0.9), "notch"),
        (veil.MultiplicativeNoise(std=0.01, bounds=(1.5, 1.6)), "bounds"),
        (veil.CombinedNoise(scale=-1), "scale"),
        (veil.LogNormalNoise(c=1.0), "c must"),
    ],
)
def test_wrong_parameters(method, word):
    with pytest.raises(veil.InputError, match=word):
        veil.publish(np.random.default_rng(0).gamma(2, size=(20, 2)), method)
