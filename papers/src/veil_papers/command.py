"""The researcher's verb: reproduce."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from veil_papers.progress import progress_bar


@click.command()
@click.argument("names", nargs=-1, metavar="[ID|PAPER|all]...")
@click.option("--quick", is_flag=True, help="Smaller sizes and fewer repetitions: everything in about a minute.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder with the papers' real tables."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for figures, numbers and claims.")
@click.option("--page", type=click.Path(path_type=Path), help="Also write pages (.md) with figures, claims and errata.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; as many as there are cores if not given.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    data: Path | None,
    output: Path | None,
    page: Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Run the papers' figures, tables and claims again, with the truth beside them.

    Without a name, lists them. A full run of all takes under twenty minutes on two cores. Exit code 3 when
    something that we assert does not hold.

    \b
    Example:
      veil reproduce
      veil reproduce huang-fig1 -o figures
      veil reproduce all --quick
    """
    from veil_papers import experiments, find_experiments

    if not names:
        if quick or data or output or page or workers:
            raise click.UsageError("say what to run: an ID, a PAPER or all; without options, veil reproduce lists them")
        _list(experiments(), as_json)
        return
    chosen = find_experiments(names)
    _check(chosen, page, output, data)
    finished: list[Any] = []
    with ExitStack() as stack:
        folder = output
        if page is not None and output is None:  # pages need the pictures only
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="veil-")))
        try:
            _run(chosen, folder, data, quick, workers, finished, as_json)
        except KeyboardInterrupt:
            where = f"; those that were done are in {output}" if output is not None and finished else ""
            raise KeyboardInterrupt(f"interrupted after {len(finished)} of {len(chosen)} experiments{where}") from None
        if page is not None and folder is not None:
            from veil_papers.pages import write_pages

            write_pages(finished, page, folder)
    _close(finished, output, page, as_json)


def _run(
    chosen: Sequence[Any],
    folder: Path | None,
    data: Path | None,
    quick: bool,
    workers: int | None,
    finished: list[Any],
    as_json: bool,
) -> None:
    from joblib import cpu_count

    from veil_papers.running import run_all

    with progress_bar() as progress:
        for each in run_all(chosen, folder, data, quick=quick, workers=workers or cpu_count(), progress=progress):
            finished.append(each)
            if not as_json:
                _show(each)


def _check(chosen: Sequence[Any], page: Path | None, output: Path | None, data: Path | None) -> None:
    """Find out before a long run, not after: can everything be read and written?"""
    from veil.errors import InputError
    from veil_papers.data import FILES, Source
    from veil_papers.figures import check_figures
    from veil_papers.files import check_writable

    for folder in (output, page.with_suffix("") if page is not None else None):
        if folder is not None:
            check_writable(folder)
    if page is not None and (page.suffix != ".md" or page.is_dir()):
        raise InputError(f"--page {page} must be a file that ends in .md: pages are written as Markdown")
    if data is not None:
        source = Source(data)
        if not any(source.real(name) for name in FILES):
            raise InputError(f"--data {data} has none of the papers' tables; they are {', '.join(FILES.values())}")
        source.check(tuple({name for experiment in chosen for name in experiment.data}))
    if output is not None or page is not None:
        check_figures()


def _list(everything: dict[str, Any], as_json: bool) -> None:
    from veil_papers import PAPERS

    if as_json:
        click.echo(json.dumps({name: e.title for name, e in everything.items()}, indent=1, ensure_ascii=False))
        return
    width = max(len(name) for name in everything)
    for paper, title in PAPERS.items():
        click.echo(f"\n{title}")
        for name, experiment in everything.items():
            if experiment.paper == paper:
                click.echo(f"  {name:{width}}  {experiment.title}")
    click.echo("\nRun one with: veil reproduce ID, a paper's with: veil reproduce huang, or all.")


def _show(each: Any) -> None:
    click.echo(f"\n{each.experiment.id}: {each.experiment.title} ({each.seconds:.1f} s)")
    for name, what in each.stand_ins.items():
        click.echo(f"  {name} is not there (--data); instead: {what}")
    if each.error:
        click.echo(f"  could not be run: {each.error}")
    for claim in each.result.claims:
        mark = {True: "✓", False: "✗", None: "–"}[claim.holds]
        click.echo(f"  {mark} {claim.line()}")
    for note in each.result.notes:
        click.echo(f"  {note}")


def _close(finished: list[Any], output: Path | None, page: Path | None, as_json: bool) -> None:
    """Sum up, and choose the exit code: 2 where something could not be run, 3 where a claim does not hold."""
    failed = [f"{each.experiment.id}: {what}" for each in finished for what in each.failed]
    stopped = [each for each in finished if each.error]
    if as_json:
        click.echo(json.dumps([_described(each) for each in finished], indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _sum_up(finished, failed, output, page)
    for each in stopped:
        click.echo(f"veil: {each.experiment.id} could not be run: {each.error}", err=True)
    if stopped or failed:
        raise click.exceptions.Exit(2 if stopped else 3)


def _sum_up(finished: list[Any], failed: list[str], output: Path | None, page: Path | None) -> None:
    claims = [claim for each in finished for claim in each.result.claims]
    open_ones = sum(claim.holds is None for claim in claims)
    agree, differ, left = (sum(claim.agrees is verdict for claim in claims) for verdict in (True, False, None))
    click.echo(
        f"\n{_count(len(finished), 'experiment')}, {_count(len(claims), 'claim')}: {agree} of the papers' agree, "
        f"{differ} differ, {left} not compared; of what we assert {len(failed) or 'nothing'} fails"
        + (f", {open_ones} need the real data (--data)." if open_ones else ".")
    )
    for what in failed:
        click.echo(f"  ✗ {what}", err=True)
    if output is not None:
        click.echo(f"Figures and numbers are in {click.format_filename(output)}")
    if page is not None:
        click.echo(f"Pages begin at {click.format_filename(page)}")


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _described(each: Any) -> dict[str, Any]:
    from veil_papers.experiment import describe

    set_up = describe(each.experiment, each.result, quick=each.quick, stand_ins=each.stand_ins)
    return {**set_up, "seconds": each.seconds, "error": each.error}
