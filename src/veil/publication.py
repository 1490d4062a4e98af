"""The owner's door: publish a private table.

One pipeline serves frames and files. A first pass scans the private columns (rules, moments,
fingerprint); then canonical blocks are perturbed one at a time and handed on, to a frame in
memory or to a writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import clone

from veil._version import __version__
from veil.blocks import Block, Matrix, from_float
from veil.errors import InputError, KeyRefusedError
from veil.key import Key, LedgerEntry, LedgerStep, key_from
from veil.perturbations import Perturbation, Place, find_perturbation
from veil.progress import Progress, silent
from veil.randomness import id_digests
from veil.release import Manifest, Release, Step, memory_release
from veil.schema import Role, Schema, assign_roles, check_known_columns, kind_of, parse_roles
from veil.secret import revealed
from veil.sources import as_table, nearly_numeric_columns, unique_integer_columns
from veil.tables import Table
from veil.threads import arithmetic, one_blas_thread

Corrections = dict[str, tuple[list[int], list[int]]]
# Integers beyond this may come back off by one from a matrix product in float64.
ROUNDING_LIMIT = 2.0**44


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
        perturbation: Perturbation,
        *,
        key: Key | None = None,
        again: bool = False,
        roles: Mapping[str, str] | None = None,
        consistent_on: str | None = None,
        shuffle: bool = False,
        progress: Progress = silent,
    ) -> None:
        if not isinstance(perturbation, Perturbation):
            raise InputError("perturbation must be an object such as AdditiveNoise(), not a class or a name")
        if shuffle and perturbation.reduces:
            raise InputError("shuffle has nothing to shuffle: the release has no rows that are records; leave it out")
        if key is not None and not isinstance(key, Key):
            raise KeyRefusedError("key must be a veil.Key; load one with veil.Key.load(path)")
        self._private = resolve_schema(table, perturbation, roles, consistent_on)
        self._table = table
        self._consistent_on = consistent_on
        self._progress = progress
        self.key = key if key is not None else key_from(revealed(perturbation.random_state))
        self._perturbation: Perturbation = clone(perturbation)
        step = self._scan()
        self._enter(step, again=again, shuffle=shuffle)

    def remarks(self) -> list[str]:
        """What the owner should know about the release."""
        back = self._perturbation.invertible(consistent=self._consistent_on is not None)
        withheld = len(self._private.withheld)
        says = "The key brings the private values back" if back else "The key cannot bring the private values back"
        lost = f", but not {withheld} withheld column{'s' if withheld != 1 else ''}" if back and withheld else ""
        return [f"{says}{lost}.", *self._perturbation.remarks()]

    # -- first pass -------------------------------------------------------------------------

    def _scan(self) -> LedgerStep:
        columns = list(self._private.perturbed)
        scan = self._perturbation.new_scan(columns, self.key)
        wanted = columns if self._consistent_on is None else [*columns, self._consistent_on]
        id_chunks: list[pa.Array] = []
        self.n_rows = 0
        with one_blas_thread():
            for block in self._table.blocks(wanted):
                scan.update(block.matrix(columns))
                self.n_rows += block.n_rows
                if self._consistent_on is not None:
                    id_chunks.append(block.column(self._consistent_on))
                self._progress("reading", self.n_rows, None)
        result = scan.result()
        if self._consistent_on is not None:
            _check_ids(pa.chunked_array(id_chunks), self._consistent_on)
        self._missing = int(result.moments.missing.sum())
        self._perturbation.feature_names_in_ = np.array(columns, dtype=object)
        self._perturbation.fit_scan(columns, result, self.key, self._kept_parameters())
        reach = np.maximum(np.abs(result.moments.minimum), np.abs(result.moments.maximum))
        self._large_integers = [
            j
            for j, name in enumerate(columns)
            if not self._perturbation.element_wise
            and pa.types.is_integer(self._table.schema.field(name).type)
            and reach[j] > ROUNDING_LIMIT
        ]
        return LedgerStep(
            method=self._perturbation.method_name(),
            settings=self._perturbation.settings(),
            parameters=self._perturbation.disclose(),
            columns=columns,
            fingerprint=result.fingerprint,
        )

    def _kept_parameters(self) -> dict[str, Any]:
        """With ``consistent_on``, a column's parameters are fixed at its first publication."""
        kept: dict[str, Any] = {}
        if self._consistent_on is None:
            return kept
        method, settings = self._perturbation.method_name(), self._perturbation.settings()
        for entry in self.key.ledger:
            for step in entry.steps:
                if (step.method, step.settings, entry.consistent_on) == (method, settings, self._consistent_on):
                    earlier = find_perturbation(method).rebuild(step, self.key)
                    for j, name in enumerate(step.columns):
                        kept.setdefault(name, earlier.column_parameters(j))
        return kept

    def _enter(self, step: LedgerStep, *, again: bool, shuffle: bool) -> None:
        self.schema = self._released_schema()
        entry = LedgerEntry(
            steps=[step],
            columns=[{"name": c.name, "role": str(c.role), "dtype": c.dtype} for c in self._private.columns],
            kind=self._table.kind,
            native=self._table.native,
            n_rows=self.n_rows,
            shuffled=shuffle,
            consistent_on=self._consistent_on,
        )
        self._entry = self.key.record(entry, again=again)
        self._fingerprint = step.fingerprint
        self.manifest = self._manifest(step)

    def _released_schema(self) -> pa.Schema:
        """Public columns keep their place; perturbed ones take theirs, or the first of theirs."""
        p = self._perturbation
        self._released = p.released_names(list(self._private.perturbed))
        pending = list(self._released)
        kind = pa.bool_() if p.boolean else pa.float64()
        fields: list[pa.Field] = []
        n_left = len(self._private.perturbed)
        for column in self._private.columns:
            if column.role is Role.PUBLIC:
                dtype = self._table.schema.field(column.name).type
                fields.append(pa.field(column.name, _decoded(dtype)))
            elif column.name in self._private.perturbed:
                n_left -= 1
                n_take = 1 if n_left else len(pending)
                fields += [pa.field(name, kind) for name in pending[:n_take]]
                pending = pending[n_take:]
        names = [f.name for f in fields]
        clash = sorted({n for n in names if names.count(n) > 1})
        if clash:
            raise InputError(f"column {clash[0]!r} is public, but the method makes a column of that name; rename it")
        return pa.schema(fields)

    def _manifest(self, step: LedgerStep) -> Manifest:
        columns = {c.name: c for c in self._private.columns}
        described = tuple(
            {"name": n, "kind": str(columns[n].kind), "role": str(columns[n].role), "dtype": columns[n].dtype}
            for n in step.columns
        )
        public_step = Step(
            method=step.method,
            catalogue=self._perturbation.catalogue_id(),
            parameters=step.parameters,
            columns=described,
            released=tuple(self._released),
            guarantee=self._perturbation.guarantee,
        )
        passes = "missing values are released as missing: their pattern is public"
        order = "rows are in the private table's order"
        if self._perturbation.reduces:
            order = "rows are sums over records"
        return Manifest(
            release=self._entry.number,
            release_id=self._entry.release_id,
            method=public_step.method,
            guarantee=public_step.guarantee,
            steps=(public_step,),
            public=tuple({"name": n, "kind": str(columns[n].kind)} for n in self._private.public),
            schema=tuple({"name": f.name, "type": str(f.type)} for f in self.schema),
            key="seeded, not secret" if self.key.seeded else "secret",
            missing=passes if self._missing else "none",
            row_order="rows are shuffled by a secret permutation" if self._entry.shuffled else order,
            arithmetic=arithmetic(),
            veil=__version__,
        )

    # -- second pass ------------------------------------------------------------------------

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, block by block, in the private table's order."""
        wanted = [c.name for c in self._private.columns if c.name in self._needed()]
        done = 0
        corrections: Corrections = {}
        if self._perturbation.reduces:
            yield self._reduced_batch()
            return
        with one_blas_thread():
            for block in self._table.blocks(wanted):
                yield self._released_batch(block, corrections)
                done += block.n_rows
                self._progress("perturbing", done, self.n_rows)
        self._entry.corrections.update(corrections)

    def _reduced_batch(self) -> pa.RecordBatch:
        """The few rows into which all records are summed."""
        total: Matrix | None = None
        names = self._private.perturbed
        done = 0
        with one_blas_thread():
            for block in self._table.blocks(names):
                part = self._perturbation.perturb_block(block.matrix(names), Place(self._fingerprint, block.start))
                total = part if total is None else total + part
                done += block.n_rows
                self._progress("perturbing", done, self.n_rows)
        assert total is not None  # noqa: S101 - the scan refuses empty tables
        return pa.RecordBatch.from_arrays([from_float(row) for row in total], schema=self.schema)

    def _needed(self) -> set[str]:
        extra = {self._consistent_on} if self._consistent_on is not None else set()
        return {*self._private.perturbed, *self._private.public, *extra}

    def _released_batch(self, block: Block, corrections: Corrections) -> pa.RecordBatch:
        ids = None
        if self._consistent_on is not None:
            ids = id_digests(self.key.derive("ids"), block.column(self._consistent_on).to_pylist())
        matrix = block.matrix(self._private.perturbed)
        place = Place(self._fingerprint, block.start, ids)
        out = self._perturbation.perturb_block(matrix, place)
        if self._large_integers and self._perturbation.invertible(consistent=self._consistent_on is not None):
            self._note_corrections(matrix, out, place, corrections)
        kind = pa.bool_() if self._perturbation.boolean else None
        perturbed = {name: from_float(row, kind) for name, row in zip(self._released, out, strict=True)}
        arrays = [
            perturbed[f.name] if f.name in perturbed else _clean(block.column(f.name).cast(f.type)) for f in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _note_corrections(self, private: Matrix, released: Matrix, place: Place, corrections: Corrections) -> None:
        """Keep, in the key, where rounding would bring a large integer back wrong."""
        back = self._perturbation.restore_block(released, place)
        for j in self._large_integers:
            difference = private[j] - np.rint(back[j])
            wrong = np.flatnonzero(difference)
            rows, amounts = corrections.setdefault(self._private.perturbed[j], ([], []))
            rows.extend((place.start + wrong).tolist())
            amounts.extend(difference[wrong].astype(int).tolist())

    def permutation(self) -> npt.NDArray[np.intp] | None:
        """The secret order of the released rows, when they are shuffled."""
        return self.key.row_order(self._entry)


def publish(
    table: Any,
    perturbation: Perturbation,
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
        A pandas, polars or pyarrow frame, a 2-D numpy array, or a file path.
    perturbation
        The method; it is cloned, not changed.
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
    publication = Publication(
        source, perturbation, key=key, again=again, roles=roles, consistent_on=consistent_on, shuffle=shuffle
    )
    released = pa.Table.from_batches(publication.batches(), schema=publication.schema)
    order = publication.permutation()
    if order is not None:
        released = released.take(pa.array(order))
    released, native = _like_source(released, source)
    return memory_release(released, publication.manifest, source.kind, native), publication.key


def resolve_schema(
    table: Table,
    perturbation: Perturbation,
    roles: Mapping[str, str] | None,
    consistent_on: str | None = None,
) -> Schema:
    """Roles of all columns, or one error that lists those the owner must decide on."""
    given: dict[str, Any] = dict(parse_roles(roles, table.schema.names))
    if consistent_on is not None:
        if not isinstance(consistent_on, str):
            raise InputError("consistent_on must be the name of an id column")
        check_known_columns([consistent_on], table.schema.names, "consistent_on")
        given.setdefault(consistent_on, Role.IDENTIFIER)
        if not perturbation.addressed:
            raise InputError(
                f"consistent_on keeps noise with an id, and {type(perturbation).__name__} adds none; leave it out"
            )
        if not perturbation.keeps_cells:
            raise InputError(
                f"consistent_on keeps the noise of single cells; that of {perturbation.describe()} belongs to whole "
                "records, so use independent noise"
            )
    if perturbation.reduces and consistent_on is None:
        public = [name for name, role in given.items() if role is Role.PUBLIC]
        if public:
            raise InputError(
                f"column {public[0]!r} cannot be public: {type(perturbation).__name__} releases sums over records, no "
                "row of which is a record; give it the role drop"
            )
    open_columns = [f.name for f in table.schema if f.name not in given and kind_of(f.type) in perturbation.covers]
    return assign_roles(
        table.schema,
        given,
        covers=perturbation.covers,
        unique_integers=unique_integer_columns(table, open_columns),
        nearly_numeric=nearly_numeric_columns(table),
    )


def _check_ids(ids: pa.ChunkedArray, name: str) -> None:
    if ids.null_count:
        raise InputError(f"consistent_on column {name!r} has {ids.null_count} missing ids; every record needs one")
    repeated = len(ids) - pc.count_distinct(ids).as_py()
    if repeated:
        raise InputError(f"consistent_on column {name!r} has {repeated} repeated ids; ids must be unique")


def _clean(array: pa.Array) -> pa.Array:
    """A public column that holds what it shows and no more.

    A value that was suppressed, or a row outside a slice, may still lie in Arrow's buffers, and
    Arrow leaves under a null whatever the memory held before.
    """
    if not array.null_count or not _fixed_width(array.type):
        return array.take(pa.array(np.arange(len(array))))
    zero = pa.Array.from_buffers(array.type, 1, [None, pa.py_buffer(bytes(32))])[0]
    filled = pc.if_else(array.is_valid(), array, zero)
    valid = array.is_valid().take(pa.array(np.arange(len(array)))).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [valid, filled.buffers()[1]])


def _fixed_width(dtype: pa.DataType) -> bool:
    try:
        return bool(dtype.bit_width)
    except ValueError:
        return False


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
