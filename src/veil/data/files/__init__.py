"""Files: CSV (plain or gzip), Parquet, Feather, and a folder of Parquet files as one table.

Readers stream, so a file larger than memory is a table like any other. Writers take
released batches one at a time. Nothing a reader says about a broken file quotes a cell.
"""

from __future__ import annotations

from pathlib import Path

from veil.data.files.delimited import CsvTable
from veil.data.files.feather import FeatherTable
from veil.data.files.parquet import ParquetTable
from veil.data.files.reading import FORMATS, FileTable, format_of, refuse_pipe
from veil.data.files.writing import Writer, open_writer
from veil.errors import FileAccessError

__all__ = [
    "FORMATS",
    "CsvTable",
    "FileTable",
    "Writer",
    "format_of",
    "open_table",
    "open_writer",
]


def open_table(path: str | Path, *, settle: bool = True) -> FileTable:
    """A file or a folder of Parquet files as a table that is read in blocks.

    Without ``settle`` the types of a CSV file are those of its first rows until it was read to the end.
    """
    path = Path(path)
    if not path.exists():
        raise FileAccessError(f"{path}: no such file or folder")
    refuse_pipe(path)
    path = path.absolute()  # a cluster's workers are elsewhere
    kind = format_of(path)
    if kind.startswith("csv"):
        table = CsvTable(path)
        if settle:
            table.settle()
        return table
    if kind == "feather":
        return FeatherTable(path)
    return ParquetTable(path)
