"""The privacy officer's verbs: demo, audit, advise."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from veil.cli.options import (
    KnowledgeCommand,
    build_method,
    goal_options,
    granted_options,
    json_option,
    list_option,
    numbers,
    one_number,
    parse_pairs,
    role_option,
    run_options,
    seed_option,
    set_option,
)
from veil.cli.progress import progress_bar


@click.command()
@click.option(
    "-o", "--output", default="veil-report.html", type=click.Path(path_type=Path), help="The report to write."
)
@json_option
def demo(output: Path, as_json: bool) -> None:
    """Run the whole loop on a real table: 569 patients × 30 measurements.

    Three candidate perturbations, every attack that applies, scores and a report. No network, no
    configuration.
    """
    from veil.auditing.demo import run_demo

    with progress_bar() as progress:
        found = run_demo(progress=progress)
    _deliver(found, output, as_json=as_json)


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
    type=click.Path(path_type=Path),
    help="An earlier release (a folder) that the attacker has; may be given many times.",
)
@list_option("methods")
@set_option
@role_option
@goal_options
@click.option("--attack", "attacks", multiple=True, help="Only these attacks. Default: all that apply.")
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    help="Runs of an attack at most. Default: 10, or 80 with --release.",
)
@run_options
@click.option("--cache/--no-cache", default=True, help="Remember results (mode 0600), so that a second run is instant.")
@seed_option
@json_option
def audit(table: Path, methods: tuple[str, ...], settings: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Perturb, attack and judge a table: exit code 0 when every goal holds, 3 when one fails.

    Knowledge is swept: nothing, 1, 2, 5 and as many known records as columns, samples of 0.5, 2 and 10 %, a known
    column, known ranges, an external table (of columns with the role quasi), and the leaked matrix.

    \b
    Example:
      veil audit patients.csv --method additive-noise:scale=1 --method orthogonal-transform \\
           --role diagnosis=public -o report.html
      veil audit patients.csv --release from_elsewhere.csv --match patient_id -o report.html
    """
    from veil.auditing import audit as run_audit

    _check_output(options["output"])
    foreign = options["release"]
    if not methods and options["plan_file"] is None and foreign is None:
        raise click.UsageError("give --method NAME, --plan FILE (veil init writes one), or --release FILE")
    if (len(methods) > 1 or not methods) and settings:
        raise click.UsageError("with several methods, write parameters inline: --method additive-noise:scale=1")
    candidates: list[Any] = [build_method(m, settings, allow_seed=options["allow_seed"]) for m in methods]
    plan, setting = _setting(options)
    if plan is None and not candidates and options["plan_file"] is not None:
        from veil.auditing.plan_file import needed_plan

        needed_plan(options["plan_file"])
    candidates = [*([plan] if plan is not None else []), *candidates]
    with progress_bar() as progress:
        found = run_audit(
            table,
            candidates or None,
            release=foreign,
            match=None if options["match"] == "none" else options["match"],
            previous=list(options["previous"]),
            attacks=list(options["attacks"]) or "all",
            repetitions=options["repetitions"],
            cache=options["cache"],
            progress=progress,
            **setting,
        )
    _deliver(found, options["output"], as_json=as_json, internal=options["internal"])
    remembered = found.context["remembered"]
    if remembered and not as_json:
        click.echo(f"{remembered:,} runs were remembered from an earlier audit (--no-cache runs them again).")
    _exit(found.passed)


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

    _check_output(options["output"])
    _, setting = _setting(options)
    chosen: list[Any] = [m if m in _searched() else build_method(m, (), allow_seed=False) for m in methods]
    with progress_bar() as progress:
        found = run_advise(table, chosen or None, progress=progress, **setting)
    _deliver(found, options["output"], as_json=as_json, internal=options["internal"])
    _exit(found.possible)


def _searched() -> list[str]:
    from veil.auditing.advice.families import NUMERIC

    return [family.name for family in NUMERIC]


def _setting(options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The plan of a plan file, if any, and what audits and advice have in common; options win over the file."""
    from veil.attacks.knowledge import grantable
    from veil.auditing.plan_file import load_plan

    given = {name: _amounts(options[name], f"--{name}", kind.unit) for name, kind in grantable().items()}
    given["sample_from"] = options["sample_from"]
    utility = {
        k: one_number(v, "--min-utility") for k, v in parse_pairs(options["min_utility"], "--min-utility").items()
    }
    wanted = {
        "max_advantage": options["max_advantage"],
        "tolerance": options["tolerance"],
        "min_utility": utility or None,
        "against": list(options["against"]) or None,
    }
    file = None
    if options["plan_file"] is not None:
        file = load_plan(options["plan_file"])
    roles = parse_pairs(options["roles"], "--role")
    return (file.plan if file else None), {
        "grants": _over(file.grants if file else None, given, "sweep"),
        "goals": _over(file.goals if file else None, wanted, None),
        "roles": {**(file.roles if file else {}), **roles},
        "target": options["target"],
        "seed": options["seed"],
        "budget": options["budget"],
        "workers": options["workers"],
    }


def _over(said: Any, given: dict[str, Any], kind: str | None) -> Any:
    """Grants or goals as a file says, or their defaults, with what the command line says instead."""
    from dataclasses import replace

    from veil.auditing import Goals, Grants

    settings = {name: value for name, value in given.items() if value is not None}
    if kind == "sweep":
        return (said or Grants.sweep()).replaced(**settings)
    return replace(said or Goals(), **settings)


def _amounts(value: Any, option: str, unit: str) -> Any:
    """Amounts of knowledge as the command line says them: shares, or whole numbers and "d" for as many as columns."""
    if value is None or isinstance(value, bool):
        return value
    if unit == "share":
        return numbers(value, option, float)
    parts = [part.strip() for part in value.split(",") if part.strip()]
    return (*numbers(",".join(p for p in parts if p != "d"), option, int), *(p for p in parts if p == "d"))


def _check_output(output: Path | None) -> None:
    if output is not None and output.suffix not in (".html", ".json"):
        raise click.UsageError(f"-o takes a name ending in .html or .json; got {output.name!r}")
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise click.UsageError(f"-o: {output} cannot be written; its folder must be there, and it must not be one")


def _deliver(found: Any, output: Path | None, *, as_json: bool, internal: bool = False) -> None:
    """Write the report where one is wanted, and print it."""
    if output is not None:
        write = found.to_html if output.suffix == ".html" else found.to_json
        write(output, internal=internal)
    from veil.report import as_json as to_json
    from veil.report import print_report

    if as_json:
        click.echo(to_json(found.model()), nl=False)
        return
    from rich.console import Console

    print_report(found.model(), Console())
    if output is not None:
        click.echo(f"Report written to {output}")


def _exit(good: bool) -> None:
    if not good:
        sys.stdout.flush()
        raise click.exceptions.Exit(3)
