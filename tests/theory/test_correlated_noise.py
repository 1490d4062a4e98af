"""P2: noise with the data's correlations, or the opposite, at constant power (Huang 2005, §8)."""

import numpy as np
import pytest

import veil
from _tables import two_level_table, within_standard_errors
from veil.data.blocks import column_block
from veil.numerics.moments import moments_of
from veil.perturbations.correlated import dissimilarity, similar_spectrum


@pytest.mark.parametrize("similarity", [1.0, 0.4, 0.0, -0.6, -1.0])
def test_the_noise_has_the_stated_covariance_and_power(similarity):
    x, _ = two_level_table()
    release, _ = veil.publish(x, veil.AdditiveNoise(5.0, relative=False, similarity=similarity, random_state=1))
    noise, stated = release.to_numpy() - x, release.only_part.model.covariance
    se = np.sqrt((np.outer(np.diag(stated), np.diag(stated)) + stated**2) / len(x))
    assert within_standard_errors(np.cov(noise.T, ddof=0), stated, se, 5.5)
    assert np.trace(stated) / len(stated) == pytest.approx(25, rel=0.01), "total power is that of independent noise"
    assert release.only_part.catalogue == "P2"


def test_the_error_of_the_bayes_attack_falls_along_the_path():
    """H Fig 4: highest where the noise mimics the data; the closed form with the noise's spectrum put in."""
    x, eigenvalues = two_level_table()
    errors = []
    for similarity in (1.0, 0.5, 0.0, -0.5, -1.0):
        release, _ = veil.publish(x, veil.AdditiveNoise(5.0, relative=False, similarity=similarity, random_state=2))
        guess = veil.BayesEstimateAttack().run(release)
        errors.append(np.mean((guess.values - x) ** 2))
        noise = 25 * similar_spectrum(eigenvalues, similarity)
        assert errors[-1] == pytest.approx(np.mean(eigenvalues * noise / (eigenvalues + noise)), rel=0.05, abs=0.1)
    assert np.all(np.diff(errors) < 0)


def test_noise_like_the_data_leaves_correlation_nothing_to_do():
    """At similarity 1 the Bayes filter is a scalar: the error is c/(1+c) of the variance."""
    x, _ = two_level_table(large=50.0)
    release, _ = veil.publish(x, veil.AdditiveNoise(0.5, similarity=1.0, random_state=3))
    guess = veil.BayesEstimateAttack().run(release)
    share = np.mean((guess.values - x) ** 2, axis=0) / x.var(axis=0)
    np.testing.assert_allclose(share, 0.25 / 1.25, rtol=0.08)


def test_dissimilarity_is_reported_to_the_owner_and_not_published():
    x, _ = two_level_table()
    methods = [veil.AdditiveNoise(5.0, relative=False, similarity=s).fit(x) for s in (1.0, 0.0, -1.0)]
    found = [dissimilarity(moments_of([column_block(x)]), method.factor_) for method in methods]
    assert found[0]["rms"] < 0.02 < found[1]["rms"] < found[2]["rms"]
    d = x.shape[1]
    for entry in found[1:]:
        assert entry["paper"] == pytest.approx(entry["rms"] / np.sqrt(d * d - d), rel=0.1)
    release, _ = veil.publish(x, veil.AdditiveNoise(similarity=0.5))
    assert "dissimilarity" not in release.manifest.to_json()


def test_an_explicit_covariance_may_be_singular():
    x, _ = two_level_table(2_000, 4)
    covariance = np.ones((4, 4)) + np.diag([1.0, 1.0, 1.0, 0.0]) * 3
    release, key = veil.publish(x, veil.AdditiveNoise(covariance=covariance, random_state=4))
    np.testing.assert_allclose(release.only_part.model.covariance, covariance, atol=1e-9)
    np.testing.assert_allclose(veil.restore(release, key), x, atol=1e-5)


def test_missing_values_pass():
    x, _ = two_level_table(2_000, 4)
    x[::7, 2] = np.nan
    release, key = veil.publish(x, veil.AdditiveNoise(similarity=1.0))
    np.testing.assert_array_equal(np.isnan(release.to_numpy()), np.isnan(x))
    np.testing.assert_allclose(veil.restore(release, key), x, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"similarity": 2}, "similarity"),
        ({"similarity": "x"}, "similarity"),
        ({"similarity": 0.5, "covariance": np.eye(3)}, "give one of them"),
        ({"similarity": 0.5, "distribution": "laplace"}, "distribution"),
        ({"covariance": np.eye(2)}, "3 × 3"),
        ({"covariance": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"covariance": np.diag([1, -1, 1])}, "negative"),
        ({"covariance": np.diag([1, 0, 1])}, "unchanged"),
        ({"covariance": "x"}, "covariance"),
    ],
)
def test_wrong_settings(options, word):
    with pytest.raises(veil.InputError, match=word):
        veil.publish(np.random.default_rng(0).normal(size=(50, 3)), veil.AdditiveNoise(**options))


def test_correlated_noise_cannot_be_kept_by_cell():
    import pandas as pd

    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc")).assign(
        id=[f"p{i}" for i in range(50)]
    )
    with pytest.raises(veil.InputError, match="whole records"):
        veil.publish(frame, veil.AdditiveNoise(similarity=1.0), consistent_on="id")
