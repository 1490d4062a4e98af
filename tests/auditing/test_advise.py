"""Advice: what is recommended keeps the goals in audits with other keys, and what is not says why."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.auditing import Score
from veil.auditing.advice.families import rounded_up
from veil.auditing.advice.limits import at_least, limit_of
from veil.errors import InputError
from veil.measures import Measure

FEW = veil.Grants.only(pairs=2, sample=0.05)


def normal(n=5_000, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.fixture(scope="module")
def advice():
    methods = ["additive-noise", veil.OrthogonalTransform()]
    return veil.advise(normal(), methods, grants=FEW, seed=0)


def test_what_is_recommended_keeps_the_goals_with_other_keys(advice):
    assert advice.possible
    assert advice.audit.passed
    assert veil.audit(normal(), advice.recommendation, grants=FEW, seed=100).passed


@pytest.mark.slow
def test_twenty_fresh_audits_agree(advice):
    fresh = [veil.audit(normal(), advice.recommendation, grants=FEW, seed=seed).passed for seed in range(100, 120)]
    assert sum(fresh) >= 19


def test_the_frontier_falls_from_useful_to_private(advice):
    frontier = advice.frontier
    assert len(frontier) >= 2
    assert [p.utility for p in frontier] == sorted((p.utility for p in frontier), reverse=True)
    assert [p.risk for p in frontier] == sorted((p.risk for p in frontier), reverse=True)
    assert set(frontier) <= set(advice.points)


def test_a_rejected_method_says_what_breaks_it(advice):
    assert (
        "3 known records recover every value"
        in veil.advise(normal(), [veil.OrthogonalTransform()], grants=veil.Grants.only(pairs=3), seed=0).rejected[
            "orthogonal transform"
        ]
    )
    assert all(len(reason) > 10 for reason in advice.rejected.values())


@pytest.fixture(scope="module")
def impossible():
    goals = veil.Goals(max_advantage=0.001, min_utility={"distances": 0.9})
    return veil.advise(normal(500), ["additive-noise"], goals=goals, grants=veil.Grants.only(), seed=0)


def test_the_impossible_is_said_with_the_nearest_miss(impossible):
    assert (impossible.possible, impossible.state) == (False, "impossible")
    assert impossible.recommendation is None
    assert "nearest miss is additive noise" in impossible.words
    assert "0.1 % is allowed" in impossible.nearest
    assert "was not shown to keep the goal of 0.1 %: additive noise" in impossible.words
    assert "(advantage" in impossible.words
    assert not impossible.audit.passed or impossible.audit.candidates
    assert "No method" in str(impossible) or "nearest" in str(impossible)


def test_out_of_time_is_not_impossible(tmp_path):
    short = veil.advise(normal(), ["additive-noise", veil.OrthogonalTransform()], grants=FEW, budget=1e-3, seed=0)
    assert (short.possible, short.state, short.points) == (False, "out of time", ())
    assert short.rejected == dict.fromkeys(["additive-noise", "orthogonal transform"], "not tried: out of time")
    assert "The time was over before a method was shown to keep every goal" in " ".join(str(short).split())
    short.to_html(tmp_path / "advice.html")
    assert '"state": "out of time"' in short.to_json()


def test_strengths_beyond_what_utility_allows_are_not_tried(impossible):
    failing = [point.strength for point in impossible.points if point.utilities["distances"] < 0.9]
    assert len(failing) <= 2  # those tried first


@pytest.mark.slow
def test_utility_goals_are_kept_by_what_is_recommended():
    goals = veil.Goals(max_advantage=0.05, min_utility={"covariance": 0.7})
    found = veil.advise(normal(2_000), ["additive-noise"], goals=goals, grants=FEW, seed=0)
    assert found.possible
    assert found.audit.candidates[0].utility["covariance"] >= 0.7
    assert found.utilities == ("covariance",)


@pytest.mark.slow
def test_categories_get_responses_of_their_own_strength():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=800), "job": rng.choice(list("abcd"), 800, p=[0.4, 0.3, 0.2, 0.1])})
    found = veil.advise(frame, ["additive-noise"], roles={"job": "sensitive"}, grants=veil.Grants.only(), seed=0)
    assert found.possible
    assert isinstance(found.recommendation, veil.Plan)
    assert {type(p).__name__ for p in found.recommendation.perturbations} == {"AdditiveNoise", "RandomizedResponse"}
    assert veil.audit(
        frame, found.recommendation, roles={"job": "sensitive"}, grants=veil.Grants.only(), seed=77
    ).passed


def test_the_limit_is_kept_by_the_next_audit_with_99_percent():
    """Ten runs set the limit; ten others, and their upper 95 % limit, stay under it."""
    rng, kept, draws = np.random.default_rng(0), 0, 4_000
    for _ in range(draws):
        ours, theirs = rng.normal(0.2, 0.02, (2, 10))
        gains = [Measure(g, higher_is="exposed") for g in ours]
        _, limit = limit_of([Score(gain, 0.0, 0.0, gain, gain) for gain in gains])
        kept += theirs.mean() + 2.262 * theirs.std(ddof=1) / np.sqrt(10) <= limit
    assert kept / draws >= 0.99 - 4 * np.sqrt(0.99 * 0.01 / draws)


@pytest.mark.parametrize("n", [3, 12])
def test_the_utilities_of_the_next_audit_are_as_high_with_99_percent(n):
    """The mean over n releases is over the limit that n others set, in 99 of 100 audits of normal utilities."""
    rng, kept, draws = np.random.default_rng(1), 0, 4_000
    for _ in range(draws):
        ours, theirs = rng.normal(0.9, 0.02, (2, n))
        releases = [{"means": Measure(value, higher_is="useful")} for value in ours]
        kept += theirs.mean() >= at_least(releases)["means"]
    assert abs(kept / draws - 0.99) < 4 * np.sqrt(0.99 * 0.01 / draws)
    assert at_least([{"means": Measure(0.9, higher_is="useful")}]) == {}


def test_a_column_that_keys_leave_unclear_is_held_to_what_is_shown_as_in_audits():
    """Ten keys that differ by more than the goal show nothing; an audit does not count the column, nor does advice."""
    spread = [Measure(g, low=max(0.0, g - 0.01), high=g + 0.01, higher_is="exposed") for g in np.linspace(0.0, 0.3, 10)]
    scores = [Score(gain, 0.0, 0.0, gain, gain) for gain in spread]
    assert limit_of(scores)[1] > 0.2
    mean, limit = limit_of(scores, unclear=0.05)
    assert limit < mean + 0.05
    assert limit_of(scores, unclear=0.5) == limit_of(scores)


def test_the_luckiest_of_many_attacks_that_gain_nothing_does_not_send_the_search_away():
    """Of 500 scores without a gain the highest limit of one run is over the goal, and the expected one is not."""
    rng, error = np.random.default_rng(0), 0.015
    gains = [Measure(g, low=0.0, high=g + 1.96 * error, higher_is="exposed") for g in rng.normal(0.0, error, 500)]
    ends = [[limit_of([Score(g, 0.0, 0.0, g, g)], hopeful=hopeful)[1] for g in gains] for hopeful in (False, True)]
    assert max(ends[0]) > 0.05 > max(ends[1])


def test_few_runs_of_an_attack_far_from_the_goal_have_their_records_alone():
    """Three runs do not know how keys differ; an audit takes their records, and so does advice."""
    gains = [Measure(g, low=0.0, high=g + 0.02, higher_is="exposed") for g in (0.0, 0.0, 0.03)]
    even = [Measure(0.01, low=0.0, high=0.03, higher_is="exposed")] * 3
    limits = [limit_of([Score(g, 0.0, 0.0, g, g) for g in each]) for each in (gains, even)]
    assert limits[0] == pytest.approx(limits[1])


def test_strengths_are_rounded_to_the_private_side():
    for strength in (0.1234, 0.99, 1.0, 7.77, 123.4):
        assert rounded_up(strength) >= strength
        assert rounded_up(strength) <= strength * 1.1001


@pytest.mark.parametrize(
    ("candidates", "message"),
    [(["additive-nois"], "names of methods to search"), ([], "empty"), ([5], "names of methods"), ("x", "names of")],
)
def test_candidates_that_are_none(candidates, message):
    with pytest.raises(InputError, match=message):
        veil.advise(normal(), candidates)
