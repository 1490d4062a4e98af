"""Releases: a perturbed table and its public manifest, saved whole or not at all.

A release is a folder with one data file, or a folder of shards, and ``manifest.json``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.arguments import choice
from veil.data.blocks import Block, Matrix
from veil.data.files import FORMATS, CsvTable, ExcelTable, FileTable, open_table
from veil.data.levels import as_ordered
from veil.data.passes import Engine, summed
from veil.data.schema import Role
from veil.data.sums import Summable
from veil.data.tables import FrameKind, MemoryTable, Table, as_frame
from veil.errors import FileFormatError, InputError, NotApplicableError, TamperedError
from veil.numerics.moments import Moments, block_moments
from veil.release.manifest import MANIFEST, Manifest, Part
from veil.release.models import PseudonymModel, RecodedModel
from veil.storage.atomic import write_public
from veil.storage.hashes import sha256_of, sha256_of_shards
from veil.storage.jobs import Job, Output, file_job
from veil.storage.shards import BlockRows

S = TypeVar("S", bound=Summable)


def moments_of_columns(columns: Sequence[str], block: Block) -> Moments:
    """Moments of some columns of a block."""
    return block_moments(block.matrix(columns, lent=True))


class Release:
    """A perturbed table with its manifest: all that an attacker or an analyst gets.

    ``group`` is the released column of pseudonyms that tells which records belong together, if there is one.
    """

    def __init__(self, table: Table, manifest: Manifest, engine: Engine | None = None) -> None:
        self._table = table
        self.manifest = manifest
        self.engine = engine
        self.group = _group_of(manifest)
        self._moments: Moments | None = None

    @property
    def data(self) -> Any:
        """The released table, as the kind of frame that was published; ordered categories in their order."""
        orders = self.manifest.orders()
        if not orders or self._table.kind in ("dask", "numpy"):
            return self._table.frame()
        rows = self._table.read()
        for name, levels in orders.items():
            if name in rows.column_names:
                rows = rows.set_column(rows.column_names.index(name), name, as_ordered(rows.column(name), levels))
        return as_frame(rows, self._table.kind, self._table.native)

    @property
    def table(self) -> Table:
        """The released table, readable in blocks."""
        return self._table

    @property
    def only_part(self) -> Part:
        """The one perturbation of this release."""
        if len(self.manifest.parts) != 1:
            raise NotApplicableError(
                f"this release has {len(self.manifest.parts)} perturbations; use release.part(i) for one of them"
            )
        return self.manifest.parts[0]

    @property
    def step(self) -> Part:
        """The name of :attr:`only_part` in version 0.1; it goes with the next version."""
        warnings.warn("release.step is now release.only_part", DeprecationWarning, stacklevel=2)
        return self.only_part

    @property
    def method(self) -> str:
        """Name of the one perturbation."""
        return self.only_part.method

    def part(self, i: int) -> Release:
        """The release as far as its ``i``-th perturbation goes, with the public columns."""
        if not 0 <= i < len(self.manifest.parts):
            raise InputError(f"part must be from 0 to {len(self.manifest.parts) - 1}; got {i}")
        part = Release(self._table, replace(self.manifest, parts=(self.manifest.parts[i],)), self.engine)
        part.group = self.group
        return part

    def to_numpy(self) -> Matrix:
        """The perturbed columns as an N × k array, missing values as NaN."""
        types = {f.name: f.type for f in self._table.schema}
        if any(pa.types.is_string(types[n]) or pa.types.is_dictionary(types[n]) for n in self.only_part.released):
            raise NotApplicableError(f"a {self.method} release holds texts, not numbers; use release.data")
        blocks = [block.matrix(self.only_part.released) for block in self._table.blocks(self.only_part.released)]
        if not blocks:
            return np.empty((0, len(self.only_part.released)))
        return np.ascontiguousarray(np.hstack(blocks).T)

    def codes(self) -> npt.NDArray[np.int64]:
        """Reported categories as N × d codes in the order that the manifest lists them."""
        categories = self.only_part.model.private_categories()
        if categories is None:
            raise NotApplicableError(f"a {self.method} release has no categories")
        columns = []
        for name, known in zip(self.only_part.released, categories, strict=True):
            if known is None:
                raise NotApplicableError(f"column {name!r} of a {self.method} release holds numbers, not categories")
            values = self._table.read([name]).column(0)
            if pa.types.is_dictionary(values.type):
                values = values.cast(values.type.value_type)
            codes = pc.index_in(values, value_set=pa.array(list(known), type=values.type), skip_nulls=False)
            columns.append(codes.fill_null(-1).to_numpy().astype(np.int64))
        return np.column_stack(columns)

    def moments(self) -> Moments:
        """Mean and covariance of the perturbed columns, in one pass; computed once."""
        if self._moments is None:
            self._moments = self.summed(partial(moments_of_columns, self.only_part.released))
        return self._moments

    def summed(self, leaf: Callable[[Block], S], columns: Sequence[str] | None = None) -> S:
        """``leaf`` of every block of the perturbed columns (or those named), added up in one pass.

        Sums follow a fixed binary tree, so they are the same on one core, on several and on a cluster. For a cluster
        ``leaf`` must be able to travel: a module's function, with other arguments bound by ``functools.partial``.
        """
        wanted = self.only_part.released if columns is None else columns
        total: S | None = summed(leaf, self._table, wanted, engine=self.engine)
        if total is None:
            raise NotApplicableError("the release has no rows")
        return total

    def __repr__(self) -> str:
        methods = " + ".join(part.method for part in self.manifest.parts)
        return f"<Release {self.manifest.release}: {methods}, {len(self.manifest.schema)} columns>"

    def _repr_html_(self) -> str:
        from veil.report.released import released_fragment, view_of

        return released_fragment("Release", view_of(self.manifest, self._table.n_rows))

    def save(self, folder: str | Path, *, format: str = "parquet") -> None:
        """Write the release folder, whole or not at all; an existing one is refused."""
        choice(format, "format", sorted(set(FORMATS.values())))
        with file_job(Path(folder), resumable=False) as job:
            job.begin({"release": self.manifest.release_id, "format": format})
            schema = self._saved_schema()
            output = job.output(schema, format)
            output.write_in_order(partial(rows_in, schema), self._table)
            draft, self.manifest = draft_release(job, output, self.manifest)
            job.land(draft)

    def _saved_schema(self) -> pa.Schema:
        """The types that the manifest names: a frame may hold categories for them, and Parquet has no seconds."""
        types = {column.name: arrow_type(column.type) for column in self.manifest.schema}
        return pa.schema([pa.field(f.name, types.get(f.name) or f.type) for f in self._table.schema])

    @classmethod
    def load(
        cls, folder: str | Path, *, kind: FrameKind = "pyarrow", engine: Engine | None = None, verify: bool = True
    ) -> Release:
        """Read a release folder and check its data against the manifest's hash.

        ``engine`` runs the passes over it; all cores of this machine by default. Whoever has just written the release
        need not ``verify`` it.
        """
        folder = Path(folder)
        choice(kind, "kind", ("pandas", "polars", "pyarrow", "numpy"))
        try:
            if not (folder / MANIFEST).is_file():  # a pipe or a device may never end
                raise FileNotFoundError
            manifest = Manifest.from_json((folder / MANIFEST).read_bytes())
            path = folder / Path(manifest.data["file"]).name
            expected = manifest.data["sha256"]
            there = path.is_file() or (path.is_dir() and path.suffix == ".parquet")
        except OSError:
            raise FileFormatError(f"{folder}: not a release folder (no readable {MANIFEST})") from None
        except FileFormatError as error:
            raise FileFormatError(f"{folder}: {error}") from None
        except (KeyError, ValueError):
            raise FileFormatError(f"{folder}: its {MANIFEST} is damaged or of another version") from None
        if not there:
            raise TamperedError(f"{folder}: {path.name} is missing, which the manifest names; fetch the release anew")
        if verify and _hash_of(path) != expected:
            raise TamperedError(
                f"{folder}: {path.name} does not match the hash in the manifest; fetch the release anew"
            )
        types = {column.name: arrow_type(column.type) for column in manifest.schema}
        known = {name: _read_as(dtype) for name, dtype in types.items() if dtype is not None}
        table = _opened(path, known)
        table.kind = kind
        if table.schema.names != [column.name for column in manifest.schema]:
            raise FileFormatError(f"{folder}: its {MANIFEST} names other columns than {path.name} has")
        for name, dtype in known.items():
            if _numeric(dtype) and not _numeric(table.schema.field(name).type):
                line = f"column {name!r} of {path.name} does not hold {dtype}, as {MANIFEST} says"
                raise FileFormatError(f"{folder}: {line}")
        _check_categories(manifest, table.schema, folder)
        return cls(table, manifest, engine)


def _group_of(manifest: Manifest) -> str | None:
    """The pseudonyms of the column with the role group."""
    pseudonyms = [part for part in manifest.parts if isinstance(part.model, PseudonymModel)]
    named = [zip(part.columns, part.released, strict=True) for part in pseudonyms]
    return next((name for pairs in named for column, name in pairs if column.role is Role.GROUP), None)


def _opened(path: Path, types: dict[str, pa.DataType]) -> FileTable:
    """The data of a release folder, in the types of its manifest where the format does not keep them."""
    if path.name.endswith((".csv", ".csv.gz")):
        return CsvTable(path, types)
    return ExcelTable(path, types=types) if path.suffix == ".xlsx" else open_table(path)


def memory_release(table: pa.Table, manifest: Manifest, kind: FrameKind, native: dict[str, str]) -> Release:
    """A release held in memory."""
    return Release(MemoryTable(table, kind, native), manifest)


def rows_in(schema: pa.Schema, block: Block) -> BlockRows:
    """A block in the types of a schema."""
    arrays = [block.column(field.name) for field in schema]
    try:
        arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, schema, strict=True)]
    except pa.ArrowException:
        raise TamperedError("the data is not of the types that the manifest names; fetch the release anew") from None
    return BlockRows(pa.RecordBatch.from_arrays(arrays, schema=schema))


def draft_release(job: Job, output: Output, manifest: Manifest) -> tuple[Path, Manifest]:
    """Data and manifest as a folder in the draft of a job, ready to land; and the manifest with the data's hash."""
    folder = job.fresh_folder("release")
    name = f"data.{output.kind}"
    manifest = replace(manifest, data={"file": name, "sha256": output.assemble(folder / name)})
    write_public(folder / MANIFEST, manifest.to_json().encode())
    return folder, manifest


