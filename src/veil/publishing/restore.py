"""The owner's way back: the private table from a release and its key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Block, from_float
from veil.data.dates import halves_down, is_timed
from veil.data.levels import as_ordered
from veil.data.passes import map_blocks
from veil.data.schema import UNCHANGED
from veil.data.tables import MemoryTable, as_frame
from veil.errors import InputError, KeyRefusedError, NotInvertibleError
from veil.keys.key import Key, LedgerEntry
from veil.perturbations import GroupRows, Perturbation
from veil.perturbations.driving import restored
from veil.perturbations.registry import rebuild
from veil.publishing.content import CONTENT, altered, block_content, check_content, content_of, content_secret
from veil.publishing.parts import place_of, released_columns
from veil.release.manifest import Manifest
from veil.release.release import Release, arrow_type
from veil.storage.shards import BlockRows


@dataclass(frozen=True)
class Restoring:
    """Restores single blocks.

    Attributes
    ----------
    schema
        The private columns that come back.
    absent
        Names of those that do not.
    order
        The secret order of the released rows, where they were shuffled.
    """

    schema: pa.Schema
    absent: tuple[str, ...]
    order: npt.NDArray[np.intp] | None
    entry: LedgerEntry = field(repr=False)
    methods: tuple[Perturbation, ...] = field(repr=False)
    released: pa.Schema = field(repr=False)
    secret: bytes = field(repr=False)

    def batch(self, block: Block) -> BlockRows:
        """The private rows of a released block."""
        try:
            columns = self._columns(block)
            checked = self.order is None and self.entry.content
            notes = {CONTENT: block_content(self.secret, block)} if checked else {}
        except pa.ArrowException:  # cells that are not of the released type
            raise altered(self.entry) from None
        return BlockRows(pa.RecordBatch.from_arrays([columns[n] for n in self.schema.names], schema=self.schema), notes)

    def _columns(self, block: Block) -> dict[str, pa.Array]:
        columns: dict[str, pa.Array] = {}
        told = {group for part in self.entry.parts for group in part.groups.values() if group in block.schema.names}
        groups = {name: GroupRows.of(block.column(name)) for name in told}
        for part, names, method in zip(self.entry.parts, released_columns(self.methods), self.methods, strict=True):
            if not set(part.columns) & set(self.schema.names):
                continue
            values = restored(method, block.matrix(names), place_of(part, block.start, groups))
            for name, row in zip(part.columns, values, strict=True):
                if name not in self.schema.names:
                    continue
                self._correct(name, row, block.start)
                dtype = self.schema.field(name).type
                columns[name] = from_float(halves_down(row) if is_timed(dtype) else row, dtype)
        for name in self.schema.names:
            if name not in columns:
                columns[name] = block.column(name).cast(self.schema.field(name).type)
        return columns

    def check(self, notes: Iterable[dict[str, Any]], n_rows: int) -> None:
        """Refuse a release that is not what the key released, once all of its blocks were read."""
        if self.order is None and self.entry.content:
            self._check([note[CONTENT] for note in notes], n_rows)

    def _check(self, digests: list[str], n_rows: int) -> None:
        check_content(self.entry, content_of(self.secret, self.released, digests, n_rows))

    def _correct(self, name: str, row: npt.NDArray[np.float64], start: int) -> None:
        """Put right the large integers that rounding brings back wrong."""
        rows, amounts = (np.array(part, dtype=np.int64) for part in self.entry.corrections.get(name, ([], [])))
        here = (rows >= start) & (rows < start + len(row))
        row[rows[here] - start] = np.rint(row[rows[here] - start]) + amounts[here]

    def ordered(self, release: Release) -> MemoryTable:
        """The release with its rows in the private table's order."""
        released = MemoryTable(release.table.read())
        if self.order is None:
            return released
        if self.entry.content:
            self._check(list(map_blocks(partial(block_content, self.secret), released)), released.n_rows or 0)
        return MemoryTable(released.read().take(pa.array(np.argsort(self.order))))


