"""``veil audit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.audits import deliver, exit_with, goal_options, run_options, setting
from veil.cli.knowledge import KnowledgeCommand, granted_options
from veil.cli.options import json_option, list_option, role_option, seed_option, set_option
from veil.cli.printing import check_page, print_line
from veil.cli.settings import build_method
from veil.cli.tables import also_declared, declared, table_options


@click.command(cls=KnowledgeCommand, known=granted_options)
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="NAME or NAME:param=value,...; many compare candidates.",
)
@click.option("--plan", "plan_file", type=click.Path(path_type=Path), help="A plan file: candidate, goals and grants.")
@click.option(
    "--release",
    type=click.Path(path_type=Path),
    help="A release made elsewhere, to be audited; --method then describes how it was made.",
)
@click.option(
    "--match",
    default="order",
    show_default=True,
    help="Whose row is whose in --release: order, a column of both, or none.",
)
@click.option(
    "--previous",
    multiple=True,
    metavar="FOLDER[=TABLE]",
    help="An earlier release that the attacker has, and the private table it was made of; may be given many times.",
)
@click.option(
    "--previous-id",
    metavar="COLUMN",
    help="The column that names a person in TABLE and in the tables of --previous; it need not be released.",
)
@click.option("--shuffle", is_flag=True, help="Audit each --method with its rows released in a secret order.")
@list_option("methods")
@set_option
@role_option
@table_options
@goal_options
@click.option("--attack", "attacks", multiple=True, help="Only these attacks. Default: all that apply.")
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    help="Runs of an attack at most. Default: 10, or 80 with --release.",
)
@run_options
@click.option("--cache/--no-cache", default=True, help="Remember results (mode 0600), so that a second run is instant.")
@click.option(
    "--first-break", is_flag=True, help="Stop at the first attack that breaks a goal (exit code 3), e.g. in a pipeline."
)
@seed_option
@json_option
def audit(table: Path, methods: tuple[str, ...], settings: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Perturb, attack and judge a table: exit code 0 when every goal holds, 3 when one fails.

    Every kind of knowledge is tried: nothing, 1, 2, 5 and as many known records as columns, samples of 0.5, 2 and
    10 %, a known column, known ranges, an external table (of columns with the role quasi or public), and the leaked
    matrix.

    \b
    Example:
      veil audit patients.csv --method additive-noise:scale=1 --method orthogonal-transform \\
           --role diagnosis=public -o report.html
      veil audit patients.csv --release from_elsewhere.csv --match patient_id -o report.html
    """
    from veil.auditing import audit as run_audit

    check_page(options["output"])
    foreign = options["release"]
    if not methods and options["plan_file"] is None and foreign is None:
        raise click.UsageError("give --method NAME, --plan FILE (veil init writes one), or --release FILE")
    if (len(methods) > 1 or not methods) and settings:
        raise click.UsageError("with several methods, write parameters inline: --method additive-noise:scale=1")
    candidates: list[Any] = [build_method(m, settings, allow_seed=options["allow_seed"]) for m in methods]
    if options["shuffle"]:
        candidates = [_shuffled(candidate, foreign) for candidate in candidates]
    plan, common = setting(options)
    if plan is None and not candidates and options["plan_file"] is not None:
        from veil.auditing.plan_file import needed_plan

        needed_plan(options["plan_file"])
    released = None if foreign is None else also_declared(foreign, options, options["plan_file"])
    private = declared(table, options, options["plan_file"])
    candidates = [*([plan] if plan is not None else []), *candidates]
    answer = run_audit(
        private,
        candidates or None,
        release=released,
        match=None if options["match"] == "none" else options["match"],
        previous=[_previous(given) for given in options["previous"]],
        previous_id=options["previous_id"],
        attacks=list(options["attacks"]) or "all",
        repetitions=options["repetitions"],
        cache=options["cache"],
        first_break=options["first_break"],
        progress=True,
        **common,
    )
    deliver(answer, options["output"], as_json=as_json, internal=options["internal"])
    remembered = answer.context["remembered"]
    if remembered and not as_json:
        print_line(f"{remembered:,} runs were remembered from an earlier audit (--no-cache runs them again).")
    exit_with(answer.passed)


def _previous(given: str) -> Path | tuple[Path, Path]:
    """A folder, or a folder and the private table that its release was made of."""
    folder, separator, table = given.partition("=")
    return Path(given) if not separator or Path(given).exists() else (Path(folder), Path(table))


def _shuffled(candidate: Any, foreign: Path | None) -> Any:
    from veil.publishing.plan import as_plan

    if foreign is not None:
        raise click.UsageError("--shuffle goes with --method alone: the rows of --release have their order already")
    return as_plan(candidate).shuffled()
