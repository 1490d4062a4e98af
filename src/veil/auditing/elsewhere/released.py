"""A release that is there already, beside the private table: read, checked, and brought into one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge import LARGEST
from veil.data.blocks import to_float
from veil.data.schema import Column, Kind, Role, Schema, check_known_columns, kind_of
from veil.data.sources import as_table
from veil.errors import InputError
from veil.release.manifest import MANIFEST
from veil.release.release import Release

ORDER = "order"
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
    roles |= {column.name: Role.PUBLIC for column in own.manifest.public}
    check_known_columns(roles, private.column_names, "release: its manifest")
    for column in parts:
        kind = kind_of(private.schema.field(column.name).type)
        if (kind is Kind.NUMERIC) != (column.kind is Kind.NUMERIC):
            raise InputError(
                f"column {column.name!r} is {kind} in the table, and was {column.kind} when the release was "
                "made; give the table that it was made of"
            )
    return Schema(
        tuple(Column(f.name, kind_of(f.type), roles.get(f.name, Role.DROP), str(f.type)) for f in private.schema)
    )


def unscored(private: pa.Table, roles: Mapping[str, str], match: str | None) -> dict[str, str]:
    """Columns that are no numbers, and the key column, are left out where the owner does not say otherwise."""
    dropped = [f.name for f in private.schema if kind_of(f.type) is not Kind.NUMERIC and f.name not in roles]
    dropped += [match] if match not in (None, ORDER) and match in private.column_names else []
    return {name: str(Role.DROP) for name in dropped}


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
        if categories is not None:
            for name, listing in zip(described.released, categories, strict=True):
                _check_categories(part, name, listing)
            continue
        for name in described.released:
            kind = kind_of(part.table.schema.field(name).type)
            if kind is not Kind.NUMERIC:
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
        if kind_of(table.schema.field(name).type) is not Kind.NUMERIC:
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
