"""The second pass over a private table: a private block in, a released batch out.

A batch depends on its block, the key and what the first pass learned, and on nothing else; so blocks can be released
in any order, on any core or machine, and again after an interruption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, array_of, to_float
from veil.data.levels import Levels, used_places
from veil.keys.randomness import id_digests
from veil.perturbations import GroupRows
from veil.publishing.parts import Corrections, FittedPart, Groups
from veil.publishing.plausible import PlausibleColumns
from veil.storage.shards import BlockRows

CORRECTIONS, LEVELS = "corrections", "levels"
"""Names of what is noted beside a block: corrections, and the levels of public ordered categories that it has."""


@dataclass(frozen=True)
class Releasing:
    """Releases single blocks.

    Attributes
    ----------
    parts
        The fitted perturbations and their columns.
    columns
        The private columns to read.
    schema
        The released columns.
    consistent_on
        The id column, where an unchanged cell keeps its noise.
    id_secret
        The sub-key of id digests.
    plausible
        What makes released values plausible, if anything does.
    levels
        Of public columns of ordered categories their levels.
    """

    parts: tuple[FittedPart, ...]
    columns: tuple[str, ...]
    schema: pa.Schema
    consistent_on: str | None = None
    id_secret: bytes = field(default=b"", repr=False)
    plausible: PlausibleColumns | None = None
    levels: Mapping[str, Levels] = field(default_factory=dict)

    def batch(self, block: Block) -> BlockRows:
        """The released batch of a block; its notes are what the key needs to restore it to the last digit.

        Where values are made plausible, what their products were before stands beside it.
        """
        ids = None
        if self.consistent_on is not None:
            ids = id_digests(self.id_secret, block.column(self.consistent_on).to_pylist())
        perturbed: dict[str, pa.Array] = {}
        corrections: Corrections = {}
        groups: Groups = {}
        for part in sorted(self.parts, key=lambda part: bool(part.groups)):  # the pseudonyms of groups come first
            for name in set(part.groups.values()) - set(groups):
                groups[name] = GroupRows.of(perturbed[name])
            arrays_of_part, more = part.arrays(block, ids, groups)
            perturbed.update(arrays_of_part)
            corrections.update(more)
        notes: dict[str, Any] = {CORRECTIONS: corrections}
        if self.levels:
            notes[LEVELS] = {name: used_places(block.column(name), known) for name, known in self.levels.items()}
        if self.plausible:
            weight = self.plausible.weight
            weights = None if weight is None else np.nan_to_num(to_float(block.column(weight), weight))
            perturbed, sums = self.plausible.released(perturbed, weights)
            notes.update(sums)
        arrays = [
            perturbed[f.name] if f.name in perturbed else clean(block.column(f.name).cast(f.type)) for f in self.schema
        ]
        return BlockRows(pa.RecordBatch.from_arrays(arrays, schema=self.schema), notes)


def join_corrections(total: Corrections, more: Corrections) -> None:
    """Add the corrections of the next rows."""
    for name, (rows, amounts) in more.items():
        so_far = total.setdefault(name, ([], []))
        so_far[0].extend(rows)
        so_far[1].extend(amounts)


def categorical(parts: Sequence[FittedPart]) -> list[str]:
    """Columns that are read as categories, for which a file's own dictionaries are best."""
    return [name for part in parts if part.perturbation.layout.tabular for name in part.columns]


def clean(array: pa.Array) -> pa.Array:
    """A public column that holds what it shows and no more.

    A value that was suppressed, or a row outside a slice, may still lie in Arrow's buffers, and
    Arrow leaves under a null whatever the memory held before.
    """
    if not array.null_count or not _fixed_width(array.type):
        return array.take(array_of(np.arange(len(array))))
    zero = pa.Array.from_buffers(array.type, 1, [None, pa.py_buffer(bytes(32))])[0]
    filled = pc.if_else(array.is_valid(), array, zero)
    valid = array.is_valid().take(array_of(np.arange(len(array)))).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [valid, filled.buffers()[1]])


def _fixed_width(dtype: pa.DataType) -> bool:
    try:
        return bool(dtype.bit_width)
    except ValueError:
        return False
