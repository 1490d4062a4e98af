"""``veil restore``."""

from __future__ import annotations

from pathlib import Path

import click

from veil.cli.engines import chosen_engine, engine_options, resume_option
from veil.cli.options import json_option, passphrase, passphrase_option
from veil.cli.printing import print_json, print_line
from veil.errors import listed


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

    with chosen_engine(workers, scheduler) as engine:
        restored = restore_file(
            release,
            key,
            output,
            passphrase=passphrase(ask_passphrase),
            partial=partial,
            resume=resume,
            engine=engine,
            progress=True,
        )
    if as_json:
        summary = {"table": str(output), "rows": restored.n_rows, "left_out": list(restored.left_out)}
        print_json(summary, indent=None)
        return
    absent = f" without {listed(restored.left_out)}, which cannot come back" if restored.left_out else ""
    print_line(f"{restored.n_rows:,} records restored to {output}{absent}")
