"""The largest values: noise of one scale leaves them, no constant gains on them, and goals name them."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from tests._tables import within_standard_errors

import veil
from veil.attacks import Guess
from veil.auditing.advice.families import NUMERIC
from veil.auditing.advice.prediction import Survey
from veil.auditing.advice.settings import LARGEST_STEP, STEEP, Numbers, Setting
from veil.auditing.judge import Judge
from veil.errors import InputError
from veil.measures.largest import LargestRule, largest
from veil.report.values import Scored

INDEPENDENT = NUMERIC[1]
OTHERS = tuple(scored for scored in Scored if scored not in (Scored.LARGEST, Scored.LINKS))
ALONE = {"attacks": ["noise-distribution"], "grants": veil.Grants.only(), "seed": 0, "workers": 1}


def incomes(tail="log-normal", n=1_000, seed=0):
    """Incomes with a heavy tail, and ages that go with them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.4], [0.0, 0.9]])
    income = np.exp(10 + 1.2 * z[:, 0]) if tail == "log-normal" else 1e4 * (1 + rng.pareto(1.8, n))
    return pd.DataFrame({"income": income, "age": 45 + 12 * z[:, 1]})


def judged(x, guesses, **settings):
    """The score on the largest values of guesses of all values of a table."""
    columns = [f"x{j}" for j in range(x.shape[1])]
    judge, rows = Judge(x, columns, 0.1, **settings), np.arange(len(x))
    tried = [judge.try_guess(Guess(g, tuple(columns), rows), rows, np.array([], dtype=np.intp)) for g in guesses]
    return judge.scores(tried, one_matrix=False, goal=0.05)["largest"]


def told_largest(audit):
    """Columns of which the largest values are shown to be told."""
    return {f.column for row in audit.rows for f in row.broken if f.scored is Scored.LARGEST}


# -- the score ------------------------------------------------------------------------------------------------


def test_the_rate_behind_noise_is_that_of_its_law():
    """A value x behind normal noise of deviation s is told within p of it with the probability 2Φ(p·x/s) − 1."""
    x, rng = incomes()[["income"]].to_numpy(), np.random.default_rng(1)
    top, s = x[largest(x, LargestRule())[:, 0], 0], 2.0 * x.std()
    rates = [float(judged(x, [x + rng.normal(0, s, x.shape)])["x0"].score.rate) for _ in range(5)]
    assert 0 < min(rates) <= max(rates) < 1
    noisy = x + rng.normal(0, s, (400, *x.shape))
    hits = (np.abs(noisy - x) <= 0.1 * x)[:, np.isin(x[:, 0], top), 0].mean(axis=1)
    expected = float(np.mean(2 * norm.cdf(0.1 * top / s) - 1))
    assert within_standard_errors(hits.mean(), expected, hits.std() / math.sqrt(len(hits)))


def test_pooled_over_keys_the_score_is_the_law_s():
    """Factors: the share told is P(|f − 1| ≤ p), and the interval of the advantage holds it."""
    x, rng = incomes("pareto", 5_000)[["income"]].to_numpy(), np.random.default_rng(2)
    score = judged(x, [x * rng.normal(1.0, 0.08, x.shape) for _ in range(30)])["x0"].score
    rate = 2 * norm.cdf(0.1 / 0.08) - 1
    assert score.rate.low <= rate <= score.rate.high
    assert score.advantage.low <= (rate - score.control) / (1 - score.control) <= score.advantage.high
    assert score.advantage.low > 0.05


@pytest.mark.parametrize("seed", range(3))
def test_no_constant_gains_on_the_largest(seed):
    x = incomes("pareto", 500, seed)[["income"]].to_numpy()
    for constant in np.quantile(x, [0.5, 0.98, 0.99, 0.995, 1.0]):
        (score,) = judged(x, [np.full(x.shape, constant)]).values()
        assert score.score.advantage == 0
    assert judged(x, [x])["x0"].score.advantage == 1


