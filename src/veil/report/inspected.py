"""What an inspection says, as lines and tables: what to decide, columns, groups, keys; and the theory, if asked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from veil.report.console import grid, shown
from veil.report.escaping import visible
from veil.report.inspection import (
    ROTATION_THRESHOLD,
    ColumnFacts,
    GroupFacts,
    KeyFacts,
    NoiseRisk,
    Proposal,
    RotationRange,
)
from veil.report.json_text import written_json
from veil.report.notebook import fragment_of
from veil.report.pieces import Piece, plain_pieces, print_pieces
from veil.report.proposals import group_words, reason_words, value_words
from veil.report.words import counted, few, percent

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN, MOST_PAIRS = 12, 5


@dataclass(frozen=True, repr=False)
class Inspection:
    """What :func:`veil.inspect` tells. It holds no cell of the table; it prints as ``veil inspect`` does."""

    n_rows: int
    columns: tuple[ColumnFacts, ...]
    advice: tuple[str, ...]
    theory: tuple[str, ...] = ()
    noise_levels: tuple[float, ...] = ()
    noise_risks: tuple[NoiseRisk, ...] = ()
    rotation_threshold: float = ROTATION_THRESHOLD
    rotation_ranges: tuple[RotationRange, ...] = ()
    keys: KeyFacts | None = None
    groups: tuple[GroupFacts, ...] = ()
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    proposals: tuple[Proposal, ...] = ()

    @property
    def ordered(self) -> tuple[str, ...]:
        """Columns in which neighbouring rows resemble each other, or by which rows are sorted, most first."""
        told = [c for c in self.columns if c.sorting is not None or c.neighbours is not None]
        return tuple(c.name for c in sorted(told, key=lambda c: -(c.neighbours or 1.0)))

    def why(self, proposal: Proposal) -> str:
        """The reason of a proposal, in words."""
        return reason_words(proposal, {each.column: each for each in self.groups})

    def describe(self, *, risk: bool = False) -> str:
        """What is printed, as text; with ``risk`` the theory of noise and rotations, too."""
        return plain_pieces(inspection_pieces(self, risk=risk))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write everything as JSON, or return it as text when no path is given."""
        return written_json(self.to_dict(), path)

    def __repr__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        return fragment_of("Inspection", inspection_pieces(self))


def inspection_pieces(inspection: Inspection, name: str = "Table", *, risk: bool = False) -> list[Piece]:
    """The inspection of the table called ``name``, as lines and tables."""
    size = f": {counted(inspection.n_rows, 'record')} × {counted(len(inspection.columns), 'column')}"
    pieces: list[Piece] = [shown(name, "bold") + Text(size)]
    pieces += [_proposals(inspection)] if inspection.proposals else []
    pieces += [Text(f"  {visible(sentence)}") for sentence in inspection.advice]
    pieces += [_columns(inspection)]
    pieces += [Text(f"  {visible(sentence)}") for sentence in _structure(inspection)]
    pieces += [_keys(inspection, inspection.keys)] if inspection.keys is not None else []
    if risk:
        pieces += [Text(f"  {visible(sentence)}") for sentence in inspection.theory]
        pieces += [_risks(inspection)] if inspection.noise_risks else []
        pieces += [_rotations(inspection)] if inspection.rotation_ranges else []
    elif inspection.theory:
        pieces += [Text("What noise and rotations would leave: --risk, or describe(risk=True).", style="dim")]
    return pieces


def print_inspection(inspection: Inspection, name: str, console: Console, *, risk: bool = False) -> None:
    """Print the inspection of the table called ``name``."""
    print_pieces(inspection_pieces(inspection, name, risk=risk), console)


def _proposals(inspection: Inspection) -> Table:
    """Roles that are not the usual ones: what must be decided first."""
    table = grid("column", "role", "", "reason", side="left", caption="Roles that veil init proposes")
    folded: dict[tuple[bool, str, str], list[str]] = {}
    for each in sorted(inspection.proposals, key=lambda each: each.sure):
        folded.setdefault((each.sure, each.role, inspection.why(each)), []).append(each.column)
    for (sure, role, why), names in folded.items():
        mark = Text("") if sure else Text("decide", "bold red")
        table.add_row(shown(few(names)), role, mark, shown(why))
    return table


def _structure(inspection: Inspection) -> list[str]:
    """Order of rows, groups, sums and grids, one line each."""
    said = []
    if inspection.ordered:
        said.append(
            f"The order of rows tells something: neighbours resemble each other in {few(inspection.ordered)}. A secret "
            "order (shuffle) costs nothing."
        )
    said += [f"{each.column}: {group_words(each)}." for each in inspection.groups[:MOST_SHOWN]]
    said += [f"{total} is the sum of {few(terms)} in every record." for total, terms in inspection.sums.items()]
    coarse: dict[float, list[str]] = {}
    for column in inspection.columns:
        if column.grain is not None and column.grain > 1:
            coarse.setdefault(column.grain, []).append(column.name)
    said += [f"Multiples of {grain:g}: {few(names)}." for grain, names in sorted(coarse.items())]
    return said


