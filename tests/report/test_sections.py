"""The report's newer sections: breaks, three risks, exposed columns, advice, how rows were matched."""

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from veil.report.advice import best_points, tried
from veil.report.columns import exposed_columns
from veil.report.failures import UtilityUnderGoal, Verdict
from veil.report.html import page
from veil.report.model import AdviceView, CandidateView, ColumnView, PointView, ReportModel, RiskView
from veil.report.values import AttackView, Estimate, KnowledgeView, ScoreView, State, Unit

Candidates = Callable[..., CandidateView]
Models = Callable[..., ReportModel]
Advice = Callable[..., AdviceView]
NOTHING = KnowledgeView("nothing", 0, Unit.NONE, "nothing")
SAMPLE = KnowledgeView("sample", 0.02, Unit.SHARE, "2 % sample", "a")


def score(advantage: float) -> ScoreView:
    gain = Estimate(advantage, 0.0, 1.0)
    return ScoreView(Estimate(advantage, 0.0, 1.0), 0.0, 0.0, gain, gain)


def said(markup: object) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", str(markup)).replace("\u00a0", " "))


def test_every_candidate_has_its_breaks_before_the_matrix(sweep_model: ReportModel):
    text = said(page(sweep_model))
    first = text[: text.index("Who is safe from whom")]
    assert "No goal is shown to break." in first
    assert "Breaks with 5 known records (known-pairs-attack)" in first
    assert "none is shown to hold" in first
    for sign in ("✓ goals hold", "✕ a goal fails", "? not shown safe"):
        assert sign in first


def test_too_little_utility_is_told_from_too_much_risk(make_model: Models, make_swept: Candidates):
    low = UtilityUnderGoal("clusters", Estimate(0.4, 0.4, 0.4), 0.5)
    view = make_swept(
        "a", {"nothing": 0.01}, passed=False, failures=(low,), verdict=Verdict(State.HOLDS, False, None, low)
    )
    text = said(page(make_model(view, min_utility={"clusters": 0.5})))
    assert "✕ not useful enough" in text
    assert f"Private enough, but not useful enough: {low}." in text


def test_three_risks_have_rate_baseline_advantage_attack_and_knowledge(sweep_model: ReportModel):
    text = said(page(sweep_model))
    part = text[text.index("Three questions regulators ask") :]
    part = part[: part.index("Singling out. ")]
    assert (
        "40.0 % 38.0 to 42.0 % Of the records, guessed right: constant guess 8.0 % person absent 10.0 % "
        "person present 46.0 % known-pairs-attack with 7 known records" in part
    )
    assert "no gain" in part
    assert part.count("Not measured: nobody is granted quasi or public columns.") == 1, (
        "a note for all candidates is said once"
    )


def test_notes_that_differ_are_said_for_each(make_model: Models, make_swept: Candidates):
    one, other = make_swept("a", {"nothing": 0.01}), make_swept("b", {"nothing": 0.01})
    note = RiskView("linkability", None, None, None, "no attack")
    other = replace(other, risks=(other.risks[0], note, other.risks[2]))
    text = said(page(make_model(one, other)))
    assert "Not measured: nobody is granted quasi or public columns." in text
    assert "No attack applies with the knowledge granted." in text


def test_exposed_columns_worst_first_and_cut(make_swept: Candidates):
    view = make_swept("a", {"nothing": 0.01})
    text = said(exposed_columns(view))
    assert [text.index(f"column {j} ") for j in range(8)] == sorted(text.index(f"column {j} ") for j in range(8))
    assert "column 8" not in text
    assert "And 2 more." in text
    assert "On 2 columns no attack gains anything." in text
    assert "All by known-pairs-attack with the release alone." in text


def test_exposed_columns_by_different_attacks_name_each(make_swept: Candidates):
    columns = (
        ColumnView("x", score(0.4), AttackView("a-attack"), NOTHING),
        ColumnView("y", score(0.2), AttackView("b-attack"), SAMPLE),
    )
    text = said(exposed_columns(make_swept("a", {"nothing": 0.01}, columns=columns)))
    assert "a-attack with the release alone" in text
    assert "b-attack with a 2 % sample" in text


def test_no_exposed_columns(make_swept: Candidates):
    assert exposed_columns(make_swept("a", {"nothing": 0.01}, columns=())) is None
    none = (ColumnView("x", score(0.0), AttackView("a-attack"), NOTHING),)
    assert "No attack gains anything" in said(exposed_columns(make_swept("a", {"nothing": 0.01}, columns=none)))


def test_the_line_joins_what_no_other_beats():
    def point(risk: float, utility: float) -> PointView:
        return PointView(f"{risk}", "m", risk, utility, True, False, "")

    points = (point(0.5, 0.9), point(0.2, 0.5), point(0.3, 0.4), point(0.2, 0.3), point(0.1, 0.2), point(math.nan, 1.0))
    assert [(p.risk, p.utility) for p in best_points(points)] == [(0.1, 0.2), (0.2, 0.5), (0.5, 0.9)]


def test_every_point_is_drawn_and_one_is_ringed(make_model: Models, make_swept: Candidates, make_advice: Advice):
    advice = make_advice()
    drawn = str(tried(make_model(make_swept("a", {"nothing": 0.01}), advice=advice), advice))
    assert drawn.count('class="kept-point"') == sum(p.passed for p in advice.points)
    assert drawn.count('class="missed"') == sum(not p.passed for p in advice.points)
    assert drawn.count('class="ring"') == 1
    assert drawn.count('class="pareto"') == 1
    assert "additive noise (scale 8)" in drawn
    assert "Recommended: additive noise (scale 8)" in said(drawn)


def test_points_without_numbers_are_not_drawn(make_model: Models, make_swept: Candidates, make_advice: Advice):
    advice = replace(make_advice(), points=(PointView("a", "m", math.nan, 0.5, False, False, ""),))
    model = make_model(make_swept("a", {"nothing": 0.01}), advice=advice)
    assert tried(model, advice) is None
    assert "Recommendation" in said(page(model))


def test_advice_with_and_without_a_recommendation(make_model: Models, make_swept: Candidates, make_advice: Advice):
    view = make_swept("a", {"nothing": 0.01})
    text = said(page(make_model(view, advice=make_advice())))
    assert text.index("Verdict") < text.index("✓ additive noise (scale 8)") < text.index("Three questions regulators")
    assert "Nearest miss" not in text
    assert "orthogonal transform breaks with 7 known records" in text
    none = said(page(make_model(view, advice=make_advice(recommended=False))))
    assert "No method tried keeps every goal" in none
    assert "Nearest miss: additive noise (scale 8) misses the goal by 0.4 %." in none


@pytest.mark.parametrize("matching", ["known", "inferred"])
def test_inferred_matching_is_said_at_the_top(make_model: Models, make_candidate: Candidates, matching: str):
    text = said(page(make_model(make_candidate(), matching=matching, remarks=("The time ran out.",))))
    assert ("Rows were matched by Veil." in text) == (matching == "inferred")
    assert text.index("The time ran out.") < text.index("Who is safe from whom")


def test_a_goal_that_is_not_shown_to_hold_is_not_called_broken(make_model: Models, make_candidate: Candidates):
    view = make_candidate("a", 0.04)
    rows = tuple(replace(r, column=r.value, state=State.UNPROVEN) for r in view.rows)
    text = said(page(make_model(replace(view, rows=rows))))
    assert "? not shown safe" in text[text.index("All attacks") :]
    assert "✕ fail" not in text
