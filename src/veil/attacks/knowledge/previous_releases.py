"""Earlier releases about the same people, as knowledge of an attacker.

Whoever kept an earlier release has its manifest too, and where identifiers or the order of rows match, knows which
rows are about one person. The knowledge holds releases only, no private value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge.base import Knowledge, Rows, Source, counted
from veil.data.tables import Table
from veil.errors import InputError
from veil.release.manifest import RowOrder
from veil.release.release import Release

ABSENT = -1
"""Stands for a person of the current release whom the earlier one does not hold."""


class PreviousReleases(Knowledge):
    """Earlier releases of the same or an overlapping table, with their manifests.

    Parameters
    ----------
    releases
        One release, or several.
    rows
        For each of them, one whole number per row of the *current* release: the row of the earlier release about the
        same person, counted from 0, or −1 where there is none. None, for one of them or for all: as many rows as the
        current release has, in the same order.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> earlier, _ = veil.publish(x, veil.AdditiveNoise(0.5))
    >>> PreviousReleases(earlier, rows=np.r_[np.arange(80), np.full(20, -1)])
    <PreviousReleases: 1 earlier release, with 80 of 100 rows matched>
    """

    source = Source.FOLDER
    other_options = ("--previous-release",)
    file_help = (
        "Folder of an earlier release of the same people: in the same order, or with an identifier that both show."
    )

    def __init__(self, releases: Release | Sequence[Release], rows: Any = None) -> None:
        self.releases: tuple[Release, ...] = (releases,) if isinstance(releases, Release) else _listed(releases)
        if not self.releases or not all(isinstance(release, Release) for release in self.releases):
            raise InputError("releases must be a release or a list of at least one; load one with veil.Release.load")
        if rows is None:
            self.rows: tuple[Rows | None, ...] = (None,) * len(self.releases)
            return
        given = [rows] if isinstance(releases, Release) and _is_flat(rows) else _listed(rows)
        if len(given) != len(self.releases):
            raise InputError(
                f"rows must have one list of rows per earlier release ({len(self.releases)}); got {len(given)}"
            )
        self.rows = tuple(None if each is None else _checked(each) for each in given)
        lengths = {len(each) for each in self.rows if each is not None}
        if len(lengths) > 1:
            raise InputError(
                f"rows must be equally long, one entry per row of the current release; got {sorted(lengths)}"
            )

    def describe(self) -> str:
        """How many releases, and how many of the rows they hold."""
        n = len(self.releases)
        matched = [f"{(each >= 0).sum():,} of {len(each):,}" for each in self.rows if each is not None]
        earlier = counted(n, "earlier release")
        return f"{earlier}, with {' and '.join(matched)} rows matched" if matched else f"{earlier} of the same rows"

    @property
    def amount(self) -> int:
        """The number of earlier releases."""
        return len(self.releases)

    @classmethod
    def from_file(cls, path: Path, release: Release) -> PreviousReleases:
        """An earlier release from its folder, matched by a public column that tells people apart, or row by row.

        Such a column has whole numbers or texts, and none of them twice, in both releases. Of several the one with most
        people in common is taken; where no column serves, rows must be in the same order.
        """
        earlier = Release.load(path)
        rows = rows_by_identifier(public_columns(release), public_columns(earlier))
        if rows is not None and (rows >= 0).any():
            return cls(earlier, rows)
        if rows is not None:
            raise InputError(f"{path.name}: both releases have identifiers, and none of them in common")
        known = cls(earlier)
        try:
            list(known.aligned(release))
        except InputError:
            raise InputError(
                f"{path.name}: its rows cannot be matched; both releases need the same rows in the same order, or a "
                "public column of identifiers"
            ) from None
        return known

    def aligned(self, current: Release) -> Iterator[tuple[Release, Rows]]:
        """Each earlier release with its row for every row of the current one."""
        n_rows, shuffled = count_rows(current), _is_shuffled(current)
        for i, (release, rows) in enumerate(zip(self.releases, self.rows, strict=True)):
            there = count_rows(release)
            if not there:
                raise InputError(f"earlier release {i} has no rows; leave it out")
            if rows is None:
                if shuffled or _is_shuffled(release):
                    raise InputError(
                        f"rows must be given for earlier release {i}: rows were shuffled, and do not follow one order"
                    )
                if there != n_rows:
                    raise InputError(
                        f"earlier release {i} has {there} rows and the current one {n_rows}; say with rows which "
                        "belong together"
                    )
                rows = np.arange(n_rows)
            if len(rows) != n_rows:
                raise InputError(
                    f"rows must have one entry per row of the current release ({n_rows}); got {len(rows)} for earlier "
                    f"release {i}"
                )
            beyond = int((rows >= there).sum())
            if beyond:
                raise InputError(
                    f"rows has {beyond} entries beyond the {there} rows of earlier release {i}; count from 0, and use "
                    "-1 for none"
                )
            yield release, rows


def _listed(releases: Any) -> tuple[Any, ...]:
    try:
        return tuple(releases)
    except TypeError:
        return ()


def _is_flat(rows: Any) -> bool:
    """Whether rows are one list of numbers and not a list of lists."""
    try:
        return np.ndim(rows) == 1 and np.asarray(rows).dtype.kind in "iuf"
    except (TypeError, ValueError):
        return False


def _checked(rows: Any) -> Rows:
    try:
        given = np.asarray(rows)
    except (TypeError, ValueError):
        given = np.empty(0, dtype=object)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise InputError("rows must be lists of whole numbers: rows of the earlier release, -1 where there is none")
    places = given.astype(np.intp)
    if len(places) and places.min() < ABSENT:
        raise InputError("rows must be counted from 0, with -1 where there is none; a lower number was given")
    present = places[places >= 0]
    twice = len(present) - len(np.unique(present))
    if twice:
        raise InputError(f"rows names {twice} rows of an earlier release more than once; a row is about one person")
    return places


def count_rows(release: Release) -> int:
    """The number of rows of a release, without holding its table."""
    return count_table_rows(release.table)


def count_table_rows(table: Table) -> int:
    """The number of rows of a table, without holding it."""
    if table.n_rows is not None:
        return table.n_rows
    return sum(batch.num_rows for batch in table.batches(table.schema.names[:1]))


def public_columns(release: Release) -> pa.Table:
    """The columns of a release that were released unchanged."""
    names = [column.name for column in release.manifest.public]
    return release.table.read(names) if names else pa.table({})


def rows_by_identifier(here: pa.Table, there: pa.Table) -> Rows | None:
    """For each row of one table the row of another about the same person, −1 for none.

    People are told apart by a column of both that has whole numbers or texts without gaps, and none of them twice; of
    several the one with most people in common is taken. None where no column serves.
    """
    ours, theirs = _identifiers(here), _identifiers(there)
    matches = [_places(ours[name], theirs[name]) for name in ours if name in theirs]
    return max(matches, key=lambda rows: int((rows >= 0).sum()), default=None)


def _identifiers(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    identifiers = {}
    for name in table.column_names:
        values = table.column(name)
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if not (pa.types.is_integer(values.type) or pa.types.is_string(values.type)) or values.null_count:
            continue
        if pc.count_distinct(values).as_py() == len(values):
            identifiers[name] = values.cast(pa.string())
    return identifiers


def _places(here: pa.ChunkedArray, there: pa.ChunkedArray) -> Rows:
    places = pc.index_in(here, value_set=there.combine_chunks())
    return np.asarray(places.fill_null(ABSENT), dtype=np.intp)


def _is_shuffled(release: Release) -> bool:
    return release.manifest.row_order is RowOrder.SHUFFLED
