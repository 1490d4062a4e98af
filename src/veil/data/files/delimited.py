"""CSV files: a header, a separator read off it, and the narrowest type that holds each column."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from veil.data.blocks import between
from veil.data.files.delimited_errors import damaged, looks_like_a_record, not_utf8, not_utf8_in
from veil.data.files.number_texts import comma_is_decimal, doubtful_comma, refused_thousands, with_thousands
from veil.data.files.options import AS_THE_FILE_SAYS, FileOptions
from veil.data.files.reading import FileTable, reading
from veil.data.files.rows import may_hold_codes, row_chunks
from veil.data.files.types import joined_type, wider
from veil.data.passes import Lane, processors
from veil.data.schema import Kind, kind_of
from veil.data.tables import TypesChanged, check_names
from veil.errors import FileFormatError

Types = dict[str, pa.DataType]
MOST_PARSERS = 4
_CODE = r"^\s*[+-]?0\d"
_LONG_INTEGER = r"^\s*[+-]?\d{19,}\s*$"
_LONG = 10.0**18
_NO_VALUE = tuple(pacsv.ConvertOptions().null_values)


@dataclass(frozen=True)
class Parsed:
    """A chunk of rows, the types that hold its cells, and what its digits say.

    Attributes
    ----------
    codes
        Columns of digits with a code such as 00501.
    long
        By column, how many integers have more than 18 digits.
    bits
        Columns of integers that are all 0 or 1.
    """

    batch: pa.RecordBatch
    types: Types
    codes: frozenset[str] = frozenset()
    long: dict[str, int] = field(default_factory=dict)
    bits: frozenset[str] = frozenset()


class CsvTable(FileTable):
    """A CSV file with a header; its separator (comma, semicolon, tab, bar) and decimal comma are read off it.

    A column gets the narrowest type that holds all its values. Types are inferred from the first rows and widened, for
    the whole file, when a later value does not fit; so they are certain once the file was read to the end, which
    :meth:`settle` does. The first pass of a publication settles them on its way.
    """

    def __init__(
        self,
        path: Path,
        types: Mapping[str, pa.DataType] | None = None,
        options: FileOptions = AS_THE_FILE_SAYS,
    ) -> None:
        self._own = self._settled = types is not None
        self._options, self._decimal = options, options.decimal or "."
        self._types: Types = dict(types or dict.fromkeys(options.texts, pa.string()))
        self._names: list[str] | None = None
        with reading(path, "CSV"):
            with _input(path, options.encoding) as stream:
                start = stream.read(1 << 20)
            header = start.partition(b"\n")[0]
            if not header.strip():
                raise FileFormatError(f"{path.name}: the file is empty; a CSV table needs a header and rows")
            first = header.decode("utf-8-sig", "replace")
            self._delimiter = options.delimiter or _delimiter(first)
            if options.delimiter and options.delimiter not in first and _delimiter(first) in first and '"' not in first:
                raise FileFormatError(
                    f"{path.name}: its header has no {options.delimiter!r}, but {_delimiter(first)!r}: the file has "
                    "another separator than was declared",
                    parameter="delimiter",
                )
            if "\0" in first or "\ufffd" in first:
                raise not_utf8(path, "its header is", "utf-16" if "\0" in first else "windows-1252")
            if types is None and looks_like_a_record(first.split(self._delimiter)):
                raise FileFormatError(
                    f"{path.name}: its first row holds only numbers, so it seems to be a record; a CSV table needs a "
                    "header with column names"
                )
            if b"\n" not in start and b"\r" not in start:
                raise FileFormatError(f"{path.name}: the file has a header and no rows")
            with _input(path, options.encoding) as stream:
                chunk = next(row_chunks(stream, self._delimiter))
            try:
                self._head = self._parse(chunk, self._types)
                if types is None and self._has_decimal_commas(path):
                    self._decimal = ","
                    self._head = self._parse(chunk, self._types)
            except pa.ArrowInvalid as error:
                raise damaged(path, str(error), 0, first.split(self._delimiter)) from None
            if types is None and (grouped := with_thousands(self._head, self._texts())):
                raise refused_thousands(path.name, grouped)
            self._names = self._head.schema.names
            check_names(self._names)
            self._types = {f.name: f.type for f in self._head.schema}
            self._check_text(path, self._types)
        super().__init__(path, self._head.schema)

    def _texts(self) -> list[str]:
        """Columns that were read as texts and not declared so."""
        return [f.name for f in self._head.schema if pa.types.is_string(f.type) and f.name not in self._options.texts]

    def _has_decimal_commas(self, path: Path) -> bool:
        """Whether the first rows show decimal commas, where nothing is declared."""
        if self._options.decimal is not None:
            return False
        decimal = comma_is_decimal(self._head, self._texts())
        if decimal is None or (decimal and any(pa.types.is_floating(dtype) for dtype in self._head.schema.types)):
            raise doubtful_comma(path.name)
        return decimal

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """The rows that were read to infer types."""
        return self._cast(self._head.select(list(columns))) if self._head.num_rows else None

    def __getstate__(self) -> dict[str, Any]:
        # Rows do not travel to a cluster's workers, which read the file themselves.
        return {**self.__dict__, "_head": self._head.slice(0, 0)}

    def settle(self) -> bool:
        """Read to the end, unless that was done; returns whether a type changed."""
        before = self.schema
        if not self._settled:
            for _ in self.batches([]):
                pass
        return not self.schema.equals(before)

    def batches(
        self, columns: Sequence[str] | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        self.unchanged(self.path)
        with reading(self.path, "CSV"), _input(self.path, self._options.encoding) as stream:
            chunks = row_chunks(stream, self._delimiter)
            rows = self._known(chunks, columns) if self._settled else self._settling(chunks, columns)
            yield from between(rows, start, stop)
        self.unchanged(self.path)

    def _known(self, chunks: Iterator[bytes], columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows, once types are certain."""
        n_rows = 0

        def parsed(place: tuple[int, bytes]) -> pa.RecordBatch | str:
            number, chunk = place
            try:
                return self._parse(chunk, self._types, columns, header=number == 0)
            except pa.ArrowInvalid as error:
                return str(error)

        for batch in _lane().map(parsed, enumerate(self._filled(chunks))):
            if isinstance(batch, str):
                raise damaged(self.path, batch, n_rows, self.schema.names)
            n_rows += batch.num_rows
            yield batch

    def _settling(self, chunks: Iterator[bytes], columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows, and with the last of them the types of all columns.

        A later row that makes numbers of integers changes no number that was read before. One that makes texts of them
        does: then the file is read to its end, and whoever wanted the column starts again.
        """
        wanted = list(self.schema.names if columns is None else columns)
        long, bits, n_rows, changed = Counter[str](), set(self._types), 0, False
        for parsed in _lane().map(self._fitted, enumerate(self._filled(chunks))):
            if isinstance(parsed, str):
                raise damaged(self.path, parsed, n_rows, self.schema.names)
            bits &= parsed.bits
            long.update(parsed.long)
            for name, dtype in parsed.types.items():
                before = self._types[name]
                dtype = pa.string() if name in parsed.codes else dtype
                self._types[name] = joined_type(before, dtype, bits=name in bits)
                if name in wanted and _kinds(before, self._types[name]) != {Kind.NUMERIC}:
                    changed |= before != self._types[name]
            n_rows += parsed.batch.num_rows
            if not changed and wanted:
                yield self._cast(parsed.batch.select(wanted))
        self._settle_as(n_rows, long)
        if changed:
            raise TypesChanged

    def _settle_as(self, n_rows: int, long: Counter[str]) -> None:
        self._check_text(self.path, self._types)
        for name, count in long.items():
            if count and pa.types.is_floating(self._types[name]):
                raise FileFormatError(
                    f"{self.path.name}: column {name!r} has {count} integers of more than 18 digits, which would lose "
                    "some; quote or prefix them to make them text, or drop the column"
                )
        self.schema = pa.schema([pa.field(name, self._types[name]) for name in self.schema.names])
        self.n_rows, self._settled = n_rows, True

    def _fitted(self, place: tuple[int, bytes]) -> Parsed | str:
        """A chunk in the narrowest types that hold it; the reader's message where it is no table."""
        number, chunk = place
        types = dict(self._types)
        while True:
            try:
                batch = self._parse(chunk, types, header=number == 0)
                break
            except pa.ArrowInvalid as error:
                column = re.search(r"In CSV column #(\d+)", str(error))
                name = "" if column is None or self._names is None else self._names[int(column.group(1))]
                if not name or pa.types.is_string(types[name]):
                    return str(error)
                types[name] = wider(types[name])
        return self._looked_at(chunk, batch, types, header=number == 0)

    def _looked_at(self, chunk: bytes, batch: pa.RecordBatch, types: Types, *, header: bool) -> Parsed:
        """Find codes such as 00501, which stay texts, and integers that only fit a float by losing digits."""
        names = [n for n, dtype in types.items() if pa.types.is_integer(dtype) or pa.types.is_floating(dtype)]
        ranges = {name: pc.min_max(batch.column(name)).as_py() for name in names}
        reach = {n: [abs(end) for end in ends.values() if end is not None] for n, ends in ranges.items()}
        bits = frozenset(n for n in names if not reach[n] or (ranges[n]["min"] >= 0 and ranges[n]["max"] <= 1))
        bits |= {name for name, dtype in types.items() if pa.types.is_null(dtype) or pa.types.is_boolean(dtype)}
        may_be_long = [name for name in names if reach[name] and not max(reach[name]) < _LONG]
        may_be_codes = names if may_hold_codes(chunk, self._delimiter) else []
        texts = (
            self._parse(chunk, {**types, **dict.fromkeys(names, pa.string())}, names, header=header)
            if may_be_codes or may_be_long
            else None
        )
        if texts is None:
            return Parsed(batch, types, bits=bits)
        codes = frozenset(n for n in may_be_codes if pc.any(pc.match_substring_regex(texts.column(n), _CODE)).as_py())
        long = {n: pc.sum(pc.match_substring_regex(texts.column(n), _LONG_INTEGER)).as_py() or 0 for n in may_be_long}
        return Parsed(batch, types, codes, long, bits)

    def _cast(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch that was parsed as narrower numbers, in the types of now."""
        arrays = [
            values if values.type == self._types[name] else values.cast(self._types[name], safe=False)
            for name, values in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    def _filled(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Chunks with rows; a private table's empty lines are none."""
        for number, chunk in enumerate(chunks):
            if number == 0 or self._own or chunk.strip(b"\r\n"):
                yield chunk

    def _parse(
        self, chunk: bytes, types: Types, columns: Sequence[str] | None = None, *, header: bool = True
    ) -> pa.RecordBatch:
        """A chunk as a batch; columns with marks of their own for what is missing are read apart."""
        marks = self._options.marks
        apart = [name for name in marks if name != "*" and (columns is None or not columns or name in columns)]
        texts = dict.fromkeys(apart, pa.string())
        batch = self._read(chunk, {**types, **texts}, columns, marks.get("*", ()), header=header)
        for name in apart:
            if name in batch.schema.names:
                own = self._read(chunk, types, [name], (*marks.get("*", ()), *marks[name]), header=header)
                batch = batch.set_column(batch.schema.get_field_index(name), name, own.column(0))
        return batch

    def _read(
        self, chunk: bytes, types: Types, columns: Sequence[str] | None, marks: Sequence[str], *, header: bool
    ) -> pa.RecordBatch:
        table = pacsv.read_csv(
            pa.BufferReader(chunk),
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=len(chunk) + 1, column_names=None if header else self._names
            ),
            # A release's empty line is a record whose only value is missing, and its "" is a text.
            parse_options=pacsv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, ignore_empty_lines=not self._own
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=types,
                include_columns=list(columns) if columns else None,
                null_values=[*_NO_VALUE, *marks, *(f" {mark}" for mark in marks)],
                decimal_point=self._decimal,
                strings_can_be_null=self._own,
                quoted_strings_can_be_null=not self._own,
            ),
        )
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)

    def _check_text(self, path: Path, types: Types) -> None:
        for name, dtype in types.items():
            if pa.types.is_binary(dtype):
                raise not_utf8_in(path, name)


def _lane() -> Lane:
    return Lane(min(processors(), MOST_PARSERS))


def _kinds(*types: pa.DataType) -> set[Kind]:
    return {kind_of(dtype) for dtype in types}


def _input(path: Path, encoding: str | None) -> Any:
    stream = pa.input_stream(str(path), compression="detect")
    known = encoding is None or codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    return stream if known else pa.transcoding_input_stream(stream, encoding, "utf-8")


def _delimiter(header: str) -> str:
    counts = {mark: header.count(mark) for mark in ",;\t|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","
