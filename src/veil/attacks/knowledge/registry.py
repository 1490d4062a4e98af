"""All kinds of knowledge: Veil's own, and those of packages that bring attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veil.release.registry import Register

if TYPE_CHECKING:
    from veil.attacks.knowledge.base import Knowledge

GROUP = "veil.attacks"
"""Entry points of packages that bring attacks, and kinds of knowledge along with them."""


def _order(name: str, cls: type[Knowledge]) -> tuple[bool, int, str]:
    """Veil's own kinds by rank, then others by name."""
    return not cls.rank, cls.rank, name


KNOWLEDGE: Register[Knowledge] = Register("kind of knowledge", __package__, GROUP, order=_order)
"""Every kind by its option on the command line."""

GRANTABLE: Register[Knowledge] = Register("kind of knowledge", __package__, GROUP, order=_order, parameter="grants")
"""The kinds that audits can grant by their short names."""


def kinds_of_knowledge() -> dict[str, type[Knowledge]]:
    """Every kind by its option on the command line: Veil's own first, then others by name."""
    return dict(KNOWLEDGE)


def grantable() -> dict[str, type[Knowledge]]:
    """The kinds that audits can grant, by their short names, from the first level to the last.

    >>> list(grantable())[:4]
    ['pairs', 'records', 'sample', 'attributes']
    """
    return dict(GRANTABLE)
