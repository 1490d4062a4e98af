"""A release whose columns are another's, changed value by value as they are read: in logarithms, or divided.

Attacks on additive noise make their passes over it as over any release; nothing is held twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from veil.attacks.blockwise import BlockGuess
from veil.data.blocks import Block, Span, Vector, to_float
from veil.data.tables import Table

Change = Callable[[Vector], Vector]


def logarithm(y: Vector) -> Vector:
    """ln |y|; of zeros, nothing."""
    return np.asarray(np.log(np.abs(y), out=np.full_like(y, np.nan), where=y != 0))


def divided(factor: float, y: Vector) -> Vector:
    """y over a factor."""
    return np.asarray(y / factor)


class ChangedTable(Table):
    """A table of which some columns are changed; the others are as they were."""

    def __init__(self, source: Table, columns: Sequence[str], change: Change) -> None:
        self._source = source
        self._columns = frozenset(columns)
        self._change = change
        self.schema = pa.schema(
            [pa.field(f.name, pa.float64()) if f.name in self._columns else f for f in source.schema]
        )
        self.kind = "pyarrow"
        self.native = {}
        self.label = source.label
        self.n_rows = source.n_rows

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of the other table, changed."""
        for batch in self._source.batches(columns, start, stop):
            yield changed_batch(batch, self._columns, self._change)

    def spans(self) -> list[Span]:
        """Those of the other table."""
        return self._source.spans()


def changed_batch(batch: pa.RecordBatch, columns: frozenset[str], change: Change) -> pa.RecordBatch:
    """A batch with the named ones of its columns changed."""
    names = batch.schema.names
    arrays = [
        pa.array(change(to_float(array, name)), from_pandas=True) if name in columns else array
        for name, array in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def changed_guess(
    guess: Callable[[Block], BlockGuess], columns: frozenset[str], change: Change, block: Block
) -> BlockGuess:
    """The guess of a block's records from columns that are changed first."""
    return guess(Block(block.start, changed_batch(block.batch, columns, change)))
