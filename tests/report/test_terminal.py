"""The terminal report: folded, short, and never a breach without what breaks."""

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

import veil
from veil.report.html import page
from veil.report.model import AdviceView, CandidateView, ReportModel
from veil.report.terminal import plain_text, render
from veil.report.values import AdviceState, State
from veil.report.words import STATES

Candidates = Callable[..., CandidateView]
Models = Callable[..., ReportModel]


def text_at(model: ReportModel, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render(model, console)
    written = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.replace("\u00a0", " ").splitlines())


def flat(text: str) -> str:
    return " ".join(text.split())


def longest_candidate(model: ReportModel, width: int) -> int:
    """Lines of the longest candidate: what each adds to a report on it alone."""
    opening = len(text_at(replace(model, candidates=model.candidates[:1]), width).splitlines())
    lengths = []
    for candidate in model.candidates:
        both = replace(model, candidates=(model.candidates[0], candidate))
        lengths.append(len(text_at(both, width).splitlines()) - opening)
    return max(lengths)


@pytest.mark.parametrize("width", [80, 120])
def test_a_candidate_has_about_thirty_lines_at_most(sweep_model: ReportModel, real_audit: veil.Audit, width: int):
    assert longest_candidate(sweep_model, width) <= 35
    assert longest_candidate(real_audit.model(), width) <= 35


def test_levels_that_change_nothing_are_one_line(make_model: Models, make_swept: Candidates):
    text = flat(plain_text(make_model(make_swept("a", {"nothing": 0.01}))))
    assert "1, 2, 5 and 7 known records; 0.5 %, 2 % and 10 % samples;" in text
    assert "disclosed matrix: as with nothing" in text
    assert text.count("✓ holds") == 1


@pytest.mark.parametrize("width", [80, 120])
def test_breaks_risks_and_columns_are_said(sweep_model: ReportModel, width: int):
    text = flat(text_at(sweep_model, width))
    assert "Breaks with 5 known records (known-pairs-attack); with 7 known records (known-pairs-attack);" in text
    assert "Singling out 40.0 % (46.0 / 10.0 / 8.0 %), known-pairs, 7 known records" in text
    assert "Linkability not measured: nobody is granted quasi or public columns" in text
    assert "Inference no gain" in text
    assert "Most exposed: column 0 50.0 %, column 1 45.0 %, column 2 40.0 % and 9 more columns" in text


@pytest.mark.parametrize("width", [80, 120])
def test_a_breach_without_a_gain_says_what_breaks(make_model: Models, make_candidate: Candidates, width: int):
    view = make_candidate("a", -0.01)
    broken = replace(view.levels[2], state="breaks")
    rows = tuple(replace(r, column=make_candidate().rows[1].column) for r in view.rows)
    model = make_model(replace(view, rows=rows, levels=(*view.levels[:2], broken, view.levels[3])))
    text = flat(text_at(model, width))
    assert "breaks:" in text
    assert "column height" in text


def test_at_most_four_attacks_are_said_not_to_be_played(sweep_model: ReportModel):
    text = plain_text(sweep_model)
    assert text.count("Not run:") == 4
    assert "and 5 more not run" in text


def test_advice_matching_and_remarks_come_first(
    make_model: Models, make_swept: Candidates, make_advice: Callable[..., AdviceView], sweep_model: ReportModel
):
    opening = flat(plain_text(sweep_model).split("\n\n")[0])
    assert "Recommended: additive noise (scale 8)." in opening
    assert "It loses the least." in opening
    assert opening.count("Recommended") == 1
    assert "Rows were matched by Veil" in opening
    assert "Two columns are constant" in opening
    none = make_model(make_swept("a", {"nothing": 0.01}), advice=make_advice(recommended=False))
    text = flat(plain_text(none))
    assert text.startswith("✕ No method tried keeps every goal.")
    assert text.count("No method tried") == 1
    late = replace(none, advice=replace(make_advice(recommended=False), state=AdviceState.OUT_OF_TIME))
    assert flat(plain_text(late)).startswith("• The time was over before a method was shown to keep every goal.")


@pytest.mark.parametrize("state", list(State))
def test_every_state_of_a_level_can_be_shown(make_model: Models, make_candidate: Candidates, state: State):
    view = make_candidate()
    view = replace(view, levels=tuple(replace(level, state=state) for level in view.levels))
    model = make_model(view)
    sign, words = STATES[state]
    assert f"{sign} " in plain_text(model)
    assert words in page(model)
