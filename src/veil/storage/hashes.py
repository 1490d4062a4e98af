"""SHA-256 of files and of tables in shards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_shards(shards: Mapping[str, str]) -> str:
    """SHA-256 of the names and hashes of a table's shards, a line for each."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(shards.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
