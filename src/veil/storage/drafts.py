"""The folder of an unfinished run, which the next run finds again and continues."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from veil.errors import ClusterError, FileAccessError, InputError, UnwritableError
from veil.storage.atomic import lock_now, refuse_existing, write_private, writing
from veil.storage.shards import remove

RUN = "run.json"
LOCK = "lock"
LANDING = "landing"
SHARDS = "parts"
CONTINUE = "what is done is kept: resume the run to continue"


class Interrupted(KeyboardInterrupt):
    """The run was interrupted, and what is done of it is kept; ``parameter`` continues it."""

    parameter = "resume"


class Draft:
    """A private folder (mode 0700) beside the target, named after it.

    It holds shards that are whole, what the run was about, and, for a release under a new key, that key: nothing of the
    release is out before the key has its place.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        # Cut, so that a long name that the system allows has a draft that it allows, too.
        mark = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:8]
        self._keep = False
        self.folder = target.absolute().with_name(f".{target.name[:40]}.{mark}.draft")

        self._mark = ""
        self._lock: int | None = None
        self._taken = False

    def _known(self) -> dict[str, Any]:
        """What an earlier run has written about itself."""
        try:
            earlier = json.loads((self.folder / RUN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return earlier if isinstance(earlier, dict) else {}

    @property
    def shards(self) -> Path:
        """The folder of this run's shards; an earlier run's stragglers write elsewhere."""
        return self.folder / f"{SHARDS}-{self._mark or self._known().get('parts', '')}"

    @contextmanager
    def held(self, *, resume: bool, resumable: bool = True) -> Iterator[None]:
        """Hold the folder for oneself; it is kept when the run is cut short and removed when it ends or is refused.

        Without ``resume`` what an earlier run has left is removed first; with it, it is kept whatever goes wrong.
        Of a run that is not ``resumable`` nothing is kept.
        """
        refuse_taken(self.target)
        try:
            self._hold()
            with writing(self.target):
                if not resume:
                    self._clear()
            try:
                yield
            except BaseException as stop:
                whole = resumable and any(self.folder.glob(f"{SHARDS}-*/part-*.json"))
                self._keep = whole and (resume or isinstance(stop, KeyboardInterrupt | ClusterError | UnwritableError))
                if self._keep and isinstance(stop, KeyboardInterrupt):
                    raise Interrupted(f"interrupted; {CONTINUE}") from None
                if self._keep and isinstance(stop, UnwritableError):
                    raise UnwritableError(f"{stop}; {CONTINUE}", parameter="resume") from None
                raise
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Remove the folder, unless it is kept or somebody else's."""
        if self._taken:
            return
        if self._lock is None:  # interrupted before it was held: an empty folder may be left
            for leave in ((self.folder / LOCK).unlink, self.folder.rmdir):
                with suppress(OSError):
                    if not (self.folder / RUN).exists() and not any(self.folder.glob(f"{SHARDS}-*")):
                        leave()
            return
        if not self._keep:
            with suppress(OSError):
                self._clear(spare=(LOCK, LANDING))  # who is killed meanwhile leaves what the next run knows it by
            remove(self.folder)
        os.close(self._lock)
        self._lock = None

    def _hold(self) -> None:
        """Lock the folder; whoever removes a folder holds its lock, so one that is gone is made again."""
        while True:
            with writing(self.target):
                try:
                    self.folder.mkdir(mode=0o700)
                except FileExistsError:
                    self._refuse_foreign()
                try:
                    lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
                except FileNotFoundError:
                    continue
            try:
                lock_now(lock)
            except OSError:
                os.close(lock)
                self._taken = True
                raise FileAccessError(f"{self.target}: another run is writing it; wait for that, or stop it") from None
            self._lock = lock
            with suppress(FileNotFoundError):
                if os.fstat(lock).st_ino == (self.folder / LOCK).stat().st_ino:
                    return
            self._lock = None
            os.close(lock)

    def _refuse_foreign(self) -> None:
        """Refuse a folder that somebody else has put there: its owner could plant a key or swap shards."""
        try:
            state = self.folder.lstat()
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(state.st_mode) or (hasattr(os, "geteuid") and state.st_uid != os.geteuid()):
            self._taken = True
            raise FileAccessError(
                f"{self.target}: {self.folder.name} beside it is not a folder of yours; choose another name"
            )

    def _clear(self, spare: Collection[str] = (LOCK,)) -> None:
        for path in self.folder.iterdir():
            if path.is_dir():
                remove(path)
            elif path.name not in spare:
                path.unlink()

    def landing(self, path: Path) -> None:
        """Note which file or folder is about to get the target's name."""
        with writing(self.target):
            number = path.stat().st_ino
        write_private(self.folder / LANDING, str(number).encode(), replace=True)

    def remove_landed(self) -> None:
        """Remove what a run has left that was killed after its target was there: rows or a key nobody looks for."""
        try:
            landed = (self.folder / LANDING).read_text(encoding="utf-8") == str(self.target.stat().st_ino)
        except (OSError, ValueError):
            return
        if landed:
            with suppress(FileAccessError):
                self._hold()
                self._let_go()

    def same_run(self, what: dict[str, Any]) -> bool:
        """Whether the folder was left by a run about the same; a new one is marked with what it is about.

        Raises
        ------
        InputError
            When it was left by a run about something else.
        """
        path = self.folder / RUN
        if not path.exists():
            self._mark = secrets.token_hex(6)
            write_private(path, json.dumps({"what": what, "parts": self._mark}).encode())
            with writing(self.target):
                self.shards.mkdir()
            return False
        known = self._known()
        if known.get("what") != what:
            raise another_run()
        self._mark = str(known["parts"])
        return self.shards.is_dir()

    def fresh(self, name: str) -> Path:
        """A name in the folder for what is put together of the shards; an earlier attempt is removed."""
        path = self.folder / name
        with writing(self.target):
            remove(path)
            path.unlink(missing_ok=True)
        return path


def refuse_taken(target: Path) -> None:
    """Refuse a target that is already there; what the run that made it may have left beside it is removed."""
    try:
        refuse_existing(target)
    except FileAccessError:
        Draft(target).remove_landed()
        raise


def another_run() -> InputError:
    """The refusal to continue a run that was about something else."""
    return InputError(
        "resume: the table, the method or its settings are not those of the run that was interrupted; "
        "start anew without resuming",
        parameter="resume",
    )
