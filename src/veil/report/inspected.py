"""What an inspection says, in a terminal: columns and roles, what to decide, and what noise or rotation would leave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from veil.report.console import grid, shown
from veil.report.escaping import visible
from veil.report.inspection import Inspection, KeyFacts

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN, MOST_PAIRS = 12, 5


def print_inspection(inspection: Inspection, name: str, console: Console) -> None:
    """Print the inspection of the table called ``name``."""
    size = f": {inspection.n_rows:,} records × {len(inspection.columns)} columns"
    console.print()
    console.print(shown(name, "bold") + Text(size))
    console.print()
    console.print(_columns(inspection))
    console.print()
    for sentence in inspection.advice:
        console.print(Text(f"  {visible(sentence)}"))
    if inspection.keys is not None:
        console.print()
        console.print(_keys(inspection, inspection.keys))
    if inspection.noise_risks:
        console.print()
        console.print(_risks(inspection))
    if inspection.rotation_ranges:
        console.print()
        console.print(_rotations(inspection))


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
        table.add_row(shown(f"{pair.first}, {pair.second}"), bar, f"{pair.share:.0%}")
    if len(inspection.rotation_ranges) > MOST_SHOWN:
        table.add_row(f"and {len(inspection.rotation_ranges) - MOST_SHOWN} more pairs", style="dim")
    return table
