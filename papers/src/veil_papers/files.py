"""Results on disk: written whole or not at all, and refused early where they cannot be."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veil.errors import UnwritableError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about a target into one line that names it."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnwritableError(f"{path}: cannot be written ({reason}); choose another place") from None


def write_file(path: Path, data: bytes) -> None:
    """Write a file under another name and then give it its own, in place of what was there."""
    draft = _draft_name(path)
    with writing(path):
        try:
            draft.write_bytes(data)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to, before a long run; nothing is made yet."""
    if not folder.name or any(len(os.fsencode(part)) > 255 for part in folder.parts):
        raise UnwritableError("-o and --page need names for their folders, of 255 bytes at most")
    there = next(parent for parent in (folder, *folder.absolute().parents) if os.path.lexists(parent))
    if not there.is_dir():
        raise UnwritableError(f"{folder} cannot be a folder to write to: {there} is a file, or a link to nothing")
    draft = _draft_name(there / folder.name)
    with writing(folder):
        draft.touch(exist_ok=False)
        draft.unlink()


def _draft_name(path: Path) -> Path:
    # Cut, so that a long name that the system allows has a draft that it allows too.
    return path.with_name(f".{path.name[:40]}.{uuid.uuid4().hex[:12]}.draft")
