"""The second pass over a private table: a private block in, a released batch out.

A batch depends on its block, the key and what the first pass learned, and on nothing else; so blocks can be released
in any order, on any core or machine, and again after an interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, Matrix, Span
from veil.data.passes import Lane
from veil.data.tables import Table
from veil.keys.randomness import id_digests
from veil.publishing.parts import Corrections, Part


@dataclass(frozen=True)
class Released:
    """A released batch, and in ``notes`` what the key must keep to restore it to the last digit."""

    batch: pa.RecordBatch
    notes: Corrections


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
    """

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    schema: pa.Schema
    consistent_on: str | None = None
    id_secret: bytes = field(default=b"", repr=False)

    def __call__(self, block: Block) -> Released:
        """The released batch of a private block."""
        ids = None
        if self.consistent_on is not None:
            ids = id_digests(self.id_secret, block.column(self.consistent_on).to_pylist())
        perturbed: dict[str, pa.Array] = {}
        corrections: Corrections = {}
        for part in self.parts:
            made, wrong = part.arrays(block, ids)
            perturbed.update(made)
            corrections.update(wrong)
        arrays = [
            perturbed[f.name] if f.name in perturbed else clean(block.column(f.name).cast(f.type)) for f in self.schema
        ]
        return Released(pa.RecordBatch.from_arrays(arrays, schema=self.schema), corrections)


@dataclass(frozen=True)
class ReleasingSpan:
    """Releases the blocks of a span, kept in memory."""

    releasing: Releasing

    def __call__(self, table: Table, span: Span, lane: Lane) -> list[Released]:
        blocks = lane.blocks(table, self.releasing.columns, span)
        return list(lane.map(self.releasing, blocks))


@dataclass(frozen=True)
class Reducing:
    """A block's share in a release of sums over records."""

    part: Part

    def __call__(self, block: Block) -> Matrix:
        return self.part.share(block)


def join_corrections(total: Corrections, more: Corrections) -> None:
    """Add the corrections of the next rows."""
    for name, (rows, amounts) in more.items():
        kept = total.setdefault(name, ([], []))
        kept[0].extend(rows)
        kept[1].extend(amounts)


def categorical(parts: Sequence[Part]) -> list[str]:
    """Columns that are read as categories, for which a file's own dictionaries are best."""
    return [name for part in parts if part.perturbation.takes == "categories" for name in part.columns]


def clean(array: pa.Array) -> pa.Array:
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
