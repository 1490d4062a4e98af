"""``veil advise``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.audits import deliver, exit_with, goal_options, run_options, setting
from veil.cli.knowledge import KnowledgeCommand, granted_options
from veil.cli.options import json_option, role_option
from veil.cli.printing import check_page, print_line
from veil.cli.settings import build_method
from veil.cli.tables import cells, declared, table_options


@click.command(cls=KnowledgeCommand, known=granted_options)
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="Choose from these: additive-noise, correlated-noise, multiplicative-noise, log-normal-noise (searched), or "
    "NAME:param=value (as it is).",
)
@click.option(
    "--plan",
    "--goals",
    "plan_file",
    type=click.Path(path_type=Path),
    help="A plan file: roles, goals, grants, and what is kept: a secret order of rows, the methods of named columns.",
)
@click.option(
    "--shuffle/--keep-order",
    default=None,
    help="Release the rows in a secret order, or in their own. Default: a secret one where the order tells something.",
)
@click.option(
    "--write-plan",
    type=click.Path(path_type=Path),
    help="A plan file to write with what is recommended, for veil perturb and veil audit.",
)
@role_option
@table_options
@goal_options
@run_options
@json_option
def advise(table: Path, methods: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Say which method, and how strong, keeps every goal at the best utility.

    Exit code 0 with a recommendation, 3 when no method keeps every goal (the nearest miss is named).

    \b
    Example:
      veil advise patients.csv --role name=drop --min-utility covariance=0.9 -o advice.html --write-plan advised.toml
    """
    from veil.auditing.advice import advise as run_advise
    from veil.auditing.advice.families import NUMERIC

    check_page(options["output"])
    if options["write_plan"] is not None:
        from veil.storage.atomic import refuse_existing

        refuse_existing(options["write_plan"])
    plan, common = setting(options)
    said = cells(dict(options), options["plan_file"])
    private = declared(table, options, options["plan_file"])
    searched = [family.name for family in NUMERIC]
    candidates: list[Any] = [m if m in searched else build_method(m, (), allow_seed=False) for m in methods]
    advice = run_advise(private, candidates or None, shuffle=options["shuffle"], plan=plan, progress=True, **common)
    deliver(advice, options["output"], as_json=as_json, internal=options["internal"])
    if options["write_plan"] is not None and advice.recommendation is not None:
        from veil.auditing.plan_file import write_plan
        from veil.publishing.plan import as_plan

        advised, path = as_plan(advice.recommendation), options["write_plan"]
        heading = f"Recommended by veil advise for {table.name}: {advised.describe()}."
        write_plan(path, advised, roles=common["roles"], goals=common["goals"], heading=heading, **said)
        if not as_json:
            print_line(f"Plan written to {path}: veil perturb {table} --plan {path} -o RELEASE --key NEWKEY")
    exit_with(advice.possible)
