"""Kinds of tables that were once called safe: what A28 gains there over the best constant, on tables drawn here.

Records that a sample holds (types with small differences), columns that a public one tells, tables of many groups,
noise that is not normal, and many randomized answers of a few kinds of people. Pseudonyms and the order of a file are
in ``test_relatives.py`` and ``serial/test_order_of_every_noise.py``. The least advantages are those that attackers got
on tables of these kinds before A28 was there.
"""

import numpy as np
import pandas as pd
import pytest

import veil

N = 5_000


def gain_on_numbers(values, truth):
    """The mean advantage over the best constant of each column, within a tenth of a standard deviation."""
    gains = []
    for guess, column in zip(values.T, truth.T, strict=True):
        reach, ordered = 0.1 * column.std(), np.sort(column)
        within = np.searchsorted(ordered, ordered + 2.0 * reach, side="right") - np.arange(len(ordered))
        constant = within.max() / len(ordered)
        gains.append(((np.abs(guess - column) <= reach).mean() - constant) / (1.0 - constant))
    return np.array(gains)


def gain_on_categories(values, truth):
    constant = np.mean([np.bincount(column).max() / len(column) for column in truth.T])
    return ((values == truth).mean() - constant) / (1.0 - constant)


def drawn(shares, kind, rng):
    """Categories of d columns, by each record's kind; ``shares`` (kinds × d × categories)."""
    steps = np.cumsum(shares[kind], axis=2)
    return np.minimum((rng.random(steps.shape[:2])[:, :, None] > steps).sum(axis=2), shares.shape[2] - 1)


def asked(codes, epsilon, names="abcdefgh", **public):
    """Randomized answers to codes, some columns released as they are."""
    columns = [f"q{j}" for j in range(codes.shape[1])]
    frame = pd.DataFrame(codes, columns=columns).map(lambda code: names[code]).assign(**public)
    roles = dict.fromkeys(columns, "sensitive") | dict.fromkeys(public, "public")
    return veil.publish(frame, veil.RandomizedResponse(epsilon=epsilon, random_state=0), roles=roles)[0]


def test_types_that_a_sample_holds():
    """Of the kind V6: overall over the goal of 5 %, and a column with 9 % and more."""
    rng = np.random.default_rng(6)
    types = rng.normal(size=(150, 6)) @ rng.normal(size=(6, 6))
    x = types[rng.choice(150, N, p=rng.dirichlet(np.ones(150)))] + 0.05 * rng.normal(size=(N, 6))
    release, _ = veil.publish(x[500:], veil.AdditiveNoise(1.5, random_state=0))
    gains = gain_on_numbers(veil.JointPosteriorAttack().run(release, veil.KnownSample(x[:500])).values, x[500:])
    assert gains.mean() > 0.05
    assert gains.max() > 0.09


@pytest.mark.parametrize("n_towns", [20, 40, 90])
def test_group_means_over_a_public_category(n_towns):
    """Of the kind V7, noise: 24 %."""
    rng = np.random.default_rng(7)
    town = rng.integers(0, n_towns, N)
    x = rng.normal(size=(n_towns, 3))[town] + 0.12 * rng.normal(size=(N, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(town=[f"town {t}" for t in town])
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.2, random_state=0), roles={"town": "public"})
    assert gain_on_numbers(veil.JointPosteriorAttack().run(release).values, x).mean() > 0.24


def test_a_town_that_is_released_by_name_and_by_number():
    """Two public columns of the same groups: what the one tells of a group's sum, the other must not undo."""
    rng = np.random.default_rng(8)
    town = rng.integers(0, 30, N)
    x = rng.normal(size=(30, 3))[town] + 0.12 * rng.normal(size=(N, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(town=[f"town {t}" for t in town], code=1_000 + 7 * town)
    release, _ = veil.publish(
        frame, veil.AdditiveNoise(1.2, random_state=0), roles={"town": "public", "code": "public"}
    )
    assert gain_on_numbers(veil.JointPosteriorAttack().run(release).values, x).mean() > 0.24


def test_a_curve_over_a_public_number_behind_factors():
    """Of the kind V7, factors: 29 %."""
    rng = np.random.default_rng(9)
    t = rng.uniform(0.0, 10.0, N)
    x = np.column_stack([5 + 3 * np.sin(t), 6 + 2 * np.cos(1.5 * t)]) + 0.15 * rng.normal(size=(N, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(t=t)
    release, _ = veil.publish(frame, veil.MultiplicativeNoise(0.5, random_state=0), roles={"t": "public"})
    assert gain_on_numbers(veil.JointPosteriorAttack().run(release).values, x).mean() > 0.29


def test_answers_that_a_public_category_tells():
    """Of the kind V7, randomized response: 70 %."""
    rng = np.random.default_rng(10)
    town = rng.integers(0, 30, N)
    codes = drawn(rng.dirichlet(np.full(4, 0.1), size=(30, 3)), town, rng)
    release = asked(codes, 0.8, town=[f"town {t}" for t in town])
    assert gain_on_categories(veil.JointPosteriorAttack().run(release).values, codes) > 0.70


def test_twenty_groups():
    """Of the kind V12, more groups than eight: 61 %, where the mixture of A6 stays under half."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(20, 6))[rng.integers(0, 20, N)] + 0.04 * rng.normal(size=(N, 6))
    release, _ = veil.publish(x, veil.AdditiveNoise(0.45, random_state=0))
    assert gain_on_numbers(veil.JointPosteriorAttack().run(release).values, x).mean() > 0.61
    assert gain_on_numbers(veil.BayesEstimateAttack(prior="mixture", aim="hit").run(release).values, x).mean() < 0.5


@pytest.mark.parametrize("law", ["uniform", "laplace"])
def test_groups_behind_noise_that_is_not_normal(law):
    """Of the kind V12: 19 %."""
    rng = np.random.default_rng(12)
    x = 2.0 * rng.normal(size=(4, 4))[rng.integers(0, 4, N)] + 0.3 * rng.normal(size=(N, 4))
    release, _ = veil.publish(x, veil.AdditiveNoise(0.8, distribution=law, random_state=0))
    assert gain_on_numbers(veil.JointPosteriorAttack().run(release).values, x).mean() > 0.19


def test_kinds_of_people_behind_many_answers():
    """Of the kind V12: 28 %."""
    rng = np.random.default_rng(13)
    codes = drawn(rng.dirichlet(np.full(3, 0.2), size=(3, 24)), rng.integers(0, 3, N), rng)
    assert gain_on_categories(veil.JointPosteriorAttack().run(asked(codes, 0.8)).values, codes) > 0.28


def test_parts_with_different_laws():
    """Of the kind V12: 10 %."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=(N, 1)) + 0.2 * rng.normal(size=(N, 8))
    x[:, 4:] = np.exp(0.3 * x[:, 4:])
    frame = pd.DataFrame(x, columns=list("abcdefgh"))
    plan = veil.Plan(
        [
            (["a", "b"], veil.AdditiveNoise(1.0, distribution="uniform", random_state=1)),
            (["c", "d"], veil.AdditiveNoise(1.0, random_state=2)),
            (["e", "f", "g", "h"], veil.MultiplicativeNoise(0.4, random_state=3)),
        ]
    )
    release, _ = veil.publish(frame, plan)
    assert gain_on_numbers(veil.JointPosteriorAttack().run(release).values, x).mean() > 0.10
