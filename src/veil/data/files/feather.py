"""Feather (Arrow IPC) files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from veil.data.blocks import between
from veil.data.files.reading import FileTable, reading


class FeatherTable(FileTable):
    """A Feather (Arrow IPC) file."""

    def __init__(self, path: Path) -> None:
        with reading(path, "Feather"), pa.OSFile(str(path)) as file:
            super().__init__(path, pa.ipc.open_file(file).schema)

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in the file's record batches."""
        yield from between(self._all(columns), start, stop)

    def _all(self, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        self.unchanged(self.path)
        with reading(self.path, "Feather"), pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for i in range(reader.num_record_batches):
                with reading(self.path, "Feather", f"batch {i}"):
                    batch = reader.get_batch(i)
                yield batch if columns is None else batch.select(list(columns))
                self.unchanged(self.path, f"batch {i}")
