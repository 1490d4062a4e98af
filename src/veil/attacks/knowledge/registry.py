"""All kinds of knowledge: Veil's own, and those of packages that bring attacks."""

from __future__ import annotations

from veil.attacks.knowledge.base import GRANTABLE, KNOWLEDGE, Knowledge


def kinds_of_knowledge() -> dict[str, type[Knowledge]]:
    """Every kind by its option on the command line: Veil's own first, then others by name."""
    return dict(KNOWLEDGE)


def grantable() -> dict[str, type[Knowledge]]:
    """The kinds that audits can grant, by their short names, from the first level to the last.

    >>> list(grantable())[:4]
    ['pairs', 'records', 'sample', 'attributes']
    """
    return dict(GRANTABLE)
