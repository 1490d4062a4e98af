"""Tables that may be releases: a release in memory or its folder stands for the released table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veil.data.sources import as_table
from veil.data.tables import Table
from veil.release.manifest import MANIFEST
from veil.release.release import Release


def as_release(data: Any) -> Release | None:
    """The release that is meant, in memory or as a folder; None where it is another table."""
    if isinstance(data, Release):
        return data
    if isinstance(data, str | Path) and (Path(data) / MANIFEST).is_file():
        return Release.load(data)
    return None


def as_any_table(data: Any, *, settle: bool = True) -> Table:
    """A frame, an array, a path, a table, or what a release holds; ``settle`` is that of files.

    >>> import numpy as np
    >>> as_any_table(np.zeros((3, 2))).schema.names
    ['x0', 'x1']
    """
    release = as_release(data)
    return as_table(data, settle=settle) if release is None else release.table
