"""One run from file to file: draft, shards that are done, shards that are missing, one table, its name.

Publishing, restoring, guessing and saving a release are the same job with another work on each block. Inside
``with file_job(target) as job`` the job begins (and finds out whether it continues an earlier run), opens an
:class:`Output`, writes what is missing, and lands: nothing has the target's name before all of it is on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.data.blocks import WHOLE, Block
from veil.data.passes import Engine, Lane, Threads
from veil.data.tables import Table
from veil.progress import Progress, silent
from veil.storage.atomic import land_file, writing
from veil.storage.drafts import Draft
from veil.storage.shards import BlockRows, Shard, ShardFolder, write_shards


class Job:
    """A run that holds its draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._resumed = False

    def begin(self, about: dict[str, Any]) -> bool:
        """Say what the run is about; returns whether it continues an earlier one, which must be about the same."""
        self._resumed = self.draft.same_run(about)
        return self._resumed

    def output(self, schema: pa.Schema, kind: str, *, mode: int = 0o644, distinct: Sequence[str] = ()) -> Output:
        """The table that the job writes; in ``distinct`` columns no value repeats."""
        folder = ShardFolder(self.draft.shards, schema, kind, mode, frozenset(distinct))
        return Output(folder, folder.whole() if self._resumed else {})

    def fresh_folder(self, name: str) -> Path:
        """A new folder inside the draft."""
        path = self.draft.fresh(name)
        with writing(self.draft.target):
            path.mkdir(mode=0o755)
        return path

    def land(self, path: Path) -> None:
        """Give a file or folder of the draft the target's name."""
        self.draft.landing(path)
        land_file(path, self.draft.target)

    def land_table(self, output: Output) -> None:
        """Make one table of an output and give it the target's name."""
        path = self.draft.fresh(f"table.{output.kind}")
        output.assemble(path)
        self.land(path)


class Output:
    """A table that is written in shards."""

    def __init__(self, folder: ShardFolder, done: dict[int, Shard]) -> None:
        self._folder, self._done = folder, done

    @property
    def kind(self) -> str:
        """The format."""
        return self._folder.kind

    @property
    def shards(self) -> list[Shard]:
        """The shards that are whole, in order."""
        return [self._done[number] for number in sorted(self._done)]

    @property
    def n_rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.n_rows for shard in self.shards)

    @property
    def notes(self) -> Iterator[dict[str, Any]]:
        """The notes of all blocks, in order."""
        return (note for shard in self.shards for note in shard.notes)

    def write(
        self,
        work: Callable[[Block], BlockRows],
        table: Table,
        columns: Sequence[str] | None = None,
        *,
        engine: Engine | None = None,
        what: str = "writing",
        progress: Progress = silent,
    ) -> None:
        """Write ``work`` of every block of a table in files, on all cores or by ``engine``; only what is missing."""
        task = partial(write_shards, work, columns, self._folder, frozenset(self._done))
        for shards in (engine or Threads()).run(task, table, what=what, progress=progress):
            self._done.update({shard.number: shard for shard in shards})

    def write_in_order(self, work: Callable[[Block], BlockRows], table: Table) -> None:
        """The same from front to back, for tables whose spans are not those of shards."""
        shards = write_shards(work, None, self._folder, frozenset(self._done), table, WHOLE, Lane())
        self._done.update({shard.number: shard for shard in shards})

    def assemble(self, path: Path) -> str:
        """Make one table of all shards and return its hash; ``path`` is a new name in the draft."""
        if not self._done:
            self._done[0] = self._folder.write(0, [], Lane())
        return self._folder.assemble(self.shards, path)


@contextmanager
def file_job(target: Path, *, resume: bool = False, resumable: bool = True) -> Iterator[Job]:
    """Hold the draft of a target; what is done stays there when a ``resumable`` run is cut short."""
    draft = Draft(target)
    with draft.held(resume=resume, resumable=resumable):
        yield Job(draft)


def as_rows(block: Block) -> BlockRows:
    """A block as it is."""
    return BlockRows(block.batch)
