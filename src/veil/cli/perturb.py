"""``veil perturb``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options, resume_option
from veil.cli.options import (
    json_option,
    list_option,
    passphrase,
    passphrase_option,
    role_option,
    seed_option,
    set_option,
)
from veil.cli.printing import print_json, print_line
from veil.cli.settings import build_method, parse_pairs
from veil.cli.tables import declared, table_options


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
@table_options
@click.option("--consistent-on", metavar="COLUMN", help="An id column whose unchanged cells keep their noise.")
@click.option(
    "--shuffle/--keep-order",
    default=None,
    help="Release the rows in a secret order, or in their own. Default: as the plan says, else in their own.",
)
@click.option("--again", is_flag=True, help="Allow another release under a reused key.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["parquet", "csv", "csv.gz", "feather", "xlsx"]),
    help="Default: the input's; CSV for files that are only read.",
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
    ask_passphrase: bool,
    allow_seed: bool,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
    **options: Any,
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
    perturbation = _perturbation(method, plan_file, settings, allow_seed=allow_seed)
    private = declared(table, options, plan_file)
    remarks: list[str] = []
    with chosen_engine(workers, scheduler) as engine:
        release = publish_file(
            private,
            perturbation,
            output,
            new_key=new_key,
            reuse_key=reuse_key,
            passphrase=passphrase(ask_passphrase, confirm=new_key is not None),
            roles=parse_pairs(options.pop("roles"), "--role"),
            format=options.pop("format_"),
            engine=engine,
            progress=True,
            remark=remarks.append,
            **options,
        )
    manifest, key = release.manifest, new_key or reuse_key
    if as_json:
        summary = {"release": str(output), "key": str(key), "number": manifest.release, "method": manifest.method}
        print_json({**summary, "remarks": remarks}, indent=None)
        return
    print_line(f"Release {manifest.release} ({perturbation.describe()}) written to {output}")
    done = "Key written to" if new_key is not None else "Recorded in the key"
    print_line(f"{done} {key}: keep it private. Formal guarantee: {manifest.guarantee}.")
    for sentence in remarks:
        print_line(sentence)
    if manifest.key != "secret":
        print_line("Warning: the key was seeded and is not secret.", err=True)


def _perturbation(method: str | None, plan_file: Path | None, settings: tuple[str, ...], *, allow_seed: bool) -> Any:
    if plan_file is None:
        return build_method(str(method), settings, allow_seed=allow_seed)
    from veil.auditing.plan_file import needed_plan

    if settings:
        raise click.UsageError("--set goes with --method; a plan file has the parameters of its parts")
    return needed_plan(plan_file)
