"""What is said of text that is no CSV table: one line with the file, the row or the column, and no cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from veil.errors import FileFormatError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def damaged(path: Path, message: str, n_before: int, names: Sequence[str]) -> FileFormatError:
    """What is said of a chunk that is no table, after so many rows; Arrow's own message quotes cells."""
    if "Expected" in message and "columns" in message:
        row = re.search(r"Row #(\d+)", message)
        where = f" (row {int(row.group(1)) + n_before + (n_before > 0)})" if row else ""
        return FileFormatError(f"{path.name}: a row has another number of values than the header{where}")
    column = re.search(r"In CSV column #(\d+).*invalid UTF8", message, re.DOTALL)
    if column is not None:
        return not_utf8_in(path, names[int(column.group(1))])
    return FileFormatError(f"{path.name}: not a readable CSV file; it is truncated or damaged")


def looks_like_a_record(cells: Sequence[str]) -> bool:
    """Whether a first row is data: all numbers, and not just the columns counted."""
    texts = [cell.strip(' "\r') for cell in cells]
    counted = [[str(i + first) for i in range(len(texts))] for first in (0, 1)]
    return all(_NUMBER.fullmatch(text) for text in texts) and texts not in counted


def not_utf8_in(path: Path, name: str) -> FileFormatError:
    """The refusal of a column whose bytes are no UTF-8."""
    return not_utf8(path, f"column {name!r} holds bytes that are")


def not_utf8(path: Path, what: str, encoding: str = "windows-1252") -> FileFormatError:
    """The refusal of bytes that are no UTF-8, with the encoding that they probably have."""
    return FileFormatError(
        f"{path.name}: {what} not UTF-8 text; give the file's encoding, probably {encoding}, or save it as UTF-8",
        parameter="encoding",
    )
