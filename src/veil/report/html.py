"""The report as one HTML file: no script, no request, readable on paper and by screen readers."""

from __future__ import annotations

import math
import re
from importlib import resources

from veil.report.candidates import badge, candidates_section, chip
from veil.report.charts import frontier, knowledge_curve, mean_utility, utility_axis
from veil.report.drawing import marker
from veil.report.markup import Markup, el, join
from veil.report.methods import attacks_section, context_section, reading_section
from veil.report.model import CandidateView, LevelView, ReportModel
from veil.report.words import MISSING, STATES, UTILITIES, counted, goal, letter, listed, percent

EDITIONS = {
    "external": "External edition: rates, intervals and binned pictures; nothing about single records.",
    "internal": "CONFIDENTIAL – internal edition",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CONFIDENTIAL_PAGES = Markup('@page{@top-center{content:"CONFIDENTIAL – internal edition"}}')
_SECTIONS = (
    ("verdict", "Verdict"),
    ("candidates", "Candidates"),
    ("risk", "Risk and utility"),
    ("attacks", "All attacks"),
    ("reading", "How to read this"),
    ("context", "Reproducibility"),
)


def page(model: ReportModel) -> str:
    """The whole report."""
    title = f"Veil release audit, {model.date}"
    internal = model.edition == "internal"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="robots", content="noindex"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"CONFIDENTIAL – {title}" if internal else title),
        el("style", join(stylesheet(), _CONFIDENTIAL_PAGES if internal else None)),
    )
    body = el(
        "body",
        el("a", "Skip to the verdict", href="#verdict", class_="skip"),
        el("p", EDITIONS["internal"], ": holds information about single records. Do not pass on.", class_="banner")
        if internal
        else None,
        _masthead(model),
        el(
            "main",
            _verdict(model),
            candidates_section(model),
            _risk(model),
            attacks_section(model),
            reading_section(model),
            context_section(model),
        ),
        _footer(model),
        class_=model.edition,
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


def stylesheet() -> Markup:
    """The packaged stylesheet without comments and blank space that nobody reads."""
    css = resources.files("veil.report").joinpath("style.css").read_text(encoding="utf-8")
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return Markup(re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", css)).strip())


def _masthead(model: ReportModel) -> Markup:
    links = [el("li", el("a", name, href=f"#{key}")) for key, name in _SECTIONS]
    return el(
        "header",
        el("p", "Veil", class_="brand"),
        el("h1", "Release audit"),
        el(
            "p",
            "What a release of this table would give away to an attacker, and what it would still be good for.",
            class_="lead",
        ),
        el("p", el("time", model.date, datetime=model.date), el("span", EDITIONS[model.edition]), class_="edition"),
        el("nav", el("ul", links), aria_label="Contents"),
        class_="masthead",
    )


def _verdict(model: ReportModel) -> Markup:
    facts = [
        ("Private table", f"{counted(model.n_rows, 'record')}, {counted(len(model.columns), 'column')}"),
        ("Goal", f"advantage at most {goal(model.max_advantage)}"),
        ("A guess is right", f"within {model.tolerance:g} standard units"),
    ]
    for name, least in model.min_utility.items():
        facts.append((f"Goal for {UTILITIES.get(name, name)}", f"at least {goal(least)}"))
    return el(
        "section",
        el("h2", "Verdict", id="verdict-title"),
        el("p", model.headline, class_="headline"),
        _matrix(model),
        el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in facts], class_="facts"),
        id="verdict",
        aria_labelledby="verdict-title",
    )


