"""``veil recover``."""

from __future__ import annotations

from pathlib import Path

import click

from veil.cli.engines import chosen_engine, engine_options
from veil.cli.options import json_option
from veil.cli.printing import check_page, print_json, print_line, terminal


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Page to write, with densities: .html or .json.")
@click.option("--bins", default=100, show_default=True, type=click.IntRange(2, 10_000), help="Bins of each density.")
@click.option(
    "--weights",
    metavar="COLUMN",
    help="Public column of how many people each record stands for; the one with the role weight by default.",
)
@click.option("--unweighted", is_flag=True, help="Count every record once, also if the release has weights.")
@click.option(
    "--regress",
    "regressions",
    multiple=True,
    metavar="FORMULA",
    help="A regression, as 'income ~ age + hours'; a category is 'sex=F'. May be given many times.",
)
@engine_options
@json_option
def recover(
    release: Path,
    output: Path | None,
    bins: int,
    weights: str | None,
    unweighted: bool,
    regressions: tuple[str, ...],
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Estimate means, covariances, distributions and regressions of the private table from its release.

    \b
    Example:
      veil recover release -o recovered.html
      veil recover release --regress "income ~ age + hours"
    """
    from veil.recovery.folders import recover as run_recover
    from veil.report.recovered_page import write_recovered
    from veil.storage.json_values import json_value

    check_page(output)
    if weights is not None and unweighted:
        raise click.UsageError("--weights and --unweighted exclude each other")
    with chosen_engine(workers, scheduler) as engine:
        recovered = run_recover(
            release,
            n_bins=bins,
            weights=False if unweighted else weights,
            regressions=regressions,
            engine=engine,
        )
    if output is not None:
        write_recovered(recovered, output)
    if as_json:
        print_json(json_value(recovered.to_dict()))
        return
    from veil.report.recovered_text import print_recovered

    print_recovered(recovered, terminal())
    if output is not None:
        print_line(f"Page written to {output}")
