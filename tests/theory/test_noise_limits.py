"""Noise at its limits: constants, few rows, many columns, exact collinearity, missing values."""

import numpy as np
import pytest

import veil
from _tables import positive_table
from veil.attacks import attack_classes
from veil.data.blocks import column_block
from veil.numerics.moments import moments_of
from veil.perturbations.correlated import dissimilarity

NOISES = [
    veil.AdditiveNoise(0.5, random_state=0),
    veil.AdditiveNoise(0.5, similarity=0.8, random_state=0),
    veil.MultiplicativeNoise(random_state=0),
    veil.LogNormalNoise(0.2, random_state=0),
    veil.CombinedNoise(random_state=0),
]


def applicable(release):
    return [cls() for cls in attack_classes().values() if not cls.requires and cls.applies_to(release.only_part.model)]


@pytest.mark.parametrize("noise", NOISES, ids=lambda m: m.describe())
@pytest.mark.parametrize("shape", [(2, 3), (6, 30), (50, 1)], ids=["two rows", "more columns than rows", "one column"])
def test_few_rows_and_many_columns(noise, shape):
    """Everything is published, restored, attacked and recovered, or refused in one line."""
    x = positive_table(*shape)
    release, key = veil.publish(x, noise)
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-4, atol=1e-4)
    for attack in applicable(release):
        try:
            guess = attack.run(release)
        except veil.NotApplicableError:
            continue
        assert guess.values.shape == x.shape
        assert np.isfinite(guess.values).all(), attack
    found = veil.MomentRecovery().fit(release)
    assert np.isfinite(found.mean_).all()


@pytest.mark.parametrize("noise", NOISES, ids=lambda m: m.describe())
def test_exactly_collinear_columns(noise):
    """One column is the sum of two others, as in the CASC census table: the covariance is singular."""
    x = positive_table(2_000, 3)
    x = np.column_stack([x, x[:, 0] + x[:, 1]])
    release, key = veil.publish(x, noise)
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-4, atol=1e-4)
    of_known_columns = (veil.PartialDisclosureAttack, veil.AttributeInferenceAttack)
    attacks = [attack for attack in applicable(release) if not isinstance(attack, of_known_columns)]
    assert len(attacks) >= 2
    for attack in attacks:
        assert np.isfinite(attack.run(release).values).all(), attack


@pytest.mark.parametrize(
    "attack",
    [
        veil.BayesEstimateAttack(),
        veil.BayesEstimateAttack(prior="mixture"),
        veil.BayesEstimateAttack(variant="paper"),
        veil.PCAAttack(),
        veil.SVDAttack(),
    ],
)
def test_noise_that_leaves_a_direction_bare_hides_nothing_there(attack):
    """Noise in two directions of four, data in the other two: what is bare is the truth."""
    a, b = np.random.default_rng(5).normal(size=(2, 20_000))
    x = np.column_stack([a, b, a + b, a - b])
    q = np.linalg.eigh(np.cov(x.T))[1][:, :2]
    release, _ = veil.publish(x, veil.AdditiveNoise(covariance=4 * q @ q.T, random_state=0))
    error = attack.run(release).values - x
    # How the noisy directions follow from the bare ones is estimated from N records: an error of about σ·√(4/N) = .02.
    assert np.sqrt(np.mean(error**2)) < 0.05 * x.std()


def test_noise_shared_by_all_columns_falls_to_one_known_column():
    x = positive_table(400, 4)
    release, _ = veil.publish(x, veil.AdditiveNoise(covariance=4 * np.ones((4, 4)), random_state=0))
    guess = veil.PartialDisclosureAttack().run(release, veil.KnownAttributes("x0", x[:, 0]))
    np.testing.assert_allclose(guess.values, x, atol=1e-4)


def test_a_column_without_noise_is_the_truth():
    x = positive_table(400, 3)
    release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=0))
    bare = veil.KnownNoise(np.array([0.0, 0.3, 0.3]))
    for attack in (veil.BayesEstimateAttack(), veil.PCAAttack(), veil.UnivariateBayesAttack(), veil.IntervalAttack()):
        np.testing.assert_allclose(attack.run(release, bare).values[:, 0], release.to_numpy()[:, 0], rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("columns", [3, 6])
def test_collinear_tables_hide_as_well_as_others(columns, seed):
    """Data of rank 2: noise that mimics them leaves c/(1 + c) of each variance, and no bare direction (P2, P4).

    The factor is rounded, so noise of the data's own rank would miss their plane: the error was then 0.
    """
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(10_000, 2)) @ rng.normal(size=(2, columns)) * 0.3
    c = 0.5
    logs = veil.publish(np.exp(u), veil.LogNormalNoise(c, random_state=seed))[0]
    guess = veil.LogAttack().run(logs).details["log_values"]
    assert np.mean((guess - u) ** 2 / u.var(axis=0)) > 0.9 * c / (1 + c)
    similar = veil.publish(u, veil.AdditiveNoise(np.sqrt(c), similarity=1, random_state=seed))[0]
    for attack in (veil.BayesEstimateAttack(), veil.PCAAttack(), veil.BayesEstimateAttack(prior="mixture")):
        assert np.mean((attack.run(similar).values - u) ** 2 / u.var(axis=0)) > 0.9 * c / (1 + c)


