"""A private table on its way out.

One pipeline serves frames and files. A first pass scans the private columns (rules, moments,
fingerprint); then canonical blocks are perturbed one at a time and handed on, to a frame in
memory or to a writer. A plan gives different columns to different methods; each is a
:class:`veil.publishing.parts.FittedPart` of the same two passes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from veil._version import __version__
from veil.data.blas import arithmetic
from veil.data.blocks import Block, from_float
from veil.data.dask_frames import PartitionedTable
from veil.data.groups import ConstantColumns, GroupScan
from veil.data.passes import Engine, map_blocks, summed
from veil.data.schema import Column, Role
from veil.data.tables import MemoryTable, Table, TypesChanged
from veil.errors import InputError, KeyRefusedError, VeilError, listed
from veil.keys.key import Key, LedgerEntry, LedgerPart, key_from
from veil.perturbations import Perturbation, Takes
from veil.progress import Progress, silent
from veil.publishing.content import CONTENT, block_content, content_of, content_secret
from veil.publishing.first_pass import Scanned, check_ids, reads_otherwise, scan_block
from veil.publishing.parts import Corrections, FittedPart, released_columns
from veil.publishing.plan import NOTHING_TO_SHUFFLE, Plan, as_plan, resolve
from veil.publishing.plausible import AUTO, PlausibleColumns, sums_before
from veil.publishing.second_pass import CORRECTIONS, LEVELS, Releasing, categorical, join_corrections
from veil.release.manifest import KeyOrigin, Manifest, Missing, PublicColumn, ReleasedColumn, RowOrder, guarantee_of
from veil.release.release import Release
from veil.secret import revealed
from veil.storage.jobs import Output, as_rows
from veil.storage.shards import BlockRows

if TYPE_CHECKING:
    from veil.data.cluster import Cluster

_DRIFT = (
    "A cell keeps its noise as long as its value stays; one that drifts (age + 1) gets new noise every time, and "
    "whoever knows the drift averages the releases."
)
_EQUAL_PSEUDONYMS = (
    "Equal pseudonyms tell which rows are of one person: what is constant in them is averaged, and the noise of n rows "
    "falls to 1/√n. With the role group, columns that are constant in a person's rows have one noise for all of them."
)
T = TypeVar("T")


class Publication:
    """A private table on its way out: scanned and entered in the key's ledger, not yet perturbed.

    Attributes
    ----------
    schema
        Arrow schema of the released columns.
    manifest
        The public manifest.
    key
        The key, with this release in its ledger.
    """

    def __init__(
        self,
        table: Table,
        perturbation: Perturbation | Plan,
        *,
        key: Key | None = None,
        again: bool = False,
        roles: Mapping[str, str] | None = None,
        consistent_on: str | None = None,
        shuffle: bool | None = None,
        progress: Progress = silent,
        engine: Engine | None = None,
    ) -> None:
        plan = as_plan(perturbation)
        shuffle = plan.shuffle if shuffle is None else shuffle
        if shuffle and plan.reduces:
            raise InputError(NOTHING_TO_SHUFFLE)
        if key is not None and not isinstance(key, Key):
            raise KeyRefusedError("key must be a veil.Key; load one with veil.Key.load(path)")
        self._plan, self._consistent_on, self._progress, self._engine = plan, consistent_on, progress, engine
        self.key = key if key is not None else key_from(_random_state(plan))
        self._summed: list[str] = []
        self._enter(self._learned(table, roles), again=again, shuffle=shuffle)

    def remarks(self) -> list[str]:
        """What the owner should know about the release."""
        consistent = self._consistent_on is not None
        stuck = sum(
            self._plausible.lossy(name) or not part.perturbation.invertible(consistent=consistent)
            for part in self._parts
            for name in part.columns
        )
        summary = _what_comes_back(stuck, sum(len(part.columns) for part in self._parts), len(self._private.withheld))
        layouts = [part.perturbation.layout for part in self._parts]
        averaged = []
        if self._consistent_on is not None:
            averaged.append(_DRIFT)
        named = {
            name for part in self._parts if part.perturbation.layout.takes is Takes.IDENTIFIERS for name in part.columns
        }
        if named - {*self._private.of_role(Role.GROUP)} and any(layout.addressed for layout in layouts):
            averaged.append(_EQUAL_PSEUDONYMS)
        if self._summed:
            averaged.append(
                f"Column {listed(self._summed)}: constant within groups, but released as a sum of columns that are "
                "not, so members average its noise; leave it out of the sums for one noise per group."
            )
        return [summary, *(remark for part in self._parts for remark in part.remarks), *averaged]

    # -- first pass -------------------------------------------------------------------------

    def _learned(self, table: Table, roles: Mapping[str, str] | None) -> list[LedgerPart]:
        """The ledger's parts from the first pass, begun again where it showed that columns are of other types."""
        while True:
            schema = table.schema
            try:
                self._resolve(table, roles)
                total = self._scan()
            except TypesChanged:
                continue
            except (VeilError, pa.ArrowInvalid, pa.ArrowTypeError):  # it may have been the wrong type that was refused
                if table.settle():
                    continue
                raise
            if table.schema.equals(schema):
                return self._fit(total)
            groups = self._group_scan()
            by_value = {*categorical(self._parts), self._consistent_on, *(() if groups is None else groups.columns)}
            self._resolve(table, roles)
            if not any(reads_otherwise(schema.field(f.name), f, by_value) for f in table.schema):
                return self._fit(total)

    def _resolve(self, table: Table, roles: Mapping[str, str] | None) -> None:
        """Roles of all columns, and the parts that change them."""
        resolved = resolve(table, self._plan, roles, self._consistent_on)
        self._plan = resolved.plan
        pairs = zip(self._plan.perturbations, resolved.columns, strict=True)
        self._private = resolved.schema
        self._parts = [FittedPart(p, columns, self.key, self._consistent_on) for p, columns in pairs]
        self._table = table.coded(categorical(self._parts))
        self._levels = table.levels()

    def _scan(self) -> Scanned | None:
        columns = [name for part in self._parts for name in part.columns]
        wanted = columns if self._consistent_on is None else list(dict.fromkeys([*columns, self._consistent_on]))
        scans = [part.scan for part in self._parts]
        leaf = partial(scan_block, scans, self._consistent_on, groups=self._group_scan())
        return summed(leaf, self._table, wanted, engine=self._engine, what="reading", progress=self._progress)

    def _group_scan(self) -> GroupScan | None:
        """The first pass over groups that are released as pseudonyms; None without any."""
        of_groups = self._private.of_role(Role.GROUP)
        named = [part for part in self._parts if part.perturbation.layout.takes is Takes.IDENTIFIERS]
        groups = tuple(name for part in named for name in part.columns if name in of_groups)
        noisy = [part for part in self._parts if part.perturbation.layout.addressed]
        if not groups or not noisy:
            return None
        gaps = [name for part in noisy if part.perturbation.layout.missing_is_category for name in part.columns]
        columns = (*groups, *(name for part in noisy for name in part.columns))
        # A key that is always the same for the same key: what is constant must not change when a run is continued.
        return GroupScan(groups, columns, frozenset(gaps), int.from_bytes(self.key.derive("cells of groups")[:8]))

    def _constant(self, total: Scanned | None) -> ConstantColumns:
        """What is constant within groups."""
        scan = self._group_scan()
        if total is None or scan is None:
            return ConstantColumns()
        constant = ConstantColumns.of(dict(zip(scan.groups, total.groupings, strict=True)))
        # A sum is released as the sum of its terms' released values: it has one noise per group where they all have.
        self._summed = [
            name
            for name, terms in self._plan.sums.items()
            if name in constant.groups and {constant.groups.get(term) for term in terms} != {constant.groups[name]}
        ]
        of_cells = {name: group for name, group in constant.groups.items() if name not in self._summed}
        return replace(constant, groups=of_cells)

    def _fit(self, total: Scanned | None) -> list[LedgerPart]:
        self.n_rows = 0 if total is None else total.summaries[0].n_rows
        if self._consistent_on is not None and total is not None:
            check_ids(pa.chunked_array(list(total.ids)), self._consistent_on)
        summaries = [None] * len(self._parts) if total is None else total.summaries
        constant, schema = self._constant(total), self._table.schema
        entries = [part.fit(each, schema, constant) for part, each in zip(self._parts, summaries, strict=True)]
        for part, names in zip(self._parts, released_columns([p.perturbation for p in self._parts]), strict=True):
            part.rename(names)
        rules, totals = self._plan.applied
        self._plausible = PlausibleColumns.of(rules, totals, self._parts, self._private)
        return entries

    def _enter(self, parts: list[LedgerPart], *, again: bool, shuffle: bool) -> None:
        self.schema = self._released_schema()
        self._plausible = self._with_heaps()
        entry = LedgerEntry(
            parts=parts,
            columns=[self._entered(c) for c in self._private.columns],
            kind=self._table.kind,
            native=self._table.native,
            n_rows=self.n_rows,
            shuffled=shuffle,
            consistent_on=self._consistent_on,
        )
        self._entry = self.key.record(entry, again=again)
        self.manifest = self._manifest()

    def _with_heaps(self) -> PlausibleColumns:
        """The rules with heaps, whose limits follow from a pass over the noisy values."""
        rules, held = self._plan.applied[0], self._plausible
        given = {name: rule.heap_values for name, rule in held.rules.items() if rule.heaps and not rule.limits}
        if rules != AUTO and not given:
            return held
        from veil.publishing.heaps import count_heaps, heap_columns, heap_limits  # loads what few publications need

        wanted = [] if rules != AUTO else [f.name for part in self._parts for f in part.fields]
        columns = heap_columns(self._parts, given, [name for name in wanted if name not in held.totals])
        if not columns:
            return held
        fields = pa.schema([f for part in self._parts for f in part.fields])
        releasing = replace(self.releasing, schema=fields, plausible=None)
        leaf = partial(count_heaps, tuple(columns), releasing)
        read = releasing.columns
        total = summed(leaf, self._table, read, engine=self._engine, what="reading", progress=self._progress)
        assert total is not None  # noqa: S101 - the scan refuses empty tables
        bounds = {name: rule.ends for name, rule in held.rules.items()}
        return held.with_heaps(heap_limits(columns, total, bounds), self._parts)

    def _entered(self, column: Column) -> dict[str, str]:
        """A column as the ledger keeps it."""
        lossy = {"restored": "no"} if self._plausible.lossy(column.name) else {}
        levels = {"levels": json.dumps(self._levels[column.name])} if column.name in self._levels else {}
        return {"name": column.name, "role": str(column.role), "dtype": column.dtype, **lossy, **levels}

    def _released_schema(self) -> pa.Schema:
        """Public columns keep their place; perturbed ones take theirs, or the first of theirs."""
        types = self._plausible.type_of
        pending = {id(p): [pa.field(f.name, types(f.name, f.type)) for f in p.fields] for p in self._parts}
        left = {id(part): len(part.columns) for part in self._parts}
        fields: list[pa.Field] = []
        for column in self._private.columns:
            if column.name in self._private.public:
                dtype = self._table.schema.field(column.name).type
                fields.append(pa.field(column.name, _decoded(dtype)))
                continue
            part = next((part for part in self._parts if column.name in part.columns), None)
            if part is not None:
                left[id(part)] -= 1
                n_take = 1 if left[id(part)] else len(pending[id(part)])
                fields += pending[id(part)][:n_take]
                pending[id(part)] = pending[id(part)][n_take:]
        names = [f.name for f in fields]
        clash = sorted({n for n in names if names.count(n) > 1})
        if clash:
            raise InputError(
                f"column {clash[0]!r} is public or of another part, but a method makes a column of that name; rename it"
            )
        return pa.schema(fields)

    def _manifest(self) -> Manifest:
        columns = {c.name: c for c in self._private.columns}
        parts = tuple(part.public_part(self._private) for part in self._parts)
        order = RowOrder.SUMS if self._plan.reduces else RowOrder.PRIVATE
        return Manifest(
            release=self._entry.number,
            release_id=self._entry.release_id,
            method=" + ".join(part.method for part in parts),
            guarantee=guarantee_of(parts),
            parts=parts,
            public=tuple(PublicColumn(n, columns[n].kind, columns[n].role) for n in self._private.public),
            schema=tuple(ReleasedColumn(f.name, str(f.type)) for f in self.schema),
            key=KeyOrigin.SEEDED if self.key.seeded else KeyOrigin.SECRET,
            missing=Missing.PATTERN if any(part.n_missing for part in self._parts) else Missing.NONE,
            row_order=RowOrder.SHUFFLED if self._entry.shuffled else order,
            arithmetic=arithmetic(),
            veil=__version__,
            plausible=dict(self._plausible.rules),
            sums=dict(self._plausible.totals),
        )

    # -- second pass ------------------------------------------------------------------------

    @property
    def releasing(self) -> Releasing:
        """What releases single blocks."""
        needed = {*self._private.perturbed, *self._private.public, self._consistent_on}
        return Releasing(
            parts=tuple(self._parts),
            columns=tuple(c.name for c in self._private.columns if c.name in needed),
            schema=self.schema,
            consistent_on=self._consistent_on,
            id_secret=self.key.derive("ids") if self._consistent_on is not None else b"",
            plausible=self._plausible if self._plausible else None,
            levels={name: levels for name, levels in self._levels.items() if name in self._private.public},
        )

    @property
    def shuffled(self) -> bool:
        """Whether the rows are released in a secret order."""
        return self._entry.shuffled

    @property
    def reduces(self) -> bool:
        """Whether the release is one batch of sums over records."""
        return self._plan.reduces

    def _map(self, work: Callable[[Block], T]) -> Iterator[T]:
        columns, engine = self.releasing.columns, self._engine
        return map_blocks(work, self._table, columns, engine=engine, what="perturbing", progress=self._progress)

    def rows(self) -> pa.Table:
        """All released rows, in the order of the release."""
        secret = content_secret(self.key)
        if self.reduces:
            rows, notes = pa.Table.from_batches([self.reduced()]), []
        else:
            released = list(self._map(partial(released_rows, self.releasing, secret)))
            rows = pa.Table.from_batches([each.batch for each in released], schema=self.schema)
            notes = [each.notes for each in released]
        order = self.key.row_order(self._entry)
        if order is not None:
            rows = rows.take(pa.array(order))
        if order is not None or self.reduces:
            digests = map_blocks(partial(block_content, secret), MemoryTable(rows))
            notes = [{**note, CONTENT: ""} for note in notes] + [{CONTENT: digest} for digest in digests]
        self._keep(notes, rows.num_rows)
        return rows

    def write(self, output: Output) -> None:
        """Write the release, as far as it is not there yet."""
        if self.reduces or self._entry.shuffled:  # a secret order needs all rows at hand
            output.write_in_order(as_rows, MemoryTable(self.rows()))
            return
        work = partial(released_rows, self.releasing, content_secret(self.key))
        columns, engine = self.releasing.columns, self._engine
        output.write(work, self._table, columns, engine=engine, what="perturbing", progress=self._progress)
        self._keep(output.notes, output.n_rows)

    def _keep(self, notes: Iterable[dict[str, Any]], n_rows: int) -> None:
        """Let the key keep what restores all rows, and what tells whether they are those that were released."""
        corrections: Corrections = {}
        held, digests = list(notes), []
        for note in held:
            join_corrections(corrections, note.get(CORRECTIONS, {}))
            digests.append(note[CONTENT])
        self._entry.corrections.update(corrections)
        if self._plausible:
            self._tell_sums(held)
        self._tell_levels(held)
        content = content_of(content_secret(self.key), self.schema, digests, n_rows)
        if content not in self._entry.content:
            self._entry.content.append(content)

    def _tell_sums(self, notes: Sequence[dict[str, Any]]) -> None:
        """Add to the manifest the sums of values before they were made plausible, and the means of those cut."""
        sums, cut = sums_before(notes, self._plausible.rules)
        parts = [
            replace(part, products=before.products, patterns=before.patterns, weighted=before.weighted)
            if (before := sums.get(i)) is not None
            else part
            for i, part in enumerate(self.manifest.parts)
        ]
        self.manifest = replace(self.manifest, parts=tuple(parts), cut=cut)

    def _tell_levels(self, notes: Iterable[dict[str, Any]]) -> None:
        """Add to the manifest the order of public categories, as far as they occur."""
        places: dict[str, set[int]] = {}
        for note in notes:
            for name, there in note.get(LEVELS, {}).items():
                places.setdefault(name, set()).update(there)
        public = tuple(
            replace(column, levels=tuple(self._levels[column.name][i] for i in sorted(places[column.name])))
            if column.name in places
            else column
            for column in self.manifest.public
        )
        self.manifest = replace(self.manifest, public=public)

    def lazily(self, table: PartitionedTable, cluster: Cluster | None) -> Release:
        """The release of a Dask frame: a frame whose partitions are perturbed when they are computed."""
        from veil.publishing.dask_release import corrections_of, released_partitions

        releasing = self.releasing
        if self._plausible:
            raise InputError("plausible: a Dask frame is perturbed when it is computed; publish it from files")
        corrections: Corrections = {}
        if any(part.corrects for part in self._parts):  # the key must have them before anybody asks for it
            for notes in self._map(partial(corrections_of, releasing)):
                join_corrections(corrections, notes)
        self._entry.corrections.update(corrections)
        return Release(released_partitions(releasing, table, cluster), self.manifest, cluster)

    def reduced(self) -> pa.RecordBatch:
        """The few rows into which all records are summed."""
        (part,) = self._parts
        total = summed(
            part.share,
            self._table,
            part.columns,
            engine=self._engine,
            what="perturbing",
            progress=self._progress,
        )
        assert total is not None  # noqa: S101 - the scan refuses empty tables
        return pa.RecordBatch.from_arrays([from_float(row) for row in total], schema=self.schema)


