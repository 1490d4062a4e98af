"""The three risks that regulators ask about: singling out, linkability, inference."""

from __future__ import annotations

from veil.report.bars import LEGEND, OVER, three_bars
from veil.report.candidates import badge
from veil.report.markup import Markup, el, scrolling
from veil.report.model import CandidateView, ReportModel, RiskView
from veil.report.values import Risk, Unmeasured
from veil.report.words import gain, interval, knowing, within

QUESTIONS = {
    Risk.SINGLING_OUT: "Can somebody be picked out of the release?",
    Risk.LINKABILITY: "Can people of another table be found in it?",
    Risk.INFERENCE: "Can private values be guessed from it?",
}
MEANINGS = {
    Risk.SINGLING_OUT: "Whole records come back: somebody can be picked out of the release by their own values.",
    Risk.LINKABILITY: "People of another table are found in the release by the columns that both have.",
    Risk.INFERENCE: "Single private values of people are guessed, also when the rest of their record is not.",
}
NOTES = {
    Unmeasured.NO_ATTACK: "no attack applies with the knowledge granted",
    Unmeasured.OUT_OF_TIME: "not measured: out of time",
    Unmeasured.NO_TABLE: "not measured: nobody is granted quasi or public columns",
    Unmeasured.UNMATCHED: "not measured: whose row is whose is not known, so no link can be checked",
}
COUNTED = {Risk.SINGLING_OUT: "records", Risk.LINKABILITY: "links", Risk.INFERENCE: "values"}


def risks_section(model: ReportModel) -> Markup | None:
    """A row per candidate, a column per risk; None where none was asked about."""
    names = [risk.risk for risk in model.candidates[0].risks]
    if not names:
        return None
    heads = [el("th", name[:1].upper() + name[1:], el("small", QUESTIONS[name]), scope="col") for name in names]
    head = el("thead", el("tr", el("th", "Candidate", scope="col"), heads))
    rows = [_row(model, i, candidate) for i, candidate in enumerate(model.candidates)]
    caption = el(
        "caption",
        "Each risk at the strongest attack that bears on it, with knowledge that counts. The large figure is what it "
        f"gains {OVER[model.over]}, with its 95 % interval. {LEGEND}",
    )
    meanings = [
        el("li", el("b", f"{r.risk[:1].upper()}{r.risk[1:]}. "), MEANINGS[r.risk]) for r in model.candidates[0].risks
    ]
    return el(
        "section",
        el("h2", "Three questions regulators ask", id="risks-title"),
        scrolling(el("table", caption, head, el("tbody", rows), class_="risks"), "Three risks by candidate"),
        el("ul", meanings, class_="meanings"),
        id="risks",
        aria_labelledby="risks-title",
    )


def _row(model: ReportModel, index: int, candidate: CandidateView) -> Markup:
    cells = [_cell(model, index, j, risk) for j, risk in enumerate(candidate.risks)]
    return el("tr", el("th", el("div", badge(index), el("span", candidate.label)), scope="row"), cells)


def _cell(model: ReportModel, index: int, place: int, risk: RiskView) -> Markup | None:
    if risk.score is not None:
        return _measured(risk)
    if _same_note(model, place):  # said once for all candidates
        return (
            el("td", _note(risk), rowspan=len(model.candidates), class_="note", data_risk=risk.risk)
            if index == 0
            else None
        )
    return el("td", _note(risk), class_="note", data_risk=risk.risk)


def _same_note(model: ReportModel, place: int) -> bool:
    risks = [c.risks[place] for c in model.candidates if len(c.risks) > place]
    return len(risks) == len(model.candidates) and all(
        r.score is None and r.unmeasured == risks[0].unmeasured for r in risks
    )


def unmeasured(risk: RiskView) -> str:
    """Why a risk was not measured; empty where it was."""
    return NOTES[risk.unmeasured] if risk.unmeasured is not None else ""


def _note(risk: RiskView) -> str:
    note = unmeasured(risk)
    return f"{note[:1].upper()}{note[1:]}."


def _measured(risk: RiskView) -> Markup:
    score = risk.score
    if score is None:
        return el("td", _note(risk), class_="note", data_risk=risk.risk)
    what = f"Of the {COUNTED[risk.risk]}{within(risk.part)}, guessed right:"
    gained = score.advantage.value > 0
    limits = interval(score.advantage.low, score.advantage.high)
    return el(
        "td",
        el("span", gain(score.advantage.value), class_="figure" if gained else "figure none"),
        el("span", f" {limits}", class_="detail"),
        el("small", what),
        three_bars(score, named=True, links=risk.risk == Risk.LINKABILITY),
        el("small", f"{risk.attack.name} with {knowing(risk.knowledge)}") if risk.attack and risk.knowledge else None,
        data_risk=risk.risk,
    )
