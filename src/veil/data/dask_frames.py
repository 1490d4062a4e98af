"""Dask frames as tables: partitions of any size in, canonical blocks inside, partitions of whole spans out.

Lengths of partitions are computed once, so that a row has its number wherever it lies. A frame is
never collected: a span of blocks asks for the partitions that it overlaps, here or on a worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import BLOCK_ROWS, SPAN_BLOCKS, WHOLE, Span, between, spans
from veil.data.declarations import Declarations
from veil.data.tables import Table, check_names, memory_table
from veil.errors import InputError, MissingExtraError


def is_partitioned(data: Any) -> bool:
    """Whether this is a Dask frame; Dask is not imported to find out."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "to_delayed")


def dask() -> Any:
    """Dask and its frames."""
    try:
        import dask
        import dask.dataframe
    except ImportError:
        raise MissingExtraError("Dask frames need Dask: pip install 'veil[dask]'") from None
    return dask


class PartitionedTable(Table):
    """A Dask frame, read partition by partition."""

    def __init__(self, frame: Any, lengths: Sequence[int] | None = None, rules: Declarations | None = None) -> None:
        library = dask()
        check_names([str(name) for name in frame.columns])
        self._frame, self._parts = frame, list(frame.to_delayed())
        if lengths is None:
            lengths = library.compute(*[library.delayed(len)(part) for part in self._parts])
        self._offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(int).tolist()
        example = memory_table(frame._meta_nonempty, whole=False)
        self._rules, self._raw = rules, example.schema.remove_metadata()
        if rules is not None:
            rules.check(self._raw.names)
        self.schema = self._raw if rules is None else rules.schema(self._raw)
        changed = {} if rules is None else rules.kinds
        self.native = {name: dtype for name, dtype in example.native.items() if name not in changed}
        self.kind = "dask"
        self.label = "the table"
        self.n_rows = int(self._offsets[-1])

    def frame(self) -> Any:
        """The Dask frame itself."""
        return self._frame

    def __getstate__(self) -> dict[str, Any]:
        # Partitions reach a worker as its tasks' own inputs.
        return {name: value for name, value in self.__dict__.items() if name not in ("_frame", "_parts")}

    def spans(self) -> list[Span]:
        """Spans of whole parts."""
        return spans(self.n_rows or 0, SPAN_BLOCKS) or [WHOLE]

    def inputs(self, span: Span) -> list[Any]:
        """The partitions that a span overlaps, not computed."""
        return [self._parts[i] for i in self._overlapping(*span.rows)]

    def holding(self, span: Span, frames: Sequence[Any]) -> HeldPartitions:
        """The same table on a worker that holds the span's partitions."""
        at = self._overlapping(*span.rows)
        return HeldPartitions(self, dict(zip((self._offsets[i] for i in at), frames, strict=True)))

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order, computed one partition at a time."""
        for i in self._overlapping(start, stop):
            held = self._parts[i].compute(scheduler="synchronous")
            yield from self.cut(held, self._offsets[i], columns, start, stop)

    def cut(
        self, frame: Any, offset: int, columns: Sequence[str] | None, start: int, stop: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Rows ``start`` to ``stop`` of a partition that begins at row ``offset``, in the table's types."""
        wanted = list(self.schema.names if columns is None else columns)
        schema = pa.schema([self._raw.field(name) for name in wanted])
        try:
            table = memory_table(frame, whole=False).read(wanted).cast(schema)
        except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                "partitions hold different types or columns than the frame says; convert them with astype first"
            ) from None
        low, high = max(start - offset, 0), None if stop is None else stop - offset
        for batch in between(table.to_batches(max_chunksize=BLOCK_ROWS), low, high):
            yield batch if self._rules is None else self._rules.batch(batch)

    def _overlapping(self, start: int, stop: int | None) -> list[int]:
        end = self.n_rows if stop is None else stop
        ends = zip(self._offsets[:-1], self._offsets[1:], strict=True)
        return [i for i, (low, high) in enumerate(ends) if low < (end or 0) and high > start]


class HeldPartitions(Table):
    """Some partitions of a frame, held in memory: enough for one span."""

    def __init__(self, whole: PartitionedTable, frames: dict[int, Any]) -> None:
        self._whole, self._frames = whole, frames
        self.schema, self.kind, self.native = whole.schema, whole.kind, whole.native
        self.label, self.n_rows = whole.label, whole.n_rows

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows that are held, in order."""
        for offset in sorted(self._frames):
            yield from self._whole.cut(self._frames[offset], offset, columns, start, stop)
