"""The report as one HTML file: no script, no request, readable on paper and by screen readers."""

from __future__ import annotations

import re
from importlib import resources

from veil.report.advice import advice_section
from veil.report.bars import OVER
from veil.report.candidates import candidates_section
from veil.report.charts import frontier, knowledge_curve, left_out, many_levels, utility_axis
from veil.report.drawing import marker
from veil.report.markup import Markup, el, join, scrolling
from veil.report.methods import attacks_section, context_section, reading_section
from veil.report.model import ReportModel
from veil.report.risks import risks_section
from veil.report.terms import utility_meaning
from veil.report.values import Edition
from veil.report.verdict import verdict_section
from veil.report.words import letter

EDITIONS = {
    Edition.EXTERNAL: "External edition: rates, intervals and binned pictures; nothing about single records.",
    Edition.INTERNAL: "CONFIDENTIAL – internal edition",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CONFIDENTIAL_PAGES = Markup('@page{@top-center{content:"CONFIDENTIAL – internal edition"}}')
_SECTIONS = (
    ("verdict", "Verdict"),
    ("advice", "Recommendation"),
    ("risks", "Three questions"),
    ("candidates", "Candidates"),
    ("risk", "Risk and utility"),
    ("attacks", "All attacks"),
    ("reading", "How to read this"),
    ("context", "Reproducibility"),
)


def page(model: ReportModel) -> str:
    """The whole report."""
    title = f"Veil release audit, {model.date}"
    internal = model.edition == Edition.INTERNAL
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
        el(
            "p",
            EDITIONS[Edition.INTERNAL],
            ": holds information about single records. Do not pass on.",
            class_="banner",
        )
        if internal
        else None,
        _masthead(model),
        el(
            "main",
            verdict_section(model),
            advice_section(model),
            risks_section(model),
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
    absent = {"advice"} if model.advice is None else set()
    absent |= {"risks"} if not model.candidates[0].risks else set()
    links = [el("li", el("a", name, href=f"#{key}")) for key, name in _SECTIONS if key not in absent]
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
    meaning = f" {utility_meaning(model)}" if len(names) > 1 else ""
    idle = left_out(model)
    folded = f" Not drawn, because no attack gains more than with nothing: {idle}." if idle else ""
    curve = _figure(
        "Risk by knowledge",
        knowledge_curve(model),
        f"How much the strongest attack gains {OVER[model.over]} (vertical), by what the attacker knows (horizontal). "
        "Bars are 95 % intervals. Lines join levels where the right one includes the left one. "
        f"No gain is drawn at 0 %; where there is no marker, no attack used the knowledge.{folded}",
        "No attack applies with the knowledge granted, so there is no curve.",
        wide=many_levels(model),
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


def _figure(title: str, chart: Markup | None, caption: str, otherwise: str, *, wide: bool = False) -> Markup:
    if chart is None:
        return el("div", el("h3", title), el("p", otherwise, class_="empty"))
    style = "wide" if wide else None
    return el("figure", el("h3", title), scrolling(chart, title), el("figcaption", caption), class_=style)


def _footer(model: ReportModel) -> Markup:
    return el(
        "footer", el("p", f"Made by Veil {model.context.get('veil', '')} on {model.date}. ", EDITIONS[model.edition])
    )
