"""Charts: what is drawn where, and what they say without eyes."""

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from veil.report.charts import frontier, knowledge_curve, utility_axis
from veil.report.drawing import Area, Box, free_place, marker, reach
from veil.report.html import page
from veil.report.model import CandidateView, Picture, ReportModel
from veil.report.pictures import heat_map, near_diagonal, shade, utility_bars
from veil.report.values import Estimate, KnowledgeView, Unit

Models = Callable[..., ReportModel]
Candidates = Callable[..., CandidateView]

DIAGONAL = Picture((-1.0, 0.0, 1.0, 2.0), ((40, 0, 0), (0, 90, 0), (0, 10, 160)), 310, 6, 4)


def test_cells_lie_at_original_across_and_guess_up():
    drawn = heat_map(DIAGONAL, name="p", attack="an attack", smallest=10)
    paths = dict(re.findall(r'<path d="([^"]+)" class="(h\d)"', drawn))
    by_shade = {style: path for path, style in paths.items()}
    assert by_shade["h8"] == "M2 2h1v1h-1z"
    assert by_shade[f"h{shade(40, 160)}"] == "M0 0h1v1h-1z"
    assert by_shade[f"h{shade(10, 160)}"] == "M2 1h1v1h-1z"


def test_cells_of_one_shade_above_each_other_are_one_rectangle():
    column = Picture((0.0, 1.0, 2.0, 3.0), ((50, 50, 50), (0, 0, 0), (50, 0, 50)), 250, 0, 0)
    drawn = heat_map(column, name="p", attack="an attack", smallest=10)
    assert 'd="M0 0h1v3h-1zM2 0h1v1h-1zM2 2h1v1h-1z"' in drawn


def test_the_picture_says_how_much_is_right():
    assert near_diagonal(DIAGONAL) == 1
    off = Picture((0.0, 1.0, 2.0, 3.0), ((0, 0, 30), (0, 10, 0), (0, 0, 0)), 40, 0, 0)
    assert near_diagonal(off) == 0.25
    assert "25.0 % of the values shown" in heat_map(off, name="p", attack="an attack", smallest=10).replace(
        "\u00a0", " "
    )
    empty = Picture((0.0, 1.0), ((0,),), 3, 3, 0)
    assert "Every cell is empty" in heat_map(empty, name="p", attack="an attack", smallest=10)


def test_knowledge_curve_draws_one_marker_per_attacked_level(make_model: Models, make_candidate: Candidates):
    drawn = knowledge_curve(make_model(make_candidate("a"), make_candidate("b")))
    assert drawn is not None
    assert drawn.count('class="mark c0"') == 2
    assert drawn.count('class="mark c1"') == 2
    assert drawn.count('class="thread c0"') == 1
    assert "5 known records 40.0 % (breaks)" in drawn.replace("\u00a0", " ")


def test_levels_of_another_kind_are_not_joined(make_model: Models, make_candidate: Candidates):
    view = make_candidate()
    sample = replace(view.levels[2], knowledge=KnowledgeView("sample", 0.02, Unit.SHARE, "2 % sample", "a"))
    drawn = knowledge_curve(make_model(replace(view, levels=(view.levels[2], sample))))
    assert drawn is not None
    assert 'class="thread' not in drawn
    assert 'class="divider"' in drawn


def test_no_curve_and_no_frontier_without_attacks(make_model: Models, make_candidate: Candidates):
    view = make_candidate()
    bare = replace(view, levels=(view.levels[0],), strongest=None, rows=())
    assert knowledge_curve(make_model(bare)) is None
    assert frontier(make_model(bare)) is None
    assert frontier(make_model(replace(view, utility={}))) is None


def test_frontier_axis_is_the_goal_utility_or_the_mean(make_model: Models, make_candidate: Candidates):
    plain = make_model(make_candidate())
    assert utility_axis(plain) == (("distances", "clusters"), None)
    assert plain.utility(plain.candidates[0]) == pytest.approx(0.65)
    aimed = replace(plain, min_utility={"distances": 0.8})
    assert utility_axis(aimed) == (("distances",), 0.8)
    assert "goal 80" in str(frontier(aimed))


def test_the_utility_leaves_out_what_is_not_a_number(make_model: Models, make_candidate: Candidates):
    missing = Estimate(math.nan, math.nan, math.nan)
    view = make_candidate(utility={"distances": missing, "clusters": Estimate(0.4, 0.4, 0.4)})
    assert make_model(view).utility(view) == pytest.approx(0.4)
    bare = replace(view, utility={"distances": missing})
    assert make_model(bare).utility(bare) is None


def test_one_utility_is_said_everywhere(make_model: Models, make_candidate: Candidates):
    """Over the uses that all candidates allow: a use that only one allows moves no number."""
    more = {"distances": Estimate(0.9, 0.9, 0.9), "clusters": Estimate(0.4, 0.4, 0.4), "means": Estimate(1, 1, 1)}
    model = make_model(make_candidate("a", utility=more), make_candidate("b"))
    assert model.uses == ("distances", "clusters")
    assert model.utility(model.candidates[0]) == model.utility(model.candidates[1]) == pytest.approx(0.65)
    text = page(model).replace("\u00a0", " ")
    assert text.count("Utility kept <b>65.0 %</b>") == 2
    assert "utility 65.0 %" in str(frontier(model)).replace("\u00a0", " ")
    assert "Utility kept is the mean over distances between records and clusters found." in text


def test_utility_bars_mark_goals_with_words():
    utility = {"distances": Estimate(0.9, 0.9, 0.9), "clusters": Estimate(0.4, 0.3, 0.5)}
    drawn = utility_bars(utility, {"distances": 0.8, "clusters": 0.5}, name="u", label="a").replace("\u00a0", " ")
    assert "✓ goal 80 %" in drawn
    assert "✕ goal 50 %" in drawn
    assert drawn.count("whisker") == 1


def test_values_outside_an_axis_are_drawn_at_its_edge():
    area = Area(10, 10, 100, 100, y_max=0.5)
    assert area.y(-3) == 110
    assert area.y(0.7) == 10
    assert area.x(0.5) == 60


@pytest.mark.parametrize("highest", [0.0, 0.05, 0.1, 0.35, 0.6, 0.61, 1.0])
def test_axes_hold_the_highest_value(highest: float):
    end, ticks = reach(highest)
    assert highest <= end
    assert ticks[0] == 0
    assert ticks[-1] == pytest.approx(end)


def test_shapes_differ_between_candidates():
    shapes = {re.sub(r' class="[^"]*"', "", marker(i, 0, 0)) for i in range(6)}
    assert len(shapes) == 6


def test_labels_keep_apart():
    area = Area(0, 0, 500, 300)
    taken: list[Box] = []
    for _ in range(6):
        free_place(area, 100, 150, 120, taken)
    assert len(taken) == 6
    assert not any(a.meets(b) for i, a in enumerate(taken) for b in taken[:i])
