"""The analyst's verb: recover."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options
from veil.cli.options import json_option


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Page to write, with densities: .html or .json.")
@click.option("--bins", default=100, show_default=True, type=click.IntRange(2, 10_000), help="Bins of each density.")
@engine_options
@json_option
def recover(
    release: Path, output: Path | None, bins: int, workers: int | None, scheduler: str | None, as_json: bool
) -> None:
    """Estimate means, covariances and distributions of the private table from its release.

    \b
    Example:
      veil recover release -o recovered.html
    """
    from veil.recovery.folders import recover_folder
    from veil.report.recovered import recovered_page
    from veil.storage.atomic import write_public

    if output is not None and output.suffix not in (".html", ".json"):
        raise click.UsageError(f"-o takes a name ending in .html or .json; got {output.name!r}")
    with chosen_engine(workers, scheduler) as engine:
        view = recover_folder(release, n_bins=bins, engine=engine)
    plain = json.dumps(view.to_dict(), indent=2, ensure_ascii=False)
    if output is not None:
        content = recovered_page(view) if output.suffix == ".html" else plain
        write_public(output, content.encode("utf-8", errors="backslashreplace"), replace=True)
    if as_json:
        click.echo(plain)
        return
    from rich.console import Console

    console = Console()
    console.print(f"\nRelease {view.release}, {view.method}, {view.n_rows:,} records\n", highlight=False)
    for column in view.proportions:
        console.print(_share_table(column))
    if not view.columns:
        if output is not None:
            click.echo(f"Page written to {output}")
        return
    console.print(_moment_table(view))
    console.print("± is two standard errors: of this table's own moments, and of the population's.", style="dim")
    if all(column.quantiles for column in view.columns):
        console.print(_quantile_table(view))
    else:
        console.print("Distributions are recovered from additive noise only; this release has another kind.\n")
    if view.covariance:
        console.print(_covariance_table(view))
    if output is not None:
        click.echo(f"Page written to {output}")


def _share_table(column: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column(escape(column.name))
    for name in ("share", "± table", "± population"):
        grid.add_column(name, justify="right")
    for category, *numbers in column.shares:
        grid.add_row(escape(category), *(f"{number:.1%}" for number in numbers))
    return grid


def _moment_table(view: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("column")
    for name in ("mean", "± table", "± population", "std", "±"):
        grid.add_column(name, justify="right")
    for c in view.columns:
        numbers = (c.mean, c.mean_half, c.mean_half_total, c.std, c.std_half)
        grid.add_row(escape(c.name), *(f"{number:.4g}" for number in numbers))
    return grid


def _quantile_table(view: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    from veil.report.recovered import span

    grid = Table(title="\nQuantiles, with a 95 % interval that holds for all of them at once", title_justify="left")
    grid.box, grid.pad_edge, grid.header_style, grid.title_style = None, False, "bold", ""
    grid.add_column("column")
    for q, *_ in view.columns[0].quantiles:
        grid.add_column(f"{q:.0%}", justify="right")
    for c in view.columns:
        grid.add_row(escape(c.name), *(f"{x:.4g}\n[dim]{span(low, high)}[/dim]" for _, x, low, high in c.quantiles))
    return grid


def _covariance_table(view: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    shown = min(len(view.columns), 6)
    title = "Covariances ± two standard errors" + (f" (first {shown} columns)" if shown < len(view.columns) else "")
    grid = Table(
        box=None, pad_edge=False, header_style="bold", title=f"\n{title}", title_justify="left", title_style=""
    )
    grid.add_column("")
    for column in view.columns[:shown]:
        grid.add_column(escape(column.name), justify="right")
    for i, column in enumerate(view.columns[:shown]):
        pairs = zip(view.covariance[i][:shown], view.covariance_half[i][:shown], strict=True)
        grid.add_row(escape(column.name), *(f"{value:.3g} ± {half:.1g}" for value, half in pairs))
    return grid
