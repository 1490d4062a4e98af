"""The owner's verbs: inspect, perturb, restore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options, resume_option
from veil.cli.options import (
    build_method,
    json_option,
    list_option,
    parse_pairs,
    passphrase,
    passphrase_option,
    role_option,
    seed_option,
    set_option,
)
from veil.cli.progress import progress_bar


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@role_option
@json_option
def inspect(table: Path, roles: tuple[str, ...], as_json: bool) -> None:
    """Show a table's columns, their kinds and roles, and what must be decided.

    \b
    Example:
      veil inspect patients.csv --role name=identifier
    """
    from veil.publishing.inspection import inspect_table

    with progress_bar() as progress:
        found = inspect_table(table, parse_pairs(roles, "--role"), progress=progress)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"\n[bold]{table.name}[/bold]: {found.n_rows:,} records × {len(found.columns)} columns\n")
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in (
        ("column", "left"),
        ("kind", "left"),
        ("role", "left"),
        ("missing", "right"),
        ("note", "left"),
    ):
        grid.add_column(name, justify=side)  # type: ignore[arg-type]
    for column in found.columns:
        role = column.role or "[bold red]decide[/bold red]"
        grid.add_row(
            _plain(column.name),
            column.kind,
            role,
            f"{column.missing:,}" if column.missing else "",
            column.note,
        )
    console.print(grid)
    console.print()
    for line in found.advice:
        console.print(f"  {_plain(line)}", highlight=False)
    if found.noise_risks:
        console.print()
        console.print(_risk_table(found))
    if found.rotation_ranges:
        console.print()
        console.print(_rotation_table(found))


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", default="plan.toml", type=click.Path(path_type=Path), help="The plan file to write.")
@role_option
def init(table: Path, output: Path, roles: tuple[str, ...]) -> None:
    """Write a commented plan for a table: roles, methods, goals and what attackers may know.

    \b
    Example:
      veil init patients.csv -o plan.toml
      veil audit patients.csv --plan plan.toml -o report.html
    """
    from veil.auditing.plan_file import draft_plan
    from veil.publishing.inspection import inspect_table
    from veil.storage.atomic import refuse_existing, write_public

    refuse_existing(output)
    with progress_bar() as progress:
        found = inspect_table(table, parse_pairs(roles, "--role"), progress=progress)
    write_public(output, draft_plan(found, table.name).encode())
    open_columns = sum(column.role is None for column in found.columns)
    click.echo(f"Plan written to {output}: {len(found.columns)} columns, {open_columns} to decide on (now: drop).")


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--method", help="For example additive-noise or orthogonal-transform.")
@click.option("--plan", "plan_file", type=click.Path(path_type=Path), help="A plan file (see veil init) instead.")
@list_option("methods")
@set_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The release folder to make.")
@click.option("--key", "new_key", type=click.Path(path_type=Path), help="The new key file to write (mode 0600).")
@click.option("--reuse-key", type=click.Path(path_type=Path), help="An existing key file to use again.")
@role_option
@click.option("--consistent-on", metavar="COLUMN", help="An id column whose unchanged cells keep their noise.")
@click.option("--shuffle", is_flag=True, help="Release the rows in a secret order.")
@click.option("--again", is_flag=True, help="Allow another release under a reused key.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["parquet", "csv", "csv.gz", "feather"]),
    help="Default: the input's.",
)
@passphrase_option
@seed_option
@resume_option
@engine_options
@json_option
def perturb(
    table: Path,
    method: str | None,
    plan_file: Path | None,
    settings: tuple[str, ...],
    output: Path,
    new_key: Path | None,
    reuse_key: Path | None,
    roles: tuple[str, ...],
    consistent_on: str | None,
    shuffle: bool,
    again: bool,
    format_: str | None,
    ask_passphrase: bool,
    allow_seed: bool,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Perturb a table: a release folder goes out, a key file stays home.

    Tables of any size: rows are read, perturbed and written in blocks, on all cores or on a cluster. A run that was
    cut short goes on with --resume.

    \b
    Example:
      veil perturb patients.csv --method additive-noise --set scale=1 \\
           --role name=drop -o release --key patients.veilkey
    """
    from veil.publishing.publish_file import publish_file

    if (method is None) == (plan_file is None):
        raise click.UsageError("give --method NAME, or --plan FILE (veil init writes one)")
    if (new_key is None) == (reuse_key is None):
        raise click.UsageError("give --key NEWKEY for a new key, or --reuse-key KEY for an old one")
    perturbation: Any
    if plan_file is not None:
        from veil.auditing.plan_file import needed_plan

        if settings:
            raise click.UsageError("--set goes with --method; a plan file has the parameters of its parts")
        perturbation = needed_plan(plan_file)
    else:
        perturbation = build_method(str(method), settings, allow_seed=allow_seed)
    remarks: list[str] = []
    with chosen_engine(workers, scheduler) as engine, progress_bar() as progress:
        release = publish_file(
            table,
            perturbation,
            output,
            new_key=new_key,
            reuse_key=reuse_key,
            passphrase=passphrase(ask_passphrase, confirm=new_key is not None),
            again=again,
            roles=parse_pairs(roles, "--role"),
            consistent_on=consistent_on,
            shuffle=shuffle,
            format=format_,
            resume=resume,
            engine=engine,
            progress=progress,
            remark=remarks.append,
        )
    manifest, key = release.manifest, new_key or reuse_key
    if as_json:
        said = {
            "release": str(output),
            "key": str(key),
            "number": manifest.release,
            "method": manifest.method,
            "remarks": remarks,
        }
        click.echo(json.dumps(said))
        return
    click.echo(f"Release {manifest.release} ({perturbation.describe()}) written to {output}")
    done = "Key written to" if new_key is not None else "Recorded in the key"
    click.echo(f"{done} {key}: keep it private. Formal guarantee: {manifest.guarantee}.")
    for sentence in remarks:
        click.echo(sentence)
    if manifest.key != "secret":
        click.echo("Warning: the key was seeded and is not secret.", err=True)