def released_rows(releasing: Releasing, secret: bytes, block: Block) -> BlockRows:
    """The released batch of a block, with what the key keeps of it as notes."""
    rows = releasing.batch(block)
    content = block_content(secret, Block(block.start, rows.batch))
    return BlockRows(rows.batch, {**rows.notes, CONTENT: content})


def _random_state(plan: Plan) -> Any:
    """The first random state that a part of the plan has."""
    states = [revealed(p.random_state) for p in plan.perturbations]
    return next((state for state in states if state is not None), None)


def seed_of(perturbation: Perturbation | Plan) -> int | None:
    """The seed that the key would be made of, if there is one."""
    state = _random_state(as_plan(perturbation))
    return int(state) if isinstance(state, int | np.integer) else None


def _what_comes_back(stuck: int, perturbed: int, withheld: int) -> str:
    if stuck == perturbed:
        return "The key cannot bring the private values back."
    lost = [f"{stuck} of {perturbed} perturbed columns"] if stuck else []
    lost += [f"{withheld} withheld column{'s' if withheld != 1 else ''}"] if withheld else []
    return f"The key brings the private values back{', but not ' + ' and '.join(lost) if lost else ''}."


def _decoded(dtype: pa.DataType) -> pa.DataType:
    """The type of a public column's values as every format has it."""
    if pa.types.is_dictionary(dtype):
        return _decoded(dtype.value_type)
    return pa.string() if pa.types.is_string_view(dtype) else dtype
