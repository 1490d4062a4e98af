"""What a report says of untested knowledge, of time, of tables that are too small, and of ties between attacks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veil
from veil.auditing.rows import strongest_of
from veil.report.bars import three_bars
from veil.report.conclusions import headline, verdict
from veil.report.failures import AdvantageOverGoal, OutOfTime, TooFewRecords, UntestedKnowledge, Verdict
from veil.report.html import page
from veil.report.model import CandidateView, ReportModel
from veil.report.terminal import plain_text
from veil.report.values import Estimate, KnowledgeView, Scored, ScoreView, State, Unit

Candidates = Callable[..., CandidateView]
Models = Callable[..., ReportModel]
COLUMN = KnowledgeView("attributes", 1, Unit.COLUMNS, "1 known column")


def flat(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


def test_what_was_not_tested_is_in_the_verdict_of_what_holds(make_model: Models, make_candidate: Candidates):
    view = make_candidate("a", 0.01, untested=(UntestedKnowledge((COLUMN,)),))
    sentence = "Every goal holds where it was tested; not tested: 1 known column."
    assert verdict(view, 0.05).startswith(sentence)
    assert sentence in flat(plain_text(make_model(view)))
    assert "✓ goals hold where tested" in flat(page(make_model(view)).replace("</span>", ""))
    both = make_model(view, make_candidate("b"))
    assert headline(both) == "1 of 2 candidates keeps every goal where it was tested: a."


def test_time_that_ran_out_is_a_state_of_its_own(make_model: Models, make_candidate: Candidates):
    late = OutOfTime(3)
    view = make_candidate(failures=(late,), verdict=Verdict(State.OUT_OF_TIME, True, None, late), rows=())
    assert verdict(view, 0.05) == "Out of time: 3 attacks were not run, so nothing is decided."
    assert headline(make_model(view, view)) == "Out of time: nothing was decided."
    assert "◷ out of time" in flat(plain_text(make_model(view)))


def test_a_table_that_is_too_small_is_said_and_not_blamed_on_the_method(make_model: Models, make_candidate: Candidates):
    few = TooFewRecords("income", 1000, 2400, 0.05)
    view = make_candidate("a", 0.01, too_few=(few,))
    sentence = "1,000 records cannot show 5 % in column 'income'; about 2,400 could"
    model = make_model(view)
    assert str(few) == sentence
    assert sentence in flat(plain_text(model))
    assert sentence in flat(page(model)).replace("&#x27;", "'")
    assert view.passed
    failing = make_candidate("b", 0.4, too_few=(few,))
    assert f"Too few records: {sentence}" in flat(plain_text(make_model(failing)))


@pytest.mark.parametrize(
    ("control", "expected"), [(0.09, "9.0 %, a constant guess 8.0 %"), (0.08, "8.0 %, no more than")]
)
def test_a_verdict_compares_with_the_person_absent_and_a_constant(
    make_candidate: Candidates, control: float, expected: str
):
    view = make_candidate()
    gain = Estimate(0.36, 0.31, 0.41)
    score = ScoreView(Estimate(0.42, 0.38, 0.46), control, 0.08, gain, gain)
    row = replace(view.rows[1], value=score, advantage=gain)
    sentence = verdict(replace(view, strongest=row), 0.05)
    assert f"gets 42.0 % of the values right; without the person's own row it would get {expected}" in sentence
    bars = str(three_bars(score, named=True))
    assert [bars.index(name) for name in ("constant guess", "person absent", "person present")] == sorted(
        bars.index(name) for name in ("constant guess", "person absent", "person present")
    )


def test_records_of_a_part_are_said_to_be_of_its_columns():
    rng = np.random.default_rng(0)
    table = {"sex": np.where(rng.random(300) < 0.6, "f", "m"), "x": rng.normal(size=300), "y": rng.normal(size=300)}
    plan = veil.Plan([(["sex"], veil.RandomizedResponse(keep=0.9)), (["x", "y"], veil.AdditiveNoise(2.0))])
    audit = veil.audit(pd.DataFrame(table), plan, grants=veil.Grants.only(), seed=0, repetitions=1)
    view = audit.model().candidates[0]
    guesses = {row.part for row in view.rows if row.attack.target}
    assert ("sex",) in guesses
    singled = next(risk for risk in view.risks if risk.risk == "singling out")
    assert singled.part != ("sex",), "nobody is singled out by a guess of one column where others guess more"
    part = next(row for row in audit.rows if tuple(row.columns) == ("sex",) and row.target)
    gain = Estimate(0.83, 0.8, 0.86)
    sentence = str(
        AdvantageOverGoal(part.view, part.level.view, Scored.RECORDS, "", gain, 0.05, True, 1, 300, ("sex",))
    )
    assert "advantage on records in column 'sex' at least 80.0 %" in sentence


def test_of_equally_strong_attacks_the_simplest_is_named(real_audit: veil.Audit):
    row = real_audit.candidates[1].rows[0]
    gain = type(row.value.advantage)(0.2000001, higher_is="exposed")
    better = replace(row, attack="serial-attack", kinds=1, value=replace(row.value, advantage=gain), nrmse=0.1)
    simple = replace(row, attack="pca-attack", kinds=0, nrmse=0.1)
    simple = replace(simple, value=replace(row.value, advantage=type(gain)(0.2, higher_is="exposed")))
    assert strongest_of([better, simple]) is simple
    clearly = replace(better, value=replace(row.value, advantage=type(gain)(0.21, higher_is="exposed")))
    assert strongest_of([clearly, simple]) is clearly
    unused = replace(clearly, attack="pca-attack", tested=False)
    assert strongest_of([unused, simple]) is simple, "it would be named for knowledge that it did not use"
    assert strongest_of([unused]) is unused
    assert strongest_of([]) is None
