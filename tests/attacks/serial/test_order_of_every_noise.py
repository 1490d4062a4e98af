"""A18 on sorted files under every noise, against what the same release tells without its order."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil import measures
from veil.attacks.knowledge import TimeOrder
from veil.errors import NotApplicableError
from veil.measures.units import standard_units

TOLERANCE = 0.1


def advantage(values, truth):
    """(rate − constant)/(1 − constant) per column, of hits within a tenth of its unit."""
    units = standard_units(truth)
    constant = measures.best_constant_guess(truth, TOLERANCE, units)
    rates = [(np.abs(guess - truth) <= TOLERANCE * units).mean(axis=0) for guess in (values, constant)]
    return (rates[0] - rates[1]) / (1.0 - rates[1])


def sorted_table(n, seed):
    """Incomes in rising order, and ages that have nothing to do with it."""
    rng = np.random.default_rng(seed)
    return np.column_stack([np.sort(np.exp(rng.normal(8.0, 0.6, n))), rng.gamma(9.0, 5.0, n)])


NOISES = {
    "factors": (veil.MultiplicativeNoise(std=0.3, random_state=1), 0.68),
    "log-normal": (veil.LogNormalNoise(0.3, random_state=1), 0.77),
    "combined": (veil.CombinedNoise(random_state=1), 0.53),
    "additive": (veil.AdditiveNoise(1.0, random_state=1), 0.5),
}


@pytest.mark.parametrize("noise", NOISES)
def test_a_sorted_column_is_told_by_its_order(noise):
    perturbation, least = NOISES[noise]
    x = sorted_table(2_000, 0)
    release, _ = veil.publish(x, perturbation)
    guess = veil.SerialAttack().run(release, TimeOrder())
    reached = advantage(guess.values, x)
    mixed = x[np.random.default_rng(5).permutation(len(x))]
    alone = advantage(veil.JointPosteriorAttack().run(veil.publish(mixed, perturbation)[0]).values, mixed)
    assert reached[0] > least
    assert alone[0] < 0.25
    # The other column is no easier than it is without the order.
    assert abs(reached[1] - alone[1]) < 0.05


@pytest.mark.parametrize("labels", ["in their order", "in another order"])
def test_sorted_categories_are_told_by_their_order(labels):
    rng = np.random.default_rng(2)
    codes = np.sort(rng.choice(6, 2_000, p=[0.3, 0.25, 0.15, 0.12, 0.1, 0.08]))
    named = codes if labels == "in their order" else np.array([3, 0, 5, 1, 4, 2])[codes]
    table = pd.DataFrame({"region": [f"r{c}" for c in named], "sex": rng.choice(["f", "m"], 2_000)})
    release, _ = veil.publish(table, veil.RandomizedResponse(epsilon=1.0, random_state=3))
    categories = release.only_part.model.categories
    truth = np.column_stack([[categories[j].index(v) for v in table[c]] for j, c in enumerate(table)])
    guess, alone = veil.SerialAttack().run(release, TimeOrder()), veil.ResponsePosteriorAttack().run(release)
    most = np.bincount(truth[:, 0]).max() / len(truth)
    rates = [(each.values[:, 0] == truth[:, 0]).mean() for each in (guess, alone)]
    assert (rates[0] - most) / (1 - most) > 0.79
    assert (rates[1] - most) / (1 - most) < 0.2
    # Nothing is to be had of the other column, which stays as it is; the chain's confidence is what it gets right.
    assert guess.details.models[1] == "white"
    np.testing.assert_array_equal(guess.values[:, 1], alone.values[:, 1])
    assert guess.details.confidence[:, 0].mean() == pytest.approx(rates[0], abs=0.03)


def test_classes_of_a_sorted_file_tell_the_value():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.sort(rng.gamma(3.0, 20.0, 1_500))[::-1], rng.normal(size=1_500)])
    release, _ = veil.publish(x, veil.Discretize(random_state=0))
    guess = veil.SerialAttack().run(release, TimeOrder())
    alone = veil.UnivariateBayesAttack(aim="hit").run(release)
    assert guess.details.models == ("sorted", "white")
    assert advantage(guess.values, x)[0] > 0.9
    assert advantage(alone.values, x)[0] < 0.6
    np.testing.assert_array_equal(guess.values[:, 1], alone.values[:, 1])


def test_files_without_an_order_leave_the_other_attacks():
    rng = np.random.default_rng(5)
    x = np.exp(rng.normal(size=(1_000, 3)) @ rng.normal(size=(3, 3)) * 0.4 + 3.0)
    for perturbation in (veil.MultiplicativeNoise(random_state=1), veil.LogNormalNoise(random_state=1)):
        release, _ = veil.publish(x, perturbation)
        for aim in ("hit", "mean"):
            guess = veil.SerialAttack(aim=aim).run(release, TimeOrder())
            assert set(guess.details.models) == {"white"}
            np.testing.assert_array_equal(guess.values, veil.LogAttack(aim=aim).run(release).values)
    release, _ = veil.publish(pd.DataFrame({"a": rng.choice(list("xyz"), 1_000)}), veil.RandomizedResponse(keep=0.5))
    guess = veil.SerialAttack().run(release, TimeOrder())
    np.testing.assert_array_equal(guess.values, veil.ResponsePosteriorAttack().run(release).values)


def test_factors_on_both_signs_keep_signs_and_zeros():
    rng = np.random.default_rng(6)
    x = np.sort(rng.normal(size=(2_000, 1)), axis=0)
    x[950:1_000] = 0.0
    x = np.sort(x, axis=0)
    release, _ = veil.publish(x, veil.MultiplicativeNoise(std=0.3, random_state=1))
    guess = veil.SerialAttack().run(release, TimeOrder())
    np.testing.assert_array_equal(np.sign(guess.values) * (x != 0), np.sign(x) * (guess.values != 0))
    np.testing.assert_array_equal(guess.values[x == 0], 0.0)
    assert advantage(guess.values, x)[0] > 0.9
    assert advantage(veil.LogAttack(aim="hit").run(release).values, x)[0] < 0.5


def test_log_normal_noise_with_gaps_is_smoothed_column_by_column():
    x = sorted_table(1_500, 7)
    x[np.random.default_rng(8).random(x.shape) < 0.1] = np.nan
    release, _ = veil.publish(x, veil.LogNormalNoise(0.3, random_state=1))
    guess = veil.SerialAttack().run(release, TimeOrder())
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(x))
    there = ~np.isnan(x[:, 0])
    assert advantage(guess.values[there, :1], x[there, :1])[0] > 0.6


def test_whole_numbers_are_guessed_whole():
    rng = np.random.default_rng(9)
    ages = np.sort(rng.poisson(3.0, 2_000))
    release, _ = veil.publish(pd.DataFrame({"children": ages}), veil.AdditiveNoise(0.8, random_state=1))
    hit = veil.SerialAttack().run(release, TimeOrder()).values[:, 0]
    assert np.array_equal(hit, np.rint(hit))
    assert (hit == ages).mean() > 0.9
    mean = veil.SerialAttack(aim="mean").run(release, TimeOrder()).values[:, 0]
    assert not np.array_equal(mean, np.rint(mean))


def test_shuffled_rows_have_no_order():
    for perturbation in (veil.CombinedNoise(), veil.Discretize(), veil.LogNormalNoise()):
        release, _ = veil.publish(sorted_table(200, 0), perturbation, shuffle=True)
        with pytest.raises(NotApplicableError, match="shuffled"):
            veil.SerialAttack().run(release, TimeOrder())
