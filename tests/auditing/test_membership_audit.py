"""Membership in audits: people withheld from a release, beside the verdict, and counted where a goal is set."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import veil
from veil.auditing.membership import from_json, to_json
from veil.cli import main
from veil.errors import InputError
from veil.report.failures import MembershipOverGoal
from veil.report.values import State

BOTH = ["noise-distribution", "membership"]
ALONE = {"grants": veil.Grants.only(), "attacks": BOTH, "workers": 1}
ROLES = dict.fromkeys(["a", "b", "c", "k"], "sensitive")


def table(rng, n=400):
    z = rng.normal(size=(n, 2)) @ np.array([[1, 0.5, 0.2], [0.3, 1, -0.4]]) + 0.5 * rng.normal(size=(n, 3))
    return pd.DataFrame(np.exp(0.5 * z), columns=list("abc")).assign(k=rng.choice(list("uvw"), n, p=[0.5, 0.3, 0.2]))


def told(audit):
    return audit.candidates[0].membership


def numbers(seed=0, n=400):
    return table(np.random.default_rng(seed), n)[list("abc")]


@pytest.mark.parametrize(("scale", "least"), [(1e-4, 0.95), (0.05, 0.8)])
def test_members_of_a_release_with_little_noise_are_told_from_people_withheld(scale, least):
    found = told(veil.audit(numbers(), veil.AdditiveNoise(scale), seed=0, **ALONE))
    assert found.alone.area > least
    assert found.all_but_one.area >= found.alone.area - 0.05
    assert (found.n_members, found.n_strangers) == (80, 80)


def test_a_guarantee_of_half_a_nat_leaves_a_coin():
    """ε = 0.5 for a record: 0.5 lies in the interval but for chance, over 6 tables."""
    method = veil.LaplaceMechanism(0.5 / 3, (0.0, 6.0))
    areas = [told(veil.audit(numbers(seed, 400), method, seed=seed, **ALONE)).alone.area for seed in range(6)]
    assert sum(not area.low <= 0.5 <= area.high for area in areas) <= 2
    errors = [(area.high - area.low) / 3.92 for area in areas]
    assert np.mean([float(area) for area in areas]) == pytest.approx(0.5, abs=4 * np.mean(errors) / np.sqrt(6))


def test_randomized_responses_with_a_guarantee_leave_a_coin():
    frame = table(np.random.default_rng(1), 1_500)[["k"]]
    attacks = ["response-posterior", "membership"]
    found = told(veil.audit(frame, veil.RandomizedResponse(epsilon=0.5), seed=1, **{**ALONE, "attacks": attacks}))
    assert found.alone.area.low <= 0.5 <= found.alone.area.high


@pytest.mark.parametrize("match", ["order", None])
def test_a_copy_of_the_table_tells_everybody(match):
    frame = table(np.random.default_rng(2), 200)
    found = told(veil.audit(frame, release=frame, match=match, roles=ROLES, seed=0, **ALONE))
    assert found.alone.area > 0.95
    assert (found.all_but_one is None) is (match is None)


def test_fresh_draws_tell_nobody_where_rows_are_nobodys():
    """6 tables: the interval, with the luck of the two samples, holds 0.5 but for chance."""
    missed = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        found = told(veil.audit(table(rng, 200), release=table(rng, 200), match=None, roles=ROLES, seed=seed, **ALONE))
        missed += not found.alone.area.low <= 0.5 <= found.alone.area.high
        assert found.alone.advantage.low < 0.1
    assert missed <= 2


def test_with_a_matching_the_own_row_makes_the_difference():
    """The same noise, seen by people withheld and by people whose row is taken out: the areas agree.

    Whoever is not told the noise's width learns it, and gets nearly as far.
    """
    frame = numbers(3, 1_000)
    release, _ = veil.publish(frame, veil.AdditiveNoise(0.1, random_state=3))
    settings = {"match": "order", "seed": 0, **ALONE}
    withheld = told(veil.audit(frame, veil.AdditiveNoise(0.1), seed=0, **ALONE))
    left_out = told(veil.audit(frame, release=release, **settings))
    unsaid = told(veil.audit(frame, release=release.data, **settings))
    assert withheld.n_members + withheld.n_strangers == left_out.n_members == unsaid.n_members == 400
    errors = [(each.alone.area.high - each.alone.area.low) / 3.92 for each in (withheld, left_out)]
    assert float(left_out.alone.area) == pytest.approx(float(withheld.alone.area), abs=4 * np.hypot(*errors))
    assert 0.6 < float(unsaid.alone.area) < float(left_out.alone.area)
    assert min(float(each.all_but_one.area) for each in (withheld, left_out, unsaid)) > 0.99


def test_a_secret_matrix_hides_nothing_from_who_knows_all_records_but_one():
    """Bits that are parities of others cannot be compared at all, and that is said."""
    frame = numbers(11, 300)
    found = told(veil.audit(frame, veil.RandomProjection(2), seed=0, workers=1, grants=veil.Grants.only()))
    assert found.all_but_one.area > 0.99
    assert found.alone.area < 0.8
    bits = (frame > frame.median()).astype(float)
    nothing = told(veil.audit(bits, veil.BinaryProjection(3), seed=0, workers=1, grants=veil.Grants.only()))
    assert (nothing.alone, nothing.all_but_one) == (None, None)
    assert "compared with" in nothing.reason


def test_it_is_told_beside_the_verdict_and_counts_where_a_goal_is_set():
    frame = numbers(4)
    settings = {"seed": 0, **ALONE}
    beside = veil.audit(frame, veil.AdditiveNoise(3.0), **settings)
    assert beside.passed
    assert "Membership: An attacker who has the records of two people" in str(beside)
    rotated = veil.audit(
        frame, veil.AdditiveNoise(0.001), goals=veil.Goals(max_advantage=1.0, max_membership=0.2), **settings
    )
    (failure,) = rotated.candidates[0].failures
    assert isinstance(failure, MembershipOverGoal)
    assert failure.shown
    assert not rotated.passed
    view = rotated.model().candidates[0]
    assert view.verdict.privacy == State.BREAKS
    assert "Breaks the goal on membership: membership-attack tells who is in the table" in str(rotated)
    assert view.membership.counted
    allowed = veil.audit(
        frame, veil.AdditiveNoise(50.0), goals="no membership with more than 60 % advantage", **settings
    )
    assert allowed.passed
    few = veil.audit(frame[:40], veil.AdditiveNoise(50.0), goals="no membership", **settings)
    assert not few.passed
    assert few.model().candidates[0].verdict.privacy == State.UNPROVEN
    assert "people cannot exclude it" in str(few)


def test_a_goal_that_no_attack_can_test_does_not_hold():
    frame = numbers(5)
    audit = veil.audit(
        frame,
        veil.RandomProjection(2),
        goals=veil.Goals(max_advantage=1.0, max_membership=1.0, against="pairs"),
        grants=veil.Grants.only(pairs=1),
        attacks=["projection-map"],
        seed=0,
        workers=1,
    )
    assert not audit.passed
    assert any(isinstance(each, MembershipOverGoal) and each.advantage is None for each in audit.candidates[0].failures)
    assert "the goal on membership was not tested" in str(audit)
    bits = (frame > frame.median()).astype(float)
    with pytest.raises(InputError, match="membership-attack was asked for and could not run"):
        veil.audit(bits, veil.BinaryProjection(2), grants=veil.Grants.only(), attacks=["membership"], workers=1)


def test_reports_say_it_in_every_form(tmp_path):
    audit = veil.audit(numbers(6), veil.AdditiveNoise(0.5), seed=0, **ALONE)
    document = json.loads(audit.to_json())
    membership = document["candidates"][0]["membership"]
    assert membership["attack"]["label"] == "membership-attack"
    assert membership["alone"]["area"]["low"] <= membership["alone"]["area"]["value"]
    assert membership["counted"] is False
    audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Is it told who is in the table?" in page
    assert "No goal is set on it, so it does not count for the verdict." in page


def test_results_are_remembered(tmp_path):
    options = {"seed": 0, **ALONE, "cache": tmp_path}
    first, second = (veil.audit(numbers(7), veil.AdditiveNoise(0.5), **options) for _ in range(2))
    assert second.context["remembered"] > 0
    assert told(first) == told(second) == from_json(json.loads(json.dumps(to_json(told(first)))))


def test_the_same_seed_gives_the_same_answer():
    answers = [told(veil.audit(numbers(8), veil.AdditiveNoise(0.2), seed=3, **ALONE)) for _ in range(2)]
    assert answers[0] == answers[1]


def test_advice_does_not_search_by_it():
    with pytest.raises(InputError, match="advice does not search by max_membership"):
        veil.advise(numbers(9), ["additive-noise"], goals=veil.Goals(max_membership=0.1))


def test_the_command_line_sets_the_goal(tmp_path):
    numbers(10).to_csv(tmp_path / "table.csv", index=False)
    options = ["audit", str(tmp_path / "table.csv"), "--method", "additive-noise:scale=0.001", "--max-advantage", "1"]
    options += ["--max-membership", "0.1", "--attack", "membership", "--attack", "noise-distribution", "--seed", "1"]
    result = CliRunner().invoke(main, options)
    assert result.exit_code == 3, result.output
    assert "tells who is in the table" in " ".join(result.output.split())
