"""A21: a known sample against a random projection (beyond Liu 2007, §5.4.3; errata L-v)."""

import numpy as np
import pytest

import veil
from _tables import within_standard_errors
from veil.attacks.projection.alignment import align_projection
from veil.attacks.projection.features import feature_means, release_features
from veil.attacks.projection.known_sample import CERTAIN, ProjectedSampleAttack
from veil.attacks.projection.posterior import Target, _log_density, differences
from veil.release.models import OrthogonalModel, ProjectionModel

N, SAMPLE = 2_500, 300


def gamma(rng, d):
    """Skewed columns of unequal shape, one factor in common: what a projection cannot hide."""
    shapes = np.geomspace(0.7, 6.0, d)
    x = rng.gamma(shapes, 1.0, (N + SAMPLE, d)) / np.sqrt(shapes) + 0.5 * rng.standard_normal((N + SAMPLE, 1))
    return x / x.std(axis=0)


def normal(rng, d, mean=0.0):
    root = np.linalg.cholesky(0.5 * np.eye(d) + 0.5)
    return rng.standard_normal((N + SAMPLE, d)) @ root.T + mean


def case(population, k, d, seed, known=0):
    rng = np.random.default_rng(seed)
    x = population(rng, d)
    sample, private = x[:SAMPLE], x[SAMPLE:]
    matrix = rng.standard_normal((k, d)) / np.sqrt(k)
    y = private @ matrix.T
    return private, sample, y, matrix, (private[:known], y[:known]) if known else None


def error(guess, x):
    return float(np.sqrt(np.mean(((guess - x) / x.std(axis=0)) ** 2)))


def oracle(matrix, y, sample):
    mean, covariance = sample.mean(axis=0), np.atleast_2d(np.cov(sample.T))
    gain = np.linalg.solve(matrix @ covariance @ matrix.T, matrix @ covariance).T
    return mean + (y - matrix @ mean) @ gain.T


def attacked(population, k, d, seed, known=0, **options):
    """Errors of the attack, of the disclosed matrix and of the mean; certainty and expected error."""
    x, sample, y, matrix, pairs = case(population, k, d, seed, known)
    found = align_projection(y, sample, entry_variance=1 / k, pairs=pairs, seed=seed, **options)
    expected = np.sqrt(np.mean(found.expected_mse / x.var(axis=0)))
    ours, best, mean = (error(g, x) for g in (found.recover(y), oracle(matrix, y, sample), sample.mean(axis=0)))
    return ours, best, mean, found.certainty, expected


# -- exact cases ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5])
def test_as_many_pairs_as_columns_disclose_the_matrix(k):
    x, sample, y, matrix, pairs = case(gamma, k, 5, 0, known=5)
    found = align_projection(y, sample, entry_variance=1 / k, pairs=pairs)
    np.testing.assert_allclose(found.matrices[0], matrix, atol=1e-9)
    np.testing.assert_allclose(found.recover(y), oracle(matrix, y, sample), atol=1e-6)
    if k == 5:
        np.testing.assert_allclose(found.recover(y), x, atol=1e-6)
    assert found.certainty == pytest.approx(1.0)


def test_every_draw_reproduces_the_known_pairs():
    _, sample, y, _, pairs = case(gamma, 3, 4, 1, known=2)
    found = align_projection(y, sample, entry_variance=1 / 3, pairs=pairs, islands=2, particles=4)
    np.testing.assert_allclose(found.matrices @ pairs[0].T, np.broadcast_to(pairs[1].T, (64, 3, 2)), atol=1e-8)


def test_one_column_left_is_a_sign_that_skewness_tells():
    """d = k = 1: y = r z with |r| known from the spread; only a skewed column tells the sign."""
    skewed = attacked(lambda rng, d: rng.gamma(1.0, 1.0, (N + SAMPLE, d)) - 1.0, 1, 1, 2, islands=4)
    assert skewed[0] < 0.2
    even = attacked(lambda rng, d: rng.standard_normal((N + SAMPLE, d)), 1, 1, 2, islands=4)
    assert 0.95 < even[0] < 1.05
    assert even[3] < 0.1


# -- the law ------------------------------------------------------------------------------------------


