"""The page of errata: what is said, what is right, the argument and a picture."""

from __future__ import annotations

from collections.abc import Sequence

from veil_papers.errata import ERRATA, Erratum
from veil_papers.experiment import PAPERS
from veil_papers.pages.markdown import anchor, shown
from veil_papers.running import Finished

HEAD = """# Where the papers err

Found by derivation and checked by simulation. The product computes the right value; attacks that differ from a paper's
have it under `variant="paper"`, and what only the paper has is evaluated in the experiment. Pictures come from the run
that made these pages; each erratum names the experiments that show it.

[All papers](../OVERVIEW)
"""


def errata_page(finished: Sequence[Finished], overview: str) -> str:
    """All errata, paper by paper, with the pictures of the experiments that were run."""
    run = {each.experiment.id: each for each in finished}
    parts = [HEAD.replace("OVERVIEW", overview)]
    for paper, errata in ERRATA.items():
        links = " · ".join(f"[{each.id}](#{anchor(each.heading)})" for each in errata)
        parts.append(f"- {PAPERS[paper]}: {links}")
    for paper, errata in ERRATA.items():
        parts.append(f"\n## {PAPERS[paper]}\n")
        parts += [_section(each, run) for each in errata]
    return "\n".join(parts) + "\n"


def _section(erratum: Erratum, run: dict[str, Finished]) -> str:
    lines = [f"### {erratum.heading}\n", f"**Said.** {erratum.stated}\n"]
    lines += [f"**Right.** {erratum.right}\n", f"**Argument.** {erratum.argument}\n"]
    if any(erratum.figure == name for each in run.values() for name, _ in shown(each)):
        lines.append(f"![{erratum.id}: {erratum.where}](figures/{erratum.figure}.svg)\n")
    experiments = [
        f"[{name}]({name.partition('-')[0]}.md#{anchor(f'{name}: {run[name].experiment.title}')})"
        for name in erratum.shown
        if name in run
    ]
    if experiments:
        lines.append(f"Shown by {', '.join(experiments)}.\n")
    return "\n".join(lines)
