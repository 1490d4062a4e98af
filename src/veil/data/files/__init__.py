"""Files: CSV (plain or gzip), Parquet, Feather, a folder of Parquet files, survey files and workbooks as tables.

Readers stream (survey files and workbooks are held), so a file larger than memory is a table like any other. Writers
take released batches one at a time. Nothing a reader says about a broken file quotes a cell.
"""

from __future__ import annotations

from pathlib import Path

from veil.data.files.delimited import CsvTable
from veil.data.files.excel import ExcelTable
from veil.data.files.feather import FeatherTable
from veil.data.files.options import AS_THE_FILE_SAYS, FileOptions
from veil.data.files.parquet import ParquetTable
from veil.data.files.reading import FORMATS, FileTable, format_of, refuse_pipe, release_format, target_format
from veil.data.files.survey import SurveyTable
from veil.data.files.writer import Writer
from veil.data.files.writing import open_writer
from veil.errors import FileAccessError, nearest

__all__ = [
    "FORMATS",
    "CsvTable",
    "ExcelTable",
    "FileOptions",
    "FileTable",
    "Writer",
    "format_of",
    "open_table",
    "open_writer",
    "release_format",
    "target_format",
]


def _meant(path: Path) -> str:
    """The file beside it that is called nearly so."""
    try:
        near = nearest(path.name, [each.name for each in path.parent.iterdir()])
    except OSError:
        near = None
    return "" if near is None else f"; did you mean {near!r}?"


def open_table(path: str | Path, *, settle: bool = True, options: FileOptions = AS_THE_FILE_SAYS) -> FileTable:
    """A file or a folder of Parquet files as a table that is read in blocks; ``options`` say what the file does not.

    Without ``settle`` the types of a CSV file are those of its first rows until it was read to the end.
    """
    path = Path(path)
    if not path.exists():
        raise FileAccessError(f"{path}: no such file or folder{_meant(path)}")
    refuse_pipe(path)
    path = path.absolute()  # a cluster's workers are elsewhere
    kind = format_of(path)
    if kind.startswith("csv"):
        table = CsvTable(path, options=options)
        if settle:
            table.settle()
        return table
    if kind == "feather":
        return FeatherTable(path)
    if kind == "survey":
        return SurveyTable(path, options)
    if kind in ("xlsx", "workbook"):
        return ExcelTable(path, options)
    return ParquetTable(path)
