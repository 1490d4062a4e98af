"""The red team's verbs: demo, attack, audit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from veil.cli.options import (
    build,
    build_method,
    json_option,
    known_file,
    list_option,
    numbers,
    one_number,
    parse_pairs,
    role_option,
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
    from veil.demonstration import run_demo

    with progress_bar() as progress:
        found = run_demo(progress=progress)
    found.to_html(output)
    _print(found, as_json)
    if not as_json:
        click.echo(f"Report written to {output}")


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--attack", "name", required=True, help="For example known-pairs or bayes-estimate.")
@list_option("attacks")
@set_option
@known_file("--known-pairs", "Known records, with a column 'row' (from 0).")
@known_file("--known-records", "Known records whose rows are not known.")
@known_file("--known-sample", "Records of the same population.")
@known_file("--known-attributes", "Columns known of every record, in the release's order.")
@known_file("--known-ranges", "Two rows: least and greatest value of each column.")
@known_file("--known-matrix", "The secret matrix, if it leaked.")
@known_file("--known-noise", "Covariance of the noise, if not published.")
@click.option("--part", type=click.IntRange(min=1), help="Which part of a release made by a plan, from 1.")
@click.option("--independent-signals", is_flag=True, help="Assume that the private columns are independent.")
@click.option("--time-order", is_flag=True, help="Assume that rows are in the order of time.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The guess to write (mode 0600).")
@json_option
def attack(
    release: Path,
    name: str,
    settings: tuple[str, ...],
    output: Path,
    as_json: bool,
    part: int | None,
    **known: Any,
) -> None:
    """Attack a release with what is known, and write the guess.

    \b
    Example:
      veil attack release --attack known-pairs --known-pairs known.csv -o guess.csv
      veil attack --list
    """
    from veil.attacks import find_attack
    from veil.redteam import KnowledgeFiles, attack_folder

    files = KnowledgeFiles(**known)
    tool = build(find_attack(name), parse_pairs(settings, "--set"), allow_seed=True)
    guess = attack_folder(release, tool, output, files, part)
    n_rows, n_columns = guess.values.shape
    if as_json:
        said = {
            "guess": str(output),
            "rows": n_rows,
            "columns": list(guess.columns),
            "ambiguity": guess.ambiguity,
        }
        click.echo(json.dumps(said, ensure_ascii=False))
        return
    click.echo(
        f"{tool.attack_name()} ({tool.catalogue}): {n_rows:,} records × {n_columns} columns guessed, written to "
        f"{output}"
    )
    for option in files.given():
        if option not in [kind.option() for kind in (*tool.requires, *tool.uses)]:
            click.echo(f"{tool.attack_name()} makes no use of {option}.", err=True)
    if guess.details.get("misfit", 0.0) > 1e-3:
        click.echo(
            "Warning: the known records do not fit their rows (they differ by "
            f"{guess.details['misfit']:.0%}); are rows counted from 0, columns right, and rows not shuffled?",
            err=True,
        )
    if guess.ambiguity != "none":
        click.echo(f"Not settled by the attack: {guess.ambiguity}.")
    click.echo("How good the guess is, only the owner can tell: veil audit.")


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="NAME or NAME:param=value,...; many compare candidates.",
)
@click.option("--plan", "plan_file", type=click.Path(path_type=Path), help="A plan file: candidate, goals and grants.")
@list_option("methods")
@set_option
@role_option
@click.option("--pairs", default="1,5", show_default=True, help="Numbers of known records.")
@click.option("--sample", default="0.02", show_default=True, help="Shares of a known sample.")
@click.option("--records", default="", help="Numbers of known records without their rows.")
@click.option("--ranges", is_flag=True, help="Grant each column's least and greatest value.")
@click.option("--matrix", is_flag=True, help="Grant the secret matrix: the key has leaked.")
@click.option("--sample-from", default="population", type=click.Choice(["population", "table"]), show_default=True)
@click.option("--max-advantage", default=0.05, show_default=True, help="Goal: the most an attack may gain.")
@click.option("--tolerance", default=0.1, show_default=True, help="Goal: nearness of a breach, in standard units.")
@click.option("--min-utility", multiple=True, metavar="NAME=VALUE", help="Goal, e.g. distances=0.9.")
@click.option("--against", multiple=True, help="Knowledge that counts, by kind or label. Default: all.")
@click.option("--target", metavar="COLUMN", help="A public column that analysts want to predict.")
@click.option("--attack", "attacks", multiple=True, help="Only these attacks. Default: all that apply.")
@click.option("--repetitions", default=10, show_default=True, help="Runs, at most, of attacks on one matrix.")
@click.option("--seed", type=click.IntRange(min=0), help="Make the audit reproducible.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Report to write: .html or .json.")
@click.option("--internal", is_flag=True, help="Confidential edition with single records, mode 0600.")
@seed_option
@json_option
def audit(table: Path, methods: tuple[str, ...], settings: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Perturb, attack and judge a table: exit code 0 when every goal holds, 3 when one fails.

    \b
    Example:
      veil audit patients.csv --method additive-noise:scale=1 --method orthogonal-transform \\
           --role diagnosis=public --pairs 1,5,30 -o report.html
    """
    from veil.auditing import Goals, Grants
    from veil.auditing import audit as run_audit

    output: Path | None = options["output"]
    if output is not None and output.suffix not in (".html", ".json"):
        raise click.UsageError(f"-o takes a name ending in .html or .json; got {output.name!r}")
    if not methods and options["plan_file"] is None:
        raise click.UsageError("give --method NAME, or --plan FILE (veil init writes one)")
    if (len(methods) > 1 or not methods) and settings:
        raise click.UsageError("with several methods, write parameters inline: --method additive-noise:scale=1")
    utility = {
        k: one_number(v, "--min-utility") for k, v in parse_pairs(options["min_utility"], "--min-utility").items()
    }
    candidates = [build_method(m, settings, allow_seed=options["allow_seed"]) for m in methods]
    grants = Grants(
        pairs=numbers(options["pairs"], "--pairs", int),
        sample=numbers(options["sample"], "--sample", float),
        sample_from=options["sample_from"],
        records=numbers(options["records"], "--records", int),
        ranges=options["ranges"],
        matrix=options["matrix"],
    )
    goals = Goals(
        max_advantage=options["max_advantage"],
        tolerance=options["tolerance"],
        min_utility=utility,
        against=list(options["against"]) or None,
    )
    roles = parse_pairs(options["roles"], "--role")
    if options["plan_file"] is not None:
        from veil.planfile import load_plan

        file = load_plan(options["plan_file"])
        candidates, goals, grants = [file.plan, *candidates], file.goals, file.grants
        roles = {**file.plan.roles, **roles}
    with progress_bar() as progress:
        found = run_audit(
            table,
            candidates,
            attacks=list(options["attacks"]) or "all",
            grants=grants,
            goals=goals,
            roles=roles,
            target=options["target"],
            repetitions=options["repetitions"],
            seed=options["seed"],
            progress=progress,
        )
    if output is not None:
        write = found.to_html if output.suffix == ".html" else found.to_json
        write(output, internal=options["internal"])
    _print(found, as_json)
    if output is not None and not as_json:
        click.echo(f"Report written to {output}")
    if not found.passed:
        sys.stdout.flush()
        raise click.exceptions.Exit(3)


def _print(found: Any, as_json_wanted: bool) -> None:
    from veil.report import as_json, print_report

    if as_json_wanted:
        click.echo(as_json(found.model()), nl=False)
        return
    from rich.console import Console

    print_report(found.model(), Console())
