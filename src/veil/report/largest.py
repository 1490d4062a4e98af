"""What is told of the largest values of columns with a heavy tail: a table in pages, a line in terminals."""

from __future__ import annotations

import math

from veil.report.bars import LEGEND, three_bars
from veil.report.markup import Markup, el, join
from veil.report.model import CandidateView, LargestView, ReportModel
from veil.report.words import count, goal, interval, knowing, percent, shortened

MOST_COLUMNS = 8


def largest_table(candidate: CandidateView, model: ReportModel) -> Markup | None:
    """Columns with a heavy tail, those of which most is told first; None without any."""
    if not candidate.largest:
        return None
    shown = candidate.largest[:MOST_COLUMNS]
    more = len(candidate.largest) - len(shown)
    caption = (
        f"Of the {model.n_largest} largest values of a column, how many a guess states within "
        f"{goal(model.largest_share)} of the value. The constant is the best for these values. "
        f"{f'And {count(more)} more columns. ' if more else ''}{LEGEND}"
    )
    heads = ("Column", f"Within {goal(model.largest_share)}", "Advantage")
    table = el(
        "table",
        el("caption", caption),
        el("thead", el("tr", [el("th", name, scope="col") for name in heads])),
        el("tbody", [_row(view) for view in shown]),
        class_="exposed",
    )
    return join(el("h4", "The largest values"), table)


def _row(view: LargestView) -> Markup:
    gained = view.score.advantage
    notes = [f"{view.attack.name} with {knowing(view.knowledge)}"]
    if view.first is not None and not math.isnan(view.first):
        notes.append(f"the largest guess is of the largest value in {percent(view.first)} of the runs")
    return el(
        "tr",
        el("th", el("bdi", shortened(view.name, 32), class_="name"), el("small", "; ".join(notes)), scope="row"),
        el("td", three_bars(view.score)),
        el("td", percent(gained.value), el("small", interval(gained.low, gained.high)), class_="num"),
    )


def largest_words(candidate: CandidateView, model: ReportModel, most: int) -> str:
    """The columns of which most of the largest values are told, in a line; empty without any."""
    told = [view for view in candidate.largest if view.score.advantage.value > 0]
    if not candidate.largest:
        return ""
    if not told:
        return "Largest values: no attack tells more of them than a constant or without their rows"
    each = [
        f"{shortened(view.name, 20)} {percent(view.score.rate.value)} (absent {percent(view.score.control)})"
        for view in told[:most]
    ]
    more = f" and {len(told) - most} more columns" if len(told) > most else ""
    return f"Largest values told within {goal(model.largest_share)}: {', '.join(each)}{more}"
