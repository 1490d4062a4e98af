"""Files: CSV (plain or gzip), Parquet, Feather, and a folder of Parquet files as one table.

Readers stream, so a file larger than memory is a table like any other. Writers take
released batches one at a time. Nothing a reader says about a broken file quotes a cell.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from veil.blocks import BLOCK_ROWS
from veil.errors import FileFormatError, InputError
from veil.tables import Table, check_names

FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
# Arrow's order of inference: each type takes every value the one before it could not.
_WIDER = {
    pa.null(): pa.int64(),
    pa.int64(): pa.bool_(),
    pa.bool_(): pa.date32(),
    pa.date32(): pa.time32("s"),
    pa.time32("s"): pa.timestamp("s"),
    pa.timestamp("s"): pa.timestamp("ns"),
    pa.timestamp("ns"): pa.float64(),
    pa.float64(): pa.string(),
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CODE = r"^\s*[+-]?0\d"
_LONG_INTEGER = r"^\s*[+-]?\d{19,}\s*$"
_DECODE_ERRORS = (pa.ArrowInvalid, pa.ArrowException, OSError, EOFError, ValueError)


def format_of(path: Path) -> str:
    """Format of a file by its name; a folder is a folder of Parquet files."""
    if path.is_dir():
        return "parquet"
    for ending in sorted(FORMATS, key=len, reverse=True):
        if path.name.lower().endswith(ending):
            return FORMATS[ending]
    raise FileFormatError(f"{path.name}: unknown kind of file; use {', '.join(FORMATS)} or a folder of .parquet files")


def open_table(path: str | Path) -> Table:
    """A file or a folder of Parquet files as a table that is read in blocks."""
    path = Path(path)
    if not path.exists():
        raise FileFormatError(f"{path}: no such file or folder")
    kind = format_of(path)
    if kind.startswith("csv"):
        return CsvTable(path)
    if kind == "feather":
        return FeatherTable(path)
    return ParquetTable(path)


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Turn a reader's failure into one line that names the file and no cell."""
    try:
        yield
    except (FileFormatError, InputError):
        raise
    except PermissionError:
        raise FileFormatError(f"{path.name}: no permission to read it") from None
    except _DECODE_ERRORS:
        raise FileFormatError(f"{path.name}: not a readable {what} file; it is truncated or damaged") from None


class FileTable(Table):
    """What the file readers share."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema.remove_metadata()
        self.kind = "pyarrow"
        self.native = {}
        self.label = path.name
        check_names(schema.names)


class ParquetTable(FileTable):
    """A Parquet file, or the Parquet files of a folder in the order of their names."""

    def __init__(self, path: Path) -> None:
        self._files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not self._files:
            raise FileFormatError(f"{path.name}: the folder holds no .parquet file")
        schemas = []
        for file in self._files:
            with _reading(file, "Parquet"):
                schemas.append(pq.read_schema(file).remove_metadata())
        for file, schema in zip(self._files, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise FileFormatError(
                    f"{file.name}: its columns differ from those of {self._files[0].name}; "
                    "files of one folder are one table and need the same names and types"
                )
        super().__init__(path, schemas[0])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of every file in order."""
        for file in self._files:
            with _reading(file, "Parquet"), pq.ParquetFile(file, pre_buffer=False) as reader:
                # Parquet names nested columns by path: read what Arrow calls a column.
                wanted = None if columns is None else list(columns)
                yield from reader.iter_batches(batch_size=BLOCK_ROWS, columns=wanted)


class FeatherTable(FileTable):
    """A Feather (Arrow IPC) file."""

    def __init__(self, path: Path) -> None:
        with _reading(path, "Feather"), pa.OSFile(str(path)) as file:
            super().__init__(path, pa.ipc.open_file(file).schema)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in the file's record batches."""
        with _reading(self.path, "Feather"), pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i)
                yield batch if columns is None else batch.select(list(columns))


