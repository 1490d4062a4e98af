"""CSV files: a header, a separator read off it, and the narrowest type that holds each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from veil.data.blocks import between
from veil.data.files.reading import FileTable, reading
from veil.data.tables import check_names
from veil.errors import FileFormatError

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


class CsvTable(FileTable):
    """A CSV file with a header; the separator (comma, semicolon, tab, bar) is read off the header.

    A column gets the narrowest type that holds all its values: types are inferred from the
    first rows and widened, for the whole file, when a later value does not fit.
    """

    def __init__(self, path: Path, types: Mapping[str, pa.DataType] | None = None) -> None:
        with reading(path, "CSV"):
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

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        self.unchanged(self.path)
        with reading(self.path, "CSV"), _input(self.path) as stream:
            yield from between(self._open(stream, columns), start, stop)
        self.unchanged(self.path)

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