def _hash_of(path: Path) -> str:
    """The hash of released data: a file, or a folder of shards."""
    if path.is_file():
        return sha256_of(path)
    files = sorted(path.iterdir())
    if not all(file.is_file() for file in files):
        return ""
    with ThreadPoolExecutor() as pool:
        return sha256_of_shards(dict(zip((file.name for file in files), pool.map(sha256_of, files), strict=True)))


def _numeric(dtype: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    return any(kind(dtype) for kind in kinds)


def _check_categories(manifest: Manifest, schema: pa.Schema, folder: Path) -> None:
    """Refuse a manifest whose categories are not of the type that the released column has."""
    for part in manifest.parts:
        listings = part.model.private_categories()
        if listings is not None:
            for name, categories in zip(part.released, _released_listings(part, listings), strict=True):
                if categories is None:
                    continue
                dtype = schema.field(name).type
                try:
                    pa.array(list(categories), dtype.value_type if pa.types.is_dictionary(dtype) else dtype)
                except (OverflowError, pa.ArrowException):
                    line = f"the categories of column {name!r} are not of the type {dtype}"
                    raise FileFormatError(
                        f"{folder}: its {MANIFEST} is damaged or of another version: {line}"
                    ) from None


def _released_listings(part: Part, listings: Sequence[Sequence[Any] | None]) -> Sequence[Sequence[Any] | None]:
    """What the released columns hold: recoded ones their labels, others the private categories."""
    if not isinstance(part.model, RecodedModel):
        return listings
    return [None if known is None else c.released for c, known in zip(part.model.columns, listings, strict=True)]


def _read_as(dtype: pa.DataType) -> pa.DataType:
    """The type in which a CSV column is read: Arrow parses no numbers of 16 bits."""
    return pa.float32() if pa.types.is_float16(dtype) else dtype


def arrow_type(text: str) -> pa.DataType | None:
    """The Arrow type that a manifest names; None for nested types, which need no cast.

    >>> arrow_type("int32"), arrow_type("decimal128(10, 2)")
    (DataType(int32), Decimal128Type(decimal128(10, 2)))
    """
    decimal = re.fullmatch(r"decimal(\d+)\((\d+), (-?\d+)\)", text)
    if decimal:
        width, precision, scale = (int(part) for part in decimal.groups())
        maker: Any = getattr(pa, f"decimal{width}")
        return maker(precision, scale)
    instant = re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=(.+)\]", text)
    if instant:
        return pa.timestamp(*instant.groups())
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return None
