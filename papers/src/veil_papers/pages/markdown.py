"""Small pieces of Markdown, and which figures are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from veil_papers.errata import BY_ID
from veil_papers.figures import Figure
from veil_papers.running import Finished


def cell(text: str) -> str:
    """A text in a table's cell."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("\\*\\*", "**").replace("\n", " ")


def sentence(text: str) -> str:
    """A text that ends with a full stop, and begins with a capital if it begins with a word (not with n = 20 or θ)."""
    text = text.strip()
    if re.match(r"[a-z]+[a-z'’-]*[ ,:;]", text) and not re.match(r"[a-z] ?[=≥≤<>−+·×/]", text):
        text = text[0].upper() + text[1:]
    return text + ("" if text.endswith((".", "!", "?")) else ".")


def anchor(heading: str) -> str:
    """What a heading's anchor is called: lower case, without punctuation, dashes for spaces."""
    letters = re.sub(r"[^\w\- ]", "", heading.lower())
    return letters.replace(" ", "-")


def shown(each: Finished) -> list[tuple[str, Figure]]:
    """Names and figures of an experiment that may be shown."""
    return [(name, figure) for name, figure in zip(each.pictures, each.result.figures, strict=True) if figure.shareable]


def erratum_links(ids: Sequence[str], page: str = "errata.md") -> str:
    """Links to errata."""
    return ", ".join(f"[{name}]({page}#{anchor(BY_ID[name].heading)})" for name in ids)
