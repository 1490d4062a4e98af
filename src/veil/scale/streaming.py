"""File to file on one machine, in constant memory.

The blocks, kernels and noise are those of :func:`veil.publish`, so the release is the same,
bit for bit. The key file is safe on disk before the release gets its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.atomic import draft_file, refuse_existing
from veil.errors import InputError
from veil.files import FileTable, format_of, open_table, write_table
from veil.key import Key
from veil.perturbations import Perturbation
from veil.progress import Progress, silent
from veil.publication import Publication, restore
from veil.release import Release, save_release
from veil.tables import MemoryTable, Table


def publish_file(
    source: str | Path,
    perturbation: Perturbation,
    release: str | Path,
    *,
    new_key: str | Path | None = None,
    reuse_key: str | Path | None = None,
    passphrase: str | None = None,
    again: bool = False,
    roles: Mapping[str, str] | None = None,
    consistent_on: str | None = None,
    shuffle: bool = False,
    format: str | None = None,
    progress: Progress = silent,
) -> Release:
    """Publish a file as a release folder and a key file.

    Parameters
    ----------
    source
        CSV, CSV.gz, Parquet or Feather file, or a folder of Parquet files.
    perturbation
        The method.
    release
        The release folder to make; it must not exist.
    new_key, reuse_key
        Where to write a new key file, or an existing key file to use again: one of the two.
    passphrase
        Locks the new key file, or opens the old one.
    format
        Format of the released data; the source's own by default.

    Other parameters are those of :func:`veil.publish`.
    """
    if (new_key is None) == (reuse_key is None):
        raise InputError("give either a new key file to write or a key file to reuse, not both or neither")
    folder, key_path = Path(release), Path(new_key or reuse_key or "")
    refuse_existing(folder)
    if new_key is not None:
        refuse_existing(key_path)
    table = open_table(source)
    key = Key.load(key_path, passphrase) if reuse_key is not None else None
    publication = Publication(
        table,
        perturbation,
        key=key,
        again=again,
        roles=roles,
        consistent_on=consistent_on,
        shuffle=shuffle,
        progress=progress,
    )
    batches: Any = publication.batches()
    order = publication.permutation()
    if order is not None:  # a secret order needs all rows at hand
        batches = pa.Table.from_batches(batches, schema=publication.schema).take(pa.array(order)).to_batches()
    save_release(
        folder,
        batches,
        publication.schema,
        publication.manifest,
        format=format or _format_of(table),
        before_landing=lambda: publication.key.save(key_path, passphrase, replace=reuse_key is not None),
    )
    return Release.load(folder)


def restore_file(
    release: str | Path,
    key: str | Path,
    target: str | Path,
    *,
    passphrase: str | None = None,
    partial: bool = False,
) -> int:
    """Restore a release folder with its key file to a new private file (mode 0600); returns the rows."""
    path = Path(target)
    kind = format_of(path)
    refuse_existing(path)
    table = restore(Release.load(release), Key.load(key, passphrase), partial=partial)
    with draft_file(path, mode=0o600) as draft:
        draft.touch(mode=0o600)
        write_table(table, draft, kind)
    return int(table.num_rows)


def _format_of(table: Table) -> str:
    if isinstance(table, MemoryTable) or not isinstance(table, FileTable):
        return "parquet"
    return format_of(table.path)
