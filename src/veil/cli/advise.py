"""``veil advise``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.audits import deliver, exit_with, goal_options, run_options, setting
from veil.cli.knowledge import KnowledgeCommand, granted_options
from veil.cli.options import json_option, role_option
from veil.cli.printing import check_page
from veil.cli.progress import progress_bar
from veil.cli.settings import build_method


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
    "--plan", "--goals", "plan_file", type=click.Path(path_type=Path), help="A plan file: roles, goals and grants."
)
@click.option(
    "--shuffle/--keep-order",
    default=None,
    help="Release the rows in a secret order, or in their own. Default: a secret one where the order tells something.",
)
@role_option
@goal_options
@run_options
@json_option
def advise(table: Path, methods: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Say which method, and how strong, keeps every goal at the best utility.

    Exit code 0 with a recommendation, 3 when no method keeps every goal (the nearest miss is named).

    \b
    Example:
      veil advise patients.csv --role name=drop --max-advantage 0.05 --min-utility covariance=0.9 -o advice.html
    """
    from veil.auditing.advice import advise as run_advise
    from veil.auditing.advice.families import NUMERIC

    check_page(options["output"])
    _, common = setting(options)
    searched = [family.name for family in NUMERIC]
    candidates: list[Any] = [m if m in searched else build_method(m, (), allow_seed=False) for m in methods]
    with progress_bar() as progress:
        advice = run_advise(table, candidates or None, shuffle=options["shuffle"], progress=progress, **common)
    deliver(advice, options["output"], as_json=as_json, internal=options["internal"])
    exit_with(advice.possible)
