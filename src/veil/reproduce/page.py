"""One page for reviewers: figures next to the papers' claims, and why where they differ."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from veil.atomic import write_public
from veil.reproduce.experiment import PAPERS, Claim
from veil.reproduce.running import Finished

HEAD = """# The papers, run again

Every figure, table and numeric claim of the five sources, with the papers' values beside ours: done their way, and in
our best variant. *Agrees* is about the paper's value; a cross in the last column would mean that something we assert (a
closed form, an ordering, an exact value) does not hold. Where a paper errs, the reason stands in the row, with the
erratum's id. This page is made by

    veil reproduce all --data DIR --page docs/results.md
"""


def write_page(finished: Sequence[Finished], path: Path, figures: Path) -> None:
    """Write the page; figures are linked where they were written."""
    parts = [HEAD, _summary(finished)]
    for paper, title in PAPERS.items():
        own = [each for each in finished if each.experiment.paper == paper]
        if own:
            parts.append(f"## {title}\n")
            parts += [_section(each, Path(os.path.relpath(figures, path.parent))) for each in own]
    write_public(path, "\n".join(parts).encode(), replace=True)


def _summary(finished: Sequence[Finished]) -> str:
    claims = [claim for each in finished for claim in each.result.claims]
    differs = sum(not claim.agrees for claim in claims)
    failed = sum(claim.holds is False for claim in claims)
    return (
        f"{len(finished)} experiments, {len(claims)} claims: {len(claims) - differs} of the papers' values agree, "
        f"{differs} differ; of what we assert, {failed or 'nothing'} fails.\n"
    )


def _section(each: Finished, figures: Path) -> str:
    experiment = each.experiment
    lines = [f"### {experiment.id}: {experiment.title}\n", f"*Stated.* {experiment.stated}.  "]
    lines.append(f"*Chosen.* {experiment.chosen}.\n")
    for name, what in each.stand_ins.items():
        lines.append(f"*Stand-in.* {name}: {what}.\n")
    for i, figure in enumerate(each.result.figures):
        stem = experiment.id if i == 0 else f"{experiment.id}-{i + 1}"
        lines.append(f"![{figure.title}]({figures.as_posix()}/{stem}.svg)\n")
        if figure.caption:
            lines.append(f"{figure.caption}\n")
    lines.append("| claim | paper | ours, its way | ours, best | | why | holds |")
    lines.append("|---|---|---|---|---|---|---|")
    lines += [_row(claim) for claim in each.result.claims]
    lines += [f"\n{note}" for note in each.result.notes]
    return "\n".join(lines) + "\n"


def _row(claim: Claim) -> str:
    said = "agrees" if claim.agrees else "**differs**"
    mark = {True: "✓", False: "✗", None: "–"}[claim.holds]
    cells = [claim.what, claim.paper, claim.same, claim.best, said, claim.why, mark]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