def _matrix(model: ReportModel) -> Markup:
    """Which candidate holds with which knowledge."""
    levels = model.candidates[0].levels
    head = el(
        "thead",
        el(
            "tr",
            el("th", "Candidate", scope="col", rowspan=2),
            el("th", "Verdict", scope="col", rowspan=2),
            el(
                "th", "If the attacker knows, besides the release", scope="colgroup", colspan=len(levels), class_="span"
            ),
            el("th", "Utility kept", scope="col", rowspan=2, class_="num"),
        ),
        el("tr", [el("th", level.label, scope="col") for level in levels]),
    )
    rows = [_matrix_row(model, i, candidate) for i, candidate in enumerate(model.candidates)]
    caption = el(
        "caption",
        "Percentages are the most that the strongest attack may gain over guessing (upper 95 % limit). "
        f"The goal holds where this is at most {goal(model.max_advantage)} and no single column stands out. "
        "Utility kept is the mean over the uses that were measured.",
    )
    style = "matrix" if len(levels) <= 6 else "matrix dense"
    table = el("table", caption, head, el("tbody", rows), class_=style)
    return scrolling(table, "Verdict by candidate and knowledge")


def _matrix_row(model: ReportModel, index: int, candidate: CandidateView) -> Markup:
    useful = mean_utility(candidate)
    return el(
        "tr",
        el("th", el("div", badge(index), el("a", candidate.label, href=f"#candidate-{letter(index)}")), scope="row"),
        el("td", chip(candidate)),
        [_matrix_cell(level, model.max_advantage) for level in candidate.levels],
        el("td", percent(useful) if useful is not None else MISSING, class_="num"),
    )


def _matrix_cell(level: LevelView, most: float) -> Markup:
    icon, words = STATES[level.state]
    if level.upper is None or math.isnan(level.upper):
        detail = None
    elif level.state == "breaks" and level.upper <= most:
        detail = "a column or far-out values"
    else:
        detail = f"up to {percent(max(0.0, level.upper))}"
    return el(
        "td",
        el("span", el("span", icon, aria_hidden="true"), f" {words}", class_="state"),
        el("span", detail, class_="detail amount" if detail.startswith("up") else "detail") if detail else None,
        class_=f"cell {level.state.replace(' ', '-')}",
    )


def scrolling(content: Markup, label: str) -> Markup:
    """A table or chart that scrolls sideways on a narrow screen, also by keyboard."""
    return el("div", content, class_="scroll", role="region", aria_label=label, tabindex=0)


def _risk(model: ReportModel) -> Markup:
    keys = [
        el(
            "li",
            el("svg", marker(i, 9, 9), viewBox="0 0 18 18", width=18, height=18, aria_hidden="true", class_="key"),
            el("b", letter(i)),
            f" {candidate.label}",
        )
        for i, candidate in enumerate(model.candidates)
    ]
    names, least = utility_axis(model)
    zone = "The shaded zone keeps the goals" if least is not None else "The shaded zone keeps the goal for risk"
    meaning = f" Utility is the mean over {listed([UTILITIES.get(n, n) for n in names])}." if len(names) > 1 else ""
    curve = _figure(
        "Risk by knowledge",
        knowledge_curve(model),
        "How much the strongest attack gains over guessing (vertical), by what the attacker knows (horizontal). "
        "Bars are 95 % intervals. Lines join levels where the right one includes the left one. "
        "No gain is drawn at 0 %; where there is no marker, no attack applies.",
        "No attack applies with the knowledge granted, so there is no curve.",
    )
    trade = _figure(
        "Risk against utility",
        frontier(model),
        f"Each point is a candidate at its strongest attack. {zone}; further right is more useful.{meaning}",
        "No candidate has both a utility and an attack to compare.",
    )
    return el(
        "section",
        el("h2", "Risk and utility", id="risk-title"),
        el("ul", keys, class_="keys"),
        el("div", curve, trade, class_="figures"),
        id="risk",
        aria_labelledby="risk-title",
    )


def _figure(title: str, chart: Markup | None, caption: str, otherwise: str) -> Markup:
    if chart is None:
        return el("div", el("h3", title), el("p", otherwise, class_="empty"))
    return el("figure", el("h3", title), scrolling(chart, title), el("figcaption", caption))


def _footer(model: ReportModel) -> Markup:
    return el(
        "footer", el("p", f"Made by Veil {model.context.get('veil', '')} on {model.date}. ", EDITIONS[model.edition])
    )