@click.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="The key file of this release.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file to write (mode 0600).")
@click.option("--partial", is_flag=True, help="Restore what can come back and leave out the rest.")
@passphrase_option
@resume_option
@engine_options
@json_option
def restore(
    release: Path,
    key: Path,
    output: Path,
    partial: bool,
    ask_passphrase: bool,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Bring the private table back from a release and its key.

    \b
    Example:
      veil restore release --key patients.veilkey -o patients-restored.csv
    """
    from veil.publishing.restore_file import restore_file

    with chosen_engine(workers, scheduler) as engine, progress_bar() as progress:
        n_rows, absent = restore_file(
            release,
            key,
            output,
            passphrase=passphrase(ask_passphrase),
            partial=partial,
            resume=resume,
            engine=engine,
            progress=progress,
        )
    said: dict[str, Any] = {"table": str(output), "rows": n_rows, "left_out": list(absent)}
    left = f" without {', '.join(map(repr, absent))}, which cannot come back" if absent else ""
    click.echo(json.dumps(said, ensure_ascii=False) if as_json else f"{n_rows:,} records restored to {output}{left}")


def _risk_table(found: Any) -> Any:
    """What an attacker would be left with if independent noise were added, worst columns first."""
    from rich.table import Table

    grid = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        title=(
            "If independent noise were added: error that the Bayes estimate leaves of normal data, in standard "
            "deviations\n(on skewed or clustered columns the mixture prior leaves less)"
        ),
        title_justify="left",
        title_style="",
    )
    grid.add_column("column")
    for level in found.noise_levels:
        grid.add_column(f"noise {level:g}", justify="right")
    grid.add_row(
        "[dim]without any correlation[/dim]", *(f"[dim]{s / (1 + s * s) ** 0.5:.2f}[/dim]" for s in found.noise_levels)
    )
    ranked = sorted(found.noise_risks, key=lambda risk: risk.errors)
    for risk in ranked[:12]:
        grid.add_row(_plain(risk.name), *(f"{error:.2f}" for error in risk.errors))
    if len(ranked) > 12:
        grid.add_row(f"[dim]and {len(ranked) - 12} more, less at risk[/dim]")
    return grid


def _rotation_table(found: Any) -> Any:
    """The security range of each pair over the full circle, as a bar of ten-degree steps."""
    import math

    from rich.table import Table

    grid = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        title=(
            f"If pairs were rotated: angles from 0° to 360° that change both columns by a variance of at least "
            f"{found.rotation_threshold:g}\n(neighbouring columns; perturb draws its own pairs. This bounds no attack)"
        ),
        title_justify="left",
        title_style="",
    )
    grid.add_column("pair")
    grid.add_column("security range", no_wrap=True)
    grid.add_column("share", justify="right")
    for pair in found.rotation_ranges[:12]:
        middles = [math.radians(10 * step + 5) for step in range(36)]
        bar = "".join("█" if any(a <= m <= b for a, b in pair.intervals) else "·" for m in middles)
        grid.add_row(_plain(f"{pair.first}, {pair.second}"), bar, f"{pair.share:.0%}")
    if len(found.rotation_ranges) > 12:
        grid.add_row(f"[dim]and {len(found.rotation_ranges) - 12} more pairs[/dim]")
    return grid


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
