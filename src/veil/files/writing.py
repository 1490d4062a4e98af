"""Writers of released batches, one file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from veil.blocks import BLOCK_ROWS
from veil.files.reading import format_of


class Writer(ABC):
    """Writes released batches to one file."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""


class _StreamWriter(Writer):
    def __init__(self, writer: Any, sinks: Sequence[Any] = ()) -> None:
        self._writer, self._sinks = writer, sinks

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()
        for sink in self._sinks:
            sink.close()


def open_writer(path: Path, schema: pa.Schema, kind: str, *, header: bool = True) -> Writer:
    """A writer of the given format (``parquet``, ``feather``, ``csv`` or ``csv.gz``); ``header`` is CSV's."""
    if kind == "parquet":
        text = [f.name for f in schema if not pa.types.is_floating(f.type)]
        return _StreamWriter(pq.ParquetWriter(path, schema, use_dictionary=text))
    if kind == "feather":
        sink = pa.OSFile(str(path), "wb")
        return _StreamWriter(pa.ipc.new_file(sink, schema), [sink])
    sink = pa.OSFile(str(path), "wb")
    sinks = [sink]
    if kind == "csv.gz":
        sinks.insert(0, pa.CompressedOutputStream(sink, "gzip"))
    options = pacsv.WriteOptions(include_header=header)
    return _StreamWriter(pacsv.CSVWriter(sinks[0], schema, write_options=options), sinks)


def write_batches(batches: Iterable[pa.RecordBatch], path: Path, schema: pa.Schema, kind: str) -> None:
    """Write batches to one file of the given format."""
    writer = open_writer(path, schema, kind)
    try:
        for batch in batches:
            writer.write(batch)
    finally:
        writer.close()


def write_table(table: pa.Table, path: Path, kind: str | None = None) -> None:
    """Write a whole Arrow table in the format that the file's name says."""
    write_batches(table.to_batches(max_chunksize=BLOCK_ROWS), path, table.schema, kind or format_of(path))