@pytest.mark.parametrize("base", [None, veil.BayesEstimateAttack(prior="mixture"), veil.UnivariateBayesAttack()])
def test_logarithms_come_back_without_bias(base):
    """E x̂ = E x: exp(û) alone is too small by the factor exp(−v/2)."""
    u = np.random.default_rng(2).normal(size=(20_000, 3)) * [0.3, 0.5, 0.7]
    x = np.exp(u)
    release, _ = veil.publish(x, veil.LogNormalNoise(0.5, random_state=0))
    guess = veil.LogAttack(base).run(release).values
    np.testing.assert_allclose(guess.mean(axis=0), x.mean(axis=0), rtol=0.02)
    plain = np.exp(veil.LogAttack(base).run(release).details["log_values"])
    assert (plain.mean(axis=0) < 0.99 * x.mean(axis=0)).all()


def test_combined_noise_is_filtered_linearly():
    """P22: the error of the linear Bayes filter is that of additive noise of variance (Var r·E x² + Var e)/(E r)²."""
    rng = np.random.default_rng(3)
    x = rng.normal(10.0, 2.0, size=(20_000, 1)) + 0.3 * rng.normal(size=(20_000, 4))
    method = veil.CombinedNoise(std=0.15, scale=1.0, random_state=0)
    release, _ = veil.publish(x, method)
    guess, raw = veil.LogAttack().run(release).values, veil.NoiseDistributionAttack().run(release).values
    m1, m2 = release.only_part.model.law.raw_moments()[:2]
    noise = ((m2 - m1**2) * (x**2).mean(axis=0) + release.only_part.model.noise**2) / m1**2
    np.testing.assert_allclose(((raw - x) ** 2).mean(axis=0), noise, rtol=0.05)
    sigma = np.cov(x.T, ddof=0)
    theory = np.diag(sigma - sigma @ np.linalg.solve(sigma + np.diag(noise), sigma))
    np.testing.assert_allclose(((guess - x) ** 2).mean(axis=0), theory, rtol=0.05)


@pytest.mark.parametrize("similarity", [1.0, -1.0, 0.5])
def test_similar_noise_refuses_what_it_would_leave_unchanged(similarity):
    x = positive_table(50, 3)
    x[:, 2] = 4.0
    with pytest.raises(veil.InputError, match=r"'x2': all 50 values"):
        veil.publish(x, veil.AdditiveNoise(0.5, similarity=similarity))
    method = veil.AdditiveNoise(0.5, similarity=similarity, relative=False, random_state=0)
    assert np.std(method.fit_transform(x)[:, 2]) > 0
    with pytest.raises(veil.InputError, match="would release it unchanged"):
        veil.publish(np.ones((50, 3)), method)


def test_gaps_do_not_change_the_reported_dissimilarity():
    x = positive_table(5_000, 3) @ np.array([[1, 0.9, 0.2], [0, 1, 0.3], [0, 0, 1]])
    gaps = x.copy()
    gaps[np.random.default_rng(0).uniform(size=len(x)) < 0.3, 1] = np.nan
    for s in (1.0, -1.0):
        whole, part = (
            dissimilarity(
                moments_of([column_block(t)]), veil.AdditiveNoise(0.5, similarity=s, random_state=0).fit(t).factor_
            )
            for t in (x, gaps)
        )
        assert whole["rms"] == pytest.approx(part["rms"], abs=0.05)


@pytest.mark.parametrize("noise", NOISES, ids=lambda m: m.describe())
def test_missing_values_and_constants(noise):
    x = positive_table(500, 3)
    x[::9, 1] = np.nan
    release, _ = veil.publish(x, noise)
    np.testing.assert_array_equal(np.isnan(release.to_numpy()), np.isnan(x))
    for attack in applicable(release):
        try:
            values = attack.run(release).values
        except veil.NotApplicableError:
            continue
        assert (np.isnan(values) == np.isnan(x)).all(), attack
    constant = positive_table(50, 3)
    constant[:, 2] = 4.0
    with pytest.raises(veil.InputError, match="'x2': all 50 values are equal"):
        veil.publish(constant, noise)


def test_absolute_noise_takes_a_constant():
    x = positive_table(500, 2)
    x[:, 1] = 4.0
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, relative=False))
    guess = veil.BayesEstimateAttack().run(release)
    assert abs(guess.values[:, 1] - 4.0).max() < 1.0, "a constant under noise is averaged out"