def restore(release: Release, key: Key, *, partial: bool = False) -> Any:
    """The private table back from a release and its key: same columns, types and row order.

    Raises
    ------
    TamperedError
        When the release is not what this key released: cells, rows or columns were altered since.
    NotInvertibleError
        When some columns cannot come back (they were withheld, or the method cannot be undone);
        ``partial=True`` returns the others.
    """
    work = restoring(release, key, partial=partial)
    table = release.table if work.order is None else work.ordered(release)
    restored = list(map_blocks(work.batch, table))
    kind = release.table.kind
    private = pa.Table.from_batches([rows.batch for rows in restored], schema=work.schema)
    work.check((rows.notes for rows in restored), private.num_rows)
    private = _with_categories(private, work.entry)
    return as_frame(private, kind, work.entry.native if work.entry.kind == kind else None)


def _with_categories(private: pa.Table, entry: LedgerEntry) -> pa.Table:
    """Columns that were categories as such again; a release that was saved holds their values."""
    for column in entry.columns:
        dtype = re.fullmatch(r"dictionary<values=.+, indices=(\w+), ordered=[01]>", column["dtype"])
        if dtype and column["name"] in private.column_names:
            i = private.column_names.index(column["name"])
            values, index = private.column(i), pa.type_for_alias(dtype.group(1))
            if "levels" in column:
                private = private.set_column(i, column["name"], as_ordered(values, json.loads(column["levels"]), index))
                continue
            values = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
            wanted = pa.dictionary(index, values.type.value_type)
            private = private.set_column(i, column["name"], values.cast(wanted))
    return private


def restoring(release: Release, key: Key, *, partial: bool) -> Restoring:
    """What restores single blocks of a release, once it is clear what can come back."""
    if not isinstance(release, Release):
        raise InputError("release must be a veil.Release; load one with veil.Release.load(folder)")
    if not isinstance(key, Key):
        raise KeyRefusedError("key must be a veil.Key; load one with veil.Key.load(path)")
    entry = key.entry(release.manifest.release_id)
    if len(entry.parts) != len(release.manifest.parts):
        raise InputError("restore needs the whole release, not one part of it")
    methods = tuple(rebuild(part, key) for part in entry.parts)
    stuck = [c["name"] for c in entry.columns if c["role"] in ("identifier", "drop")]
    for part, method in zip(entry.parts, methods, strict=True):
        if not method.invertible(consistent=entry.consistent_on is not None):
            stuck += part.columns
    stuck += [c["name"] for c in entry.columns if c.get("restored") == "no" and c["name"] not in stuck]
    if len(stuck) == len(entry.columns):
        raise NotInvertibleError(f"none of the {len(stuck)} columns can come back from this release", stuck)
    if stuck and not partial:
        raise NotInvertibleError(
            f"{len(stuck)} column(s) cannot come back from this release: {', '.join(map(repr, stuck[:8]))}; "
            "use partial=True for the others",
            stuck,
            parameter="partial",
        )
    released = release.table.schema
    _check_names(release.manifest, released, entry, methods, stuck)
    fields = [pa.field(c["name"], _type_of(c, released)) for c in entry.columns if c["name"] not in stuck]
    absent = tuple(c["name"] for c in entry.columns if c["name"] in stuck)
    return Restoring(pa.schema(fields), absent, key.row_order(entry), entry, methods, released, content_secret(key))


def _check_names(
    manifest: Manifest, released: pa.Schema, entry: LedgerEntry, methods: tuple[Perturbation, ...], stuck: list[str]
) -> None:
    """Refuse a release that lacks columns, or whose manifest takes other columns for those that a part made."""
    changed = {name for part in entry.parts for name in part.columns}
    needed = {c["name"] for c in entry.columns if c["role"] in UNCHANGED and c["name"] not in changed}
    for part, public, names in zip(entry.parts, manifest.parts, released_columns(methods), strict=True):
        if not set(part.columns) <= set(stuck):
            needed.update([*names, *part.groups.values()])
            if list(public.released) != names:
                raise altered(entry)
    if not needed <= set(released.names):
        raise altered(entry)


def _type_of(column: dict[str, str], released: pa.Schema) -> pa.DataType:
    """A private column's own type; nested public ones are released as they are."""
    dtype = arrow_type(column["dtype"])
    return released.field(column["name"]).type if dtype is None else dtype
