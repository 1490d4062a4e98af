"""A release that is there already, beside the private table: read, checked, and brought into one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge import LARGEST
from veil.auditing.elsewhere.columns import as_texts
from veil.auditing.truth import Truth
from veil.data.blocks import to_float
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


def undeclared(private: pa.Table, foreign: pa.Table, roles: Mapping[str, str], match: str | None) -> dict[str, str]:
    """Roles of columns that are no numbers, and of the key column, where the owner does not say any.

    They are not scored; of a table that has nothing else to score, those that are in the release are.
    """
    others = [f.name for f in private.schema if not kind_of(f.type).is_number and f.name not in roles]
    key = [match] if match is not None and match != ORDER and match in private.column_names else []
    numeric = [n for n in private.column_names if n not in (*others, *key) and roles.get(n, SENSITIVE) in PERTURBED]
    if numeric:
        return dict.fromkeys([*others, *key], str(Role.DROP))
    shared = [name for name in others if name in foreign.column_names]
    return {
        **dict.fromkeys(others, str(Role.DROP)),
        **dict.fromkeys(shared, SENSITIVE),
        **dict.fromkeys(key, str(Role.DROP)),
    }


def undescribed_schema(private: pa.Table, roles: Mapping[str, str]) -> Schema:
    """Roles of the private columns where nothing is said about the method: it may have changed columns of any kind."""
    table = MemoryTable(private)
    unknown = [n for n in private.column_names if n not in roles]
    return assign_roles(
        private.schema,
        roles,
        covers={name: frozenset(Kind) for name in private.column_names},
        unique_integers=unique_integer_columns(table, unknown),
        nearly_numeric=nearly_numeric_columns(table, parse_roles(roles, private.column_names)),
    )


def coded(foreign: pa.Table, truth: Truth) -> pa.Table:
    """A release with its categories as the codes of the private ones; -1 is a category that the private table lacks."""
    for name, listing in zip(truth.columns, truth.categories, strict=True):
        if listing is None or name not in foreign.column_names:
            continue
        known = as_texts(pa.chunked_array([pa.array(list(listing))]))
        texts = as_texts(foreign.column(name))
        codes = pc.index_in(texts, value_set=known).fill_null(-1).cast(pa.float64())
        values = pc.if_else(pc.is_valid(texts), codes, pa.scalar(None, pa.float64()))
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
    ours, theirs = _keys(private, match, "the table"), _keys(foreign, match, "the release")
    at = pc.index_in(ours, value_set=theirs.combine_chunks())
    both = pc.is_valid(at)
    n = pc.sum(both).as_py() or 0
    if n < FEWEST_ROWS:
        raise InputError(
            f"match: only {n} keys of column {match!r} are in both tables, and an audit needs {FEWEST_ROWS}; are they "
            "written alike?"
        )
    return private.filter(both), foreign.take(at.drop_null())


def _keys(table: pa.Table, match: str, where: str) -> pa.ChunkedArray:
    """A key column as texts, which must name every record once."""
    if match not in table.column_names:
        raise InputError(f"match: {where} has no column {match!r}; name one that both tables have, or use order")
    keys = table.column(match)
    if pa.types.is_dictionary(keys.type):
        keys = keys.cast(keys.type.value_type)
    try:
        texts = keys.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"match: column {match!r} of {where} has the type {keys.type}; keys are numbers or texts"
        ) from None
    present = texts.drop_null()
    repeated = len(present) - pc.count_distinct(present).as_py()
    if repeated or texts.null_count:
        raise InputError(
            f"match: column {match!r} of {where} has {repeated} repeated and {texts.null_count} missing keys; a key "
            "names one record"
        )
    return texts


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