class CsvTable(FileTable):
    """A CSV file with a header; the separator (comma, semicolon, tab, bar) is read off the header.

    A column gets the narrowest type that holds all its values: types are inferred from the
    first rows and widened, for the whole file, when a later value does not fit.
    """

    def __init__(self, path: Path, types: Mapping[str, pa.DataType] | None = None) -> None:
        with _reading(path, "CSV"):
            with _input(path) as stream:
                start = stream.read(1 << 20)
            header = start.partition(b"\n")[0]
            if not header.strip():
                raise FileFormatError(f"{path.name}: the file is empty; a CSV table needs a header and rows")
            first = header.decode("utf-8-sig", "replace")
            self._delimiter = _delimiter(first)
            if "\0" in first or "\ufffd" in first:
                raise FileFormatError(f"{path.name}: its header is not UTF-8 text; save the file as UTF-8")
            if types is None and _looks_like_a_record(first.split(self._delimiter)):
                raise FileFormatError(
                    f"{path.name}: its first row holds only numbers, so it seems to be a record; a CSV table needs a "
                    "header with column names"
                )
            if b"\n" not in start and b"\r" not in start:
                raise FileFormatError(f"{path.name}: the file has a header and no rows")
            self._types: dict[str, pa.DataType] = dict(types or {})
            self._own = types is not None
            schema = self._settle_types(path)
            if types is None:
                schema = self._settle_digits(path, schema)
        super().__init__(path, schema)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        with _reading(self.path, "CSV"), _input(self.path) as stream:
            yield from self._open(stream, columns)

    def _open(self, stream: BinaryIO, columns: Sequence[str] | None = None) -> Any:
        return pacsv.open_csv(
            stream,
            read_options=pacsv.ReadOptions(block_size=8 << 20),
            # A release's empty line is a record whose only value is missing, and its "" is a text.
            parse_options=pacsv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, ignore_empty_lines=not self._own
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=self._types,
                include_columns=list(columns) if columns is not None else None,
                strings_can_be_null=self._own,
                quoted_strings_can_be_null=not self._own,
            ),
        )

    def _settle_types(self, path: Path) -> pa.Schema:
        names: list[str] = []
        while True:
            try:
                with _input(path) as stream:
                    reader = self._open(stream)
                    names = reader.schema.names
                    check_names(names)
                    self._types = {f.name: f.type for f in reader.schema}
                    for field in reader.schema:
                        if pa.types.is_binary(field.type):
                            raise _not_utf8(path, field.name)
                    for _ in reader:
                        pass
                    return reader.schema
            except pa.ArrowInvalid as error:
                self._widen(str(error), names, path)

    def _settle_digits(self, path: Path, schema: pa.Schema) -> pa.Schema:
        """Keep codes such as 00501 as text, and refuse integers that only fit a float by losing digits."""
        names = [f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
        if not names:
            return schema
        settled, codes, long = self._types, set[str](), Counter[str]()
        self._types = {**settled, **dict.fromkeys(names, pa.string())}
        with _input(path) as stream:
            for batch in self._open(stream, names):
                for name, values in zip(names, batch.columns, strict=True):
                    if name not in codes and pc.any(pc.match_substring_regex(values, _CODE)).as_py():
                        codes.add(name)
                    if pa.types.is_floating(settled[name]):
                        long[name] += pc.sum(pc.match_substring_regex(values, _LONG_INTEGER)).as_py() or 0
        self._types = {**settled, **dict.fromkeys(codes, pa.string())}
        for name, count in long.items():
            if count and name not in codes:
                raise FileFormatError(
                    f"{path.name}: column {name!r} has {count} integers of more than 18 digits, which would lose some; "
                    "quote or prefix them to make them text, or drop the column"
                )
        return pa.schema([pa.field(f.name, self._types[f.name]) for f in schema])

    def _widen(self, message: str, names: list[str], path: Path) -> None:
        place = re.search(r"In CSV column #(\d+)", message)
        if "Expected" in message and "columns" in message:
            row = re.search(r"Row #(\d+)", message)
            where = f" (row {row.group(1)})" if row else ""
            raise FileFormatError(f"{path.name}: a row has another number of values than the header{where}")
        if place is None or not names:
            raise FileFormatError(f"{path.name}: not a readable CSV file; it is truncated or damaged")
        name = names[int(place.group(1))]
        if pa.types.is_string(self._types[name]):
            raise _not_utf8(path, name)
        self._types[name] = _WIDER.get(self._types[name], pa.string())


def _looks_like_a_record(cells: Sequence[str]) -> bool:
    """Whether a first row is data: all numbers, and not just the columns counted."""
    texts = [cell.strip(' "\r') for cell in cells]
    counted = [[str(i + first) for i in range(len(texts))] for first in (0, 1)]
    return all(_NUMBER.fullmatch(text) for text in texts) and texts not in counted


def _not_utf8(path: Path, name: str) -> FileFormatError:
    return FileFormatError(f"{path.name}: column {name!r} holds bytes that are not UTF-8 text; save the file as UTF-8")


def _input(path: Path) -> Any:
    return pa.input_stream(str(path), compression="detect")


def _delimiter(header: str) -> str:
    counts = {mark: header.count(mark) for mark in ",;\t|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


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


def open_writer(path: Path, schema: pa.Schema, kind: str) -> Writer:
    """A writer of the given format (``parquet``, ``feather``, ``csv`` or ``csv.gz``)."""
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
    return _StreamWriter(pacsv.CSVWriter(sinks[0], schema), sinks)


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
