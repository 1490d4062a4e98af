"""The red team's verb: attack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options, resume_option
from veil.cli.options import (
    KnowledgeCommand,
    build,
    json_option,
    known_options,
    list_option,
    parse_pairs,
    set_option,
)
from veil.cli.progress import progress_bar


@click.command(cls=KnowledgeCommand, known=known_options)
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--attack", "name", required=True, help="For example known-pairs or bayes-estimate.")
@list_option("attacks")
@set_option
@click.option("--part", type=click.IntRange(min=1), help="Which part of a release made by a plan, from 1.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The guess to write (mode 0600).")
@resume_option
@engine_options
@json_option
def attack(
    release: Path,
    name: str,
    settings: tuple[str, ...],
    output: Path,
    as_json: bool,
    part: int | None,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    **known: Any,
) -> None:
    """Attack a release with what is known, and write the guess.

    \b
    Example:
      veil attack release --attack known-pairs --known-pairs known.csv -o guess.csv
      veil attack --list
    """
    from veil.attacks import find_attack
    from veil.attacks.folders import KnowledgeFiles, attack_folder

    files = KnowledgeFiles(**known)
    tool = build(find_attack(name), parse_pairs(settings, "--set"), allow_seed=True)
    with chosen_engine(workers, scheduler) as engine, progress_bar() as progress:
        guess = attack_folder(release, tool, output, files, part, resume=resume, engine=engine, progress=progress)
    n_rows, n_columns = guess.n_rows, len(guess.columns)
    links = guess.details.get("links")
    n_linked = 0 if links is None else int((links >= 0).sum())
    if as_json:
        said = {
            "guess": str(output),
            "rows": n_rows,
            "columns": list(guess.columns),
            "ambiguity": guess.ambiguity,
        }
        if links is not None:
            said["links"] = n_linked
        click.echo(json.dumps(said, ensure_ascii=False))
        return
    done = f"{n_rows:,} records × {n_columns} columns guessed"
    if links is not None:
        done = f"{n_linked:,} of {len(links):,} people linked to rows of the release"
    click.echo(f"{tool.attack_name()} ({tool.catalogue}): {done}, written to {output}")
    for kind in files.given():
        if kind not in (*tool.requires, *tool.uses):
            click.echo(f"{tool.attack_name()} makes no use of {kind.option()}.", err=True)
    if guess.details.get("misfit", 0.0) > 1e-3:
        click.echo(
            "Warning: the known records do not fit their rows (they differ by "
            f"{guess.details['misfit']:.0%}); are rows counted from 0, columns right, and rows not shuffled?",
            err=True,
        )
    if guess.ambiguity != "none":
        click.echo(f"Not settled by the attack: {guess.ambiguity}.")
    click.echo("How good the guess is, only the owner can tell: veil measure, or veil audit.")
