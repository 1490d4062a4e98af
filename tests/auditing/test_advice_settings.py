"""Where advice begins, how it moves settings by what attacks gained, and when it shuffles rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import veil
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.families import NUMERIC, RESPONSE
from veil.auditing.advice.prediction import Survey, normal_density, window_gain
from veil.auditing.advice.row_order import order_tells
from veil.auditing.advice.search import Search
from veil.auditing.advice.settings import Doubts, Numbers, Setting
from veil.auditing.truth import Truth
from veil.data.sources import as_table
from veil.progress import silent
from veil.report.values import Scored

SIMILAR, INDEPENDENT, FACTORS, _ = NUMERIC


def correlated(n=20_000, rho=0.9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(np.zeros(3), [[1.0, rho, 0.0], [rho, 1.0, 0.0], [0.0, 0.0, 1.0]], n)


def numbers(records):
    return Numbers(tuple("abc"[: records.shape[1]]), Survey(records, 0.1))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_best_window_of_a_normal_column_is_that_of_its_posterior(scale):
    """Behind normal noise the posterior's deviation is s/√(1+s²): the gain follows from the normal distribution.

    The histogram of 200,000 values has 600 to 80,000 in a window: its shares, and the gain, are right to 0.3 %.
    """
    x = np.random.default_rng(0).normal(size=200_000)
    gain = window_gain(x, 0.1, normal_density(scale), np.arange(-12.0, 12.0, 0.02))
    rate, constant = (2.0 * ndtr(0.1 / deviation) - 1.0 for deviation in (scale / np.hypot(1.0, scale), 1.0))
    assert gain == pytest.approx((rate - constant) / (1.0 - constant), abs=0.003)


def test_noise_on_logarithms_tells_what_its_law_says():
    """Of a log-normal column the attack A8 gets as much; with c = 0.5 it is far over any goal.

    1,500 records leave a standard error of √(0.2·0.8/1500) ≈ 1 % of each rate.
    """
    x = np.random.default_rng(0).lognormal(size=(1_500, 1))
    predicted = Survey(x, 0.1).log_gain(0.5)
    audit = veil.audit(x, veil.LogNormalNoise(0.5), grants=veil.Grants.only(), repetitions=3, seed=0)
    best = max(float(row.column.advantage) for row in audit.rows)
    assert best == pytest.approx(predicted, abs=0.03)


def test_factors_tell_what_their_law_says():
    x = np.random.default_rng(0).normal(10.0, 1.0, size=(1_500, 1))
    predicted = Survey(x, 0.1).factor_gain(0.05, (0.85, 1.15))
    noise = veil.MultiplicativeNoise(0.05, bounds=(0.85, 1.15))
    audit = veil.audit(x, noise, grants=veil.Grants.only(), repetitions=3, seed=0)
    best = max(float(row.column.advantage) for row in audit.rows)
    assert best == pytest.approx(predicted, abs=0.03)


def test_independent_noise_on_correlated_columns_must_be_stronger():
    survey = Survey(correlated(), 0.1)
    alone, together = survey.needed(0.03), survey.scales(0.03)
    assert together[0] > 1.2 * alone[0]
    assert together[2] == pytest.approx(alone[2], rel=0.05)
    assert SIMILAR.begin(survey, 0.03) == (pytest.approx(max(alone)),)


@pytest.mark.parametrize("one_scale", [True, False])
def test_noise_with_the_correlations_of_columns_in_a_linear_relation_needs_one_scale(one_scale):
    """With c = a + b, noise of one scale keeps the relation and hides as much as on a alone; others take it off.

    The relation c − a − b = 0 leaves, with scales 1, 1 and 3, a measurement of the noise itself.
    """
    x = np.random.default_rng(0).normal(size=(20_000, 2))
    x = np.column_stack([x, x.sum(axis=1)])
    cov = np.cov(x.T)
    scale = np.ones(3) if one_scale else np.array([1.0, 1.0, 3.0])
    noise = np.outer(scale, scale) * cov + 1e-9 * np.eye(3)
    left = np.diag(cov - cov @ np.linalg.solve(cov + noise, cov)) / np.diag(cov)
    assert (np.allclose(left, 0.5, atol=0.01), (left < 0.45).any()) == (one_scale, not one_scale)


def test_a_column_that_gives_too_much_away_gets_more_noise_and_others_as_far_as_they_are_tied_to_it():
    setting = Setting(INDEPENDENT, (1.0, 1.0, 1.0))
    moved = setting.moved({(Scored.COLUMN, "a"): 0.1, (Scored.COLUMN, "c"): 0.01}, 0.05, numbers(correlated()))
    assert moved.strengths == (1.6, 1.6, 1.1)  # 2^(2/1.5) = 1.59, in two digits
    assert setting.moved({(Scored.COLUMN, "a"): 0.05}, 0.05, numbers(correlated())) == setting
    for family in (SIMILAR, FACTORS):
        one = Setting(family, (0.5,)).moved({(Scored.COLUMN, "a"): 0.1}, 0.05, numbers(correlated()))
        assert one.strengths == (0.8,)


def test_far_out_values_strengthen_the_columns_that_have_them():
    x = correlated(rho=0.0)
    x[:50, 1] *= 40.0
    x[:, [0, 2]] = np.clip(x[:, [0, 2]], -2.5, 2.5)
    moved = Setting(INDEPENDENT, (1.0, 1.0, 1.0)).moved({(Scored.FAR_OUT, ""): 0.1}, 0.05, numbers(x))
    assert moved.strengths[1] == 1.6
    assert max(moved.strengths[0], moved.strengths[2]) <= 1.1


def test_what_is_told_of_a_category_beyond_its_responses_strengthens_the_numbers():
    told = {(Scored.COLUMN, "ill"): 0.1}
    moved = Setting(SIMILAR, (2.0,), Doubts(10.0)).moved(told, 0.05, numbers(correlated()))
    assert (moved.doubts.categories, moved.strengths) == (10.0, (4.0,))


def test_responses_take_no_more_than_their_part_of_the_goals_though_few_records_do_not_show_it():
    """Of two equally frequent answers ε tells tanh(ε/2): 5.0 % at 0.1 and 2.5 % at 0.05, where 3.4 % are theirs.

    On 4,000 records a gain has a standard error of 1.6 %.
    """
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=12_000), "ill": np.tile(["no", "yes"], 6_000)})
    settings = {"target": None, "n_clusters": 3, "seconds": None, "seed": 0, "workers": 1, "shuffle": False}
    goals, grants = veil.Goals(), veil.Grants.only()
    search = Search(frame, None, goals=goals, grants=grants, roles={"ill": "sensitive"}, progress=silent, **settings)
    doubt = search._doubts().categories
    assert doubt is not None
    assert doubt >= 20.0


@pytest.mark.slow
def test_a_table_of_categories_alone_is_advised_on_its_responses():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"job": rng.choice(list("abcd"), 800), "sex": rng.choice(list("fm"), 800)})
    roles = dict.fromkeys(frame.columns, "sensitive")
    found = veil.advise(frame, roles=roles, grants=veil.Grants.only(), goals=veil.Goals(max_advantage=0.2), seed=0)
    assert found.possible
    assert type(found.recommendation) is type(RESPONSE.make((1.0,)))


def truth(values, categories=None):
    return Truth(values, tuple(f"x{j}" for j in range(values.shape[1])), categories or (None,) * values.shape[1])


def test_rows_in_no_order_are_seldom_taken_for_ordered():
    """1 % of tables; the χ² law of 200 rows is near enough to stay under 2.5 %."""
    rng = np.random.default_rng(0)
    tables = [truth(rng.standard_t(3, size=(200, 4))) for _ in range(800)]
    assert np.mean([order_tells(table) for table in tables]) < 0.025


def test_an_order_that_tells_something_is_seen():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1_000, 3))
    walk = noise.copy()
    walk[:, 1] = np.sort(walk[:, 1]) + rng.normal(size=1_000)
    groups = np.column_stack([noise[:, 0], np.repeat([0.0, 1.0], 500)])
    seasons = noise + np.cos(np.arange(1_000) * np.pi / 6)[:, None]
    assert not order_tells(truth(noise))
    assert order_tells(truth(walk))
    assert order_tells(truth(groups, (None, ("a", "b"))))
    assert order_tells(truth(seasons))


def test_plans_shuffle_where_the_order_tells_something_unless_told_to_keep_it():
    walk = as_table(np.random.default_rng(0).normal(size=(600, 2)).cumsum(axis=0)).read()
    decided = [Choices(walk, {}, tolerance=0.1, seed=0, shuffle=shuffle) for shuffle in (None, False)]
    plans = [choices.plan(Setting(SIMILAR, (1.0,))) for choices in decided]
    assert [plan.shuffle for plan in plans] == [True, False]


@pytest.mark.slow
def test_advice_says_that_it_shuffles():
    walk = np.random.default_rng(0).normal(size=(600, 2)).cumsum(axis=0)
    settings = {"goals": veil.Goals(max_advantage=0.2), "grants": veil.Grants.only(), "seed": 0}
    advice = veil.advise(walk, ["additive-noise"], **settings)
    assert advice.recommendation.shuffle
    assert "secret order" in advice.words
    assert "secret order" in " ".join(str(advice).split())