def test_what_others_tell_is_no_gain():
    """Income by a known column: the absent attacker's regression tells as much of the richest."""
    rng = np.random.default_rng(3)
    known = rng.lognormal(10, 1.2, (800, 1))
    x = known * rng.normal(1, 0.05, known.shape)
    rows = np.arange(800)
    tried = Judge(x, ["x0"], 0.1).try_guess(Guess(known, ("x0",), rows), rows, np.array([], dtype=np.intp), known)
    assert tried.largest[0].rate > 0.5
    assert tried.largest[0].rate <= tried.largest[0].control


def test_light_tails_categories_and_known_columns_are_not_scored():
    z = np.random.default_rng(0).normal(size=(500, 2))
    assert judged(z, [z]) == {}
    x = incomes()[["income"]].to_numpy()
    assert judged(x, [x], categorical=np.array([True])) == {}
    assert judged(np.hstack([x, np.cos(x)]), [np.hstack([x, 0 * x])], known=[0]) == {}


def test_households_count_once():
    """Ten households of three: half of them told is a rate of a half, and ten are scored."""
    x = np.repeat(np.concatenate([np.linspace(1, 2, 90), np.geomspace(100, 1e9, 10)]), 3)[:, None]
    codes = np.repeat(np.arange(100), 3)
    guess = np.where(codes[:, None] % 2 == 0, x, 0.0)
    for groups, n in (((codes,), 10), ((None,), 12)):
        score = judged(x, [guess], groups=groups)["x0"]
        assert (score.n, float(score.score.rate)) == (n, 0.5)


def test_whether_the_largest_guess_is_of_the_largest_value():
    x = incomes()[["income"]].to_numpy()
    swapped = x.copy()
    order = np.argsort(x[:, 0])[::-1]
    swapped[order[:2]] = x[order[1::-1]]
    assert [judged(x, [guess])["x0"].first for guess in (x, swapped, np.minimum(x, x[order[3]]))] == [1.0, 0.0, 0.25]


# -- audits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["log-normal", "pareto"])
def test_noise_that_keeps_every_other_goal_tells_the_largest(tail):
    audit = veil.audit(incomes(tail), veil.AdditiveNoise(1.0), **ALONE)
    (row,) = audit.rows
    assert {failure.scored for failure in row.broken} == {Scored.LARGEST}
    assert told_largest(audit) == {"income"}
    assert row.largest["income"].first > 0.5
    assert any("'income'" in remark and "Top coding" in remark for remark in audit.remarks)
    assert "the largest values of column 'income'" in str(audit)


def test_the_default_audit_breaks_where_the_largest_are_told():
    audit = veil.audit(incomes("pareto"), veil.AdditiveNoise(1.0), seed=0, first_break=True, workers=1)
    assert not audit.passed
    assert told_largest(audit) == {"income"}


def test_top_coded_incomes_and_factors_do_not_tell_the_largest():
    for method in (veil.TopCoding(top=0.02, replace="mean"), veil.TopCoding(top=0.02), veil.MultiplicativeNoise(0.5)):
        plan = veil.Plan([("income", method)], roles={"age": "drop"})
        audit = veil.audit(
            incomes(), plan, goals="no largest value", grants=veil.Grants.only(), seed=0, workers=1, repetitions=5
        )
        assert not told_largest(audit), method
    plan = veil.Plan([("income", veil.TopCoding(top=0.002))], roles={"age": "drop"})
    few = veil.audit(incomes(), plan, **{**ALONE, "attacks": "all"})
    assert told_largest(few) == {"income"}


def test_light_tails_with_safe_noise_hold():
    x = np.random.default_rng(0).normal(100, 15, (2_000, 3))
    audit = veil.audit(x, veil.AdditiveNoise(3.0), grants=veil.Grants.only(), seed=0, workers=1)
    assert audit.passed
    assert all(row.largest == {} for row in audit.rows)


@pytest.mark.slow
def test_what_was_advised_without_a_goal_on_the_largest_breaks_in_the_default_audit():
    advice = veil.advise(incomes(), goals=veil.Goals(on=OTHERS), grants=veil.Grants.only(), seed=0)
    audit = veil.audit(incomes(), advice.recommendation, grants=veil.Grants.only(), seed=1)
    assert told_largest(audit) == {"income"}


