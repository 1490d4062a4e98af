"""The columns that a candidate exposes most, as a list of bars."""

from __future__ import annotations

from veil.report.markup import Markup, el, join
from veil.report.model import CandidateView, ColumnView
from veil.report.words import count, counted, knowing, percent, shortened

MOST_COLUMNS = 8
BAR = 120.0


def exposed_columns(candidate: CandidateView) -> Markup | None:
    """The most exposed columns, worst first; None where no column was scored."""
    if not candidate.columns:
        return None
    title = el("h4", "The most exposed columns")
    gained = [column for column in candidate.columns if column.advantage > 0]
    if not gained:
        return join(title, el("p", "No attack gains anything on any single column.", class_="empty"))
    shown = gained[:MOST_COLUMNS]
    ways = {(column.attack, column.knowledge) for column in shown}
    table = el(
        "table",
        el("caption", _caption(candidate, shown, one_way=len(ways) == 1)),
        el("thead", el("tr", _heads(one_way=len(ways) == 1))),
        el("tbody", [_row(column, one_way=len(ways) == 1) for column in shown]),
        class_="exposed brief" if len(ways) == 1 else "exposed",
    )
    return join(title, table)


def _heads(*, one_way: bool) -> list[Markup]:
    heads = [el("th", "Column", scope="col"), el("th", "Advantage", scope="col", colspan=2)]
    return heads if one_way else [*heads, el("th", "Attack and knowledge", scope="col")]


def _row(column: ColumnView, *, one_way: bool) -> Markup:
    bar = el(
        "svg",
        el("rect", x=0, y=1, width=BAR, height=8, class_="track"),
        el("rect", x=0, y=1, width=BAR * min(1.0, column.advantage), height=8, class_="bar"),
        viewBox=f"0 0 {BAR:g} 10",
        width=BAR,
        height=10,
        aria_hidden="true",
    )
    how = el("td", el("small", f"{column.attack.name} with {knowing(column.knowledge)}"))
    return el(
        "tr",
        el("th", el("bdi", shortened(column.name, 32), class_="name"), scope="row"),
        el("td", bar, class_="bar-cell"),
        el("td", percent(column.advantage), class_="num"),
        None if one_way else how,
    )


def _caption(candidate: CandidateView, shown: list[ColumnView], *, one_way: bool) -> str:
    notes = []
    if one_way:
        by = f"{shown[0].attack.name} with {knowing(shown[0].knowledge)}"
        notes.append(f"By {by}." if len(shown) == 1 else f"All by {by}.")
    more = sum(column.advantage > 0 for column in candidate.columns) - len(shown)
    idle = sum(not column.advantage > 0 for column in candidate.columns)
    if more:
        notes.append(f"And {count(more)} more.")
    if idle:
        notes.append(f"On {counted(idle, 'column')} no attack gains anything.")
    return " ".join(notes) or "The advantage over guessing, at the attack that gains most on each column."
