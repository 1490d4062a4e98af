"""A release that is there already, beside the private table: read, checked, and brought into one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge import LARGEST
from veil.auditing.elsewhere.columns import as_texts, beside
from veil.auditing.truth import Truth
from veil.data.blocks import to_float
from veil.data.identifiers import named_once
from veil.data.schema import (
    PERTURBED,
    Column,
    Kind,
    Role,
    Schema,
    assign_roles,
    check_known_columns,
    kind_of,
    parse_roles,
)
from veil.data.sources import as_table, nearly_numeric_columns, unique_integer_columns
from veil.data.tables import MemoryTable
from veil.errors import InputError
from veil.release.manifest import MANIFEST
from veil.release.models import RecodedModel
from veil.release.release import Release

ORDER = "order"
SENSITIVE = str(Role.SENSITIVE)
FEWEST_ROWS = 4


def own_release(release: Any) -> Release | None:
    """A release of Veil's, which describes itself: the object or its folder."""
    if isinstance(release, str | Path) and (Path(release) / MANIFEST).is_file():
        return Release.load(release)
    return release if isinstance(release, Release) else None


def released_table(release: Any) -> pa.Table:
    """The released rows."""
    table = as_table(release).read()
    if table.num_rows < FEWEST_ROWS:
        raise InputError(f"release: has {table.num_rows} rows; an audit needs at least {FEWEST_ROWS}")
    return table


def schema_of(own: Release, private: pa.Table) -> Schema:
    """Roles of the private columns as a release's own manifest tells them."""
    parts = [column for part in own.manifest.parts for column in part.columns]
    roles = {column.name: column.role for column in parts}
    roles |= {column.name: column.role for column in own.manifest.public}
    check_known_columns(roles, private.column_names, "release: its manifest")
    for column in parts:
        kind = kind_of(private.schema.field(column.name).type)
        if kind is not column.kind and (kind.is_number or column.kind.is_number):
            raise InputError(
                f"column {column.name!r} is {kind} in the table, and was {column.kind} when the release was "
                "made; give the table that it was made of"
            )
    return Schema(
        tuple(Column(f.name, kind_of(f.type), roles.get(f.name, Role.DROP), str(f.type)) for f in private.schema),
        frozenset(column.name for column in parts if column.role not in PERTURBED),
    )


