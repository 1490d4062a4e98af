"""What all file readers share: formats by name, one-line errors, and the watch for files that change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from veil.data.tables import Table, check_names
from veil.errors import FileAccessError, FileFormatError, InputError

FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "xlsx",
}
"""Formats that are read and written."""
READ_ONLY = {
    ".xls": "workbook",
    ".ods": "workbook",
    ".sav": "survey",
    ".zsav": "survey",
    ".dta": "survey",
    ".sas7bdat": "survey",
    ".xpt": "survey",
}
_DECODE_ERRORS = (pa.ArrowInvalid, pa.ArrowException, OSError, EOFError, ValueError)
Stamp = tuple[int, int]


def format_of(path: Path) -> str:
    """Format of a file by its name; a folder is a folder of Parquet files."""
    if path.is_dir():
        return "parquet"
    formats = {**FORMATS, **READ_ONLY}
    for ending in sorted(formats, key=len, reverse=True):
        if path.name.lower().endswith(ending):
            return formats[ending]
    raise FileFormatError(f"{path.name}: unknown kind of file; use {', '.join(formats)} or a folder of .parquet files")


def target_format(path: Path) -> str:
    """Format of a file that is to be written."""
    kind = format_of(path)
    if kind in READ_ONLY.values():
        raise FileFormatError(f"{path.name}: files of this kind are read and not written; use {', '.join(FORMATS)}")
    return kind


def release_format(path: Path) -> str:
    """Format of a release of a file, where nothing else is asked for: the file's own, or CSV."""
    kind = format_of(path)
    return "csv" if kind in READ_ONLY.values() else kind


@contextmanager
def reading(path: Path, what: str, place: str = "") -> Iterator[None]:
    """Turn a reader's failure into one line that names the file, the place in it, and no cell."""
    where = f"{path.name}, {place}" if place else path.name
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise FileAccessError(
            f"{where}: the file is not there any more (a cluster's workers must see the same path)"
        ) from None
    except PermissionError:
        raise FileAccessError(f"{where}: no permission to read it") from None
    except UnicodeDecodeError:
        raise FileFormatError(
            f"{where}: its text is not in the encoding that was given", parameter="encoding"
        ) from None
    except _DECODE_ERRORS:
        raise FileFormatError(f"{where}: not a readable {what} file; it is truncated or damaged") from None


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe or a device: tables are read more than once, and whoever opens a pipe may wait for ever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise FileAccessError(f"{path.name}: a pipe or a device, which cannot be read twice; save it as a file first")


def stamp(path: Path) -> Stamp:
    """What changes when a file is written to or replaced."""
    with reading(path, "data"):
        state = path.stat()
        return state.st_size, state.st_mtime_ns


class FileTable(Table):
    """A table in one or more files, which must stay as they are while it is read."""

    def __init__(self, path: Path, schema: pa.Schema, files: list[Path] | None = None) -> None:
        self.path = path
        self.schema = schema.remove_metadata()
        self.kind = "pyarrow"
        self.native = {}
        self.label = path.name
        self._stamps = {file: stamp(file) for file in (files or [path])}
        check_names(schema.names)

    def unchanged(self, file: Path, place: str = "") -> None:
        """Refuse a file that is no longer the one that was opened."""
        if stamp(file) != self._stamps[file]:
            where = f"{file.name}, {place}" if place else file.name
            raise FileAccessError(f"{where}: the file changed while it was read; start again once nobody writes to it")
