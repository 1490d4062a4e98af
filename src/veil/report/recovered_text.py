"""What an analyst recovered from a release, as lines and tables."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from veil.report.console import grid, shown
from veil.report.escaping import visible
from veil.report.json_text import written_json
from veil.report.notebook import fragment_of
from veil.report.pieces import Piece, plain_pieces, print_pieces
from veil.report.recovered import RecoveredColumn, RecoveredRegression, RecoveredShares
from veil.report.words import counted, digits, goal, percent

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 6


@dataclass(frozen=True, repr=False)
class RecoveredView:
    """Everything a renderer may know about a recovery; it prints as ``veil recover`` does.

    ``correlation`` is that of the two columns that were recovered together, where they were, and ``records`` says how
    gaps and weights were used, if any.
    """

    method: str
    release: int
    n_rows: int
    columns: tuple[RecoveredColumn, ...]
    covariance: tuple[tuple[float, ...], ...]
    covariance_half: tuple[tuple[float, ...], ...]
    note: str
    proportions: tuple[RecoveredShares, ...] = ()
    correlation: float | None = None
    records: str = ""
    regressions: tuple[RecoveredRegression, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        values = {**asdict(self), "columns": tuple(column.to_dict() for column in self.columns)}
        if self.correlation is None:
            del values["correlation"]
        if not self.regressions:
            del values["regressions"]
        return values

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write everything as JSON, or return it as text when no path is given."""
        return written_json(self.to_dict(), path)

    def __repr__(self) -> str:
        return plain_pieces(recovered_pieces(self))

    def _repr_html_(self) -> str:
        return fragment_of("Recovery", recovered_pieces(self))


def recovered_pieces(view: RecoveredView) -> list[Piece]:
    """The recovery as lines and tables."""
    size = counted(view.n_rows, "record")
    pieces: list[Piece] = [Text(f"Release {view.release}, {visible(view.method)}, {size}")]
    pieces += [Text(view.records)] if view.records else []
    pieces += [_shares(column) for column in view.proportions]
    pieces += [_regression(regression) for regression in view.regressions]
    if not view.columns:
        return pieces
    pieces.append(_moments(view))
    if not all(math.isnan(column.mean_half) for column in view.columns):
        pieces.append(Text("± is two standard errors: of this table's own moments, and of the population's.", "dim"))
    if any(column.quantiles for column in view.columns):
        pieces.append(_quantiles(view))
    elif view.note:  # of a whole release
        lacking = "Distributions are recovered from additive noise only; this release has another kind."
        pieces.append(Text(lacking))
    if view.correlation is not None:
        names = " and ".join(visible(column.name) for column in view.columns)
        pieces.append(Text(f"Correlation of {names}: {digits(view.correlation, 3)}"))
    return [*pieces, _covariances(view)] if view.covariance else pieces


def print_recovered(view: RecoveredView, console: Console) -> None:
    """Print the recovery."""
    print_pieces(recovered_pieces(view), console)


def _shares(column: RecoveredShares) -> Table:
    table = grid(shown(column.name), "share", "± table", "± population")
    for category, *numbers in column.shares:
        table.add_row(shown(category), *(percent(number) for number in numbers))
    return table


def _regression(regression: RecoveredRegression) -> Table:
    explained = f"{percent(regression.r_squared)} of the variance explained"
    caption = f"\nRegression; {explained}, a standard deviation of {digits(regression.residual_std)} left"
    table = grid(shown(regression.target), "coefficient", "± table", "± population", caption=caption)
    for term, *numbers in regression.terms:
        table.add_row(shown(term), *(digits(number) for number in numbers))
    return table


def _moments(view: RecoveredView) -> Table:
    with_errors = not all(math.isnan(column.mean_half) for column in view.columns)
    titles = ("mean", "± table", "± population", "std", "±") if with_errors else ("mean", "std")
    table = grid("column", *titles)
    for c in view.columns:
        distances = (c.mean_half, c.mean_half_total, c.std, c.std_half) if with_errors else (c.std,)
        table.add_row(shown(c.name), c.value(c.mean), *(c.distance(number) for number in distances))
    return table


def _quantiles(view: RecoveredView) -> Table:
    columns = [column for column in view.columns if column.quantiles]
    shares = (goal(share) for share, *_ in columns[0].quantiles)
    caption = "\nQuantiles, with a 95 % interval that holds for all of them at once"
    table = grid("column", *shares, caption=caption)
    for column in columns:
        apart = " to\n" if column.unit else " to "
        cells = (
            Text(f"{column.value(x)}\n").append(column.span(low, high).replace(" to ", apart), "dim")
            for _, x, low, high in column.quantiles
        )
        table.add_row(shown(column.name), *cells)
    return table


def _covariances(view: RecoveredView) -> Table:
    columns = view.columns[:MOST_SHOWN]
    first = f" (first {MOST_SHOWN} columns)" if len(columns) < len(view.columns) else ""
    caption = f"\nCovariances ± two standard errors{first}"
    table = grid("", *(shown(column.name) for column in columns), caption=caption)
    for column, values, halves in zip(columns, view.covariance, view.covariance_half, strict=False):
        pairs = zip(values[:MOST_SHOWN], halves[:MOST_SHOWN], strict=True)
        table.add_row(shown(column.name), *(f"{digits(value, 3)} ± {digits(half, 2)}" for value, half in pairs))
    return table
