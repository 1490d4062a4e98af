"""The researcher's verb: reproduce."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from veil.cli.options import json_option
from veil.cli.progress import progress_bar


@click.command()
@click.argument("names", nargs=-1, metavar="[ID|PAPER|all]...")
@click.option("--quick", is_flag=True, help="Smaller sizes and fewer repetitions: everything in three minutes.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder with the papers' real tables."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for figures, numbers and claims.")
@click.option("--page", type=click.Path(path_type=Path), help="Also write pages (.md) with figures, claims and errata.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; as many as there are cores if not given.")
@json_option
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

    Without a name, lists them. Exit code 3 when something that we assert does not hold.

    \b
    Example:
      veil reproduce
      veil reproduce huang-fig1 -o figures
      veil reproduce all --quick
    """
    from veil.reproduce import experiments, find_experiments

    if not names:
        _list(experiments(), as_json)
        return
    from veil.reproduce.running import available, run_all

    chosen = find_experiments(names)
    if page is not None and output is None:
        output = page.with_suffix("") / "figures"
    _check(page, output, data)
    finished = []
    with progress_bar() as progress:
        for each in run_all(chosen, output, data, quick=quick, workers=workers or available(), progress=progress):
            finished.append(each)
            if not as_json:
                _show(each)
    if page is not None and output is not None:
        from veil.reproduce.pages import write_pages

        write_pages(finished, page, output)
    failed = [f"{each.experiment.id}: {what}" for each in finished for what in each.failed]
    if as_json:
        click.echo(json.dumps([_plain(each) for each in finished], indent=1, ensure_ascii=False))
    else:
        _sum_up(finished, failed, output)
    if failed:
        raise click.exceptions.Exit(3)


def _check(page: Path | None, output: Path | None, data: Path | None) -> None:
    """Find out before a long run, not after: can everything be read and written?"""
    from veil.errors import InputError, UnwritableError
    from veil.reproduce.data import FILES, Source
    from veil.reproduce.figures import check_figures

    if page is not None and page.suffix != ".md":
        raise InputError(f"--page {page} must end in .md: pages are written as Markdown")
    if data is not None and not any(Source(data).real(name) for name in FILES):
        raise InputError(f"--data {data} has none of the papers' tables; they are named {', '.join(FILES.values())}")
    if output is not None:
        check_figures()
        for folder in (output, *([page.parent] if page is not None else [])):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UnwritableError(f"{folder} cannot be a folder to write to: {error.strerror}") from None


def _list(everything: dict[str, Any], as_json: bool) -> None:
    from veil.reproduce import PAPERS

    if as_json:
        click.echo(json.dumps({name: e.title for name, e in everything.items()}, indent=1, ensure_ascii=False))
        return
    for paper, title in PAPERS.items():
        click.echo(f"\n{title}")
        for name, experiment in everything.items():
            if experiment.paper == paper:
                click.echo(f"  {name:27} {experiment.title}")
    click.echo("\nRun one with: veil reproduce ID, a paper's with: veil reproduce huang, or all.")


def _show(each: Any) -> None:
    click.echo(f"\n{each.experiment.id}: {each.experiment.title} ({each.seconds:.1f} s)")
    for name, what in each.stand_ins.items():
        click.echo(f"  {name} is not there (--data); instead: {what}")
    for claim in each.result.claims:
        mark = {True: "✓", False: "✗", None: "–"}[claim.holds]
        click.echo(f"  {mark} {claim.line()}")
    for note in each.result.notes:
        click.echo(f"  {note}")


def _sum_up(finished: list[Any], failed: list[str], output: Path | None) -> None:
    claims = [claim for each in finished for claim in each.result.claims]
    open_ones = sum(claim.holds is None for claim in claims)
    agree, differ, left = (sum(claim.agrees is said for claim in claims) for said in (True, False, None))
    click.echo(
        f"\n{len(finished)} experiments, {len(claims)} claims: {agree} of the papers' agree, {differ} differ, "
        f"{left} are not compared; of what we assert {len(failed)} fail"
        + (f", {open_ones} need the real data." if open_ones else ".")
    )
    for what in failed:
        click.echo(f"  ✗ {what}", err=True)
    if output is not None:
        click.echo(f"Figures and numbers written to {output}")


def _plain(each: Any) -> dict[str, Any]:
    found: dict[str, Any] = each.result.to_dict()
    return {"id": each.experiment.id, "seconds": each.seconds, "stand_ins": each.stand_ins, **found}
