"""The columns that a candidate exposes most, as a list of bars."""

from __future__ import annotations

from veil.report.bars import LEGEND, three_bars
from veil.report.markup import Markup, el, join
from veil.report.model import CandidateView, ColumnView
from veil.report.words import count, counted, interval, knowing, percent, shortened

MOST_COLUMNS = 8


def exposed_columns(candidate: CandidateView) -> Markup | None:
    """The most exposed columns, worst first; None where no column was scored."""
    if not candidate.columns:
        return None
    title = el("h4", "The most exposed columns")
    gained = [column for column in candidate.columns if column.score.advantage.value > 0]
    if not gained:
        return join(title, el("p", "No attack gains anything on any single column.", class_="empty"))
    shown = gained[:MOST_COLUMNS]
    ways = {(column.attack, column.knowledge) for column in shown}
    table = el(
        "table",
        el("caption", _caption(candidate, shown, one_way=len(ways) == 1)),
        el("thead", el("tr", [el("th", name, scope="col") for name in ("Column", "Guessed right", "Advantage")])),
        el("tbody", [_row(column, one_way=len(ways) == 1) for column in shown]),
        class_="exposed",
    )
    return join(title, table)


def _row(column: ColumnView, *, one_way: bool) -> Markup:
    gained = column.score.advantage
    how = None if one_way else el("small", f"{column.attack.name} with {knowing(column.knowledge)}")
    return el(
        "tr",
        el("th", el("bdi", shortened(column.name, 32), class_="name"), how, scope="row"),
        el("td", three_bars(column.score)),
        el("td", percent(gained.value), el("small", interval(gained.low, gained.high)), class_="num"),
    )


def _caption(candidate: CandidateView, shown: list[ColumnView], *, one_way: bool) -> str:
    notes = []
    if one_way:
        by = f"{shown[0].attack.name} with {knowing(shown[0].knowledge)}"
        notes.append(f"By {by}." if len(shown) == 1 else f"All by {by}.")
    more = sum(column.score.advantage.value > 0 for column in candidate.columns) - len(shown)
    idle = sum(not column.score.advantage.value > 0 for column in candidate.columns)
    if more:
        notes.append(f"And {count(more)} more.")
    if idle:
        notes.append(f"On {counted(idle, 'column')} no attack gains anything.")
    return " ".join([*notes, LEGEND])
