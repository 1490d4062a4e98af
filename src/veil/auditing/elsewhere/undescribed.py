"""Rows about which nothing is said, as a release: the foreign ones, or private ones that stand in for fresh draws."""

from __future__ import annotations

import pyarrow as pa

from veil.auditing.elsewhere.released import coded
from veil.auditing.truth import Truth
from veil.data.schema import Role, Schema, kind_of
from veil.errors import InputError
from veil.release.manifest import KeyOrigin, Manifest, Missing, Part, PublicColumn, ReleasedColumn, RowOrder
from veil.release.models import FOREIGN, ForeignModel, PseudonymModel
from veil.release.release import Release, memory_release

PSEUDONYM_BITS = 128
"""What pseudonyms of groups are taken to have: only which are equal counts."""


def undescribed(table: pa.Table, truth: Truth, schema: Schema, key_column: str | None = None) -> Release:
    """Rows under a manifest that names the private columns and says nothing about how they were made."""
    table = coded(table, truth)
    types = {f.name: kind_of(f.type) for f in table.schema}
    roles = {column.name: column.role for column in schema.columns}
    public = [n for n in schema.public if n in types]
    groups = tuple(c for c in schema.columns if c.role is Role.GROUP and c.name in schema.changed and c.name in types)
    named = tuple(c.name for c in groups)
    left = (*public, *schema.of_role(Role.GROUP), key_column)
    released = [n for n, kind in types.items() if kind.is_number and n not in left]
    if not released:
        raise InputError("release: has no numeric column to attack, nor a category with a private column's name")
    columns = tuple(c for c in schema.columns if c.name in schema.perturbed and c.name not in named)
    table = table.select([*released, *named, *public])
    parts = [Part(FOREIGN, "–", ForeignModel(), columns, tuple(released))]
    if groups:
        parts.append(Part("pseudonymize", "P20", PseudonymModel(PSEUDONYM_BITS, None, 0.0), groups, named))
    manifest = Manifest(
        release=1,
        release_id=FOREIGN,
        method=FOREIGN,
        guarantee="none",
        parts=tuple(parts),
        public=tuple(PublicColumn(n, types[n], roles[n]) for n in public),
        schema=tuple(ReleasedColumn(f.name, str(f.type)) for f in table.schema),
        key=KeyOrigin.UNKNOWN,
        missing=Missing.UNKNOWN,
        row_order=RowOrder.UNKNOWN,
        arithmetic="not known",
        veil="",
    )
    return memory_release(table, manifest, "pyarrow", {})
