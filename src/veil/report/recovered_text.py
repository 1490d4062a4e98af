"""What an analyst recovered from a release, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from veil.report.console import grid, shown
from veil.report.escaping import visible
from veil.report.recovered import RecoveredShares, RecoveredView, span

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 6


def print_recovered(view: RecoveredView, console: Console) -> None:
    """Print the recovery."""
    console.print()
    console.print(Text(f"Release {view.release}, {visible(view.method)}, {view.n_rows:,} records"))
    if view.records:
        console.print(Text(view.records))
    console.print()
    for column in view.proportions:
        console.print(_shares(column))
    if not view.columns:
        return
    console.print(_moments(view))
    console.print(Text("± is two standard errors: of this table's own moments, and of the population's.", "dim"))
    if all(column.quantiles for column in view.columns):
        console.print(_quantiles(view))
    else:
        console.print(Text("Distributions are recovered from additive noise only; this release has another kind.\n"))
    if view.covariance:
        console.print(_covariances(view))


def _shares(column: RecoveredShares) -> Table:
    table = grid(shown(column.name), "share", "± table", "± population")
    for category, *numbers in column.shares:
        table.add_row(shown(category), *(f"{number:.1%}" for number in numbers))
    return table


def _moments(view: RecoveredView) -> Table:
    table = grid("column", "mean", "± table", "± population", "std", "±")
    for column in view.columns:
        numbers = (column.mean, column.mean_half, column.mean_half_total, column.std, column.std_half)
        table.add_row(shown(column.name), *(f"{number:.4g}" for number in numbers))
    return table


def _quantiles(view: RecoveredView) -> Table:
    shares = (f"{share:.0%}" for share, *_ in view.columns[0].quantiles)
    caption = "\nQuantiles, with a 95 % interval that holds for all of them at once"
    table = grid("column", *shares, caption=caption)
    for column in view.columns:
        cells = (Text(f"{x:.4g}\n").append(span(low, high), "dim") for _, x, low, high in column.quantiles)
        table.add_row(shown(column.name), *cells)
    return table


def _covariances(view: RecoveredView) -> Table:
    columns = view.columns[:MOST_SHOWN]
    first = f" (first {MOST_SHOWN} columns)" if len(columns) < len(view.columns) else ""
    caption = f"\nCovariances ± two standard errors{first}"
    table = grid("", *(shown(column.name) for column in columns), caption=caption)
    for column, values, halves in zip(columns, view.covariance, view.covariance_half, strict=False):
        pairs = zip(values[:MOST_SHOWN], halves[:MOST_SHOWN], strict=True)
        table.add_row(shown(column.name), *(f"{value:.3g} ± {half:.1g}" for value, half in pairs))
    return table
