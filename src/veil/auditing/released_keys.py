"""The keys of a release as it shows them: how many records are alone with them, or share them with few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from veil.data.blocks import one_array, to_float
from veil.data.schema import KNOWN, Role
from veil.measures import cell_counts, group_counts, key_risks
from veil.release.models import ClassModel, RecodedModel, TopCodedModel
from veil.release.release import Release
from veil.report.remarks import ReleasedKeys, UniqueGroups

SHOWN = (ClassModel, RecodedModel, TopCodedModel)
"""Models whose released values whoever knows the private ones can work out."""


def released_keys(release: Release) -> ReleasedKeys | None:
    """Counts of the combinations of all that outsiders may know and can find in the release; None without any."""
    manifest = release.manifest
    keys = [column.name for column in manifest.public if column.role in KNOWN]
    for part in manifest.parts:
        if isinstance(part.model, SHOWN):
            pairs = zip(part.columns, part.released, strict=True)
            keys += [released for column, released in pairs if column.role in KNOWN]
    changed = any(isinstance(part.model, SHOWN) and set(part.released) & set(keys) for part in manifest.parts)
    named = changed or any(column.role is Role.KEY for column in manifest.public)
    if not named:
        return None
    table = release.table.read(keys)
    counts, columns = cell_counts(table), tuple(keys)
    weight = next((column.name for column in manifest.public if column.role is Role.WEIGHT), None)
    expected = None
    if weight is not None:
        values = np.array(to_float(one_array(release.table.read([weight]).column(0)), weight))
        expected = key_risks(table, weights=np.fmax(np.nan_to_num(values, nan=1.0), 1.0)).expected
    return ReleasedKeys(
        columns,
        counts.n_cells,
        counts.unique,
        counts.below_3,
        counts.below_5,
        weight=weight,
        expected=expected,
        groups=tuple(_groups(release, table)),
    )


def _groups(release: Release, keys: pa.Table) -> Iterator[UniqueGroups]:
    """Of each column of groups, how many are alone with the keys of their members."""
    for part in release.manifest.parts:
        for column, released in zip(part.columns, part.released, strict=False):
            if column.role is Role.GROUP:
                groups = release.table.read([released])
                there = groups.column(0).is_valid()
                counts = group_counts(keys.filter(there), groups.filter(there))
                yield UniqueGroups(column.name, counts.n_groups, counts.unique)
