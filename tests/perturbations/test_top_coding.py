"""Top and bottom coding: what is released, what limits and means say, and what comes back from them."""

import numpy as np
import pytest

import veil
from veil.attacks.knowledge import KnownSample
from veil.numerics.rounding import two_digits


def incomes(n=4_000, seed=0):
    return np.random.default_rng(seed).lognormal(8, 1, (n, 1))


def test_values_within_the_limits_are_exact_and_the_others_one_number():
    x = incomes()
    release, _ = veil.publish(x, veil.TopCoding(upper=10_000, lower=500))
    y = release.to_numpy()
    inside = (x >= 500) & (x <= 10_000)
    assert np.array_equal(y[inside], x[inside])
    assert set(y[~inside].tolist()) == {500.0, 10_000.0}


@pytest.mark.parametrize("n", [300, 200_000])
def test_limits_of_a_share_are_quantiles_to_two_digits_and_means_are_means(n):
    x = incomes(n)
    release, _ = veil.publish(x, veil.TopCoding(top=0.02, bottom=0.02, replace="mean"))
    model = release.only_part.model
    low, high = model.limits[0]
    assert high == pytest.approx(np.quantile(x, 0.98), rel=0.06)
    assert low == pytest.approx(np.quantile(x, 0.02), rel=0.06)
    assert two_digits(high) == high
    assert model.stand_ins[0, 1] == two_digits(x[x > high].mean())
    assert model.stand_ins[0, 0] == two_digits(x[x < low].mean())


def test_the_mean_comes_back_where_the_mean_is_published():
    x = incomes()
    release, _ = veil.publish(x, veil.TopCoding(top=0.05, replace="mean"))
    recovery = veil.MomentRecovery().fit(release)
    assert abs(recovery.mean_[0] - x.mean()) < 4 * recovery.mean_se_[0]
    assert recovery.mean_se_[0] < 0.01 * x.std()
    assert np.isnan(recovery.covariance_[0, 0])  # the spread beyond the limit is lost
    with pytest.raises(veil.NotApplicableError, match="replace='mean'"):
        veil.MomentRecovery().fit(veil.publish(x, veil.TopCoding(top=0.05))[0])


def test_attacks_use_the_limit_and_what_a_sample_tells_beyond_it():
    x, sample = incomes(), incomes(2_000, seed=1)
    release, _ = veil.publish(x, veil.TopCoding(top=0.05))
    limit = release.only_part.model.limits[0, 1]
    coded = x > limit
    bare = veil.NoiseDistributionAttack().run(release).values
    assert np.array_equal(bare[~coded], x[~coded])
    hit = veil.UnivariateBayesAttack(aim="hit").run(release).values
    reach = 0.1 * x.std()
    assert np.mean(np.abs(hit - x)[coded] <= reach) > np.mean(np.abs(bare - x)[coded] <= reach)
    mean = veil.UnivariateBayesAttack().run(release, KnownSample(sample)).values
    assert np.mean((mean - x)[coded] ** 2) < 0.7 * np.mean((bare - x)[coded] ** 2)
    assert mean[coded][0] == pytest.approx(sample[sample > limit].mean())


def test_people_beyond_the_limit_are_linked_to_any_of_them():
    x = incomes(500)
    release, _ = veil.publish(x, veil.TopCoding(top=0.1))
    linked = veil.LinkageAttack().run(release, veil.ExternalTable(x)).rows == np.arange(len(x))
    coded = (x > release.only_part.model.limits[0, 1]).ravel()
    assert linked[~coded].mean() > 0.99
    assert linked[coded].mean() < 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"upper": 10.0, "lower": 20.0}, "'x0': the lower limit is not below the upper one"),
        ({"upper": 1e9, "replace": "mean"}, "fewer than 3 values are beyond the limit"),
        ({"upper": 1.0, "top": 0.1}, "'x0' has both upper and top"),
        ({"top": 0.7}, "top must"),
        ({"replace": "median"}, "replace must be"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(veil.InputError, match=message):
        veil.publish(incomes(), veil.TopCoding(**settings))