def test_advice_gives_more_noise_to_a_column_whose_largest_values_are_told():
    x = incomes().to_numpy()
    setting = Setting(INDEPENDENT, (1.0, 1.0))
    gains = {(Scored.LARGEST, "income"): 0.2, (Scored.COLUMN, "income"): 0.06}
    moved = setting.moved(gains, 0.05, Numbers(("income", "age"), Survey(x, 0.1)))
    assert moved.strengths[0] == pytest.approx(min(LARGEST_STEP, 4.0 ** (1 / STEEP)), rel=0.06)
    assert moved.strengths[1] < moved.strengths[0]


# -- goals of single columns ----------------------------------------------------------------------------------


def test_a_column_has_its_own_goal():
    x = np.random.default_rng(0).normal(size=(3_000, 2))
    table = pd.DataFrame(x, columns=["a", "b"])
    verdicts = []
    for columns in ({}, {"a": 0.5, "b": 0.5}, {"a": 0.5}, {"b": {"column": 0.5}}):
        (row,) = veil.audit(
            table, veil.AdditiveNoise(0.5), goals=veil.Goals(on="column", columns=columns), repetitions=1, **ALONE
        ).rows
        verdicts.append([(f.column, f.most, f.shown) for f in row.failures if f.scored is Scored.COLUMN])
    assert verdicts[0][0][1:] == (0.05, True)
    assert verdicts[1:] == [[], [("b", 0.05, True)], [("a", 0.05, True)]]


def test_a_stricter_goal_on_one_column_alone():
    goals = veil.Goals.from_words("no value of 'a' with more than 0.1 % advantage")
    assert (goals.limits, goals.limit(Scored.COLUMN, "a"), goals.limit(Scored.COLUMN, "b")) == ({}, 0.001, math.inf)
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(2_000, 2)), columns=["a", "b"])
    (row,) = veil.audit(table, veil.AdditiveNoise([2.0, 0.01]), goals=goals, repetitions=1, **ALONE).rows
    assert {f.column for f in row.failures} <= {"a"}
    assert not row.broken
    with pytest.raises(InputError, match=r"perturbed column of goals: columns is called 'c'; there are 'a', 'b'"):
        veil.audit(table, veil.AdditiveNoise(), goals=veil.Goals(columns={"c": 0.1}), **ALONE)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["income"], "columns must map columns to numbers, for example {'income': 0.02}"),
        ({"income": 2}, "columns 'income' must be between 0 and 1; got another number"),
        ({"income": {"records": 0.1}}, "is called 'records'; there are 'column', 'largest values'"),
    ],
)
def test_goals_of_columns_that_say_nothing_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        veil.Goals(columns=columns)


# -- reports --------------------------------------------------------------------------------------------------


def test_only_the_internal_report_says_what_becomes_of_the_largest_record(tmp_path):
    goals = veil.Goals(columns={"income": 0.02})
    audit = veil.audit(incomes(), veil.AdditiveNoise(1.0), goals=goals, repetitions=2, **ALONE)
    external, internal = (json.loads(audit.to_json(internal=each)) for each in (False, True))
    (shown,), (whole,) = (report["candidates"][0]["largest"] for report in (external, internal))
    assert (shown["name"], shown["n"], shown["most"], shown["first"]) == ("income", 10, 0.02, None)
    assert 0 <= whole["first"] <= 1
    assert external["column_limits"] == {"income": {"column": 0.02, "largest values": 0.02}}
    assert external["limits"]["largest values"] == 0.05
    audit.to_html(tmp_path / "report.html")
    assert "The largest values" in (tmp_path / "report.html").read_text()


def test_of_fewer_than_ten_people_an_external_report_says_nothing():
    table = pd.DataFrame({"x": np.concatenate([np.random.default_rng(0).normal(size=300), np.geomspace(50, 1e4, 7)])})
    audit = veil.audit(table, veil.AdditiveNoise(0.2), repetitions=1, **ALONE)
    assert audit.rows[0].largest["x"].n == 7
    model, internal = audit.model(), audit.model(internal=True)
    assert (model.candidates[0].largest, model.candidates[0].rows[0].largest) == ((), None)
    assert internal.candidates[0].largest[0].n == 7
