"""``veil attack``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from veil.cli.engines import chosen_engine, engine_options, resume_option
from veil.cli.knowledge import KnowledgeCommand, known_options
from veil.cli.options import json_option, list_option, set_option
from veil.cli.printing import print_json, print_line
from veil.cli.settings import build, parse_pairs


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
    from veil.attacks.folders import KnowledgeFiles, attack_file

    files = KnowledgeFiles(**known)
    tool = build(find_attack(name), parse_pairs(settings, "--set"), allow_seed=True)
    with chosen_engine(workers, scheduler) as engine:
        guess = attack_file(release, tool, output, files, part=part, resume=resume, engine=engine, progress=True)
    links = guess.links
    if as_json:
        summary = {
            "guess": str(output),
            "rows": guess.n_rows,
            "columns": list(guess.columns),
            "ambiguity": guess.ambiguity,
        }
        print_json(summary if links is None else {**summary, "links": links.n_linked}, indent=None)
        return
    done = f"{guess.n_rows:,} records × {len(guess.columns)} columns guessed"
    if guess.members is not None:
        likely = int((guess.members.probability > 0.5).sum())
        done = f"{likely:,} of {guess.n_rows:,} people are more likely in the table than not"
    if links is not None:
        done = f"{links.n_linked:,} of {len(links.rows):,} people linked to rows of the release"
    print_line(f"{tool.attack_name()} ({tool.catalogue}): {done}, written to {output}")
    _print_cautions(tool, files, guess)
    print_line("How good the guess is, only the owner can tell: veil measure, or veil audit.")


def _print_cautions(tool: Any, files: Any, guess: Any) -> None:
    from veil.report.words import percent

    for kind in files.given():
        if kind not in (*tool.requires, *tool.uses):
            print_line(f"{tool.attack_name()} makes no use of {kind.option()}.", err=True)
    if guess.misfit > 1e-3:
        print_line(
            "Warning: the known records do not fit their rows (they differ by "
            f"{percent(guess.misfit)}); are rows counted from 0, columns right, and rows not shuffled?",
            err=True,
        )
    if guess.ambiguity != "none":
        print_line(f"Not settled by the attack: {guess.ambiguity}.")