def test_differences_under_the_true_matrix_have_the_promised_size():
    """The normal part is chi-square with one degree per function; over 60 samples, within 5 standard errors."""
    rng = np.random.default_rng(3)
    x = gamma(rng, 4)
    y = x[:N] @ (rng.standard_normal((3, 4)) / np.sqrt(3)).T
    size, axes = np.linalg.eigh(np.cov(y.T))
    v = (y - y.mean(axis=0)) @ axes / np.sqrt(size)
    drawn = [v[rng.choice(N, SAMPLE, replace=False)] for _ in range(60)]
    features = release_features(v, SAMPLE, 30, rng)
    sizes = []
    for one in drawn:
        records = np.ascontiguousarray(one.T)
        g = feature_means(records, features.directions @ records) - features.means
        sizes.append([g @ features.normal_weight @ g, g @ features.weight @ g])
    sizes = np.array(sizes)
    # Drawn without replacement from the release itself: 1/n − 1/N where independent samples have 1/n + 1/N.
    finite = (1 / SAMPLE - 1 / N) / (1 / SAMPLE + 1 / N)
    wanted = [finite * np.trace(w @ _covariance(v, features)) for w in (features.normal_weight, features.weight)]
    assert wanted[0] / finite * (1 / SAMPLE + 1 / N) == pytest.approx(features.n_normal * (1 / SAMPLE + 1 / N))
    errors = sizes.std(axis=0) / np.sqrt(len(sizes))
    assert within_standard_errors(sizes.mean(axis=0), wanted, errors, 5)


def _covariance(v, features):
    rows = [feature_means(one[:, None], features.directions @ one[:, None]) for one in v]
    return np.cov(np.array(rows).T) * (1 / SAMPLE + 1 / N)


def test_a_normal_release_has_nothing_to_tell_beyond_its_covariance():
    """With V⁻¹ as the weight, the functions beyond covariance would count in full: dozens of degrees."""
    rng = np.random.default_rng(4)
    told = []
    for table in (rng.standard_normal((N, 3)), rng.gamma(1.0, 1.0, (N, 3)) - 1.0):
        features = release_features(table, SAMPLE, 30, rng)
        extra = features.weight - features.normal_weight
        told.append(np.trace(extra @ _covariance(table, features)))
    assert told[0] < 2
    assert told[1] > 10


def test_gradient_of_the_log_density():
    rng = np.random.default_rng(5)
    k, r, n = 3, 4, 50
    features = release_features(rng.gamma(2.0, 1.0, (500, k)) - 2.0, n, 12, rng)
    draw = rng.standard_normal
    compared = features.directions, features.means, features.weight
    whole = Target(draw((k, n)), draw((r, n)), *compared, draw((k, r)) ** 2, draw((k, k)), draw((r, 2)), draw((k, 2)))
    target = whole.evaluated()
    theta = 0.3 * rng.standard_normal((k, r))
    value, gradient = _log_density(theta, target)
    g = differences(theta, whole)
    misfit = whole.pair_root @ theta @ whole.pair_t - whole.pair_values
    assert value == pytest.approx(
        -0.5 * (g @ whole.weight @ g + (whole.precision * theta**2).sum() + (misfit**2).sum()), rel=1e-5
    )
    for i, j in [(0, 0), (1, 2), (2, 3)]:
        step = np.zeros((k, r))
        step[i, j] = 3e-3
        slope = (_log_density(theta + step, target)[0] - _log_density(theta - step, target)[0]) / 6e-3
        assert gradient[i, j] == pytest.approx(slope, abs=0.02)  # single precision: 1e-5 in the values


# -- what it wins and what it must not lose -----------------------------------------------------------


FEW = {"islands": 3, "particles": 8}


def test_normal_data_without_a_mean_are_left_at_their_mean():
    """A single key may be lucky or not (±10 %); the mean over keys may lose no more than 5 %."""
    runs = np.array([attacked(normal, 3, 4, seed, **FEW) for seed in range(6)])
    assert runs[:, 0].mean() <= 1.05 * runs[:, 2].mean()
    assert np.all(runs[:, 3] < CERTAIN)


def test_a_skewed_population_and_one_pair_give_the_matrix_away():
    """Gains on the mean by more than four standard errors over keys, and never on the disclosed matrix."""
    runs = np.array([attacked(gamma, 3, 4, seed, 1, **FEW) for seed in range(6)])
    assert _standard_errors(runs[:, 2] - runs[:, 0]) > 4
    assert np.all(runs[:, 0] >= 0.98 * runs[:, 1])


def _standard_errors(gain):
    return gain.mean() / (gain.std(ddof=1) / np.sqrt(len(gain)))


