"""A25: the way back learned from known pairs, whatever the method was."""

import math

import numpy as np
import pytest

import veil
from _tables import described
from veil.attacks.knowledge import KnownPairs, KnownSample
from veil.attacks.regression.learned_map import learn_map
from veil.attacks.regression.regression import RegressionAttack
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.release.models import FOREIGN, ForeignModel, RecordProjectionModel, UnknownModel


def foreign(columns, private):
    """A release by another tool: its columns, and the names of the private ones."""
    return described(columns, ForeignModel(), names=tuple(private), method=FOREIGN, unknown=True)


def named(y, prefix="x"):
    return {f"{prefix}{j}": column for j, column in enumerate(y.T)}


def correlated(rng, n=400, d=5):
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)).T + rng.normal(size=d) * 5


def relative_error(guess, x, rows):
    """Mean squared error over the other rows in units of each column's variance."""
    use = np.delete(np.arange(len(x)), rows)
    return float(np.mean((guess[use] - x[use]) ** 2 / x.var(axis=0)))


def mean_errors(make, k, seeds, *, own=True, sample=0):
    """Errors of the attack and of the known records' mean, averaged over seeds, and the attack's standard error."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x, y, others = make(rng)
        rows = rng.choice(len(x), k, replace=False)
        places = list(range(x.shape[1])) if own else [None] * x.shape[1]
        guess = learn_map(y, x[rows], rows, places, others[:sample] if sample else None).values
        mean = np.broadcast_to(x[rows].mean(axis=0), x.shape)
        found.append([relative_error(guess, x, rows), relative_error(mean, x, rows)])
    return np.mean(found, axis=0), np.std(np.array(found)[:, 0], ddof=1) / math.sqrt(seeds)


def noisy(rng, scale=0.5):
    mixing = rng.normal(size=(5, 5))
    x, others = (rng.normal(size=(400, 5)) @ mixing.T + 5 for _ in range(2))
    return x, x + scale * x.std(axis=0) * rng.normal(size=x.shape), others


def unrelated(rng):
    x, others = correlated(rng, 800)[:400], correlated(rng)
    return x, rng.normal(size=x.shape), others


def redrawn(rng):
    """A fresh sample of the population under the private columns' names."""
    both = correlated(rng, 1_200)
    return both[:400], both[400:800], both[800:]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("d", "k"), [(5, 6), (5, 9), (12, 13)])
def test_a_rotation_is_solved_by_as_many_pairs_as_unknowns(d, k, seed):
    rng = np.random.default_rng(seed)
    x = correlated(rng, d=d)
    matrix = np.linalg.qr(rng.normal(size=(d, d)))[0]
    rows = rng.choice(len(x), k, replace=False)
    release = foreign(named(x / x.std(axis=0) @ matrix.T + 3, "y"), [f"x{j}" for j in range(d)])
    guess = RegressionAttack().run(release, KnownPairs(x[rows], rows))
    np.testing.assert_allclose((guess.values - x) / x.std(axis=0), 0, atol=1e-8)
    assert guess.details["exact"].all()
    assert guess.details["explained"] == pytest.approx(1)


@pytest.mark.parametrize("names", ["x", "y"])
@pytest.mark.parametrize("seed", range(3))
def test_any_linear_map_is_solved_by_one_pair_more(names, seed):
    """Columns of very different scale and heavy tails; more released columns than private ones."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(1.5, size=(500, 4)) * [1e-6, 1, 1e4, 1e8] + [0, 5, 1e4, -1e9]
    spread = np.subtract(*np.percentile(x, [75, 25], axis=0))
    y = (x / spread) @ rng.normal(size=(4, 4)).T * [1e-3, 1, 1e6, 10] + rng.normal(size=4)
    y = np.column_stack([y, np.full(500, 7.0), y[:, 0] - 2 * y[:, 1] * 1e-3])
    rows = rng.choice(500, 6, replace=False)
    guess = RegressionAttack().run(foreign(named(y, names), ["x0", "x1", "x2", "x3"]), KnownPairs(x[rows], rows))
    middle = np.abs(x - np.median(x, axis=0)) < 10 * spread
    # A default in other units, here a million times larger, costs digits.
    assert (np.abs(guess.values - x) / spread)[middle].max() < (1e-7 if names == "x" else 1e-8)


def test_just_enough_pairs_tell_a_map_from_no_relation():
    """Nine pairs of eight columns fit any data exactly; what is learned is small for a map and large for noise."""
    found = np.zeros((20, 2), dtype=bool)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = correlated(rng, 300, 8)
        rows = rng.choice(300, 9, replace=False)
        for j, y in enumerate((x / x.std(axis=0) @ rng.normal(size=(8, 8)), rng.normal(size=x.shape))):
            found[seed, j] = learn_map(y, x[rows], rows, [None] * 8).exact.all()
    # 60 further trials had shares of 1 and 0.02.
    assert found[:, 0].sum() >= 17
    assert found[:, 1].sum() <= 3


def test_a_copy_is_recognised_from_one_record():
    x = correlated(np.random.default_rng(0)) * [1, 1e3, 1e-3, 1, 50]
    guess = RegressionAttack().run(foreign(named(x), list(named(x))), KnownPairs(x[[17]], [17]))
    np.testing.assert_allclose(guess.values, x, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 5, 10, 30])
def test_pure_noise_is_about_as_bad_as_the_mean(k):
    (found, mean), error = mean_errors(unrelated, k, 30, own=False)
    assert found < 1.2 * mean + 3 * error


@pytest.mark.parametrize("sample", [0, 100])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_a_redrawn_table_is_about_as_bad_as_the_mean(k, sample):
    """The release's own mean is better known than that of few known records."""
    (found, mean), error = mean_errors(redrawn, k, 20, sample=sample)
    assert found < 1.05 * mean + 3 * error


