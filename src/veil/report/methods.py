"""The report's back matter: every attack in a table, the terms, the limits, how to repeat it."""

from __future__ import annotations

from typing import Any

from veil.report.bars import ADVANTAGE, OVER, key, three_bars
from veil.report.candidates import badge
from veil.report.folding import level_names, not_run
from veil.report.markup import Content, Markup, el, join, scrolling
from veil.report.model import CandidateView, LevelView, ReportModel, RowView
from veil.report.terms import LIMITS, NO_GUARANTEE, SOME_GUARANTEE, terms
from veil.report.values import Estimate, Over, ScoreView, State
from veil.report.words import MISSING, STATES, count, counted, interval, listed, percent, shortened, units, within

MOST_COLUMNS = 100
N_HEADS = 11


def _heads(over: Over) -> list[Markup]:
    advantage = ADVANTAGE[over]
    heads: list[tuple[Content, str | None]] = [
        ("Attack", None),
        ("Knowledge", None),
        (join("Values guessed right", key()), None),
        (advantage, "num"),
        ("What the release teaches", "num"),
        (f"{advantage}, records", "num"),
        ("Worst column", None),
        ("Far-out values", "num"),
        ("Largest values", "num"),
        ("Error", "num"),
        ("Goals", None),
    ]
    return [el("th", name, scope="col", class_=style) for name, style in heads]


def attacks_section(model: ReportModel) -> Markup:
    """Every attack on every candidate with every knowledge that it could use."""
    bodies = [_body(i, candidate) for i, candidate in enumerate(model.candidates)]
    caption = el(
        "caption",
        "Every attack that applies, with each knowledge it can use. Small figures are 95 % intervals. The advantage is "
        f"what the attack gains {OVER[model.over]}; what the release teaches is what it gains over the best constant "
        "guess, about this person or about people like them. Errors are in standard units; the worst column, far-out "
        "values and the largest values of the column with most of them told show their advantage.",
    )
    table = el("table", caption, el("thead", el("tr", _heads(model.over))), bodies, class_="all")
    return el(
        "section",
        el("h2", "All attacks", id="attacks-title"),
        scrolling(table, "Table of all attacks"),
        id="attacks",
        aria_labelledby="attacks-title",
    )


def _body(index: int, candidate: CandidateView) -> Markup:
    title = el("tr", el("th", badge(index), candidate.label, scope="rowgroup", colspan=N_HEADS, class_="group"))
    rows = [_row(row) for row in candidate.rows]
    if not rows:
        note = "No attack applies with the knowledge granted."
        rows = [el("tr", el("td", note, colspan=N_HEADS, class_="empty"))]
    missed = [
        el("tr", el("td", f"Not run: {not_run(view)}.", colspan=N_HEADS, class_="empty")) for view in candidate.not_run
    ]
    return el("tbody", title, rows, missed)


def _notes(row: RowView) -> list[Markup]:
    """What a guess left open, where its score depends on it; which columns it guesses; and what it did not use."""
    notes = []
    if row.up_to:
        notes.append(f"scored up to {listed(row.up_to)}{', not counted' if 'scale' in row.up_to else ''}")
    notes += [f"guesses{within(row.part)}"] if row.part else []
    notes += [] if row.tested else ["did not use this knowledge"]
    return [el("small", f" {note}") for note in notes]


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
        el("th", row.attack.name, " ", el("small", row.catalogue), _notes(row), scope="row"),
        el("td", row.knowledge.label),
        el("td", three_bars(row.value)),
        _advantage(row.value.advantage),
        _advantage(row.value.taught),
        _advantage(row.record.advantage),
        el("td", el("bdi", shortened(row.worst_column, 60), class_="name"), " ", _brief(row.column)),
        el("td", _brief(row.far_out) if row.far_out else MISSING, class_="num"),
        el("td", _brief(row.largest) if row.largest else MISSING, class_="num"),
        el("td", units(row.nrmse), el("small", counted(row.repetitions, "run")), class_="num"),
        el("td", el("span", el("span", sign, aria_hidden="true"), f" {words}", class_=f"word {style}")),
        class_=None if row.passed else "failed",
    )


def _advantage(advantage: Estimate) -> Markup:
    if advantage.value <= 0:
        most = max(0.0, advantage.high)
        return el("td", el("span", "no gain", class_="none"), el("small", f"up to {percent(most)}"), class_="num")
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
        more = " The smaller sizes work the same way." if len(levels) > 1 else ""
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
