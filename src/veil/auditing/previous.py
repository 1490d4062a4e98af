"""Earlier releases of the same people, with the row of each about every private record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge import Rows
from veil.attacks.knowledge.previous_releases import PreviousReleases, count_rows, public_columns, rows_by_identifier
from veil.data.identifiers import named_once
from veil.data.sources import as_table
from veil.errors import InputError
from veil.keys.key import Key
from veil.release.manifest import RowOrder
from veil.release.release import Release

Previous = tuple[tuple[Release, Rows], ...]
"""Earlier releases, each with its row for every record of the private table."""


def matched_previous(
    previous: Sequence[Any], private: pa.Table, *, shuffles: bool = False, identifier: str | None = None
) -> Previous:
    """Earlier releases with the row of each about every private record, -1 where there is none.

    A release that comes with the private table that it was made of (and its key, if its rows were shuffled) is matched
    by the ``identifier``, a column of both private tables that need not have been published. Others are matched by a
    public column of theirs that names every record of both tables once, else by their order, unless a plan ``shuffles``
    the rows of the release to come.
    """
    matched: list[tuple[Release, Rows]] = []
    if identifier is not None and not any(isinstance(item, tuple) for item in previous):
        raise InputError("previous_id: no earlier release has its private table; give pairs of (release, table)")
    for i, item in enumerate(previous):
        given = item if isinstance(item, PreviousReleases) else None
        if isinstance(item, tuple):
            given = _by_identifier(i, item, private, identifier)
        if given is None:
            release = _loaded(i, item)
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


def _loaded(i: int, item: Any) -> Release:
    release = Release.load(item) if isinstance(item, str | Path) else item
    if not isinstance(release, Release):
        raise InputError(f"previous: entry {i} is no release; load one with veil.Release.load")
    return release


def _by_identifier(i: int, item: tuple[Any, ...], private: pa.Table, identifier: str | None) -> PreviousReleases:
    """An earlier release with its private table, whose rows an identifier of both private tables tells."""
    if len(item) not in (2, 3):
        raise InputError(f"previous: entry {i} has {len(item)} items; give (release, table) or (release, table, key)")
    if identifier is None:
        raise InputError(
            f"previous: entry {i} comes with its private table; say with previous_id which column names a person in "
            "both private tables"
        )
    release, earlier = _loaded(i, item[0]), as_table(item[1]).read()
    n_rows = count_rows(release)
    if earlier.num_rows != n_rows:
        raise InputError(f"previous: entry {i} has {n_rows} rows and its private table {earlier.num_rows}")
    ours = named_once(private, identifier, "previous_id", "the table")
    theirs = named_once(earlier, identifier, "previous_id", f"the private table of entry {i}")
    places = pc.index_in(ours, value_set=theirs.combine_chunks()).fill_null(-1).to_numpy().astype(np.intp)
    if release.manifest.row_order is RowOrder.SHUFFLED:
        order = _row_order(i, release, item[2] if len(item) == 3 else None)
        places = np.where(places >= 0, np.argsort(order)[places], -1)
    return PreviousReleases(release, rows=places)


def _row_order(i: int, release: Release, key: Any) -> Rows:
    """The secret order in which an earlier release has the rows of its table."""
    loaded = Key.load(key) if isinstance(key, str | Path) else key
    if not isinstance(loaded, Key):
        raise InputError(f"previous: the rows of entry {i} were shuffled; give its key, too: (release, table, key)")
    order = loaded.row_order(loaded.entry(release.manifest.release_id))
    if order is None:
        raise InputError(f"previous: the key of entry {i} does not tell the order of its rows; give the release's own")
    return order
