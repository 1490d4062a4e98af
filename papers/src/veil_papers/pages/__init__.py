"""Pages for reviewers: an overview, one page per paper with its figures and claims, and the errata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veil_papers.experiment import PAPERS
from veil_papers.files import write_file, writing
from veil_papers.pages.corrections import errata_page
from veil_papers.pages.markdown import shown
from veil_papers.pages.overview import overview_page
from veil_papers.pages.papers import paper_page
from veil_papers.running import Finished

__all__ = ["write_pages"]


def write_pages(finished: Sequence[Finished], page: Path, figures: Path) -> list[Path]:
    """Write ``PAGE.md`` and, in a folder of its name, a page per paper, the errata and the figures they show.

    Parameters
    ----------
    finished
        What was run.
    page
        Path of the overview, for example ``docs/results.md``.
    figures
        Folder where the run wrote its figures.
    """
    folder = page.with_suffix("")
    pictures = folder / "figures"
    with writing(pictures):
        pictures.mkdir(parents=True, exist_ok=True)
    texts = {page: overview_page(finished, folder.name)}
    for paper in PAPERS:
        own = [each for each in finished if each.experiment.paper == paper]
        if own:
            texts[folder / f"{paper}.md"] = paper_page(paper, own, page.name)
    texts[folder / "errata.md"] = errata_page(finished, page.name)
    for path, text in texts.items():
        write_file(path, text.encode(errors="replace"))
    for name in [name for each in finished for name, _ in shown(each)]:
        if figures.resolve() != pictures.resolve():
            write_file(pictures / f"{name}.svg", (figures / f"{name}.svg").read_bytes())
    return list(texts)
