"""``veil init``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.options import role_option
from veil.cli.printing import print_line
from veil.cli.settings import parse_pairs
from veil.cli.tables import cells, declared, table_options


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", default="plan.toml", type=click.Path(path_type=Path), help="The plan file to write.")
@role_option
@table_options
def init(table: Path, output: Path, roles: tuple[str, ...], **options: Any) -> None:
    """Write a commented plan for a table: proposed roles with their reasons, methods, goals, and attackers.

    \b
    Example:
      veil init patients.csv -o plan.toml
      veil audit patients.csv --plan plan.toml -o report.html
    """
    from veil.auditing.plan_draft import DECIDE, init_file
    from veil.report.words import few

    said = cells(dict(options))
    private = declared(table, options)
    inspection = init_file(private, output, roles=parse_pairs(roles, "--role"), progress=True, **said)
    undecided = [each.column for each in inspection.proposals if not each.sure]
    print_line(f"Plan written to {output}: {len(inspection.columns)} columns, {len(undecided)} to decide on.")
    if undecided:
        print_line(f"They are marked {DECIDE}: {few(undecided)}. Until then they are dropped, or hidden by noise.")
