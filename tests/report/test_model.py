"""The model: what an edition holds, and how levels and verdicts are told."""

import datetime as dt
from dataclasses import replace

import pytest

import veil
from veil.report.conclusions import headline, verdict
from veil.report.failures import AdvantageOverGoal
from veil.report.model import ReportModel
from veil.report.values import Estimate, Scored


def test_levels_say_how_the_goals_fare(real_audit: veil.Audit):
    rotation, noise = real_audit.model().candidates
    assert [(level.knowledge.label, level.state) for level in rotation.levels] == [
        ("nothing", rotation.levels[0].state),
        ("1 known record", rotation.levels[1].state),
        ("2 known records", "breaks"),
        ("4 known records", "breaks"),
    ]
    assert [level.searched for level in rotation.levels] == [False, False, True, False]
    assert rotation.levels[2].upper == 1
    assert "2 known records" in {row.knowledge.label for row in rotation.rows}
    assert rotation.levels[2].knowledge == rotation.breaks[0].knowledge
    assert {level.knowledge.kind for level in noise.levels} == {"nothing", "pairs"}
    assert {level.state for level in noise.levels} == {noise.levels[0].state}


def test_a_level_without_goal_is_not_counted(real_audit: veil.Audit):
    lenient = replace(real_audit, goals=replace(real_audit.goals, against=("pairs",)))
    assert [c.levels[0].state for c in lenient.model().candidates] == ["not counted", "not counted"]
    bare = replace(lenient, candidates=tuple(replace(c, rows=()) for c in lenient.candidates))
    assert bare.model().candidates[0].levels[0].state == "no attack"


def test_a_level_over_the_goal_never_holds_even_if_no_row_was_marked(real_audit: veil.Audit):
    rotation = real_audit.candidates[0]
    unmarked = replace(rotation, rows=tuple(replace(row, failures=()) for row in rotation.rows))
    view = replace(real_audit, candidates=(unmarked,)).model().candidates[0]
    assert view.levels[-1].state == "unproven"


def test_a_limit_over_the_goal_without_a_breach_is_not_shown_safe(real_audit: veil.Audit):
    rotation = real_audit.candidates[0]
    first, gain = rotation.rows[0], Estimate(0.03, 0.0, 0.161)
    doubtful = AdvantageOverGoal(first.view, first.level.view, Scored.VALUES, "", gain, 0.05, False, 10, 300)
    assert str(doubtful).endswith(
        ": advantage on values up to 16.1 %, over the goal of 5.0 %; 10 runs cannot exclude it"
    )
    rows = tuple(replace(row, failures=(doubtful,)) for row in rotation.rows)
    view = replace(real_audit, candidates=(replace(rotation, rows=rows),)).model().candidates[0]
    assert {level.state for level in view.levels} <= {"unproven", "no attack"}
    assert (view.verdict.privacy, view.verdict.useful) == ("unproven", True)
    assert verdict(view, 0.05) == f"Not shown to be safe: {doubtful}."
    assert not view.passed


def test_verdicts_name_knowledge_attack_and_guessing(real_audit: veil.Audit):
    model = real_audit.model()
    view = model.candidates[0]
    assert view.verdict.privacy == "breaks"
    assert view.verdict.least == view.breaks[0].knowledge
    assert view.verdict.reason in view.failures
    sentence = verdict(view, model.max_advantage)
    assert sentence.startswith("Breaks with ")
    assert "known-pairs-attack gets 100 % of the " in sentence
    assert "; without the person's own row it would get " in sentence
    assert "constant guess" in sentence


def test_what_was_not_attacked_is_not_praised(real_audit: veil.Audit):
    bare = replace(real_audit.candidates[0], rows=(), label="mystery")
    model = replace(real_audit, candidates=(real_audit.candidates[0], bare)).model()
    assert headline(model).startswith("None of the 2 candidates is shown to keep every goal.")
    assert "No attack was found to try on mystery" in headline(model)
    assert "not a proof of safety" in verdict(model.candidates[1], model.max_advantage)


@pytest.mark.parametrize(("internal", "edition"), [(False, "external"), (True, "internal")])
def test_records_are_in_the_internal_edition_only(real_audit: veil.Audit, internal: bool, edition: str):
    model: ReportModel = real_audit.model(internal=internal, today=dt.date(2025, 1, 31))
    assert model.edition == edition
    assert model.date == "2025-01-31"
    assert all(bool(view.records) == internal for view in model.candidates)
