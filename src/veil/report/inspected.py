"""What an inspection says, as lines and tables: columns, roles, what to decide, and what noise or rotation leaves."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from veil.report.console import grid, shown
from veil.report.escaping import visible
from veil.report.inspection import ROTATION_THRESHOLD, ColumnFacts, KeyFacts, NoiseRisk, RotationRange
from veil.report.json_text import written_json
from veil.report.notebook import fragment_of
from veil.report.pieces import Piece, plain_pieces, print_pieces
from veil.report.words import counted, percent

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN, MOST_PAIRS = 12, 5


@dataclass(frozen=True, repr=False)
class Inspection:
    """What :func:`veil.inspect` tells. It holds no cell of the table; it prints as ``veil inspect`` does."""

    n_rows: int
    columns: tuple[ColumnFacts, ...]
    advice: tuple[str, ...]
    noise_levels: tuple[float, ...] = ()
    noise_risks: tuple[NoiseRisk, ...] = ()
    rotation_threshold: float = ROTATION_THRESHOLD
    rotation_ranges: tuple[RotationRange, ...] = ()
    keys: KeyFacts | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write everything as JSON, or return it as text when no path is given."""
        return written_json(self.to_dict(), path)

    def __repr__(self) -> str:
        return plain_pieces(inspection_pieces(self))

    def _repr_html_(self) -> str:
        return fragment_of("Inspection", inspection_pieces(self))


def inspection_pieces(inspection: Inspection, name: str = "Table") -> list[Piece]:
    """The inspection of the table called ``name``, as lines and tables."""
    size = f": {counted(inspection.n_rows, 'record')} × {counted(len(inspection.columns), 'column')}"
    pieces: list[Piece] = [shown(name, "bold") + Text(size), _columns(inspection)]
    pieces += [Text(f"  {visible(sentence)}") for sentence in inspection.advice]
    pieces += [_keys(inspection, inspection.keys)] if inspection.keys is not None else []
    pieces += [_risks(inspection)] if inspection.noise_risks else []
    pieces += [_rotations(inspection)] if inspection.rotation_ranges else []
    return pieces


def print_inspection(inspection: Inspection, name: str, console: Console) -> None:
    """Print the inspection of the table called ``name``."""
    print_pieces(inspection_pieces(inspection, name), console)


def _columns(inspection: Inspection) -> Table:
    table = grid("column", "kind", "role", side="left")
    table.add_column("missing", justify="right")
    table.add_column("note")
    for column in inspection.columns:
        role = shown(column.role) if column.role else Text("decide", "bold red")
        missing = f"{column.missing:,}" if column.missing else ""
        table.add_row(shown(column.name), column.kind, role, missing, shown(column.note))
    return table


def _keys(inspection: Inspection, keys: KeyFacts) -> Table:
    """Records in small cells on all keys, on all but one, and on pairs."""
    n = max(inspection.n_rows, 1)
    counted = "" if keys.exact else " (estimates)"
    table = grid(
        "keys", caption=f"Records that are alone with their values, or share them with few{counted}", side="left"
    )
    for heading in ("combinations", "alone", "fewer than 3", "fewer than 5"):
        table.add_column(heading, justify="right")
    few = [f"{count:,} ({count / n:.0%})" for count in (keys.unique, keys.below_3, keys.below_5)]
    table.add_row(shown(", ".join(keys.columns)), f"{keys.n_cells:,}", *few)
    for each in keys.without[:MOST_SHOWN]:
        table.add_row(shown(f"without {each.columns[0]}"), "", f"{each.unique:,} ({each.unique / n:.0%})", style="dim")
    for each in [pair for pair in keys.pairs if pair.unique][:MOST_PAIRS]:
        table.add_row(
            shown(f"only {' and '.join(each.columns)}"), "", f"{each.unique:,} ({each.unique / n:.0%})", style="dim"
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
