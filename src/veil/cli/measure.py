"""``veil measure``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options
from veil.cli.options import json_option, role_option
from veil.cli.printing import print_json, terminal
from veil.cli.settings import parse_pairs
from veil.cli.tables import also_declared, declared, table_options


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@role_option
@table_options
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
    **options: Any,
) -> None:
    """Compare a private table with a guess, a restored table or a release of the same records.

    Columns are found by name, records by their order. Neither file is loaded: they may be larger than memory.

    \b
    Example:
      veil attack release --attack bayes-estimate -o guess.parquet
      veil measure patients.csv guess.parquet --role name=drop
    """
    from veil.auditing.comparison import measure as run_measure

    with chosen_engine(workers, scheduler) as engine:
        compared = also_declared(other, options)
        measures = run_measure(
            declared(table, options),
            compared,
            tolerance=tolerance,
            seed=seed,
            roles=parse_pairs(roles, "--role"),
            engine=engine,
            progress=True,
        )
    if as_json:
        print_json(measures.to_dict())
        return
    from veil.report.measured import print_measures

    print_measures(measures, table.name, other.name, terminal())