def linear_bayes_error(seeds):
    """Of additive noise of half a deviation, in closed form, averaged over the tables of ``noisy``."""
    errors = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        mixing = rng.normal(size=(5, 5))
        covariance = mixing @ mixing.T
        x = rng.normal(size=(400, 5)) @ mixing.T
        noise = np.diag(0.25 * x.var(axis=0))
        left = covariance - covariance @ np.linalg.solve(covariance + noise, covariance)
        errors.append(np.mean(np.diag(left) / x.var(axis=0)))
    return float(np.mean(errors))


@pytest.mark.parametrize(("k", "excess"), [(30, 1.25), (60, 1.15), (150, 1.08)])
@pytest.mark.parametrize("own", [True, False])
def test_additive_noise_is_filtered_nearly_as_well_as_by_linear_bayes(k, excess, own):
    (found, _), error = mean_errors(noisy, k, 20, own=own)
    best = linear_bayes_error(20)
    assert best - 4 * error < found < excess * best + 2 * error


def test_plain_least_squares_would_be_far_worse():
    plain, seeds = [], 20
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x, y, _ = noisy(rng)
        rows = rng.choice(len(x), 8, replace=False)
        design = np.column_stack([np.ones(len(y)), y])
        weights = np.linalg.lstsq(design[rows], x[rows], rcond=None)[0]
        plain.append(relative_error(design @ weights, x, rows))
    (found, _), error = mean_errors(noisy, 8, seeds)
    assert found + 4 * error < 0.3 < np.median(plain)


def test_a_sample_helps_when_pairs_are_few():
    alone, with_sample = (mean_errors(noisy, 2, 30, sample=size)[0][0] for size in (0, 100))
    assert with_sample < alone < 0.4


def test_a_sample_shows_a_change_of_units():
    """Released columns in other units: the sample's mean and spread bring them back, one pair confirms it."""
    rng = np.random.default_rng(1)
    x, others = np.split(correlated(rng, 2_000), 2)
    guess = learn_map(x * [100, 1e-3, 2, 7, 1] + [3, 1, 1e4, 0, -5], x[[4]], np.array([4]), range(5), others).values
    assert relative_error(guess, x, [4]) < 0.5


def test_heavy_tails_of_a_multiplied_column():
    """Factors around 1 on log-normal columns: near the best linear map, never near the mean's error."""

    def multiplied(rng):
        x = np.exp(rng.normal(size=(400, 3)))
        return x, x * np.exp(0.3 * rng.normal(size=x.shape)), x

    for k in (1, 5, 30):
        (found, mean), _ = mean_errors(multiplied, k, 20)
        assert found < 0.3 < mean


def test_the_guess_follows_units_and_order():
    rng = np.random.default_rng(3)
    x, y, _ = noisy(rng)
    rows = np.arange(12)
    there = learn_map(y, x[rows], rows, range(5)).values
    unit = np.array([1e3, 1e-3, 7.0, 1.0, 123.0])
    np.testing.assert_allclose(learn_map(y * unit, x[rows] * unit, rows, range(5)).values / unit, there, rtol=1e-6)
    order = rng.permutation(len(x))
    place = np.argsort(order)[rows]
    np.testing.assert_allclose(learn_map(y[order], x[rows], place, range(5)).values, there[order], rtol=1e-6)


def test_what_is_degenerate():
    rng = np.random.default_rng(4)
    x, y, _ = noisy(rng)
    y[:, 1] = 3.0  # a constant released column
    y[::7, 2] = np.nan
    y[:, 4] = np.nan
    x[:, 3] = 11.0  # a constant private column
    for k in (1, 2, 5, 20):
        rows = np.arange(k)
        for own in (range(5), [None] * 5):
            found = learn_map(y, x[rows], rows, own)
            assert np.isfinite(found.values).all()
            np.testing.assert_array_equal(found.values[rows], x[rows])
    np.testing.assert_allclose(found.values[:, 3], 11.0, atol=1e-9)
    alone = learn_map(np.zeros((6, 1)), np.array([[2.0, 5.0]]), np.array([0]), [None, None]).values
    np.testing.assert_allclose(alone, [[2.0, 5.0]] * 6)
    everything = learn_map(y, x, np.arange(len(x)), range(5))
    np.testing.assert_array_equal(everything.values, x)


def test_what_it_applies_to_and_refuses():
    rng = np.random.default_rng(5)
    x = correlated(rng, 30, 2)
    attack = RegressionAttack()
    assert attack.applies_to(ForeignModel())
    assert not attack.applies_to(UnknownModel())
    assert not attack.applies_to(RecordProjectionModel(np.ones(2), 3, 30, "gaussian"))
    rotated = veil.publish(x, veil.OrthogonalTransform(random_state=0))[0]
    np.testing.assert_allclose(attack.run(rotated, KnownPairs(x[:6], range(6))).values, x, atol=1e-8)
    release = foreign(named(x, "y"), ["x0", "x1"])
    with pytest.raises(MissingKnowledgeError, match="KnownPairs"):
        attack.run(release, KnownSample(x))
    with pytest.raises(InputError, match="1 are beyond"):
        attack.run(release, KnownPairs(x[:2], [0, 30]))
    with pytest.raises(InputError, match="3 columns"):
        attack.run(release, KnownPairs(np.zeros((1, 3)), [0]))
    texts = foreign({"y": ["a", "b", "c"]}, ["x0"])
    with pytest.raises(NotApplicableError, match="texts"):
        attack.run(texts, KnownPairs([[1.0]], [0]))
