"""Knowledge levels: what is folded, what is never folded, and what breaks with them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from veil.auditing import Level
from veil.report.charts import knowledge_curve, left_out
from veil.report.folding import (
    breaks_line,
    folded,
    gains_no_more,
    level_names,
    looks_alike,
    part_that_breaks,
    reads_alike,
)
from veil.report.html import page
from veil.report.model import BreakView, CandidateView, LevelView, ReportModel
from veil.report.values import AttackView, Estimate, KnowledgeView, Unit

Candidates = Callable[..., CandidateView]
Models = Callable[..., ReportModel]


def places(view: CandidateView) -> list[int]:
    return sorted(j for fold in folded([view], looks_alike) for j in fold.places)


def test_levels_that_gain_no_more_are_one_fold(make_swept: Candidates):
    view = make_swept("a", {"nothing": 0.01})
    alone, rest = folded([view], looks_alike)
    assert alone.places == (0,)
    assert rest.no_more
    assert rest.places == tuple(range(1, len(view.levels)))
    assert rest.label == (
        "1, 2, 5 and 7 known records; 0.5 %, 2 % and 10 % samples; 1 known column; column ranges; external table; "
        "disclosed matrix"
    )


def test_no_level_is_lost_or_told_twice(sweep_model: ReportModel):
    for view in sweep_model.candidates:
        assert places(view) == list(range(len(view.levels)))


def test_a_level_is_folded_only_where_it_is_for_every_candidate(sweep_model: ReportModel):
    folds = folded(sweep_model.candidates, looks_alike)
    idle = next(fold for fold in folds if fold.no_more)
    for place in idle.places:
        assert all(gains_no_more(view, place) for view in sweep_model.candidates)
    assert "5 known records" in [fold.label for fold in folds]
    assert "disclosed matrix" in [fold.label for fold in folds]


@pytest.mark.parametrize("change", ["state", "advantage", "upper"])
def test_a_level_that_differs_is_not_folded(make_swept: Candidates, change: str):
    view = make_swept("a", {"nothing": -0.01})
    level = view.levels[3]
    other = {
        "state": replace(level, state="breaks"),
        "advantage": replace(level, advantage=Estimate(0.02, 0.0, 0.04)),
        "upper": replace(level, strongest="another-attack", upper=0.049),
    }[change]
    assert gains_no_more(view, 3)
    assert not gains_no_more(replace(view, levels=(*view.levels[:3], other, *view.levels[4:])), 3)


def test_nothing_is_folded_without_a_level_of_nothing(make_candidate: Candidates):
    view = make_candidate()
    later = replace(view, levels=view.levels[1:])
    assert not any(gains_no_more(later, j) for j in range(3))


def test_neighbours_of_one_kind_that_look_alike_are_told_together(make_swept: Candidates):
    view = make_swept("a", {"nothing": 0.01, "5 known records": 0.99, "7 known records": 1.0})
    labels = [fold.label for fold in folded([view], looks_alike)]
    assert "5 or 7 known records" in labels
    assert "5 or 7 known records" not in [fold.label for fold in folded([view], reads_alike)]


def test_names_of_levels():
    def known(kind: str, *amounts: float) -> list[KnowledgeView]:
        return [Level(kind, amount).view for amount in amounts]

    assert level_names([*known("nothing", 0), *known("attributes", 1)]) == "nothing; 1 known column"
    assert level_names(known("records", 2, 5)) == "2 and 5 known records, unmatched"
    assert level_names(known("pairs", 1, 5)) == "1 and 5 known records"
    assert level_names(known("sample", 0.005, 0.02), last="or") == "0.5 % or 2 % sample"
    others = [KnowledgeView("siblings", k, Unit.RECORDS, f"siblings of {k} people") for k in (1, 3)]
    assert level_names(others) == "siblings of 1 people and siblings of 3 people"
    assert level_names([]) == ""


def test_what_breaks_without_an_overall_gain_is_named(make_candidate: Candidates):
    view = make_candidate("a", 0.01)
    levels: tuple[LevelView, ...] = (*view.levels[:2], replace(view.levels[2], state="breaks"), view.levels[3])
    view = replace(view, levels=levels)
    assert part_that_breaks(view, 2, 0.05) == "column height"
    assert part_that_breaks(view, 1, 0.05) is None
    quiet = tuple(replace(r, column=r.value, far_out=view.rows[1].column) for r in view.rows)
    assert part_that_breaks(replace(view, rows=quiet), 2, 0.05) == "far-out values"
    assert part_that_breaks(replace(view, rows=()), 2, 0.05) == "a column, far-out or the largest values"
    assert part_that_breaks(make_candidate("b", 0.4), 2, 0.05) is None


def test_breaks_in_one_line(make_swept: Candidates):
    view = make_swept("a", {"nothing": 0.01, "5 known records": 0.5, "disclosed matrix": 0.9})
    assert breaks_line(view) == (
        "Breaks with 5 known records (known-pairs-attack); with the disclosed matrix (known-pairs-attack)."
    )
    found = replace(view, breaks=(BreakView(view.levels[0].knowledge, AttackView("ica-attack")),))
    assert breaks_line(found) == "Breaks with the release alone (ica-attack)."
    assert breaks_line(make_swept("b", {"nothing": 0.01})) == "No goal is shown to break."
    assert "none is shown to hold" in breaks_line(make_swept("c", {"nothing": 0.04}, "unproven"))


def test_the_matrix_has_a_row_per_fold_and_every_level_by_name(sweep_model: ReportModel):
    written = page(sweep_model).replace("\u00a0", " ")
    matrix = written[written.index('<table class="matrix') :]
    matrix = matrix[: matrix.index("</table>")]
    assert matrix.count('<th scope="row">') == len(folded(sweep_model.candidates, looks_alike)) < 8
    assert "knows more, gains no more" in matrix
    assert "as above" in matrix
    for label in ("1 and 2 known records", "0.5 %, 2 % and 10 % samples", "external table", "disclosed matrix"):
        assert label in matrix


def test_the_curve_leaves_out_what_changes_nothing_and_says_so(sweep_model: ReportModel):
    idle = left_out(sweep_model)
    assert "column ranges" in idle
    drawn = str(knowledge_curve(sweep_model)).replace("\u00a0", " ")
    assert f"With {idle}, no attack gains more" in drawn
    assert f"gains more than with nothing: {idle}" in page(sweep_model).replace("\u00a0", " ")
    assert drawn.count('class="mark c0"') == 12 - 8


def test_few_levels_are_all_drawn(make_model: Models, make_candidate: Candidates):
    assert left_out(make_model(make_candidate())) == ""
