"""The page of one paper: every experiment with its set-up, figures and claims."""

from __future__ import annotations

from collections.abc import Sequence

from veil_papers.experiment import PAPERS, Claim
from veil_papers.pages.markdown import anchor, cell, erratum_links, sentence, shown
from veil_papers.running import Finished


def paper_page(paper: str, finished: Sequence[Finished], overview: str) -> str:
    """All experiments of a paper."""
    listed = " · ".join(f"[{_short(each)}](#{anchor(_heading(each))})" for each in finished)
    parts = [f"# {PAPERS[paper]}\n", f"[All papers](../{overview}) · [errata](errata.md)\n", f"{listed}\n"]
    return "\n".join([*parts, *(_section(each) for each in finished)])


def _short(each: Finished) -> str:
    return each.experiment.id.partition("-")[2]


def _heading(each: Finished) -> str:
    return f"{each.experiment.id}: {each.experiment.title}"


def _section(each: Finished) -> str:
    experiment = each.experiment
    lines = [f"## {_heading(each)}\n", f"*Stated.* {sentence(experiment.stated)}\n"]
    lines.append(f"*Chosen.* {sentence(experiment.chosen)}\n")
    if each.quick:
        lines.append("*Quick run*: sizes and repetitions are smaller than that.\n")
    if each.error:
        lines.append(f"**Could not be run**: {sentence(each.error)}\n")
    for name, what in each.stand_ins.items():
        lines.append(f"*Stand-in.* {name}: {sentence(what)}\n")
    for picture, figure in shown(each):
        lines.append(f"![{figure.title}](figures/{picture}.svg)\n")
        if figure.caption:
            lines.append(f"{figure.caption}\n")
    lines += _claims(each.result.claims) if each.result.claims else []
    lines += [f"\n{sentence(note)}" for note in each.result.notes]
    if experiment.errata:
        lines.append(f"\nErrata: {erratum_links(experiment.errata)}.")
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Claim]) -> list[str]:
    """One row per claim; the column of the best variant only where some claim has one."""
    best = any(claim.best for claim in claims)
    head = ["claim", "paper", "ours, its way", *(["ours, best"] if best else []), "verdict", "holds"]
    rows = [head, ["---"] * len(head)]
    for claim in claims:
        ours = [claim.same, *([claim.best] if best else [])]
        rows.append([claim.what, claim.paper, *ours, _verdict(claim), mark(claim)])
    return ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]


def _verdict(claim: Claim) -> str:
    verdict = {True: "agrees", False: "**differs**", None: "not compared"}[claim.agrees]
    return f"{verdict}: {claim.why}" if claim.why else verdict


def mark(claim: Claim) -> str:
    """Whether what we assert holds."""
    return {True: "✓", False: "✗", None: "–"}[claim.holds]
