"""The overview: how many claims agree, what differs and why, and the pictures to see first."""

from __future__ import annotations

from collections.abc import Sequence

from veil_papers import experiments
from veil_papers.experiment import PAPERS, Claim
from veil_papers.pages.markdown import anchor, cell, shown
from veil_papers.running import Finished

HEAD = """# The papers, run again

Figures, tables and numeric claims of five sources on data perturbation, run with this product: the papers' values, ours
done their way, and ours in the best variant. *Agrees* means that a paper's value stands: done its way we find it, too,
and it is right. What we assert ourselves (a closed form, an ordering, an exact value) is marked ✓ where it holds and ✗
where it does not; – needs data that were not there. Intervals are over repetitions, never over records. Where a paper
errs, [the errata](FOLDER/errata.md) say what is right, why, and show it.
"""

FIRST = {
    "huang-be-vs-pca": "A Bayes estimate is best only when its covariance is: on few records the plug-in loses to PCA, "
    "pooled eigenvalues mend it.",
    "huang-fig4": "Noise that resembles the data hides it best; independent noise is halfway to being filtered out.",
    "liu-fig4.21": "The breach probability of known records is a spherical cap: the printed formula is that of two "
    "unknown dimensions.",
    "liu-fig4.7": "A sample of 2 % undoes a rotation of Adult: the paper's attack roughly, the best variant exactly.",
    "liu-tables5.5": "What known records give away under a projection depends on the matrix drawn: one matrix is one "
    "draw.",
    "tutorial-strategy": "Keeping components above twice the noise is near the best cut; shrinking beats every cut.",
}
"""The pictures to see first, and what they say."""


def overview_page(finished: Sequence[Finished], folder: str) -> str:
    """Counts, first pictures, and all that differs."""
    parts = [HEAD.replace("(FOLDER/", f"({folder}/"), _made(finished), _counts(finished), _table(finished, folder)]
    run = {each.experiment.id: each for each in finished}
    first = {
        name: shown(run[name])[0][0] for name in FIRST if name in run and shown(run[name]) and not run[name].stand_ins
    }
    if first:
        parts.append("## First pictures\n")
    for name, picture_name in first.items():
        words, picture = FIRST[name], f"![{FIRST[name]}]({folder}/figures/{picture_name}.svg)"
        parts.append(f"**{words}** ({_link(run[name], folder)})\n\n{picture}\n")
    parts += ["## What differs from the papers, and why\n", _differing(finished, folder)]
    failed = [(each, claim) for each in finished for claim in each.result.claims if claim.holds is False]
    if failed:
        parts.append("## What we assert and did not find\n")
        parts += [f"- {_link(each, folder)}: {claim.line()}" for each, claim in failed]
    return "\n".join(parts) + "\n"


def _made(finished: Sequence[Finished]) -> str:
    """How these pages were made, and what they are not."""
    everything = experiments()
    run = {each.experiment.id for each in finished}
    quick = any(each.quick for each in finished)
    lines = [
        "Made by `veil reproduce " + ("all" if run >= set(everything) else "ID ...") + (" --quick" if quick else "")
    ]
    lines[0] += " --page FILE.md` (`--data` with the papers' tables)."
    if run < set(everything):
        lines.append(f"Only {len(run)} of {len(everything)} experiments were run.")
    if quick:
        lines.append("This was a **quick run**: sizes and repetitions are smaller than the experiments say.")
    instead = {name: what for each in finished for name, what in each.stand_ins.items()}
    lines += [f"*{name}* was not there; instead: {what}." for name, what in instead.items()]
    return "\n".join(lines) + "\n"


def _counts(finished: Sequence[Finished]) -> str:
    claims = [claim for each in finished for claim in each.result.claims]
    failed, unseen = (sum(claim.holds is value for claim in claims) for value in (False, None))
    seconds = sum(each.seconds for each in finished)
    return (
        f"**{len(finished)} experiments, {len(claims)} claims: {_count(claims, True)} of the papers' values agree, "
        f"{_count(claims, False)} differ**, {_count(claims, None)} cannot be compared. Of what we assert "
        f"{failed or 'nothing'} fails"
        + (f", {unseen} wait for data" if unseen else "")
        + (f". It took {seconds / 60:.0f} minutes of one core.\n" if seconds > 90 else f". It took {seconds:.0f} s.\n")
    )


def _count(claims: Sequence[Claim], value: bool | None) -> int:
    return sum(claim.agrees is value for claim in claims)


def _table(finished: Sequence[Finished], folder: str) -> str:
    rows = ["| paper | experiments | claims | agree | differ | asserted and held |", "|---|---|---|---|---|---|"]
    for paper, title in PAPERS.items():
        own = [each for each in finished if each.experiment.paper == paper]
        claims = [claim for each in own for claim in each.result.claims]
        held = f"{sum(c.holds is True for c in claims)} of {sum(c.holds is not None for c in claims)}"
        counts = (len(own), len(claims), _count(claims, True), _count(claims, False), held)
        if own:
            rows.append(f"| [{title}]({folder}/{paper}.md) | " + " | ".join(str(count) for count in counts) + " |")
    return "\n".join(rows) + "\n"


def _link(each: Finished, folder: str) -> str:
    experiment = each.experiment
    target = anchor(f"{experiment.id}: {experiment.title}")
    return f"[{experiment.id}]({folder}/{experiment.paper}.md#{target})"


def _differing(finished: Sequence[Finished], folder: str) -> str:
    rows = ["| experiment | claim | paper | ours | why |", "|---|---|---|---|---|"]
    for each in finished:
        for claim in each.result.claims:
            if claim.agrees is False:
                ours = f"{claim.same}; best: {claim.best}" if claim.best else claim.same
                texts = (claim.what, claim.paper, ours, claim.why)
                rows.append(f"| {_link(each, folder)} | " + " | ".join(cell(text) for text in texts) + " |")
    return "\n".join(rows) + "\n"
