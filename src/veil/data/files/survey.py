"""Files of statistics packages: SPSS (.sav, .zsav), Stata (.dta), SAS (.sas7bdat, .xpt), read by pyreadstat.

Missing codes that the file declares (SPSS ranges, Stata's .a to .z, SAS's special ones) are missing values. A column
all of whose values have labels is a category of its labels, in the order of its codes; one that labels only some (an
age with 97 for "refused") stays a column of numbers, and the table says how many codes have labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.data.files.held import HeldTable, without_fractions
from veil.data.files.options import AS_THE_FILE_SAYS, FileOptions
from veil.data.files.reading import reading
from veil.data.tables import check_names
from veil.errors import FileFormatError, InputError, MissingExtraError

READERS = {
    ".sav": ("read_sav", "SPSS"),
    ".zsav": ("read_sav", "SPSS"),
    ".dta": ("read_dta", "Stata"),
    ".sas7bdat": ("read_sas7bdat", "SAS"),
    ".xpt": ("read_xport", "SAS transport"),
}
CHUNK_ROWS = 500_000
"""Rows that are Python objects at one time."""
MISSING_SHOWN = 80
"""Letters of a variable label that are shown."""


class SurveyTable(HeldTable):
    """A file of SPSS, Stata or SAS."""

    def __init__(self, path: Path, options: FileOptions = AS_THE_FILE_SAYS) -> None:
        self._options = options
        self.remarks: dict[str, tuple[str, ...]] = {}
        super().__init__(path)

    def _load(self, path: Path) -> pa.Table:
        function, what = READERS[path.suffix.lower()]
        read = getattr(pyreadstat(), function)
        with reading(path, what):
            chunks: list[pa.Table] = []
            while True:
                columns, about = self._chunk(path, what, read, len(chunks) * CHUNK_ROWS)
                check_names(list(about.column_names))
                chunks.append(pa.table({name: _column(columns[name], name) for name in about.column_names}))
                if chunks[-1].num_rows < CHUNK_ROWS:
                    break
            table = pa.concat_tables(chunks, promote_options="permissive")
        return self._labelled(table, about)

    def _chunk(self, path: Path, what: str, read: Callable[..., Any], at: int) -> tuple[dict[str, Any], Any]:
        """Some rows as lists, and what the file says about its columns; pyreadstat's messages may quote the file."""
        settings: dict[str, Any] = {"row_offset": at, "row_limit": CHUNK_ROWS, "output_format": "dict"}
        if self._options.encoding is not None:
            settings["encoding"] = self._options.encoding
        try:
            columns, about = read(str(path), **settings)
        except (OSError, InputError):
            raise
        except UnicodeDecodeError:
            raise FileFormatError(
                f"{path.name}: its texts are encoded otherwise than it says; give the encoding, e.g. windows-1252",
                parameter="encoding",
            ) from None
        except Exception:
            raise FileFormatError(f"{path.name}: not a readable {what} file; it is truncated or damaged") from None
        return columns, about

    def _labelled(self, table: pa.Table, about: Any) -> pa.Table:
        """The table with whole numbers as integers and fully labelled columns as categories."""
        labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
        for i, name in enumerate(table.column_names):
            column, said = without_fractions(table.column(i)), []
            if about.column_names_to_labels.get(name):
                said.append(f"“{str(about.column_names_to_labels[name])[:MISSING_SHOWN]}”")
            if labels.get(name) and self._options.labels:
                ordered = about.variable_measure.get(name) == "ordinal"
                named = with_labels(column, labels[name], ordered=ordered)
                if named is None:
                    n = len(labels[name])
                    said.append(f"value labels of {n} code{'s' if n != 1 else ''} only, so it stays as it is")
                column = column if named is None else named
            if said:
                self.remarks[name] = tuple(said)
            table = table.set_column(i, name, column)
        return table


def with_labels(values: pa.ChunkedArray, labels: Mapping[Any, str], *, ordered: bool) -> pa.ChunkedArray | None:
    """Codes as a category of their labels, in the order of the codes; None where a value has no label.

    >>> with_labels(pa.chunked_array([[1, 2, None]]), {2: "no", 1: "yes"}, ordered=False).to_pylist()
    ['yes', 'no', None]
    """
    codes = sorted(labels) if len({isinstance(code, str) for code in labels}) == 1 else list(labels)
    try:
        known = pa.array(codes).cast(values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
    places = pc.index_in(values, value_set=known)
    if places.null_count > values.null_count:
        return None
    often = Counter(labels.values())
    texts = [labels[code] if often[labels[code]] == 1 else f"{labels[code]} ({code:g})" for code in codes]
    indices = pc.if_else(pc.is_valid(values), places, pa.scalar(None, pa.int32())).combine_chunks()
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()), ordered=ordered)])


def _column(cells: Any, name: str) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass  # Arrow's message quotes the cell
    raise InputError(f"column {name!r} mixes values of different types; convert it to one type (numbers or text) first")


def pyreadstat() -> Any:
    """The library that reads files of statistics packages."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("SPSS, Stata and SAS files need pyreadstat: pip install 'veil[survey]'") from None
    return pyreadstat
