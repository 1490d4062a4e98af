"""Files that are read in one go: their formats cannot be read from the middle, or only as slowly as from the start."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.data.blocks import WHOLE, Span, spans
from veil.data.files.reading import FileTable


class HeldTable(FileTable):
    """A file that is held in memory while it is a table."""

    def __init__(self, path: Path) -> None:
        self._held: pa.Table | None = self._load(path)
        super().__init__(path, self._held.schema)
        self.n_rows = int(self._held.num_rows)

    @abstractmethod
    def _load(self, path: Path) -> pa.Table:
        """The whole file."""

    def __getstate__(self) -> dict[str, Any]:
        # Rows do not travel to a cluster's workers, which read the file themselves.
        return {**self.__dict__, "_held": None}

    def spans(self) -> list[Span]:
        """Single blocks: what is held has no order of its own."""
        return spans(self.n_rows or 0, 1) or [WHOLE]

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        self.unchanged(self.path)
        if self._held is None:
            self._held = self._load(self.path)
        table = self._held if columns is None else self._held.select(list(columns))
        if start or stop is not None:
            table = table.slice(start, None if stop is None else stop - start)
        yield from table.to_batches()
        self.unchanged(self.path)


def without_fractions(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as integers where all of them are whole: survey files and workbooks have floats alone."""
    import pyarrow.compute as pc

    if not pa.types.is_floating(values.type) or values.null_count == len(values):
        return values
    whole = pc.all(pc.and_(pc.equal(values, pc.round(values)), pc.less_equal(pc.abs(values), 2.0**53))).as_py()
    return values.cast(pa.int64()) if whole else values
