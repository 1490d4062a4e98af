"""The owner's door: publish a private table.

One pipeline serves frames and files. A first pass scans the private columns (rules, moments,
fingerprint); then canonical blocks are perturbed one at a time and handed on, to a frame in
memory or to a writer. A plan gives different columns to different methods; each is a
:class:`veil.publishing.parts.Part` of the same two passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil._version import __version__
from veil.data.blas import arithmetic
from veil.data.blocks import Block, from_float
from veil.data.cluster import Cluster
from veil.data.dask_frames import PartitionedTable
from veil.data.passes import Engine, SpanWork, Threads, summed
from veil.data.schema import Role
from veil.data.sources import as_table
from veil.data.tables import Table
from veil.errors import InputError, KeyRefusedError
from veil.keys.key import Key, LedgerEntry, LedgerPart, key_from
from veil.perturbations import Perturbation
from veil.perturbations.scan import Scan, Summary
from veil.progress import Progress, silent
from veil.publishing.dask_release import Correcting, active_cluster, released_partitions
from veil.publishing.parts import Corrections, Part
from veil.publishing.plan import Plan, as_plan, resolve
from veil.publishing.second_pass import Reducing, Releasing, ReleasingSpan, categorical, join_corrections
from veil.release.manifest import KeyOrigin, Manifest, Missing, PublicColumn, ReleasedColumn, RowOrder
from veil.release.release import Release, memory_release
from veil.secret import revealed

T = TypeVar("T")


@dataclass(frozen=True)
class Scanned:
    """What a stretch of rows adds to the first pass of every part."""

    summaries: tuple[Summary, ...]
    ids: tuple[pa.Array, ...] = ()

    def __add__(self, other: Scanned) -> Scanned:
        both = zip(self.summaries, other.summaries, strict=True)
        return Scanned(tuple(a + b for a, b in both), self.ids + other.ids)


@dataclass(frozen=True)
class Scanning:
    """The first pass of every part over one block."""

    scans: tuple[Scan, ...]
    consistent_on: str | None

    def __call__(self, block: Block) -> Scanned:
        ids = () if self.consistent_on is None else (block.column(self.consistent_on),)
        return Scanned(tuple(scan(block) for scan in self.scans), ids)


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
        shuffle: bool = False,
        progress: Progress = silent,
        engine: Engine | None = None,
    ) -> None:
        plan = as_plan(perturbation)
        if shuffle and plan.reduces:
            raise InputError("shuffle has nothing to shuffle: the release has no rows that are records; leave it out")
        if key is not None and not isinstance(key, Key):
            raise KeyRefusedError("key must be a veil.Key; load one with veil.Key.load(path)")
        resolved = resolve(table, plan, roles, consistent_on)
        self._private, self._plan = resolved.schema, plan
        self._consistent_on, self._progress, self._engine = consistent_on, progress, engine
        self.key = key if key is not None else key_from(_random_state(plan))
        pairs = zip(plan.perturbations, resolved.columns, strict=True)
        self._parts = [Part(p, columns, self.key, consistent_on) for p, columns in pairs]
        self._table = table.coded(categorical(self._parts))
        self._enter(self._scan(), again=again, shuffle=shuffle)

    def remarks(self) -> list[str]:
        """What the owner should know about the release."""
        stuck = sum(
            len(part.columns)
            for part in self._parts
            if not part.perturbation.invertible(consistent=self._consistent_on is not None)
        )
        said = [_what_comes_back(stuck, sum(len(part.columns) for part in self._parts), len(self._private.withheld))]
        return [*said, *(remark for part in self._parts for remark in part.perturbation.remarks())]

    # -- first pass -------------------------------------------------------------------------

    def _scan(self) -> list[LedgerPart]:
        columns = [name for part in self._parts for name in part.columns]
        wanted = columns if self._consistent_on is None else list(dict.fromkeys([*columns, self._consistent_on]))
        leaf = Scanning(tuple(part.scan for part in self._parts), self._consistent_on)
        found = summed(leaf, self._table, wanted, engine=self._engine, what="reading", progress=self._progress)
        self.n_rows = 0 if found is None else found.summaries[0].n_rows
        if self._consistent_on is not None and found is not None:
            _check_ids(pa.chunked_array(list(found.ids)), self._consistent_on)
        totals = [None] * len(self._parts) if found is None else found.summaries
        entries = [part.fit(total, self._table.schema) for part, total in zip(self._parts, totals, strict=True)]
        made: dict[str, int] = {}
        for part, entry in zip(self._parts, entries, strict=True):
            part.renumber(made.get(entry.method, 0))
            made[entry.method] = made.get(entry.method, 0) + len(part.released)
        return entries

    def _enter(self, parts: list[LedgerPart], *, again: bool, shuffle: bool) -> None:
        self.schema = self._released_schema()
        entry = LedgerEntry(
            parts=parts,
            columns=[{"name": c.name, "role": str(c.role), "dtype": c.dtype} for c in self._private.columns],
            kind=self._table.kind,
            native=self._table.native,
            n_rows=self.n_rows,
            shuffled=shuffle,
            consistent_on=self._consistent_on,
        )
        self._entry = self.key.record(entry, again=again)
        self.manifest = self._manifest()

    def _released_schema(self) -> pa.Schema:
        """Public columns keep their place; perturbed ones take theirs, or the first of theirs."""
        pending = {id(part): list(part.fields) for part in self._parts}
        left = {id(part): len(part.columns) for part in self._parts}
        fields: list[pa.Field] = []
        for column in self._private.columns:
            if column.role is Role.PUBLIC:
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
        kinds = {c.name: c.kind for c in self._private.columns}
        parts = tuple(part.public_part(self._private) for part in self._parts)
        order = RowOrder.SUMS if self._plan.reduces else RowOrder.PRIVATE
        guarantees = {part.guarantee for part in parts}
        return Manifest(
            release=self._entry.number,
            release_id=self._entry.release_id,
            method=" + ".join(part.method for part in parts),
            guarantee=guarantees.pop() if len(guarantees) == 1 else "see parts",
            parts=parts,
            public=tuple(PublicColumn(n, kinds[n]) for n in self._private.public),
            schema=tuple(ReleasedColumn(f.name, str(f.type)) for f in self.schema),
            key=KeyOrigin.SEEDED if self.key.seeded else KeyOrigin.SECRET,
            missing=Missing.PATTERN if any(part.n_missing for part in self._parts) else Missing.NONE,
            row_order=RowOrder.SHUFFLED if self._entry.shuffled else order,
            arithmetic=arithmetic(),
            veil=__version__,
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
        )

    @property
    def reduces(self) -> bool:
        """Whether the release is one batch of sums over records."""
        return self._plan.reduces

    def run(self, work: SpanWork[T]) -> Iterator[T]:
        """Second-pass work over the private table, in the order of its spans."""
        engine = self._engine or Threads()
        return engine.run(work, self._table, what="perturbing", progress=self._progress)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, block by block, in the private table's order."""
        if self.reduces:
            yield self.reduced()
            return
        found: Corrections = {}
        for released in self.run(ReleasingSpan(self.releasing)):
            for block in released:
                join_corrections(found, block.notes)
                yield block.batch
        self.keep(found)

    def keep(self, corrections: Corrections) -> None:
        """Let the key keep the corrections of all rows."""
        self._entry.corrections.update(corrections)

    def lazily(self, table: PartitionedTable, cluster: Cluster | None) -> Release:
        """The release of a Dask frame: a frame whose partitions are perturbed when they are computed."""
        releasing = self.releasing
        found: Corrections = {}
        if any(part.corrects for part in self._parts):  # the key must have them before anybody asks for it
            for notes in self.run(Correcting(releasing)):
                for each in notes:
                    join_corrections(found, each)
        self.keep(found)
        return Release(released_partitions(releasing, table, cluster), self.manifest, cluster)

    def reduced(self) -> pa.RecordBatch:
        """The few rows into which all records are summed."""
        (part,) = self._parts
        total = summed(
            Reducing(part),
            self._table,
            part.columns,
            engine=self._engine,
            what="perturbing",
            progress=self._progress,
        )
        assert total is not None  # noqa: S101 - the scan refuses empty tables
        return pa.RecordBatch.from_arrays([from_float(row) for row in total], schema=self.schema)

    def permutation(self) -> npt.NDArray[np.intp] | None:
        """The secret order of the released rows, when they are shuffled."""
        return self.key.row_order(self._entry)


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