def _columns(inspection: Inspection) -> Table:
    table = grid("column", "kind", "role", side="left")
    table.add_column("missing", justify="right")
    table.add_column("values", justify="right")
    table.add_column("note")
    proposed = {each.column: each for each in inspection.proposals}
    for column in inspection.columns:
        role = _role(column, proposed.get(column.name))
        missing = f"{column.missing:,}" if column.missing else ""
        numbered = proposed.get(column.name) is not None and proposed[column.name].role in ("identifier", "group")
        note = "; ".join([*([] if numbered else value_words(column)), *filter(None, [column.note])])
        values = f"{'' if column.exact else '~'}{column.n_values:,}"
        table.add_row(shown(column.name), column.kind, role, missing, values, shown(note))
    return table


def _role(column: ColumnFacts, proposal: Proposal | None) -> Text:
    """The role that is given or usual, or one that is proposed, with a question mark."""
    if column.role is None and (proposal is None or not proposal.sure):
        return Text("decide", "bold red")
    return shown(column.role) if proposal is None or not proposal.sure else Text(f"{proposal.role}?")


def _keys(inspection: Inspection, keys: KeyFacts) -> Table:
    """Records in small cells on all keys, on all but one, and on pairs."""
    n = max(inspection.n_rows, 1)
    counted = "" if keys.exact else " (estimates)"
    whose = "what an outsider may know, by the names of columns" if keys.proposed else "their keys"
    table = grid(
        "keys",
        caption=f"Records that are alone with {whose}, or share them with few{counted}",
        side="left",
    )
    for heading in ("combinations", "alone", "fewer than 3", "fewer than 5"):
        table.add_column(heading, justify="right")
    few = [f"{count:,} ({percent(count / n)})" for count in (keys.unique, keys.below_3, keys.below_5)]
    table.add_row(shown(", ".join(keys.columns)), f"{keys.n_cells:,}", *few)
    for each in keys.without[:MOST_PAIRS]:
        table.add_row(
            shown(f"without {each.columns[0]}"), "", f"{each.unique:,} ({percent(each.unique / n)})", style="dim"
        )
    for each in [pair for pair in keys.pairs if pair.unique][:MOST_PAIRS]:
        table.add_row(
            shown(f"only {' and '.join(each.columns)}"),
            "",
            f"{each.unique:,} ({percent(each.unique / n)})",
            style="dim",
        )
    for group in keys.groups:
        alone = f"{group.unique:,} ({group.unique / max(group.n_groups, 1):.0%})"
        table.add_row(shown(f"members of {group.column}"), f"{group.n_groups:,}", alone, style="dim")
    return table


def _risks(inspection: Inspection) -> Table:
    """What an attacker would be left with if independent noise were added, worst columns first."""
    levels = inspection.noise_levels
    table = grid(
        "column",
        *(f"noise {level:g}" for level in levels),
        caption=(
            "If independent noise were added: error that the Bayes estimate leaves of normal data, in standard "
            "deviations\n(on skewed or clustered columns the mixture prior leaves less)"
        ),
    )
    alone = (f"{level / (1 + level * level) ** 0.5:.2f}" for level in levels)
    table.add_row("without any correlation", *alone, style="dim")
    ranked = sorted(inspection.noise_risks, key=lambda risk: risk.errors)
    for risk in ranked[:MOST_SHOWN]:
        table.add_row(shown(risk.name), *(f"{error:.2f}" for error in risk.errors))
    if len(ranked) > MOST_SHOWN:
        table.add_row(f"and {len(ranked) - MOST_SHOWN} more, less at risk", style="dim")
    return table


def _rotations(inspection: Inspection) -> Table:
    """The security range of each pair over the full circle, as a bar of ten-degree steps."""
    table = grid(
        "pair",
        caption=(
            f"If pairs were rotated: angles from 0° to 360° that change both columns by a variance of at least "
            f"{inspection.rotation_threshold:g}\n(neighbouring columns; perturb draws its own pairs. This bounds no "
            "attack)"
        ),
    )
    table.add_column("security range", no_wrap=True)
    table.add_column("share", justify="right")
    middles = [math.radians(10 * step + 5) for step in range(36)]
    for pair in inspection.rotation_ranges[:MOST_SHOWN]:
        bar = "".join("█" if any(a <= m <= b for a, b in pair.intervals) else "·" for m in middles)
        table.add_row(shown(f"{pair.first}, {pair.second}"), bar, percent(pair.share))
    if len(inspection.rotation_ranges) > MOST_SHOWN:
        table.add_row(f"and {len(inspection.rotation_ranges) - MOST_SHOWN} more pairs", style="dim")
    return table
