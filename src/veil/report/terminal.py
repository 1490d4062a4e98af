"""The report in a terminal: the verdict, then a table per candidate."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from veil.report.candidates import status
from veil.report.conclusions import headline, size, too_few_words, verdict
from veil.report.console import Terminal, legible
from veil.report.folding import breaks_line, folded, not_run, part_that_breaks, reads_alike
from veil.report.largest import largest_words
from veil.report.membership import membership_words
from veil.report.model import CandidateView, LevelView, ReportModel, RiskView
from veil.report.pieces import Piece
from veil.report.risks import unmeasured
from veil.report.values import AdviceState, AttackView, Matching, ScoreView, State
from veil.report.words import MISSING, STATES, gain, interval, letter, percent, shortened, within

MOST_FAILURES = 2
MOST_NOT_RUN = 4
MOST_COLUMNS = 3
FEW, LINES_EACH = 2, 2
TEXT_WIDTH = 88
RATED, LIMITED, WIDE = 76, 84, 100
"""Widths from which a table of levels has rates, upper limits, and intervals."""
LEVEL_WIDTH = 15
NAME_WIDTH = 14
STATE_WIDTH = 11
_COLOURS = {"good": "bold green", "bad": "bold red", "open": "bold yellow"}
_MARKS = {True: ("✕", "red"), False: ("?", "yellow")}
"""Of goals that are shown to break, and of goals that are not shown to hold."""
_SHORT = {"no attack applies": "no attack", "not shown safe": "unproven"}
_STATE_COLOURS = {
    State.HOLDS: "green",
    State.BREAKS: "red",
    State.UNPROVEN: "yellow",
    State.NO_ATTACK: "dim",
    State.NOT_TESTED: "yellow",
    State.OUT_OF_TIME: "yellow",
    State.NOT_COUNTED: "dim",
}


def render(model: ReportModel, console: Console) -> None:
    """Print the model."""
    console.print(_opening(model, console.width))
    for i, candidate in enumerate(model.candidates):
        console.print()
        console.print(_candidate(i, candidate, model, console.width))


def plain_text(model: ReportModel) -> str:
    """The same without colours or control codes."""
    console = Terminal(
        file=io.StringIO(), width=TEXT_WIDTH, color_system=None, force_terminal=False, legacy_windows=False
    )
    render(model, console)
    written = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "\n".join(line.rstrip() for line in written.replace("\u00a0", " ").splitlines())


def _opening(model: ReportModel, width: int) -> RenderableType:
    styles = [status(candidate)[2] for candidate in model.candidates]
    style = styles[0] if len(set(styles)) == 1 else "open" if "good" in styles else "bad"
    if model.advice is not None and model.advice.recommendation is None:
        style = "open" if model.advice.state is AdviceState.OUT_OF_TIME else "bad"
    sign = {"good": "✓", "bad": "✕", "open": "•"}[style]
    goals = f" {'Goal' if len(model.goals) == 1 else 'Goals'}: {'; '.join(model.goals)}." if model.goals else ""
    return _hanging(
        Text(sign, style=_COLOURS[style]),
        _prose(headline(model), width, style="bold"),
        _prose(f"{size(model)}.{goals}", width, style="dim"),
        *_notes(model, width),
    )


def _notes(model: ReportModel, width: int) -> list[RenderableType]:
    """Why something is recommended, how rows were matched, and what else a reader should know."""
    notes: list[RenderableType] = []
    if model.advice is not None:
        notes.append(_prose(model.advice.words, width))
    if model.matching == Matching.INFERRED:
        notes.append(_prose("Rows were matched by Veil: nobody said which row belongs to whom.", width))
    return notes + [_prose(remark, width) for remark in model.remarks]


def _prose(text: str, width: int, *, style: str = "") -> Text:
    """Lines that fit beside the mark and keep a percent sign with its number."""
    words = legible(text).replace(" %", "\u00a0%")
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
    mark = f"{sign} {words}"
    gap = "   " if len(candidate.label) + len(mark) + 5 <= width else "\n"
    title = Text.assemble((legible(candidate.label), "bold"), gap, (mark, _COLOURS[style]))
    parts: list[RenderableType] = [title]
    if len(model.candidates) > 1 and not candidate.breaks:
        parts.append(_prose(verdict(candidate, model.max_advantage), width))
    if not candidate.passed:
        parts.append(_prose(breaks_line(candidate), width))
    parts += ["", *_levels(candidate, model.max_advantage, width), ""]
    parts += findings(candidate, model, width)
    missed = [("–", "dim", f"Not run: {not_run(view)}") for view in candidate.not_run]
    open_ends = [(*_MARKS[failure.shown], str(failure)) for failure in candidate.failures]
    parts += [""] if open_ends or missed else []
    parts += _several(open_ends, MOST_FAILURES, "of this kind, in the report", width)
    parts += _several(missed, MOST_NOT_RUN, "not run", width)
    return _hanging(Text(letter(index), style="bold cyan"), *parts)


def pieces(candidate: CandidateView, model: ReportModel, width: int) -> list[Piece]:
    """What is known of a candidate, as lines and tables; failures are apart."""
    return [*_levels(candidate, model.max_advantage, width), *findings(candidate, model, width)]


def findings(candidate: CandidateView, model: ReportModel, width: int) -> list[Text]:
    """Risks, exposed columns, the largest values, membership and utility, a line each."""
    lines = [_risk(risk, width) for risk in candidate.risks]
    lines += [_columns(candidate, width)] if candidate.columns else []
    if told := largest_words(candidate, model, MOST_COLUMNS):
        lines.append(_prose(told, width))
    if candidate.membership is not None:
        lines.append(_prose(f"Membership: {membership_words(candidate.membership)}", width))
    if candidate.keys is not None:
        lines.append(_prose(str(candidate.keys), width))
    if candidate.too_few and candidate.verdict.privacy != State.HOLDS:  # else the verdict says it
        lines.append(_prose(f"Too few records: {too_few_words(candidate.too_few)}", width))
    return [*lines, _utility(candidate, model, width)] if candidate.utility else lines


def _levels(candidate: CandidateView, most: float, width: int) -> list[Piece]:
    """A table of the levels that matter, and a line on those that change nothing."""
    narrow = width < WIDE
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), header_style="dim")
    table.collapse_padding = narrow
    table.add_column("Attacker knows", min_width=LEVEL_WIDTH, no_wrap=not narrow)
    table.add_column("Strongest attack", min_width=NAME_WIDTH)
    if width >= RATED:
        table.add_column(Text("Present / absent\n/ constant, %"), justify="right", no_wrap=True)
    table.add_column("Gain" if narrow else "Advantage", justify="right", no_wrap=True)
    if width >= LIMITED:
        table.add_column("Up to" if narrow else "95 % interval", justify="right", no_wrap=True)
    table.add_column("Goals", min_width=STATE_WIDTH)
    idle = ""
    for fold in folded([candidate], reads_alike):
        if fold.no_more:
            idle = fold.label
            continue
        level = candidate.levels[fold.places[-1]]
        attack = legible(_short(level.strongest) if narrow else level.strongest.name) if level.strongest else MISSING
        sign, words = STATES[level.state]
        state = f"{sign} {_SHORT.get(words, words) if narrow else words}"
        part = part_that_breaks(candidate, fold.places[-1], most)
        table.add_row(
            Text(legible(fold.label)),
            Text(textwrap.fill(attack, NAME_WIDTH) if narrow else attack),
            *_numbers(level, width),
            Text(
                state if part is None else f"{state}: {shortened(legible(part), 30)}", style=_STATE_COLOURS[level.state]
            ),
        )
    return [table, _prose(f"{idle}: as with nothing", width, style="dim")] if idle else [table]


def _numbers(level: LevelView, width: int) -> list[Text]:
    """The rates of the strongest attack, its advantage, and the limits of that, as far as there is room."""
    cells = [MISSING] * 3
    if level.score is not None and level.advantage is not None:
        low, high = level.advantage.low, level.advantage.high
        limits = percent(high) if width < WIDE else interval(low, high)
        cells = [rates(level.score).removesuffix(" %"), gain(level.advantage.value), limits]
    return [Text(cell) for cell, least in zip(cells, (RATED, 0, LIMITED), strict=True) if width >= least]


def _short(attack: AttackView) -> str:
    """An attack without the word for what it is."""
    return replace(attack, label=attack.label.removesuffix("-attack")).name


def rates(score: ScoreView) -> str:
    """What is right with the person present, absent, and by a constant guess.

    >>> from veil.report.values import Estimate
    >>> gain = Estimate(0.36, 0.31, 0.41)
    >>> rates(ScoreView(Estimate(0.42, 0.38, 0.46), 0.09, 0.08, gain, gain))
    '42.0 / 9.0 / 8.0 %'
    """
    shares = [percent(share).removesuffix(" %") for share in (score.rate.value, score.control, score.baseline)]
    return f"{' / '.join(shares)} %"


def _risk(risk: RiskView, width: int) -> Text:
    """One of the three risks on one line."""
    name = f"{risk.risk[:1].upper()}{risk.risk[1:]}".ljust(12)
    if risk.score is None:
        finding = unmeasured(risk)
    else:
        attack = (risk.attack.label if risk.part else _short(risk.attack)) if risk.attack else MISSING
        knowledge = risk.knowledge.label if risk.knowledge else MISSING
        gained, numbers = gain(risk.score.advantage.value), f"{rates(risk.score)}{within(risk.part)}"
        finding = f"{gained} ({numbers}), {attack.removesuffix('-attack')}, {knowledge}"
    room = max(20, width - 2 - 13)
    text = Text(f"{name} ", style="dim")
    return text.append(Text(shortened(legible(finding), room).replace(" %", "\u00a0%"), style="default"))


def _columns(candidate: CandidateView, width: int) -> Text:
    """The most exposed columns on a line."""
    gained = [column for column in candidate.columns if column.score.advantage.value > 0]
    if not gained:
        return _prose("Most exposed: no attack gains on any single column", width)
    shown = [f"{shortened(c.name, 20)} {percent(c.score.advantage.value)}" for c in gained[:MOST_COLUMNS]]
    more = len(candidate.columns) - len(shown)
    return _prose(f"Most exposed: {', '.join(shown)}{f' and {more} more columns' if more else ''}", width)


def _utility(candidate: CandidateView, model: ReportModel, width: int) -> Text:
    utilities = []
    for name, value in candidate.utility.items():
        least = model.min_utility.get(name)
        mark = "" if least is None else "\u00a0✓" if value.value >= least else "\u00a0✕"
        utilities.append(f"{name} {percent(value.value)}{mark}".replace(" ", "\u00a0"))
    text = _prose(f"Utility kept: {', '.join(utilities)}", width)
    text.highlight_regex(r"[<>]?[\d.]+\u00a0%", style="bold")
    text.highlight_regex(r"✕", style="bold red")
    return text


def _several(lines: Sequence[tuple[str, str, str]], most: int, what: str, width: int) -> list[RenderableType]:
    """The first few lines, each behind its mark with its colour, and how many more there are."""
    shown = lines[:most]
    room = (width - 4) if len(shown) > FEW else LINES_EACH * (width - 4) - 8
    rendered: list[RenderableType] = [
        _hanging(Text(mark, style=colour), _prose(shortened(line, room), width - 2)) for mark, colour, line in shown
    ]
    more = len(lines) - len(shown)
    return [*rendered, Text(f"  and {more} more {what}", style="dim")] if more else rendered
