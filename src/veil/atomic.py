"""Writes that happen whole or not at all: temporary name, fsync, rename."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veil.errors import FileFormatError


def refuse_existing(path: Path) -> None:
    """Refuse a target that is already there, or whose folder is not."""
    if path.exists() or path.is_symlink():
        raise FileFormatError(f"{path}: already exists and is not overwritten; choose another name or remove it")
    if not path.parent.is_dir():
        raise FileFormatError(f"{path}: the folder {path.parent} does not exist; create it first")


def write_private(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file of mode 0600 whole or not at all; an existing one only with ``replace``."""
    _write(path, data, mode=0o600, replace=replace)


def write_public(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file whole or not at all; an existing one only with ``replace``."""
    _write(path, data, mode=0o644, replace=replace)


def _write(path: Path, data: bytes, *, mode: int, replace: bool) -> None:
    if not replace or not path.parent.is_dir():
        refuse_existing(path)
    draft = _draft_name(path)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            draft.replace(path)
        else:
            _link_new(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _link_new(draft: Path, path: Path) -> None:
    # A hard link fails when the target exists, so two writers cannot both win.
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise FileFormatError(f"{path}: already exists and is not overwritten; choose another name") from None


@contextmanager
def draft_file(path: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """A draft beside ``path`` that becomes it when the block ends well, and vanishes otherwise."""
    refuse_existing(path)
    draft = _draft_name(path)
    try:
        yield draft
        draft.chmod(mode)
        sync_file(draft)
        _link_new(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """A draft folder beside ``path``; the caller fills it and calls :func:`land_folder`."""
    refuse_existing(path)
    draft = _draft_name(path)
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def land_folder(draft: Path, path: Path) -> None:
    """Sync a draft folder and give it its final name."""
    for file in draft.iterdir():
        sync_file(file)
    sync_folder(draft)
    refuse_existing(path)
    draft.rename(path)
    sync_folder(path.parent)


def _draft_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.draft")


def sync_file(path: Path) -> None:
    """Force a file's bytes to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
