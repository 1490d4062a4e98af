"""The report in a terminal: the verdict, then a table per candidate."""

from __future__ import annotations

import io
import textwrap

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from veil.report.candidates import status
from veil.report.model import CandidateView, LevelView, ReportModel
from veil.report.words import MISSING, STATES, clean, counted, gain, goal, interval, letter, percent

MOST_FAILURES = 4
TEXT_WIDTH = 88
_COLOURS = {"good": "bold green", "bad": "bold red", "open": "bold yellow"}
_STATE_COLOURS = {"holds": "green", "breaks": "red", "unproven": "yellow", "no attack": "dim", "not counted": "dim"}


def render(model: ReportModel, console: Console) -> None:
    """Print the model."""
    console.print(_opening(model, console.width))
    for i, candidate in enumerate(model.candidates):
        console.print()
        console.print(_candidate(i, candidate, model, console.width))


def plain_text(model: ReportModel) -> str:
    """The same without colours or control codes."""
    console = Console(
        file=io.StringIO(), width=TEXT_WIDTH, color_system=None, force_terminal=False, legacy_windows=False
    )
    render(model, console)
    written = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "\n".join(line.rstrip() for line in written.replace("\u00a0", " ").splitlines())


def _opening(model: ReportModel, width: int) -> RenderableType:
    styles = [status(candidate)[2] for candidate in model.candidates]
    style = styles[0] if len(set(styles)) == 1 else "open" if "good" in styles else "bad"
    sign = {"good": "✓", "bad": "✕", "open": "•"}[style]
    goals = [f"advantage at most {goal(model.max_advantage)} (upper 95 % limit)"]
    goals += [f"{name} at least {goal(least)}" for name, least in model.min_utility.items()]
    size = f"{counted(model.n_rows, 'record')} × {counted(len(model.columns), 'column')}"
    return _hanging(
        Text(sign, style=_COLOURS[style]),
        _prose(model.headline, width, style="bold"),
        _prose(f"{size}. Goals: {', '.join(goals)}.", width, style="dim"),
    )


def _prose(said: str, width: int, *, style: str = "") -> Text:
    """Lines that fit beside the mark and keep a percent sign with its number."""
    words = clean(said).replace(" %", "\u00a0%")
    return Text("\n".join(textwrap.wrap(words, max(20, width - 2), break_on_hyphens=False)), style=style)


def _hanging(mark: Text, *content: RenderableType) -> Table:
    """Content with a mark before its first line."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(mark, Group(*content))
    return grid


def _candidate(index: int, candidate: CandidateView, model: ReportModel, width: int) -> RenderableType:
    sign, words, style = status(candidate)
    verdict = f"{sign} {words}"
    gap = "   " if len(candidate.label) + len(verdict) + 5 <= width else "\n"
    title = Text.assemble((clean(candidate.label), "bold"), gap, (verdict, _COLOURS[style]))
    parts: list[RenderableType] = [title]
    if len(model.candidates) > 1:
        parts.append(_prose(candidate.verdict, width))
    parts += ["", _levels(candidate.levels, narrow=width < 100)]
    if candidate.utility:
        parts += ["", _utility(candidate, model, width)]
    if candidate.failures:
        parts += ["", _failures(candidate, width)]
    if candidate.not_played:
        lines = [_hanging(Text("–", style="dim"), _prose(f"Not played: {t}", width - 2)) for t in candidate.not_played]
        parts += ["", *lines]
    return _hanging(Text(letter(index), style="bold cyan"), *parts)


def _levels(levels: tuple[LevelView, ...], *, narrow: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), header_style="dim")
    table.add_column("Attacker knows", no_wrap=not narrow)
    table.add_column("Strongest attack", overflow="fold")
    table.add_column("Advantage", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("Goals", no_wrap=True)
    for level in levels:
        sign, words = STATES[level.state]
        attack = clean(level.strongest or MISSING)
        found = level.advantage
        table.add_row(
            Text(level.label),
            Text(attack.removesuffix("-attack") if narrow else attack),
            Text(gain(found.value) if found else MISSING),
            Text(interval(found.low, found.high) if found else MISSING),
            Text(f"{sign} {words.removesuffix(' applies')}", style=_STATE_COLOURS[level.state]),
        )
    return table


def _utility(candidate: CandidateView, model: ReportModel, width: int) -> Text:
    said = []
    for name, value in candidate.utility.items():
        least = model.min_utility.get(name)
        mark = "" if least is None else "\u00a0✓" if value.value >= least else "\u00a0✕"
        said.append(f"{name} {percent(value.value)}{mark}".replace(" ", "\u00a0"))
    text = _prose(f"Utility kept: {', '.join(said)}", width)
    text.highlight_regex(r"[<>]?[\d.]+\u00a0%", style="bold")
    text.highlight_regex(r"✕", style="bold red")
    return text


def _failures(candidate: CandidateView, width: int) -> RenderableType:
    shown = candidate.failures[:MOST_FAILURES]
    lines: list[RenderableType] = [_hanging(Text("✕", style="red"), _prose(f, width - 2)) for f in shown]
    more = len(candidate.failures) - len(shown)
    if more:
        lines.append(Text(f"  and {more} more goal{'s' if more > 1 else ''} not kept", style="dim"))
    return Group(*lines)
