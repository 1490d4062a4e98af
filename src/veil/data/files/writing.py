"""Writers of released batches, one file each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from veil.data.files.workbook_writing import WorkbookWriter
from veil.data.files.writer import Writer


class _StreamWriter(Writer):
    def __init__(self, writer: Any, schema: pa.Schema, sinks: Sequence[Any] = ()) -> None:
        self._writer, self._schema, self._sinks = writer, schema, sinks

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch if batch.schema.equals(self._schema) else batch.cast(self._schema))

    def close(self) -> None:
        self._writer.close()
        for sink in self._sinks:
            sink.close()


def open_writer(
    path: Path, schema: pa.Schema, kind: str, *, header: bool = True, distinct: Collection[str] = ()
) -> Writer:
    """A writer of the given format (``parquet``, ``feather``, ``csv``, ``csv.gz`` or ``xlsx``).

    ``header`` is CSV's; ``distinct`` are columns in which no value repeats, so that a dictionary is time lost.
    """
    if kind == "parquet":
        return _StreamWriter(pq.ParquetWriter(path, schema, **parquet_settings(schema, distinct)), schema)
    if kind == "feather":
        sink = pa.OSFile(str(path), "wb")
        return _StreamWriter(pa.ipc.new_file(sink, schema), schema, [sink])
    if kind == "xlsx":
        return WorkbookWriter(path, schema)
    sink = pa.OSFile(str(path), "wb")
    sinks = [sink]
    if kind == "csv.gz":
        sinks.insert(0, pa.CompressedOutputStream(sink, "gzip"))
    options = pacsv.WriteOptions(include_header=header)
    # Arrow's CSV writer knows no views of texts.
    plain = pa.schema([f.with_type(pa.string()) if pa.types.is_string_view(f.type) else f for f in schema])
    return _StreamWriter(pacsv.CSVWriter(sinks[0], plain, write_options=options), plain, sinks)


def parquet_settings(schema: pa.Schema, distinct: Collection[str] = ()) -> dict[str, Any]:
    """How every Parquet file is written.

    The bytes of one place of all numbers are put together (BYTE_STREAM_SPLIT): noise is on a grid, and files become
    far smaller than by Snappy, in less time. Level −1 takes two thirds of the time of level 1 for a few bytes more.
    """
    return {
        "use_dictionary": [f.name for f in schema if not pa.types.is_floating(f.type) and f.name not in distinct],
        "use_byte_stream_split": [f.name for f in schema if f.type in (pa.float32(), pa.float64())],
        "compression": "zstd",
        "compression_level": -1,
        "write_batch_size": 8_192,
    }
