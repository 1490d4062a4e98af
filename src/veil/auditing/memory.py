"""Results that are kept between audits, so that the same question is not asked twice.

What an attack found out about a private table is itself private: the folder is of mode 0700, its files of mode 0600,
and a file's name is a keyed hash of the question (table, roles, candidate, settings), so that nobody can confirm a
guess of the table by looking for its name. Results are JSON, never pickle.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veil.errors import FileAccessError, FileFormatError
from veil.publishing.plan import Plan
from veil.secret import revealed
from veil.storage.atomic import write_private

KEY_NAME = "cache.key"
LARGEST_FILE = 50_000_000
FORMAT = 4
"""The form of addresses and answers; those of another are not found."""


def default_folder() -> Path:
    """``$VEIL_CACHE``, or ``veil`` in the user's folder for caches."""
    home = os.environ.get("VEIL_CACHE")
    if home:
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veil"


class Cache:
    """A folder of answers, one file for each table and candidate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            new = not folder.exists()
            # Another audit may be writing the key at this moment: its draft is no stranger's file.
            strange = not new and any(KEY_NAME not in path.name for path in folder.iterdir())
            if strange and not os.path.lexists(folder / KEY_NAME):
                raise FileAccessError(f"{folder}: is in use for something else; choose a new folder for the cache")
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                raise FileAccessError(f"{folder}: belongs to somebody else; choose another folder for the cache")
            if new:
                folder.chmod(0o700)
        except OSError as error:
            raise FileAccessError(f"{folder}: cannot hold the cache ({error.strerror}); choose another") from None
        self._key = self._own_key()

    def _own_key(self) -> bytes:
        path = self._folder / KEY_NAME
        with suppress(FileAccessError):  # another process may be first
            if not path.exists():
                write_private(path, secrets.token_bytes(32))
        try:
            key = path.read_bytes()
        except OSError as error:
            raise FileAccessError(f"{path}: cannot be read ({error.strerror}); choose another folder") from None
        if len(key) != 32:
            raise FileFormatError(f"{path}: is not a key of this cache; remove it")
        return key

    def table_digest(self, table: pa.Table) -> str:
        """A keyed hash of a table's names, types and values."""
        sink = _Hasher(self._key)
        with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), table.schema.remove_metadata()) as writer:
            for batch in table.replace_schema_metadata().combine_chunks().to_batches():
                writer.write_batch(batch)
        return sink.hash.hexdigest()

    def answers(self, question: Any) -> Answers:
        """What is remembered of a question; a file that cannot be read holds nothing."""
        text = as_text([FORMAT, question]).encode()
        name = hashlib.blake2b(text, key=self._key, digest_size=24).hexdigest()
        return Answers(self._folder / f"{name}.json")


class Answers:
    """JSON values by address, which is one as well, kept in one file."""

    def __init__(self, path: Path) -> None:
        self._path, self._changed = path, False
        self._by_address: dict[str, Any] = {}
        with suppress(OSError, RecursionError, ValueError):
            if path.stat().st_size <= LARGEST_FILE:
                content = json.loads(path.read_text(encoding="utf-8"))
                self._by_address = content if isinstance(content, dict) else {}

    def get(self, address: Any) -> Any:
        """The value at an address; None where there is none."""
        return self._by_address.get(as_text(address))

    def put(self, address: Any, value: Any) -> None:
        """Remember a value."""
        self._by_address[as_text(address)] = value
        self._changed = True

    def save(self) -> None:
        """Write the file, if anything is new; a full disk is no reason to lose an audit."""
        if self._changed:
            with suppress(FileAccessError, OSError):
                write_private(self._path, json.dumps(self._by_address).encode(), replace=True)


class _Hasher:
    """A file that is hashed instead of written."""

    closed = False

    def __init__(self, key: bytes) -> None:
        self.hash = hashlib.blake2b(key=key, digest_size=32)

    def write(self, data: Any) -> int:
        self.hash.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


def candidate_words(plan: Plan) -> list[Any]:
    """All that a candidate's releases depend on beside table, roles and key."""
    order: list[Any] = ["shuffled"] if plan.shuffle else []
    order += [plan.sums] if plan.sums else []  # they decide which noise is one per group
    return order + [
        [columns, p.method_name(), {name: revealed(value) for name, value in p.get_params(deep=False).items()}]
        for columns, p in plan.parts
    ]


def as_text(value: Any) -> str:
    """A value as JSON, the same whenever it is the same."""
    return json.dumps(value, sort_keys=True, default=_json_default)


def _json_default(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
