"""The report's first screen: which candidate is safe with which knowledge."""

from __future__ import annotations

from veil.report.bars import OVER
from veil.report.candidates import badge, chip
from veil.report.conclusions import headline, size
from veil.report.folding import Fold, breaks_line, folded, gains_no_more, looks_alike, part_that_breaks, shown_limit
from veil.report.markup import Markup, el, join, scrolling
from veil.report.model import CandidateView, ReportModel
from veil.report.terms import utility_meaning
from veil.report.values import Matching, State
from veil.report.words import STATES, goal, letter, listed, percent, shortened

MATCHED = (
    "Veil did not make this release and was not told which row belongs to whom. Every person is compared with the "
    "released row that comes nearest, and “absent” means how near the row of the nearest other person is. Somebody who "
    "knows the true rows could find more than is shown here."
)
MOST_LONG_NAMES = 4
NOTES = {State.NOT_TESTED: "no attack used it", State.OUT_OF_TIME: "give the audit more time"}


def verdict_section(model: ReportModel) -> Markup:
    """The headline, a line per candidate, and who holds with which knowledge."""
    facts = {"Private table": [size(model)]}
    if model.goals:
        facts["Goal" if len(model.goals) == 1 else "Goals"] = [each[:1].upper() + each[1:] for each in model.goals]
    return el(
        "section",
        el("h2", "Verdict", id="verdict-title"),
        el("p", headline(model), class_="headline"),
        _notice(model),
        el("ul", [_line(model, i, c) for i, c in enumerate(model.candidates)], class_="outcomes"),
        el("h3", "Who is safe from whom"),
        _matrix(model),
        el(
            "dl",
            [el("div", el("dt", name), [el("dd", value) for value in values]) for name, values in facts.items()],
            class_="facts",
        ),
        id="verdict",
        aria_labelledby="verdict-title",
    )


def _notice(model: ReportModel) -> Markup | None:
    """How rows were matched, where Veil had to, and what else a reader should know about the audit."""
    matched = None
    if model.matching == Matching.INFERRED:
        matched = el("p", el("strong", "Rows were matched by Veil. "), MATCHED)
    remarks = el("ul", [el("li", remark) for remark in model.remarks]) if model.remarks else None
    if matched is None and remarks is None:
        return None
    return el("div", matched, remarks, class_="notice", role="note")


def _line(model: ReportModel, index: int, candidate: CandidateView) -> Markup:
    useful = model.utility(candidate)
    utility = join("Utility kept ", el("b", percent(useful))) if useful is not None else join("Utility not measured")
    return el(
        "li",
        el("span", badge(index), el("a", candidate.label, href=f"#candidate-{letter(index)}"), class_="who"),
        el("span", chip(candidate), class_="outcome"),
        el("span", breaks_line(candidate), class_="breaks-at"),
        el("span", utility, class_="kept"),
    )


def _matrix(model: ReportModel) -> Markup:
    """Which candidate holds with which knowledge: a row per level, a column per candidate."""
    alone = len(model.candidates) == 1
    heads = [_head(i, c, long=len(model.candidates) <= MOST_LONG_NAMES) for i, c in enumerate(model.candidates)]
    if alone:
        heads.append(el("th", "Strongest attack", scope="col"))
    head = el("thead", el("tr", el("th", "If the attacker knows, besides the release", scope="col"), heads))
    rows = [_matrix_row(model, fold) for fold in folded(model.candidates, looks_alike)]
    caption = el(
        "caption",
        f"Percentages are the most that the strongest attack may gain {OVER[model.over]} (upper 95 % limit). "
        f"The goal holds where this is at most {goal(model.max_advantage)} overall and on every column. "
        "“Gains no more” is measured against the release alone. “Not tested” is no pass: no attack used this knowledge."
        f"{_searched(model)} {utility_meaning(model)}",
    )
    table = el(
        "table",
        caption,
        head,
        el("tbody", rows),
        class_="matrix even" if len(model.candidates) <= MOST_LONG_NAMES else "matrix",
    )
    return scrolling(table, "Verdict by knowledge and candidate")


def _searched(model: ReportModel) -> str:
    searched = [level.knowledge.label for level in model.candidates[0].levels if level.searched]
    return f" The level {listed(searched)} was found by a search for the least that breaks." if searched else ""


def _head(index: int, candidate: CandidateView, *, long: bool) -> Markup:
    name = candidate.label if long else shortened(candidate.label, 22)
    return el("th", el("div", badge(index), el("span", name)), scope="col")


def _matrix_row(model: ReportModel, fold: Fold) -> Markup:
    levels = model.candidates[0].levels
    label = el("span", fold.label, class_="level")
    if fold.no_more:
        label = join(label, el("small", "knows more, gains no more"))
    cells = [_cell(candidate, fold, model.max_advantage) for candidate in model.candidates]
    if len(model.candidates) == 1:
        by = model.candidates[0].levels[fold.places[-1]].strongest
        cells.append(el("td", "" if by is None else "as above" if fold.no_more else by.name, class_="by"))
    if levels[fold.places[0]].knowledge.kind == "nothing" and len(fold.places) == 1:
        label = el("span", "nothing", class_="level")
    return el("tr", el("th", label, scope="row"), cells, class_="folded" if fold.no_more else None)


def _cell(candidate: CandidateView, fold: Fold, most: float) -> Markup:
    place = max(fold.places, key=lambda j: candidate.levels[j].upper or 0.0)
    level = candidate.levels[place]
    icon, words = STATES[level.state]
    part = part_that_breaks(candidate, place, most)
    if part is not None:
        detail = f"on {shortened(part, 40)}"
    elif level.state in NOTES:
        detail = NOTES[level.state]
    elif fold.no_more:
        detail = "as above"
    elif gains_no_more(candidate, place) and level.advantage is not None:
        detail = "gains no more"
    else:
        limit = shown_limit(level)
        detail = f"up to {limit}" if limit else ""
    return el(
        "td",
        el("span", el("span", icon, aria_hidden="true"), f"\u00a0{words}", class_="state"),
        el("span", detail, class_="detail") if detail else None,
        class_=f"cell {level.state.replace(' ', '-')}",
    )
