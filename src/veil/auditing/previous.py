"""Earlier releases of the same people, with the row of each about every private record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veil.attacks.knowledge import Rows
from veil.attacks.knowledge.previous_releases import PreviousReleases, count_rows, public_columns, rows_by_identifier
from veil.errors import InputError
from veil.release.manifest import RowOrder
from veil.release.release import Release

Previous = tuple[tuple[Release, Rows], ...]
"""Earlier releases, each with its row for every record of the private table."""


def matched_previous(previous: Sequence[Any], private: pa.Table, *, shuffles: bool = False) -> Previous:
    """Earlier releases with the row of each about every private record, -1 where there is none.

    They are matched by a public column of theirs that names every record of both tables once, else by their order,
    unless a plan ``shuffles`` the rows of the release to come.
    """
    matched: list[tuple[Release, Rows]] = []
    for i, item in enumerate(previous):
        given = item if isinstance(item, PreviousReleases) else None
        if given is None:
            release = Release.load(item) if isinstance(item, str | Path) else item
            if not isinstance(release, Release):
                raise InputError(f"previous: entry {i} is no release; load one with veil.Release.load")
            given = PreviousReleases(release, rows=rows_by_identifier(private, public_columns(release)))
        for release, rows in zip(given.releases, given.rows, strict=True):
            n_rows = count_rows(release)
            if rows is None and n_rows != private.num_rows:
                raise InputError(
                    f"previous: entry {i} has {n_rows} rows and the table {private.num_rows}; publish a public column "
                    "that names each record in both, or use PreviousReleases with rows"
                )
            if rows is None and (shuffles or release.manifest.row_order is RowOrder.SHUFFLED):
                whose = "a plan shuffles its rows" if shuffles else f"the rows of entry {i} were shuffled"
                raise InputError(
                    f"previous: {whose}; publish a public column that names each record in "
                    "both, or use PreviousReleases with rows"
                )
            if rows is not None and (rows >= n_rows).any():
                raise InputError(
                    f"previous: entry {i} has {n_rows} rows, and {int((rows >= n_rows).sum())} beyond are named"
                )
            if rows is not None and not (rows >= 0).any():
                raise InputError(f"previous: entry {i} has no record in common with the table; leave it out")
            if rows is not None and len(rows) != private.num_rows:
                raise InputError(f"previous: entry {i} needs a row for each of the table's {private.num_rows} records")
            matched.append((release, np.arange(n_rows) if rows is None else rows))
    return tuple(matched)
