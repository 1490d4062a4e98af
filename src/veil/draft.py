"""The folder of an unfinished run, which the next run finds again and continues."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veil.atomic import refuse_existing, write_private, writing
from veil.errors import ClusterError, FileFormatError, InputError, UnwritableError
from veil.partfiles import remove

RUN = "run.json"
LOCK = "lock"
PARTS = "parts"
KEPT = "what is done is kept: run the same command with --resume to continue"


class Interrupted(KeyboardInterrupt):
    """The run was interrupted, and what is done of it is kept."""


class Draft:
    """A private folder (mode 0700) beside the target, named after it.

    It holds parts that are whole, what the run was about, and, for a release under a new key, that key: nothing of the
    release is out before the key has its place.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        # Cut, so that a long name that the system allows has a draft that it allows, too.
        mark = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:8]
        self._keep = False
        self.folder = target.absolute().with_name(f".{target.name[:40]}.{mark}.draft")

    @property
    def parts(self) -> Path:
        """The folder of part files."""
        return self.folder / PARTS

    @contextmanager
    def held(self, *, resume: bool) -> Iterator[None]:
        """Hold the folder for oneself; it is kept when the run is cut short and removed when it ends or is refused.

        Without ``resume`` what an earlier run has left is removed first.
        """
        refuse_existing(self.target)
        with writing(self.target):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        self._keep = False
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._keep = True
                raise FileFormatError(f"{self.target}: another run is writing it; wait for that, or stop it") from None
            with writing(self.target):
                if not resume:
                    self._clear()
                self.parts.mkdir(exist_ok=True)
            try:
                yield
            except (KeyboardInterrupt, ClusterError, UnwritableError) as stop:
                self._keep = any(self.parts.glob("part-*.json"))
                if self._keep and isinstance(stop, KeyboardInterrupt):
                    raise Interrupted(f"interrupted; {KEPT}") from None
                if self._keep and isinstance(stop, UnwritableError):
                    raise UnwritableError(f"{stop}; {KEPT}") from None
                raise
        finally:
            if not self._keep:
                remove(self.folder)
            os.close(lock)

    def _clear(self) -> None:
        for path in self.folder.iterdir():
            if path.is_dir():
                remove(path)
            elif path.name != LOCK:
                path.unlink()

    def same_run(self, what: dict[str, Any]) -> bool:
        """Whether the folder was left by a run about the same; a new one is marked with what it is about.

        Raises
        ------
        InputError
            When it was left by a run about something else.
        """
        path = self.folder / RUN
        if not path.exists():
            write_private(path, json.dumps(what).encode())
            return False
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            known = None
        if known != what:
            self._keep = True
            raise InputError(
                "--resume: the table, the method or its settings are not those of the run that was interrupted; "
                "run without --resume to start anew"
            )
        return True
