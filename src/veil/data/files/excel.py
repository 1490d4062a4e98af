"""Workbooks (.xlsx, .xls, .ods): one sheet with a header, read by python-calamine and written by openpyxl.

A sheet has cells, not columns: a column has the type that all its cells have. Where some are texts, all are, numbers
as they are shown; so that codes for missing values are declared before.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.data.files.held import HeldTable, without_fractions
from veil.data.files.options import AS_THE_FILE_SAYS, FileOptions
from veil.data.files.reading import reading
from veil.data.tables import check_names
from veil.errors import FileFormatError, InputError, MissingExtraError, listed

ERRORS = frozenset(("#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#DATA!"))
"""What a formula that failed leaves in a cell: there is no value."""


class ExcelTable(HeldTable):
    """A sheet of a workbook; the types of a release's columns are known."""

    def __init__(
        self,
        path: Path,
        options: FileOptions = AS_THE_FILE_SAYS,
        types: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        self._options, self._types = options, types
        super().__init__(path)

    def _load(self, path: Path) -> pa.Table:
        with reading(path, "workbook"):
            header, *rows = self._cells(path) or [[]]
            while header and header[-1] == "":
                header = header[:-1]
            names = [shown(cell) for cell in header]
            if "" in names:
                raise FileFormatError(
                    f"{path.name}: column {names.index('') + 1} has no name; the first row of a sheet is its header"
                )
            check_names(names)
            rows = [row for row in rows if any(cell != "" for cell in row)]
            columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
            return pa.table({name: self._column(name, cells) for name, cells in columns.items()})

    def _cells(self, path: Path) -> list[list[Any]]:
        calamine = python_calamine()
        try:
            book = calamine.CalamineWorkbook.from_path(str(path))
            sheets = [name for name in book.sheet_names if book.get_sheet_by_name(name).total_height]
            wanted = self._options.sheet
            if wanted is not None and wanted not in book.sheet_names:
                raise InputError.from_unknown_name(f"sheet of {path.name}", wanted, book.sheet_names, parameter="sheet")
            if wanted is None and len(sheets) > 1:
                raise FileFormatError(
                    f"{path.name}: has {len(sheets)} sheets ({listed(sheets)}); name the one that is the table",
                    parameter="sheet",
                )
            if not sheets:
                raise FileFormatError(f"{path.name}: the workbook is empty; a table needs a header and rows")
            cells: list[list[Any]] = book.get_sheet_by_name(wanted or sheets[0]).to_python(skip_empty_area=True)
        except calamine.PasswordError:
            raise FileFormatError(f"{path.name}: the workbook is locked by a password; save it without one") from None
        except calamine.CalamineError:
            raise FileFormatError(f"{path.name}: not a readable workbook; it is truncated or damaged") from None
        return cells

    def _column(self, name: str, cells: Sequence[Any]) -> pa.ChunkedArray:
        marks = {*ERRORS, "", *self._options.marks.get("*", ()), *self._options.marks.get(name, ())}
        present = [None if isinstance(cell, str) and cell.strip() in marks else cell for cell in cells]
        if self._types is not None and name in self._types:
            return pa.chunked_array([_as_released(present, self._types[name], name)])
        if name in self._options.texts:
            return pa.chunked_array([pa.array([None if c is None else shown(c) for c in present], pa.string())])
        return without_fractions(pa.chunked_array([_of_one_type(present)]))


def _of_one_type(cells: Sequence[Any]) -> pa.Array:
    """Cells as the type that they all have; texts where they differ."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {datetime.date, datetime.datetime}:  # a time of day of 0:00 is not shown
        return pa.array(
            [
                datetime.datetime.combine(cell, datetime.time()) if type(cell) is datetime.date else cell
                for cell in cells
            ],
            pa.timestamp("us"),
        )
    if kinds == {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in cells])
    if len(kinds) > 1:
        return pa.array([None if cell is None else shown(cell) for cell in cells], pa.string())
    return pa.array(cells)


def _as_released(cells: Iterable[Any], dtype: pa.DataType, name: str) -> pa.Array:
    """Cells of a release in the type that its manifest says."""
    try:
        if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
            return pa.array([None if cell is None else shown(cell) for cell in cells], dtype)
        return _of_one_type(list(cells)).cast(dtype)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise FileFormatError(f"column {name!r} does not hold {dtype}, as the release says") from None


def shown(cell: Any) -> str:
    """A cell as text; whole numbers without a fraction.

    >>> shown(12.0), shown(0.5), shown("x"), shown(True)
    ('12', '0.5', 'x', 'TRUE')
    """
    if isinstance(cell, bool):
        return str(cell).upper()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def python_calamine() -> Any:
    """The library that reads workbooks."""
    try:
        import python_calamine
    except ImportError:
        raise MissingExtraError(
            "workbooks (.xlsx, .xls, .ods) need python-calamine: pip install 'veil[excel]'"
        ) from None
    return python_calamine
