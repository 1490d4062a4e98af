"""The owner's verb: measure."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options
from veil.cli.options import json_option, parse_pairs, role_option
from veil.cli.progress import progress_bar

_MOST_SHOWN = 40


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@role_option
@click.option(
    "--tolerance",
    default=0.1,
    show_default=True,
    type=click.FloatRange(min=0.0),
    help="How near gives a value away, in standard units.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Which rows are sampled.")
@engine_options
@json_option
def measure(
    table: Path,
    other: Path,
    roles: tuple[str, ...],
    tolerance: float,
    seed: int,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Compare a private table with a guess, a restored table or a release of the same records.

    Columns are found by name, records by their order. Neither file is loaded: they may be larger than memory.

    \b
    Example:
      veil attack release --attack bayes-estimate -o guess.parquet
      veil measure patients.csv guess.parquet --role name=drop
    """
    from veil.auditing.comparison import measure_files

    with chosen_engine(workers, scheduler) as engine, progress_bar() as progress:
        found = measure_files(
            table,
            other,
            tolerance=tolerance,
            seed=seed,
            roles=parse_pairs(roles, "--role"),
            engine=engine,
            progress=progress,
        )
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    console.print(
        f"\n[bold]{escape(other.name)}[/bold] beside [bold]{escape(table.name)}[/bold]: {found.n_rows:,} records\n",
        highlight=False,
    )
    if found.columns:
        console.print(_column_table(found), highlight=False)
        console.print()
    if found.texts:
        console.print(_text_table(found), highlight=False)
        console.print()
    if found.table is not None:
        console.print(_whole_table(found), highlight=False)
        console.print()
    for line in _remarks(found):
        console.print(escape(line), style="dim", highlight=False)


def _grid(*titles: str) -> Any:
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column(titles[0], overflow="fold")
    for title in titles[1:]:
        grid.add_column(title, justify="right", no_wrap=True)
    return grid


def _column_table(found: Any) -> Any:
    from rich.markup import escape

    grid = _grid("column", "correlation", "error", "breached", "baseline", "distribution")
    for c in found.columns[:_MOST_SHOWN]:
        grid.add_row(
            escape(c.name),
            _number(c.correlation, ".3f"),
            _number(c.nrmse),
            _number(c.breach, ".1%"),
            _number(c.baseline, ".1%"),
            _number(c.wasserstein),
        )
    if len(found.columns) > _MOST_SHOWN:
        grid.add_row(f"[dim]and {len(found.columns) - _MOST_SHOWN} more (see --json)[/dim]")
    return grid


def _text_table(found: Any) -> Any:
    from rich.markup import escape

    grid = _grid("column", "equal", "of values")
    for c in found.texts:
        grid.add_row(escape(c.name), _number(c.equal, ".1%"), f"{c.n_both:,}")
    return grid


def _whole_table(found: Any) -> Any:
    from rich.table import Table

    t, near = found.table, f"{found.tolerance:g} standard units"
    best = f"the best single guess for everybody does so for {_number(t.baseline, '.1%')}"
    given_away = (
        ("values breached", _number(t.value_breach, ".1%"), f"come within {near} of the private value; {best}"),
        ("records breached", _number(t.record_breach, ".1%"), f"are within {near} on average over their columns"),
        ("error", _number(t.nrmse), "of a value, in standard deviations; guessing every column's mean has 1"),
        ("relative error", _number(t.relative_error), "of a record, as a share of its length; depends on the origin"),
    )
    kept = (
        ("means", _number(t.means), "by which the columns' means are off, in standard deviations"),
        ("covariance", _number(t.covariance), "relative change of the covariance matrix"),
        ("distances", _number(t.distances), f"relative change of distances between records ({_sampled(found)})"),
        ("distribution", _number(t.wasserstein), "by which quantiles moved on average, in standard deviations"),
    )
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(style="dim")
    grid.add_row("[bold]Given away[/bold]")
    for row in given_away:
        grid.add_row(*row)
    grid.add_row()
    grid.add_row("[bold]Changed[/bold]", "", "0 is as in the private table")
    for row in kept:
        grid.add_row(*row)
    return grid


def _sampled(found: Any) -> str:
    return "all records" if found.n_sampled == found.n_rows else f"{found.n_sampled:,} sampled records"


def _number(value: float, form: str = "#.2g") -> str:
    return "–" if math.isnan(value) else format(float(value), form)


def _remarks(found: Any) -> list[str]:
    """What the tables above rest on, and what is not in them."""
    from veil.errors import listed

    lines = []
    if found.columns:
        lines.append("baseline: what the best single guess for everybody breaches. –: cannot be told.")
    if any(c.n_both < found.n_rows for c in found.columns):
        gaps = sum(found.n_rows - c.n_both for c in found.columns)
        lines.append(
            f"{gaps:,} of {found.n_rows * len(found.columns):,} numbers are missing in one of the tables and not "
            "compared; a private value that the other table lacks counts as not breached."
        )
    if any(c.unit_error > 1e-3 * c.unit for c in found.columns):
        worst = max(c.unit_error / c.unit for c in found.columns if c.unit)
        lines.append(f"Units of heavy-tailed columns, from counted quartiles, are off by {worst:.1%} at most.")
    if found.left_out:
        lines.append(f"Not compared, of different kinds in the two tables: {listed(found.left_out)}.")
    if found.absent:
        lines.append(f"Not in the other table: {listed(found.absent)}.")
    return lines
