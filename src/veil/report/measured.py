"""How near one table is to another, as lines and tables: by column, over all, and what the numbers rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veil.errors import listed
from veil.report.console import grid, shown
from veil.report.pieces import Piece, print_pieces
from veil.report.words import MISSING, count, counted, digits, interval, percent

MOST_SHOWN = 40


class _Column(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def n_both(self) -> int: ...
    @property
    def correlation(self) -> float: ...
    @property
    def nrmse(self) -> float: ...
    @property
    def breach(self) -> float: ...
    @property
    def baseline(self) -> float: ...
    @property
    def wasserstein(self) -> float: ...
    @property
    def unit(self) -> float: ...
    @property
    def unit_error(self) -> float: ...


class _Text(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def n_both(self) -> int: ...
    @property
    def equal(self) -> float: ...


class _Table(Protocol):
    @property
    def value_breach(self) -> float: ...
    @property
    def record_breach(self) -> float: ...
    @property
    def baseline(self) -> float: ...
    @property
    def nrmse(self) -> float: ...
    @property
    def relative_error(self) -> float: ...
    @property
    def means(self) -> float: ...
    @property
    def covariance(self) -> float: ...
    @property
    def distances(self) -> float: ...
    @property
    def wasserstein(self) -> float: ...


class _Links(Protocol):
    @property
    def n_people(self) -> int: ...
    @property
    def n_linked(self) -> int: ...
    @property
    def n_right(self) -> int: ...
    @property
    def n_strangers(self) -> int: ...
    @property
    def n_false(self) -> int: ...
    @property
    def rate(self) -> _Rate: ...
    @property
    def baseline(self) -> float: ...
    @property
    def precision(self) -> float: ...
    @property
    def stated(self) -> float: ...


class _Rate(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    def __float__(self) -> float: ...


class Measures(Protocol):
    """What is printed of a comparison of two tables; :class:`veil.FileMeasures` says what each number is."""

    @property
    def n_rows(self) -> int:
        """Records."""

    @property
    def n_sampled(self) -> int:
        """Records that distances were taken of."""

    @property
    def tolerance(self) -> float:
        """How near counts as a breach, in standard units."""

    @property
    def columns(self) -> Sequence[_Column]:
        """The columns of numbers."""

    @property
    def texts(self) -> Sequence[_Text]:
        """The other columns."""

    @property
    def table(self) -> _Table | None:
        """The columns of numbers together."""

    @property
    def links(self) -> _Links | None:
        """How many people were found by links to rows."""

    @property
    def left_out(self) -> Sequence[str]:
        """Columns that are of different kinds in the two tables."""

    @property
    def absent(self) -> Sequence[str]:
        """Private columns that the other table does not have."""


def measures_pieces(
    measures: Measures, private: str = "the private table", other: str = "The other table"
) -> list[Piece]:
    """The comparison of the tables called ``private`` and ``other``, as lines and tables."""
    title = shown(other, "bold") + Text(" beside ") + shown(private, "bold")
    pieces: list[Piece] = [title + Text(f": {counted(measures.n_rows, 'record')}")]
    if measures.links is not None:
        return [*pieces, _links(measures.links)]
    pieces += [_columns(measures)] if measures.columns else []
    pieces += [_texts(measures)] if measures.texts else []
    pieces += [_whole(measures)] if measures.table is not None else []
    return pieces + [Text(remark, "dim") for remark in remarks(measures)]


def print_measures(measures: Measures, private: str, other: str, console: Console) -> None:
    """Print the comparison of the tables called ``private`` and ``other``."""
    print_pieces(measures_pieces(measures, private, other), console)


def _links(links: _Links) -> Table:
    """How many people were found, and how far the attack's own probabilities are to be believed."""
    rate, right = links.rate, percent(links.precision)
    chance = f"a row at random finds {percent(links.baseline)}"
    rows = [
        ("people", count(links.n_people), "of the external table who are in the release"),
        ("linked", count(links.n_linked), "of them to a row of it"),
        ("found", count(links.n_right), "to their own row"),
        ("rate", percent(float(rate)), f"of people found ({interval(rate.low, rate.high)}); {chance}"),
        ("right", right, "of the links of people who are in the release"),
        ("stated", percent(links.stated), "is the probability that the attack gives its links on average"),
    ]
    if links.n_strangers:
        strangers = f"of {counted(links.n_strangers, 'stranger')} are linked to a row all the same"
        rows.append(("false", count(links.n_false), strangers))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for row in rows:
        table.add_row(*row)
    return table


