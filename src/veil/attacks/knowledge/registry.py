"""All kinds of knowledge: Veil's own, and those of packages that bring attacks."""

from __future__ import annotations

from veil.attacks.knowledge.base import _CLASSES, Knowledge
from veil.release.extensions import is_installed, load_extensions

GROUP = "veil.attacks"
"""Entry points of packages that bring attacks, and kinds of knowledge along with them."""


def kinds_of_knowledge() -> dict[str, type[Knowledge]]:
    """Every kind by its option on the command line: Veil's own first, then others by name."""
    load_extensions(GROUP)
    classes = sorted(_CLASSES.items(), key=lambda item: (item[1].rank or len(_CLASSES), item[0]))
    return {option: cls for option, cls in classes if is_installed(cls, GROUP)}


def grantable() -> dict[str, type[Knowledge]]:
    """The kinds that audits can grant, by their short names, from the first level to the last.

    >>> list(grantable())[:4]
    ['pairs', 'records', 'sample', 'attributes']
    """
    return {cls.kind: cls for cls in kinds_of_knowledge().values() if cls.kind}
