"""Restore from file to file, in constant memory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from veil._version import __version__
from veil.data.files import format_of
from veil.data.passes import Engine, Lane, Threads
from veil.keys.key import Key
from veil.progress import Progress, silent
from veil.publishing.restore import Restoring, restoring
from veil.release.release import Release
from veil.storage.atomic import land_file, refuse_existing
from veil.storage.drafts import Draft
from veil.storage.shards import Shard, ShardFolder, WritingShards


class Restored(NamedTuple):
    """How many rows came back, and the columns that could not."""

    n_rows: int
    left_out: tuple[str, ...]


def restore_file(
    release: str | Path,
    key: str | Path,
    target: str | Path,
    *,
    passphrase: str | None = None,
    partial: bool = False,
    resume: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Restored:
    """Restore a release folder with its key file to a new private file (mode 0600).

    Parquet of more than a million rows becomes a folder of part files (mode 0700).
    """
    path = Path(target)
    kind = format_of(path)
    refuse_existing(path)
    loaded, opened = Release.load(release), Key.load(key, passphrase)
    work = restoring(loaded, opened, partial=partial)
    draft = Draft(path)
    with draft.held(resume=resume):
        about = {"restore": loaded.manifest.data.get("sha256"), "columns": work.schema.names, "format": kind}
        resumed = draft.same_run({**about, "veil": __version__})
        folder = ShardFolder(draft.parts, work.schema, kind, mode=0o600)
        parts = _parts(work, loaded, folder, engine or Threads(), progress, resumed=resumed)
        out = draft.fresh(f"restored.{kind}")
        folder.assemble(parts, out)
        land_file(out, path)
    return Restored(sum(part.n_rows for part in parts), work.absent)


def _parts(
    work: Restoring, release: Release, folder: ShardFolder, engine: Engine, progress: Progress, *, resumed: bool
) -> list[Shard]:
    if work.order is not None:  # a secret order needs all rows at hand
        blocks = work.ordered(release).blocks()
        return [folder.write(0, map(work, blocks), Lane())]
    done = folder.whole() if resumed else {}
    writing = WritingShards(work, tuple(release.table.schema.names), folder, frozenset(done))
    for written in engine.run(writing, release.table, what="restoring", progress=progress):
        done.update({part.number: part for part in written})
    return [done[number] for number in sorted(done)]
