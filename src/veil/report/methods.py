"""The report's back matter: every attack in a table, the terms, the limits, how to repeat it."""

from __future__ import annotations

from typing import Any

from veil.report.candidates import badge
from veil.report.folding import level_names, not_run
from veil.report.markup import Content, Markup, el, join, scrolling
from veil.report.model import CandidateView, LevelView, ReportModel, RowView
from veil.report.terms import LIMITS, NO_GUARANTEE, SOME_GUARANTEE, terms
from veil.report.values import Estimate, ScoreView, State
from veil.report.words import MISSING, STATES, count, interval, listed, percent, shortened, units

MOST_COLUMNS = 100
_HEADS = (
    ("Attack", ""),
    ("Knowledge", ""),
    ("Breach rate", "num"),
    ("Baseline", "num"),
    ("Advantage, values", "num"),
    ("Advantage, records", "num"),
    ("Worst column", ""),
    ("Far-out values", "num"),
    ("Error", "num"),
    ("Runs", "num"),
    ("Goals", ""),
)


def attacks_section(model: ReportModel) -> Markup:
    """Every attack on every candidate with every knowledge that it could use."""
    head = el("thead", el("tr", [el("th", name, scope="col", class_=style or None) for name, style in _HEADS]))
    bodies = [_body(i, candidate) for i, candidate in enumerate(model.candidates)]
    caption = el(
        "caption",
        "Every attack that applies, with each knowledge it can use. Small figures are 95 % intervals, or "
        "how far the attack is below guessing where it has no gain; "
        "errors are in standard units; the worst column and far-out values show their advantage.",
    )
    table = el("table", caption, head, bodies, class_="all")
    return el(
        "section",
        el("h2", "All attacks", id="attacks-title"),
        scrolling(table, "All attacks"),
        id="attacks",
        aria_labelledby="attacks-title",
    )


def _body(index: int, candidate: CandidateView) -> Markup:
    title = el("tr", el("th", badge(index), candidate.label, scope="rowgroup", colspan=len(_HEADS), class_="group"))
    rows = [_row(row) for row in candidate.rows]
    if not rows:
        note = "No attack applies with the knowledge granted."
        rows = [el("tr", el("td", note, colspan=len(_HEADS), class_="empty"))]
    missed = [
        el("tr", el("td", f"Not run: {not_run(view)}.", colspan=len(_HEADS), class_="empty"))
        for view in candidate.not_run
    ]
    return el("tbody", title, rows, missed)


def _open(row: RowView) -> Markup | None:
    """What a guess left open, where its score depends on it."""
    return el("small", f" scored up to {listed(row.up_to)}, not counted") if row.up_to else None


_GOALS = {
    State.HOLDS: ("hold", "good"),
    State.BREAKS: ("fail", "bad"),
    State.UNPROVEN: ("not shown safe", "open"),
    State.NOT_COUNTED: ("not counted", "open"),
}


def _row(row: RowView) -> Markup:
    sign, (words, style) = STATES[row.state][0], _GOALS[row.state]
    return el(
        "tr",
        el("th", row.attack.name, " ", el("small", row.catalogue), _open(row), scope="row"),
        el("td", row.knowledge.label),
        _number(percent(row.value.rate.value)),
        _number(percent(row.value.baseline)),
        _advantage(row.value.advantage),
        _advantage(row.record.advantage),
        el("td", el("bdi", shortened(row.worst_column, 60), class_="name"), " ", _brief(row.column)),
        el("td", _brief(row.far_out) if row.far_out else MISSING, class_="num"),
        _number(units(row.nrmse)),
        _number(str(row.repetitions)),
        el("td", el("span", el("span", sign, aria_hidden="true"), f" {words}", class_=f"word {style}")),
        class_=None if row.passed else "failed",
    )


def _number(value: str) -> Markup:
    return el("td", value, class_="num")


