"""How near one table is to another, in a terminal: by column, over the whole table, and what the numbers rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from veil.errors import listed
from veil.report.console import grid, shown

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
    def left_out(self) -> Sequence[str]:
        """Columns that are of different kinds in the two tables."""

    @property
    def absent(self) -> Sequence[str]:
        """Private columns that the other table does not have."""


def print_measures(measures: Measures, private: str, other: str, console: Console) -> None:
    """Print the comparison of the tables called ``private`` and ``other``."""
    console.print()
    title = shown(other, "bold") + Text(" beside ") + shown(private, "bold")
    console.print(title + Text(f": {measures.n_rows:,} records"))
    console.print()
    tables = (
        _columns(measures) if measures.columns else None,
        _texts(measures) if measures.texts else None,
        _whole(measures) if measures.table is not None else None,
    )
    for table in tables:
        if table is not None:
            console.print(table, highlight=False)
            console.print()
    for remark in remarks(measures):
        console.print(Text(remark, "dim"))


def _columns(measures: Measures) -> Table:
    table = grid("column", "correlation", "error", "breached", "baseline", "distribution")
    for column in measures.columns[:MOST_SHOWN]:
        table.add_row(
            shown(column.name),
            _number(column.correlation, ".3f"),
            _number(column.nrmse),
            _number(column.breach, ".1%"),
            _number(column.baseline, ".1%"),
            _number(column.wasserstein),
        )
    if len(measures.columns) > MOST_SHOWN:
        table.add_row(f"and {len(measures.columns) - MOST_SHOWN} more (JSON has them all)", style="dim")
    return table


def _texts(measures: Measures) -> Table:
    table = grid("column", "equal", "of values")
    for column in measures.texts:
        table.add_row(shown(column.name), _number(column.equal, ".1%"), f"{column.n_both:,}")
    return table


def _whole(measures: Measures) -> Table:
    t, near = measures.table, f"{measures.tolerance:g} standard units"
    if t is None:
        raise ValueError("there is no numeric column")
    best = f"the best single guess for everybody does so for {_number(t.baseline, '.1%')}"
    sampled = "all records" if measures.n_sampled == measures.n_rows else f"{measures.n_sampled:,} sampled records"
    given_away = (
        ("values breached", _number(t.value_breach, ".1%"), f"come within {near} of the private value; {best}"),
        ("records breached", _number(t.record_breach, ".1%"), f"are within {near} on average over their columns"),
        ("error", _number(t.nrmse), "of a value, in standard deviations; guessing every column's mean has 1"),
        ("relative error", _number(t.relative_error), "of a record, as a share of its length; depends on the origin"),
    )
    changed = (
        ("means", _number(t.means), "by which the columns' means are off, in standard deviations"),
        ("covariance", _number(t.covariance), "relative change of the covariance matrix"),
        ("distances", _number(t.distances), f"relative change of distances between records ({sampled})"),
        ("distribution", _number(t.wasserstein), "by which quantiles moved on average, in standard deviations"),
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
        lines.append(f"Units of heavy-tailed columns, from counted quartiles, are off by {worst:.1%} at most.")
    if measures.left_out:
        lines.append(f"Not compared, of different kinds in the two tables: {listed(measures.left_out)}.")
    if measures.absent:
        lines.append(f"Not in the other table: {listed(measures.absent)}.")
    return lines


def _number(value: float, form: str = "#.2g") -> str:
    return "–" if math.isnan(value) else format(float(value), form)