def test_a_mean_and_pairs_help_where_shape_does_not():
    """Normal data: one direction from the mean, one more from each pair; the same keys throughout."""
    plain, paired = (
        np.array([attacked(lambda rng, d: normal(rng, d, 2.0), 3, 4, s, known, **FEW) for s in range(4)])
        for known in (0, 2)
    )
    for gain in (plain[:, 2] - plain[:, 0], plain[:, 0] - paired[:, 0]):
        assert _standard_errors(gain) > 3


@pytest.mark.slow
@pytest.mark.parametrize(("population", "k", "known"), [(gamma, 4, 0), (gamma, 4, 1), (normal, 4, 0), (normal, 3, 2)])
def test_the_promised_error_is_the_error(population, k, known):
    """Six columns, twenty keys: no loss against the mean, a gain where there is one, and the promise holds."""
    runs = np.array([attacked(population, k, 6, seed, known) for seed in range(20)])
    assert runs[:, 0].mean() <= 1.05 * runs[:, 2].mean()
    if population is gamma or known:
        assert _standard_errors(runs[:, 2] - runs[:, 0]) > 4
    gap = runs[:, 4] - runs[:, 0]
    assert abs(gap.mean()) < 0.05 + 4 * gap.std() / np.sqrt(len(gap))


# -- the attack ---------------------------------------------------------------------------------------


def test_the_attack_on_a_release():
    rng = np.random.default_rng(6)
    x = gamma(rng, 4) * [10.0, 1.0, 0.1, 5.0] + 3.0
    release, _ = veil.publish(x[SAMPLE:], veil.RandomProjection(3, random_state=1))
    known = veil.KnownSample(x[:SAMPLE]), veil.KnownPairs(x[SAMPLE : SAMPLE + 2], [0, 1])
    guess = ProjectedSampleAttack(islands=2, particles=8).run(release, *known)
    assert error(guess.values, x[SAMPLE:]) < 0.7
    assert 0 <= guess.details["certainty"] <= 1
    assert guess.details["matrix"].shape == (3, 4)
    again = ProjectedSampleAttack(islands=2, particles=8).run(release, *known)
    np.testing.assert_array_equal(guess.values, again.values)


def test_noise_is_allowed_for():
    x, sample, y, _, pairs = case(gamma, 3, 4, 7, known=2)
    noisy = y + np.random.default_rng(7).standard_normal(y.shape) * 0.3
    pairs = pairs[0], noisy[:2]
    found = align_projection(noisy, sample, entry_variance=1 / 3, noise=np.full(3, 0.3), pairs=pairs, islands=4)
    assert error(found.recover(noisy), x) < 0.95
    assert np.all(found.expected_mse <= 1.1 * x.var(axis=0))


def test_collinear_columns_and_wrong_knowledge():
    rng = np.random.default_rng(8)
    x = gamma(rng, 4)
    x[:, 3] = x[:, 0] + x[:, 1]
    y = x[SAMPLE:] @ rng.standard_normal((4, 4)).T / 2
    found = align_projection(y, x[:SAMPLE], entry_variance=0.25, islands=2)
    assert error(found.recover(y), x[SAMPLE:]) < 1.05
    release, _ = veil.publish(x[SAMPLE:], veil.RandomProjection(3, random_state=1))
    with pytest.raises(veil.InputError, match="at least 6"):
        ProjectedSampleAttack().run(release, veil.KnownSample(x[:5]))
    with pytest.raises(veil.InputError, match="5 columns"):
        ProjectedSampleAttack().run(release, veil.KnownSample(rng.random((50, 5))))
    with pytest.raises(veil.InputError, match="rows"):
        ProjectedSampleAttack().run(release, veil.KnownSample(x[:SAMPLE]), veil.KnownPairs(x[:1], [N]))
    with pytest.raises(veil.InputError, match="islands"):
        ProjectedSampleAttack(islands=0).run(release, veil.KnownSample(x[:SAMPLE]))


def test_it_applies_to_projections_of_attributes_only():
    assert ProjectedSampleAttack.applies_to(ProjectionModel(np.ones(4), 3, "gaussian", np.zeros(3)))
    assert not ProjectedSampleAttack.applies_to(ProjectionModel(np.ones(4), 5, "gaussian", np.zeros(5)))
    assert not ProjectedSampleAttack.applies_to(OrthogonalModel(np.ones(4)))