def publish(
    table: Any,
    perturbation: Perturbation | Plan,
    *,
    key: Key | None = None,
    again: bool = False,
    roles: Mapping[str, str] | None = None,
    consistent_on: str | None = None,
    shuffle: bool = False,
) -> tuple[Release, Key]:
    """Perturb a private table: the release goes out, the key stays home.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow frame, a 2-D numpy array, or a file path. A Dask frame is read where it is, by the
        cluster that this process is connected to or by its threads; the release's data is a Dask frame, too.
    perturbation
        The method, or a :class:`veil.Plan` of several; it is cloned, not changed.
    key
        A key to use again. It refuses another table or other parameters unless ``again``.
    again
        Allow a second release under one key; the manifest numbers it.
    roles
        Column roles: identifier, sensitive, quasi, public or drop. Numeric columns are
        sensitive by default; text and all-different integer columns must be given one.
    consistent_on
        An id column: an unchanged cell of the same id keeps its noise in every release of this key.
    shuffle
        Release the rows in a secret order.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> release, key = veil.publish(x, veil.OrthogonalTransform())
    >>> bool(np.allclose(veil.restore(release, key), x))
    True
    """
    source = as_table(table)
    cluster = active_cluster() if isinstance(source, PartitionedTable) else None
    publication = Publication(
        source,
        perturbation,
        key=key,
        again=again,
        roles=roles,
        consistent_on=consistent_on,
        shuffle=shuffle,
        engine=cluster,
    )
    if isinstance(source, PartitionedTable) and not shuffle and not publication.reduces:
        return publication.lazily(source, cluster), publication.key
    released = pa.Table.from_batches(publication.batches(), schema=publication.schema)
    order = publication.permutation()
    if order is not None:
        released = released.take(pa.array(order))
    released, native = _like_source(released, source)
    return memory_release(released, publication.manifest, source.kind, native), publication.key


def _check_ids(ids: pa.ChunkedArray, name: str) -> None:
    if ids.null_count:
        raise InputError(f"consistent_on column {name!r} has {ids.null_count} missing ids; every record needs one")
    repeated = len(ids) - pc.count_distinct(ids).as_py()
    if repeated:
        raise InputError(f"consistent_on column {name!r} has {repeated} repeated ids; ids must be unique")


def _decoded(dtype: pa.DataType) -> pa.DataType:
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


def _like_source(released: pa.Table, source: Table) -> tuple[pa.Table, dict[str, str]]:
    """Public columns get their own type back: categories re-encoded, without unused ones."""
    native = {}
    for i, field in enumerate(released.schema):
        if field.name not in source.schema.names or field.type == pa.float64():
            continue
        original = source.schema.field(field.name).type
        if pa.types.is_dictionary(original):
            released = released.set_column(i, field.name, released.column(i).dictionary_encode())
        elif field.name in source.native and released.schema.field(i).type == original:
            native[field.name] = source.native[field.name]
    return released, native