def _columns(measures: Measures) -> Table:
    table = grid("column", "correlation", "error", "breached", "baseline", "distribution")
    for column in measures.columns[:MOST_SHOWN]:
        table.add_row(
            shown(column.name),
            _correlation(column.correlation),
            digits(column.nrmse, 2),
            percent(column.breach),
            percent(column.baseline),
            digits(column.wasserstein, 2),
        )
    if len(measures.columns) > MOST_SHOWN:
        table.add_row(f"and {count(len(measures.columns) - MOST_SHOWN)} more (JSON has them all)", style="dim")
    return table


def _texts(measures: Measures) -> Table:
    table = grid("column", "equal", "of values")
    for column in measures.texts:
        table.add_row(shown(column.name), percent(column.equal), f"{column.n_both:,}")
    return table


def _whole(measures: Measures) -> Table:
    t, near = measures.table, f"{measures.tolerance:g} standard units"
    if t is None:
        raise ValueError("there is no numeric column")
    best = f"the best single guess for everybody does so for {percent(t.baseline)}"
    sampled = "all records" if measures.n_sampled == measures.n_rows else f"{measures.n_sampled:,} sampled records"
    given_away = (
        ("values breached", percent(t.value_breach), f"come within {near} of the private value; {best}"),
        ("records breached", percent(t.record_breach), f"are within {near} on average over their columns"),
        ("error", digits(t.nrmse, 2), "of a value, in standard deviations; guessing every column's mean has 1"),
        ("relative error", digits(t.relative_error, 2), "of a record, as a share of its length; depends on the origin"),
    )
    changed = (
        ("means", digits(t.means, 2), "by which the columns' means are off, in standard deviations"),
        ("covariance", digits(t.covariance, 2), "relative change of the covariance matrix"),
        ("distances", digits(t.distances, 2), f"relative change of distances between records ({sampled})"),
        ("distribution", digits(t.wasserstein, 2), "by which quantiles moved on average, in standard deviations"),
    )
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    table.add_row(Text("Given away", "bold"))
    for row in given_away:
        table.add_row(*row)
    table.add_row()
    table.add_row(Text("Changed", "bold"), "", "0 is as in the private table")
    for row in changed:
        table.add_row(*row)
    return table


def remarks(measures: Measures) -> list[str]:
    """What the tables rest on, and what is not in them."""
    lines = []
    if measures.columns:
        lines.append("baseline: what the best single guess for everybody breaches. –: cannot be told.")
    if any(column.n_both < measures.n_rows for column in measures.columns):
        gaps = sum(measures.n_rows - column.n_both for column in measures.columns)
        lines.append(
            f"{gaps:,} of {measures.n_rows * len(measures.columns):,} numbers are missing in one of the tables and not "
            "compared; a private value that the other table lacks counts as not breached."
        )
    if any(column.unit_error > 1e-3 * column.unit for column in measures.columns):
        worst = max(column.unit_error / column.unit for column in measures.columns if column.unit)
        lines.append(f"Units of heavy-tailed columns, from counted quartiles, are off by {percent(worst)} at most.")
    if measures.left_out:
        lines.append(f"Not compared, of different kinds in the two tables: {listed(measures.left_out)}.")
    if measures.absent:
        lines.append(f"Not in the other table: {listed(measures.absent)}.")
    return lines


def _correlation(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.3f}".replace("-", "−")
