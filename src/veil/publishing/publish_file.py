"""Publish from file to file, in constant memory, on all cores or on a cluster.

The blocks, kernels and noise are those of :func:`veil.publish`, so the release is the same, bit for
bit. Shards are written as they come; a run that was cut short is continued from the shards that are
whole. The key file is safe on disk before the release gets its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veil.data.files import release_format
from veil.data.passes import Engine, Threads
from veil.data.sources import as_table
from veil.errors import InputError, KeyRefusedError
from veil.keys.key import Key
from veil.perturbations import Perturbation
from veil.progress import Watch
from veil.publishing.plan import Plan
from veil.publishing.publication import Publication, seed_of
from veil.release.manifest import MANIFEST
from veil.release.release import Release, draft_release
from veil.report.progress import watched
from veil.storage.atomic import locked, refuse_existing, refuse_unwritable
from veil.storage.drafts import Draft, another_run, refuse_taken
from veil.storage.jobs import file_job

NEW_KEY = "key"
PASSES = (("reading", 1.0), ("perturbing", 2.0))
"""The passes and how long each takes, about."""


def ignore(_: str) -> None:
    """Take no notice of a remark."""


@dataclass(frozen=True)
class Order:
    """What is to be published, and how."""

    source: Any
    perturbation: Perturbation | Plan
    format: str | None
    resume: bool
    passphrase: str | None
    options: dict[str, Any]


def publish_file(
    source: Any,
    perturbation: Perturbation | Plan,
    release: str | Path,
    *,
    new_key: str | Path | None = None,
    reuse_key: str | Path | None = None,
    passphrase: str | None = None,
    again: bool = False,
    roles: Mapping[str, str] | None = None,
    consistent_on: str | None = None,
    shuffle: bool | None = None,
    format: str | None = None,
    resume: bool = False,
    engine: Engine | None = None,
    progress: Watch = None,
    remark: Callable[[str], None] = ignore,
) -> Release:
    """Publish a file as a release folder and a key file.

    Parameters
    ----------
    source
        A file, a folder of Parquet files, a query of polars or DuckDB, or any of these as :func:`veil.read_table`
        declares it.
    perturbation
        The method.
    release
        The release folder to make; it must not exist.
    new_key, reuse_key
        Where to write a new key file, or an existing key file to use again: one of the two.
    passphrase
        Locks the new key file, or opens the old one.
    format
        Format of the released data; the source's own by default, or CSV where that is only read. Parquet of more than a
        million rows becomes a folder of shards.
    resume
        Continue a run that was cut short: the table is read and its shards are checked by their hashes; only what is
        missing is made. Starts anew where there is nothing to continue.
    engine
        Where to run: all cores of this machine by default, or a :class:`veil.Cluster`.
    progress
        True for a bar, or a callback: what is done, how many rows of it, and of how many.
    remark
        Called with each sentence that the owner should know about the fit.

    Other parameters are those of :func:`veil.publish`.
    """
    if (new_key is None) == (reuse_key is None):
        raise InputError("give either a new key file to write or a key file to reuse, not both or neither")
    folder = Path(release)
    refuse_taken(folder)
    with watched(progress, passes=PASSES) as report:
        options = {
            "again": again,
            "roles": roles,
            "consistent_on": consistent_on,
            "shuffle": shuffle,
            "progress": report,
            "engine": engine,
        }
        private = Path(source) if isinstance(source, str | Path) else source
        order = Order(private, perturbation, format, resume, passphrase, options)
        if new_key is not None:
            key_path = Path(new_key)
            _check_new_key(key_path, folder, order)
            remarks = _publish(order, folder, None, key_path)
        else:
            key_path = Path(str(reuse_key)).resolve()
            if not key_path.is_file():
                raise KeyRefusedError(f"{reuse_key}: no such key file")
            with locked(key_path):
                remarks = _publish(order, folder, Key.load(key_path, passphrase), key_path)
    for sentence in remarks:
        remark(sentence)
    return Release.load(folder, engine=engine, verify=False)


def _publish(order: Order, folder: Path, key: Key | None, key_path: Path) -> list[str]:
    with file_job(folder, resume=order.resume) as job:
        new_key = job.draft.folder / NEW_KEY
        fresh = key is None
        if fresh and new_key.exists():
            key = Key.load(new_key, order.passphrase)
            key.ledger.clear()  # nothing has gone out under it
            seeded = seed_of(order.perturbation)
            if seeded is not None and not key.same_as(Key.from_seed(seeded)):
                raise another_run()
        settle = _elsewhere(order.options["engine"])
        table = as_table(order.source, settle=settle)
        publication = Publication(table, order.perturbation, key=key, **order.options)
        kind = order.format or _format_like(order.source)
        about = {"release": publication.manifest.release_id, "format": kind, "veil": publication.manifest.veil}
        resumed = job.begin(about)
        if not resumed and fresh:
            publication.key.save(new_key, order.passphrase, replace=True)
        output = job.output(publication.schema, kind)
        publication.write(output)
        draft, _ = draft_release(job, output, publication.manifest)
        # The key of a run that was interrupted right here may be in its place already.
        publication.key.save(key_path, order.passphrase, replace=not fresh or key_path.exists())
        job.land(draft)
        return publication.remarks()


def _format_like(source: Any) -> str:
    """The format of a release where none is asked for: that of the table's file."""
    path = source if isinstance(source, Path) else getattr(source, "path", None)
    return "parquet" if path is None else release_format(path)


def _elsewhere(engine: Engine | None) -> bool:
    """Whether another process makes the passes: then nobody here sees what types the first one settles."""
    return engine is not None and not isinstance(engine, Threads)


def _same_key(path: Path, drafted: Path, passphrase: str | None) -> bool:
    """Whether a key file is that of the run that is continued: it was interrupted between key and release."""
    try:
        return Key.load(path, passphrase).same_as(Key.load(drafted, passphrase))
    except KeyRefusedError:
        return False


def _check_new_key(path: Path, release: Path, order: Order) -> None:
    drafted = Draft(release).folder / NEW_KEY
    if not (order.resume and drafted.exists() and path.is_file() and _same_key(path, drafted, order.passphrase)):
        refuse_existing(path)
    refuse_unwritable(path)
    home = path.resolve().parent
    if path.resolve() == release.resolve() or (home / MANIFEST).exists() or home == release.resolve():
        raise InputError(
            f"{path}: a key is not kept with the release that it opens; choose another folder", parameter="new_key"
        )