def _advantage(advantage: Estimate) -> Markup:
    if advantage.value <= 0:
        return el("td", el("span", "no gain", class_="none"), el("small", percent(advantage.value)), class_="num")
    return el("td", percent(advantage.value), el("small", interval(advantage.low, advantage.high)), class_="num")


def _brief(score: ScoreView) -> Markup:
    if score.advantage.value <= 0:
        return el("span", "no gain", class_="none")
    return el("span", percent(score.advantage.value), class_="number")


def reading_section(model: ReportModel) -> Markup:
    """What was known, tried and meant, and what an audit cannot say."""
    return el(
        "section",
        el("h2", "How to read this report", id="reading-title"),
        el("h3", "What the attacker knows"),
        _definitions(_levels(model)),
        el("h3", "How the table was perturbed"),
        _definitions(_methods(model)),
        el("h3", "What the attacks do"),
        _definitions(_attacks(model)),
        el("h3", "What the terms mean"),
        _definitions(terms(model)),
        el("h3", "What an audit cannot say"),
        el("ul", [el("li", limit) for limit in LIMITS], class_="prose"),
        id="reading",
        aria_labelledby="reading-title",
    )


def _definitions(pairs: list[tuple[str, Any]]) -> Markup:
    return el("dl", [el("div", el("dt", term), el("dd", meaning)) for term, meaning in pairs], class_="terms")


def _levels(model: ReportModel) -> list[tuple[str, Content]]:
    """One entry per kind of knowledge, in the words of its largest amount."""
    kinds: dict[str, list[LevelView]] = {}
    for level in model.candidates[0].levels:
        kinds.setdefault(level.knowledge.kind, []).append(level)
    entries: list[tuple[str, Content]] = []
    for levels in kinds.values():
        more = " The smaller amounts are meant alike." if len(levels) > 1 else ""
        entries.append((level_names([level.knowledge for level in levels], last="or"), f"{levels[-1].words}{more}"))
    return entries


def _methods(model: ReportModel) -> list[tuple[str, Content]]:
    """One entry per method; candidates that differ only in their settings share it."""
    methods: dict[str, Content] = {}
    for candidate in model.candidates:
        name = f"{candidate.method.replace('-', ' ')} ({candidate.catalogue})"
        if candidate.guarantee == "none":
            promise = f"Formal guarantee: none. {NO_GUARANTEE}"
        else:
            promise = f"Formal guarantee: {candidate.guarantee}. {SOME_GUARANTEE}"
        methods[name] = join(candidate.threat, el("span", promise, class_="promise"))
    return list(methods.items())


def _attacks(model: ReportModel) -> list[tuple[str, Content]]:
    rows = {row.attack.name: row for candidate in model.candidates for row in candidate.rows}
    if not rows:
        return [("none", "No attack applies with the knowledge granted.")]
    named = [(name, row.catalogue, row.attack_words) for name, row in rows.items()]
    return [
        (f"{name} ({catalogue})", f"{words[:1].upper()}{words[1:]}." if words else MISSING)
        for name, catalogue, words in named
    ]


def context_section(model: ReportModel) -> Markup:
    """What one needs to repeat the audit."""
    facts = [(name.replace("_", " "), _written(value)) for name, value in model.context.items()]
    facts += [
        ("columns", _columns(model.columns)),
        ("date", model.date),
        ("report model", f"version {model.model_version}"),
    ]
    return el(
        "section",
        el("h2", "Reproducibility", id="context-title"),
        el(
            "p",
            "The same table, settings and seed give the same numbers. With a fresh seed, keys and the attacker’s "
            "records are drawn anew, and numbers differ within their intervals.",
            class_="prose",
        ),
        _definitions(facts),
        id="context",
        aria_labelledby="context-title",
    )


def _columns(names: tuple[str, ...]) -> str:
    shown = ", ".join(shortened(name, 60) for name in names[:MOST_COLUMNS])
    more = len(names) - MOST_COLUMNS
    return f"{shown} and {count(more)} more" if more > 0 else shown


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_written(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_written(item) for item in value)
    return "none" if value is None else str(value)
