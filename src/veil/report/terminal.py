"""The report in a terminal: the verdict, then a table per candidate."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from veil.report.candidates import status
from veil.report.model import CandidateView, LevelView, ReportModel
from veil.report.words import MISSING, STATES, clean, count, gain, interval, letter, percent

MOST_FAILURES = 4
TEXT_WIDTH = 88
_COLOURS = {"good": "bold green", "bad": "bold red", "open": "bold yellow"}
_STATE_COLOURS = {"holds": "green", "breaks": "red", "no attack": "dim", "not counted": "dim"}


def render(model: ReportModel, console: Console) -> None:
    """Print the model."""
    console.print(_opening(model))
    for i, candidate in enumerate(model.candidates):
        console.print()
        console.print(_candidate(i, candidate, model, narrow=console.width < 100))


def plain_text(model: ReportModel) -> str:
    """The same without colours or control codes."""
    console = Console(file=io.StringIO(), width=TEXT_WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    render(model, console)
    written = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "\n".join(line.rstrip() for line in written.splitlines())


def _opening(model: ReportModel) -> RenderableType:
    styles = [status(candidate)[2] for candidate in model.candidates]
    style = "bad" if "good" not in styles and "bad" in styles else "good" if "good" in styles else "open"
    sign = {"good": "✓", "bad": "✕", "open": "–"}[style]
    goal = f"Goal: advantage at most {percent(model.max_advantage)} at its upper 95 % limit"
    goals = [goal, *(f"{name} at least {percent(least)}" for name, least in model.min_utility.items())]
    size = f"{count(model.n_rows)} records × {count(len(model.columns))} columns".replace("\u202f", " ")
    return Group(
        _hanging(Text(sign, style=_COLOURS[style]), Text(clean(model.headline), style="bold")),
        Padding(Text(f"{size}. {'; '.join(goals)}.", style="dim"), (0, 0, 0, 2)),
    )


def _hanging(mark: Text, *content: RenderableType) -> Table:
    """Content with a mark before its first line."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(mark, Group(*content))
    return grid


def _candidate(index: int, candidate: CandidateView, model: ReportModel, *, narrow: bool) -> RenderableType:
    sign, words, style = status(candidate)
    title = Text.assemble((clean(candidate.label), "bold"), "   ", (f"{sign} {words}", _COLOURS[style]))
    parts: list[RenderableType] = [title]
    if len(model.candidates) > 1:
        parts.append(Text(clean(candidate.verdict)))
    parts.append(_levels(candidate.levels, narrow=narrow))
    if candidate.utility:
        parts.append(_utility(candidate, model))
    if candidate.failures:
        parts.append(_failures(candidate))
    return _hanging(Text(letter(index), style="bold cyan"), *parts)


def _levels(levels: tuple[LevelView, ...], *, narrow: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim", expand=not narrow)
    table.add_column("Attacker knows", no_wrap=True)
    table.add_column("Strongest attack", ratio=None if narrow else 1, overflow="fold")
    table.add_column("Advantage", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("Goals", no_wrap=True)
    for level in levels:
        sign, words = STATES[level.state]
        found = level.advantage
        table.add_row(
            Text(level.label),
            Text(clean(level.strongest or MISSING)),
            Text(gain(found.value) if found else MISSING),
            Text(interval(found.low, found.high) if found else MISSING),
            Text(f"{sign} {words}", style=_STATE_COLOURS[level.state]),
        )
    return table


def _utility(candidate: CandidateView, model: ReportModel) -> Text:
    said = Text("Utility  ", style="dim")
    for i, (name, value) in enumerate(candidate.utility.items()):
        goal = model.min_utility.get(name)
        missed = goal is not None and not value.value >= goal
        said.append(" · " if i else "", style="dim")
        said.append(f"{name}\u00a0", style="not dim")
        said.append(percent(value.value).replace(" ", "\u00a0"), style="not dim bold red" if missed else "not dim bold")
    return said


def _failures(candidate: CandidateView) -> RenderableType:
    shown = candidate.failures[:MOST_FAILURES]
    lines: list[RenderableType] = [_hanging(Text("✕", style="red"), Text(clean(failure))) for failure in shown]
    more = len(candidate.failures) - len(shown)
    if more:
        lines.append(Text(f"  and {more} more goal{'s' if more > 1 else ''} not kept", style="dim"))
    return Group(*lines)
