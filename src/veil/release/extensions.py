"""Other people's packages: they are found by their entry points and imported when they are first asked for."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import entry_points

from veil.errors import ExtensionWarning


@cache
def load_extensions(group: str) -> frozenset[str]:
    """Import what packages offer under a group of entry points, once, and name the packages that were imported.

    A package that fails to load is a warning of one line that names it, and does not stop the others.
    """
    packages = set()
    for entry in entry_points(group=group):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            owner = entry.dist.name if entry.dist is not None else entry.module
            line = f"{entry.name} of the package {owner} was not loaded: {reason}"
            warnings.warn_explicit(
                line if line.isprintable() else ascii(line), ExtensionWarning, filename=entry.module, lineno=0
            )
        else:
            packages.add(entry.module.partition(".")[0])
    return frozenset(packages)
