"""Released rows as a workbook (.xlsx) of one sheet, written by openpyxl.

Numbers and dates are numbers and dates of the workbook. What it would round or take for something else is a text:
times, decimals, dates before 1901, and texts that look like formulas.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.data.blocks import EXACT_INTEGERS
from veil.data.files.writer import Writer
from veil.errors import InputError, MissingExtraError

MOST_ROWS = 2**20 - 1
"""Rows below the header that a sheet has room for."""
FIRST_YEAR = 1901


class WorkbookWriter(Writer):
    """Writes batches to the one sheet of a new workbook."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        for field in schema:
            if pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or pa.types.is_duration(field.type):
                raise _no_cell(field.name, f"holds {field.type} values")
        self._path, self._names, self._n_rows = path, schema.names, 0
        self._book = _openpyxl().Workbook(write_only=True)
        self._sheet = self._book.create_sheet("data")
        self._sheet.append([self._text(name, name) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        self._n_rows += batch.num_rows
        if self._n_rows > MOST_ROWS:
            raise no_room()
        columns = [
            [self._cell(value, name) for value in column.to_pylist()]
            for name, column in zip(self._names, batch.columns, strict=True)
        ]
        for row in zip(*columns, strict=True):
            self._sheet.append(row)

    def close(self) -> None:
        """Finish the file."""
        with self._path.open("wb") as file:
            self._book.save(file)

    def _cell(self, value: Any, name: str) -> Any:
        """A value as a cell that brings it back."""
        if isinstance(value, str):
            return self._text(value, name)
        if isinstance(value, datetime.datetime | datetime.time | Decimal):
            return self._text(str(value), name)
        if isinstance(value, datetime.date) and value.year < FIRST_YEAR:
            return self._text(str(value), name)
        if isinstance(value, float) and value != value:
            return None
        if isinstance(value, float | int) and value in (float("inf"), -float("inf")):
            raise _no_cell(name, "holds infinite values")
        if isinstance(value, int) and abs(value) > EXACT_INTEGERS:
            raise _no_cell(name, "holds integers beyond ±2^53")
        return self._number(value) if isinstance(value, float) else value

    def _number(self, value: float) -> Any:
        """A number with all of its digits; openpyxl by itself writes 16 of 17."""
        from openpyxl.cell import WriteOnlyCell

        cell = WriteOnlyCell(self._sheet, value=0.0)
        cell._value = repr(value)
        return cell

    def _text(self, value: str, name: str) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError

        try:
            cell = WriteOnlyCell(self._sheet, value=value)
        except IllegalCharacterError:
            raise _no_cell(name, "holds control characters") from None
        cell.data_type = "s"
        return cell


def no_room() -> InputError:
    """The refusal of more rows than a sheet has."""
    return InputError(
        f"a sheet of a workbook has room for {MOST_ROWS:,} rows, and there are more; choose csv or parquet",
        parameter="format",
    )


def _no_cell(name: str, what: str) -> InputError:
    return InputError(
        f"column {name!r} {what}, which a workbook does not have; choose csv or parquet", parameter="format"
    )


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("writing workbooks needs openpyxl: pip install 'veil[excel]'") from None
    return openpyxl
