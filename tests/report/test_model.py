"""The model: what an edition holds, and how levels and verdicts are told."""

import datetime as dt
from dataclasses import replace

import pytest

import veil
from veil.auditing.goals import Failure
from veil.auditing.summary import build_model
from veil.report.model import ReportModel


def test_levels_say_how_the_goals_fare(real_audit: veil.Audit):
    rotation, noise = build_model(real_audit).candidates
    assert [(level.knowledge.label, level.state) for level in rotation.levels] == [
        ("nothing", rotation.levels[0].state),
        ("1 known record", rotation.levels[1].state),
        ("4 known records", "breaks"),
    ]
    assert rotation.levels[2].upper == 1
    assert {level.knowledge.kind for level in noise.levels} == {"nothing", "pairs"}
    assert {level.state for level in noise.levels} == {noise.levels[0].state}


def test_a_level_without_goal_is_not_counted(real_audit: veil.Audit):
    lenient = replace(real_audit, goals=replace(real_audit.goals, against=("pairs",)))
    assert [c.levels[0].state for c in build_model(lenient).candidates] == ["not counted", "not counted"]
    bare = replace(lenient, candidates=tuple(replace(c, rows=()) for c in lenient.candidates))
    assert build_model(bare).candidates[0].levels[0].state == "no attack"


def test_a_level_over_the_goal_never_holds_even_if_no_row_was_marked(real_audit: veil.Audit):
    rotation = real_audit.candidates[0]
    unmarked = replace(rotation, rows=tuple(replace(row, failures=()) for row in rotation.rows))
    view = build_model(replace(real_audit, candidates=(unmarked,))).candidates[0]
    assert view.levels[-1].state == "unproven"


def test_a_limit_over_the_goal_without_a_breach_is_not_shown_safe(real_audit: veil.Audit):
    rotation = real_audit.candidates[0]
    text = "known-pairs-attack: advantage up to 16.1 %, over the goal of 5.0 %; 10 runs cannot exclude it"
    doubtful = Failure(text, shown=False)
    rows = tuple(replace(row, failures=(doubtful,)) for row in rotation.rows)
    view = build_model(replace(real_audit, candidates=(replace(rotation, rows=rows),))).candidates[0]
    assert {level.state for level in view.levels} <= {"unproven", "no attack"}
    assert view.verdict.startswith("Not shown to be safe")
    assert not view.passed


def test_verdicts_name_knowledge_attack_and_guessing(real_audit: veil.Audit):
    model = build_model(real_audit)
    verdict = model.candidates[0].verdict
    assert verdict.startswith("Breaks with ")
    assert "known-pairs-attack gets 100 % of the " in verdict
    assert "where guessing gets " in verdict


def test_what_was_not_attacked_is_not_praised(real_audit: veil.Audit):
    bare = replace(real_audit.candidates[0], rows=(), label="mystery")
    model = build_model(replace(real_audit, candidates=(real_audit.candidates[0], bare)))
    assert model.headline.startswith("None of the 2 candidates keeps every goal.")
    assert "No attack was found to try on mystery" in model.headline
    assert "not a proof of safety" in model.candidates[1].verdict


@pytest.mark.parametrize(("internal", "edition"), [(False, "external"), (True, "internal")])
def test_records_are_in_the_internal_edition_only(real_audit: veil.Audit, internal: bool, edition: str):
    model: ReportModel = build_model(real_audit, internal=internal, today=dt.date(2025, 1, 31))
    assert model.edition == edition
    assert model.date == "2025-01-31"
    assert all(bool(view.records) == internal for view in model.candidates)
