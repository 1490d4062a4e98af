"""File to file on one machine, in constant memory.

The blocks, kernels and noise are those of :func:`veil.publish`, so the release is the same,
bit for bit. The key file is safe on disk before the release gets its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.atomic import draft_file, locked, refuse_existing
from veil.errors import FileFormatError, InputError, KeyRefusedError
from veil.files import FileTable, format_of, open_table, write_table
from veil.key import Key
from veil.perturbations import Perturbation
from veil.plan import Plan
from veil.progress import Progress, silent
from veil.publication import Publication
from veil.release import MANIFEST, Release, save_release
from veil.restoration import restore
from veil.tables import MemoryTable, Table


def ignore(_: str) -> None:
    """Take no notice of a remark."""


def publish_file(
    source: str | Path,
    perturbation: Perturbation | Plan,
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
    remark: Callable[[str], None] = ignore,
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
    remark
        Called with each sentence that the owner should know about the fit.

    Other parameters are those of :func:`veil.publish`.
    """
    if (new_key is None) == (reuse_key is None):
        raise InputError("give either a new key file to write or a key file to reuse, not both or neither")
    folder = Path(release)
    refuse_existing(folder)
    options = {"again": again, "roles": roles, "consistent_on": consistent_on, "shuffle": shuffle, "progress": progress}
    remarks: list[str] = []
    if new_key is not None:
        key_path = Path(new_key)
        _check_new_key(key_path, folder)
        remarks += _publish(source, perturbation, folder, None, key_path, passphrase, format, options)
    else:
        key_path = Path(str(reuse_key)).resolve()
        if not key_path.is_file():
            raise KeyRefusedError(f"{reuse_key}: no such key file")
        with locked(key_path):
            key = Key.load(key_path, passphrase)
            remarks += _publish(source, perturbation, folder, key, key_path, passphrase, format, options)
    for sentence in remarks:
        remark(sentence)
    return Release.load(folder)


def _publish(
    source: str | Path,
    perturbation: Perturbation | Plan,
    folder: Path,
    key: Key | None,
    key_path: Path,
    passphrase: str | None,
    format: str | None,
    options: dict[str, Any],
) -> list[str]:
    table = open_table(source)
    publication = Publication(table, perturbation, key=key, **options)
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
        before_landing=lambda: publication.key.save(key_path, passphrase, replace=key is not None),
    )
    return publication.remarks()


def _check_new_key(path: Path, release: Path) -> None:
    refuse_existing(path)
    home = path.resolve().parent
    if path.resolve() == release.resolve() or (home / MANIFEST).exists() or home == release.resolve():
        raise FileFormatError(f"{path}: a key is not kept with the release that it opens; choose another folder")


def restore_file(
    release: str | Path,
    key: str | Path,
    target: str | Path,
    *,
    passphrase: str | None = None,
    partial: bool = False,
) -> tuple[int, tuple[str, ...]]:
    """Restore a release folder with its key file to a new private file (mode 0600).

    Returns the number of rows, and the columns that could not come back.
    """
    path = Path(target)
    kind = format_of(path)
    refuse_existing(path)
    loaded, opened = Release.load(release), Key.load(key, passphrase)
    table = restore(loaded, opened, partial=partial)
    with draft_file(path, mode=0o600) as draft:
        write_table(table, draft, kind)
    columns = [column["name"] for column in opened.entry(loaded.manifest.release_id).columns]
    return int(table.num_rows), tuple(name for name in columns if name not in table.column_names)


def _format_of(table: Table) -> str:
    if isinstance(table, MemoryTable) or not isinstance(table, FileTable):
        return "parquet"
    return format_of(table.path)
