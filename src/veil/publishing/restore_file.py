"""Restore from file to file, in constant memory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from veil._version import __version__
from veil.data.files import target_format
from veil.data.passes import Engine
from veil.errors import KeyRefusedError
from veil.keys.key import Key
from veil.progress import Watch
from veil.publishing.restore import restoring
from veil.release.release import Release
from veil.report.progress import watched
from veil.storage.drafts import refuse_taken
from veil.storage.jobs import file_job


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
    progress: Watch = None,
) -> Restored:
    """Restore a release folder with its key file to a new private file (mode 0600).

    Parquet of more than a million rows becomes a folder of shards (mode 0700). ``progress`` is True for a bar, or a
    callback.
    """
    path = Path(target)
    kind = target_format(path)
    refuse_taken(path)
    loaded, opened = Release.load(release), Key.load(key, passphrase)
    try:
        opened.entry(loaded.manifest.release_id)
    except KeyRefusedError as error:
        raise KeyRefusedError(f"{Path(key).name}: {error}") from None
    work = restoring(loaded, opened, partial=partial)
    about = {"restore": loaded.manifest.data.get("sha256"), "columns": work.schema.names, "format": kind}
    with file_job(path, resume=resume) as job, watched(progress) as report:
        job.begin({**about, "veil": __version__})
        output = job.output(work.schema, kind, mode=0o600)
        if work.order is None:
            columns = loaded.table.schema.names
            output.write(work.batch, loaded.table, columns, engine=engine, what="restoring", progress=report)
        else:  # a secret order needs all rows at hand
            output.write_in_order(work.batch, work.ordered(loaded))
        work.check(output.notes, output.n_rows)
        job.land_table(output)
    return Restored(output.n_rows, work.absent)
