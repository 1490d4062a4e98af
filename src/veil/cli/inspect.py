"""``veil inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.options import json_option, role_option
from veil.cli.printing import print_json, terminal
from veil.cli.settings import parse_pairs
from veil.cli.tables import declared, table_options


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@role_option
@table_options
@click.option("--risk", is_flag=True, help="Also what noise and rotations would leave, by theory.")
@json_option
def inspect(table: Path, roles: tuple[str, ...], risk: bool, as_json: bool, **options: Any) -> None:
    """Show what must be decided about a table: roles, codes, gaps, tails, order, groups and keys.

    \b
    Example:
      veil inspect patients.csv --role name=identifier
    """
    from veil.publishing.inspection import inspect as run_inspect

    inspection = run_inspect(declared(table, options), roles=parse_pairs(roles, "--role"), progress=True)
    if as_json:
        print_json(inspection.to_dict())
        return
    from veil.report.inspected import print_inspection

    print_inspection(inspection, table.name, terminal(), risk=risk)