def undeclared(
    private: pa.Table, foreign: pa.Table, roles: Mapping[str, str], match: str | None, *, described: bool = False
) -> dict[str, str]:
    """Roles of columns that are no numbers, and of the key column, where the owner does not say any.

    Categories that are in the release, too, may be known to outsiders: they are keys, which link people to rows, and
    are not scored. Columns that name most records are dropped, where the method is ``described`` all that are not
    released as they are, and where rows are not matched all: nobody can say whose links are right. Of a table that has
    nothing else to score, those that are in the release are.
    """
    others = [f.name for f in private.schema if not kind_of(f.type).is_number and f.name not in roles]
    key = [match] if match is not None and match != ORDER and match in private.column_names else []
    numeric = [n for n in private.column_names if n not in (*others, *key) and roles.get(n, SENSITIVE) in PERTURBED]
    shared = [name for name in others if name in foreign.column_names]
    if numeric:
        same = private.num_rows == foreign.num_rows
        keys = [n for n in shared if match is not None and n not in key and _repeats(private.column(n))]
        keys = [n for n in keys if not described or (same and _equal_cells(private.column(n), foreign.column(n)))]
        return {**dict.fromkeys([*others, *key], str(Role.DROP)), **dict.fromkeys(keys, str(Role.KEY))}
    return {
        **dict.fromkeys(others, str(Role.DROP)),
        **dict.fromkeys(shared, SENSITIVE),
        **dict.fromkeys(key, str(Role.DROP)),
    }


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a column has fewer values than half its cells: categories, and no names of records."""
    texts = as_texts(column).drop_null()
    return 2 * int(pc.count_distinct(texts).as_py()) < len(texts)


def undescribed_schema(
    private: pa.Table, foreign: pa.Table, roles: Mapping[str, str], *, matched: bool = True
) -> Schema:
    """Roles of the private columns where nothing is said about the method: it may have changed columns of any kind.

    A key is released unchanged if its cells are equal in rows that are matched, a missing one saying nothing; others
    count as changed, in ways that are not known. Groups count as pseudonyms: what they are called says nothing, and who
    shares one belongs together. Without a matching nobody knows: keys count as unchanged, and groups are left out.
    """
    table = MemoryTable(private)
    unknown = [n for n in private.column_names if n not in roles]
    schema = assign_roles(
        private.schema,
        roles,
        covers={name: frozenset(Kind) for name in private.column_names},
        unique_integers=unique_integer_columns(table, unknown),
        nearly_numeric=nearly_numeric_columns(table, parse_roles(roles, private.column_names)),
    )
    if not matched:
        return schema
    there = [name for name in schema.of_role(Role.KEY, Role.GROUP) if name in foreign.column_names]
    groups = schema.of_role(Role.GROUP)
    changed = [n for n in there if n in groups or not _equal_cells(private.column(n), foreign.column(n))]
    return replace(schema, changed=schema.changed | frozenset(changed))


def _equal_cells(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> bool:
    """Whether two columns are equal cell by cell, where the second has any."""
    x, y, _ = beside(ours, theirs)
    there = ~np.isnan(y)
    return bool((x[there] == y[there]).all())


def coded(foreign: pa.Table, truth: Truth) -> pa.Table:
    """A release with its categories as the codes of the private ones, and codes beyond for those that they lack."""
    for name, listing in zip(truth.columns, truth.categories, strict=True):
        if listing is None or name not in foreign.column_names:
            continue
        known = as_texts(pa.chunked_array([pa.array(list(listing))])).to_pylist()
        texts = as_texts(foreign.column(name))
        others = sorted({*texts.drop_null().to_pylist()} - {*known})
        values = pc.index_in(texts, value_set=pa.array([*known, *others], type=pa.string())).cast(pa.float64())
        foreign = foreign.set_column(foreign.column_names.index(name), name, values)
    return foreign


def aligned(private: pa.Table, foreign: pa.Table, match: str) -> tuple[pa.Table, pa.Table]:
    """Both tables with the same people in the same order."""
    if match == ORDER:
        if private.num_rows != foreign.num_rows:
            raise InputError(
                f"match: by order needs as many rows in both; the table has {private.num_rows} and the release "
                f"{foreign.num_rows}; name a key column, or none"
            )
        return private, foreign
    for table, where in ((private, "the table"), (foreign, "the release")):
        if match not in table.column_names:
            raise InputError(f"match: {where} has no column {match!r}; name one that both tables have, or use order")
    ours, theirs = (
        named_once(table, match, "match", where) for table, where in ((private, "the table"), (foreign, "the release"))
    )
    at = pc.index_in(ours, value_set=theirs.combine_chunks())
    both = pc.is_valid(at)
    n = pc.sum(both).as_py() or 0
    if n < FEWEST_ROWS:
        raise InputError(
            f"match: only {n} keys of column {match!r} are in both tables, and an audit needs {FEWEST_ROWS}; are they "
            "written alike?"
        )
    return private.filter(both), foreign.take(at.drop_null())


def checked(release: Release) -> Release:
    """A release whose columns hold what the described method makes: numbers, or its own categories."""
    for i, described in enumerate(release.manifest.parts):
        part, categories = release.part(i), described.model.released_categories()
        if isinstance(described.model, RecodedModel):
            for name, column in zip(described.released, described.model.columns, strict=True):
                if not column.is_exact_number:
                    _check_categories(part, name, [*column.released, None])
            continue
        if categories is not None:
            for name, listing in zip(described.released, categories, strict=True):
                _check_categories(part, name, listing)
            continue
        for name in described.released:
            kind = kind_of(part.table.schema.field(name).type)
            own = {column.name: column.kind for column in described.columns}.get(name)
            if not kind.is_number or (kind.is_timed and kind is not own):
                raise InputError(f"release: column {name!r} holds {kind}, and the described method makes numbers")
    return release


def _check_categories(part: Release, name: str, listing: Any) -> None:
    values = part.table.read([name]).column(0)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    known = {str(value) for value in listing}
    strange = sum(str(value) not in known for value in values.to_pylist())
    if strange:
        raise InputError(
            f"release: column {name!r} has {strange} values that the described method does not make; describe it "
            "differently, or leave the description out"
        )


def check_numbers(table: pa.Table, names: Sequence[str], where: str) -> None:
    """Refuse columns in which nothing can be measured: no value at all, or values beyond what can be squared."""
    for name in names:
        if not kind_of(table.schema.field(name).type).is_number:
            continue
        values = to_float(table.column(name).combine_chunks(), name)
        beyond = int((np.abs(values) > LARGEST).sum())
        if beyond:
            raise InputError(
                f"column {name!r} of {where} has {beyond} values that are infinite or beyond ±{LARGEST:g}; replace them"
            )
        largest = float(np.nanmax(np.abs(values), initial=0.0))
        if 0.0 < largest < 1.0 / LARGEST:
            raise InputError(
                f"column {name!r} of {where}: the {len(values)} values are too small to be squared (about "
                f"{1.0 / LARGEST:g} is the limit); rescale the column"
            )
        if len(values) and np.isnan(values).all():
            raise InputError(f"column {name!r} of {where} has no value: all {len(values)} are missing; leave it out")
