"""Writes that happen whole or not at all: temporary name, fsync, rename."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veil.errors import FileAccessError, UnwritableError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about a target into one line that names it."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnwritableError(f"{path}: cannot be written ({reason}); choose another place") from None


def refuse_existing(path: Path) -> None:
    """Refuse a target that is already there, or whose folder is not."""
    with writing(path):
        there, home = path.exists() or path.is_symlink(), path.parent.is_dir()
    if there:
        raise FileAccessError(f"{path}: already exists and is not overwritten; choose another name or remove it")
    if not home:
        raise FileAccessError(f"{path}: the folder {path.parent} does not exist; create it first")


def refuse_unwritable(path: Path) -> None:
    """Refuse a target whose folder takes no new files, before hours of work are spent on it."""
    draft = _draft_name(path)
    with writing(path):
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        draft.unlink()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file for oneself, so that two writers cannot lose each other's changes."""
    while True:
        with path.open("rb") as file:
            _lock(file.fileno(), wait=True)
            # The holder before us may have replaced the file: then this is a lock on the old one.
            if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield
                return


def lock_now(descriptor: int) -> None:
    """Lock an open file, or raise OSError where somebody else holds it."""
    _lock(descriptor, wait=False)


def _lock(descriptor: int, *, wait: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_private(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file of mode 0600 whole or not at all; an existing one only with ``replace``."""
    _write(path, data, mode=0o600, replace=replace)


def write_public(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file whole or not at all; an existing one only with ``replace``."""
    _write(path, data, mode=0o644, replace=replace)


def _write(path: Path, data: bytes, *, mode: int, replace: bool) -> None:
    if not replace or not path.parent.is_dir():
        refuse_existing(path)
    with writing(path):
        _write_draft(path, data, mode=mode, replace=replace)


def _write_draft(path: Path, data: bytes, *, mode: int, replace: bool) -> None:
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
        raise FileAccessError(f"{path}: already exists and is not overwritten; choose another name") from None
    except OSError:  # a file system without hard links
        refuse_existing(path)
        draft.rename(path)


def land_folder(draft: Path, path: Path) -> None:
    """Sync a draft folder and give it its final name."""
    refuse_existing(path)
    with writing(path):
        for path_inside in draft.iterdir():  # the files of a folder inside were synced as they were written
            (sync_folder if path_inside.is_dir() else sync_file)(path_inside)
        sync_folder(draft)
        draft.rename(path)
    sync_folder(path.parent)


def land_file(draft: Path, path: Path) -> None:
    """Sync a draft (a file, or a folder of files) and give it its final name."""
    if draft.is_dir():
        land_folder(draft, path)
        return
    with writing(path):
        sync_file(draft)
        _link_new(draft, path)
    sync_folder(path.parent)


def _draft_name(path: Path) -> Path:
    # Cut, so that a long name that the system allows has a draft that it allows too.
    return path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex[:12]}.draft")


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
