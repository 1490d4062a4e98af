"""Parquet files, read row group by row group, so that spans of rows can be read apart from each other."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from veil.data.blocks import BLOCK_ROWS, SPAN_BLOCKS, WHOLE, Span, between, spans
from veil.data.files.reading import FileTable, reading, refuse_pipe
from veil.errors import FileFormatError

MOST_GROUP_ROWS = 2 * SPAN_BLOCKS * BLOCK_ROWS
"""Row groups up to this size are read once per span that they are part of; larger ones from front to back."""


BATCH_ROWS = BLOCK_ROWS // 2
BUFFER = 1 << 17
"""Bytes read ahead of each column. Without a limit a whole column of the row group is held, and with whole blocks
as batches three times the memory."""


@dataclass(frozen=True)
class RowGroup:
    """Where a row group is, and the rows of the table that it holds."""

    file: Path
    number: int
    start: int
    n_rows: int

    @property
    def place(self) -> str:
        """How messages call it."""
        return f"row group {self.number}"


class ParquetTable(FileTable):
    """A Parquet file, or the Parquet files of a folder in the order of their names."""

    def __init__(self, path: Path) -> None:
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise FileFormatError(f"{path.name}: the folder holds no .parquet file")
        self._groups: list[RowGroup] = []
        self._footers: dict[Path, pq.FileMetaData] = {}
        self._coded: list[str] = []
        first: pa.Schema | None = None
        start = 0
        for file in files:
            refuse_pipe(file)
            with reading(file, "Parquet"), pq.ParquetFile(file, pre_buffer=False) as reader:
                schema, footer = reader.schema_arrow.remove_metadata(), reader.metadata
                self._footers[file] = footer
                for i in range(footer.num_row_groups):
                    self._groups.append(RowGroup(file, i, start, footer.row_group(i).num_rows))
                    start += self._groups[-1].n_rows
            if first is not None and not schema.equals(first):
                raise FileFormatError(
                    f"{file.name}: its columns differ from those of {files[0].name}; "
                    "files of one folder are one table and need the same names and types"
                )
            first = schema if first is None else first
        super().__init__(path, first, files)
        self.n_rows = start

    def coded(self, columns: Sequence[str]) -> Self:
        """The same table, whose named text columns come as dictionaries: the file mostly holds them so."""
        twin = copy.copy(self)
        twin._coded = [n for n in columns if pa.types.is_string(self.schema.field(n).type)]
        return twin

    def spans(self) -> list[Span]:
        """Spans of whole parts, or the whole table where a row group is so large that it had better be read once."""
        if any(group.n_rows > MOST_GROUP_ROWS for group in self._groups):
            return [WHOLE]
        return spans(self.n_rows or 0) or [WHOLE]

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of every file in order."""
        for group in self._groups:
            end = group.start + group.n_rows
            if end <= start or (stop is not None and group.start >= stop):
                continue
            low, high = max(start - group.start, 0), None if stop is None else stop - group.start
            yield from between(self._group(group, columns), low, high)

    def _group(self, group: RowGroup, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        self.unchanged(group.file, group.place)
        footer = self._footers[group.file]
        with (
            reading(group.file, "Parquet", group.place),
            pq.ParquetFile(
                group.file,
                metadata=footer,
                pre_buffer=False,
                buffer_size=BUFFER,
                page_checksum_verification=True,
                read_dictionary=self._coded or None,
            ) as reader,
        ):
            # Parquet names nested columns by path: read what Arrow calls a column.
            wanted = None if columns is None else list(columns)
            yield from reader.iter_batches(
                batch_size=BATCH_ROWS, row_groups=[group.number], columns=wanted, use_threads=False
            )
        self.unchanged(group.file, group.place)
