"""Files in shards: written by many hands, whole or not at all, and continued after an interruption.

A large output is cut into shards of :data:`veil.data.blocks.SPAN_BLOCKS` blocks. A shard is written under a
name of its own, synced and renamed, then a note with its SHA-256 is put beside it: whoever writes a
shard again, after a crash or on another machine, writes the same bytes. When all shards are there they
become one file, or for Parquet a folder of shards, which every reader takes as one table.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.data.blocks import BLOCK_ROWS, SPAN_BLOCKS, Block, Span
from veil.data.files import Writer, open_table, open_writer
from veil.data.files.workbook_writing import no_room
from veil.data.passes import Lane
from veil.data.tables import Table
from veil.storage.atomic import sync_file, sync_folder, write_private, writing
from veil.storage.hashes import sha256_of, sha256_of_shards


@dataclass(frozen=True)
class BlockRows:
    """What comes of a block: a batch to write, and notes (JSON values) that stay beside it."""

    batch: pa.RecordBatch
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Shard:
    """A shard that is whole: its number, rows, hash, and the notes of its blocks."""

    number: int
    n_rows: int
    sha256: str
    notes: list[dict[str, Any]] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class ShardFolder:
    """Where shards are written: a folder that nobody else reads; in ``distinct`` columns no value repeats."""

    path: Path
    schema: pa.Schema
    kind: str
    mode: int = 0o644
    distinct: frozenset[str] = frozenset()

    def file(self, number: int) -> Path:
        """The file of a shard."""
        return self.path / f"part-{number:05d}.{self.kind}"

    def note(self, number: int) -> Path:
        """The note beside a shard."""
        return self.path / f"part-{number:05d}.json"

    def write(self, number: int, outputs: Iterable[BlockRows], lane: Lane) -> Shard:
        """Write one shard, whole or not at all."""
        draft = self.path / f".part-{number:05d}.{uuid.uuid4().hex[:12]}.tmp"
        notes: list[dict[str, Any]] = []
        n_rows = 0
        try:
            with writing(self.path):
                os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode))
                writer = open_writer(draft, self.schema, self.kind, header=number == 0, distinct=self.distinct)
            try:
                with writing(self.path):
                    for each in _written(outputs, writer, lane):
                        n_rows += each.batch.num_rows
                        if each.notes:
                            notes.append(each.notes)
            finally:
                writer.close()
            shard = Shard(number, n_rows, sha256_of(draft), notes)
            with writing(self.path):
                sync_file(draft)
                draft.replace(self.file(number))
                write_private(self.note(number), json.dumps(asdict(shard)).encode(), replace=True)
        finally:
            draft.unlink(missing_ok=True)
        return shard

    def whole(self) -> dict[int, Shard]:
        """The shards that are there and have the hash that their note says."""
        notes = sorted(self.path.glob("part-*.json"))
        with ThreadPoolExecutor() as pool:
            shards = pool.map(self._checked, notes)
            return {shard.number: shard for shard in shards if shard is not None}

    def _checked(self, note: Path) -> Shard | None:
        try:
            shard = Shard(**json.loads(note.read_text(encoding="utf-8")))
            return shard if sha256_of(self.file(shard.number)) == shard.sha256 else None
        except (OSError, ValueError, TypeError):
            return None

    def assemble(self, shards: list[Shard], target: Path) -> str:
        """Make one table of all shards, in order, and return its hash; ``target`` is a new name on the same disk."""
        with writing(target):
            if len(shards) == 1:
                _linked(self.file(shards[0].number), target)
                return shards[0].sha256
            if self.kind == "parquet":
                target.mkdir(mode=0o755 if self.mode == 0o644 else 0o700)
                for shard in shards:
                    _linked(self.file(shard.number), target / self.file(shard.number).name)
                sync_folder(target)
                return sha256_of_shards({self.file(shard.number).name: shard.sha256 for shard in shards})
            if self.kind == "feather":
                return self._rewritten(shards, target)
            if self.kind == "xlsx":
                raise no_room()
            return self._joined(shards, target)

    def _joined(self, shards: list[Shard], target: Path) -> str:
        """Texts one after the other; gzip allows that, too."""
        digest = hashlib.sha256()
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode)
        with os.fdopen(descriptor, "wb") as out:
            for shard in shards:
                with self.file(shard.number).open("rb") as file:
                    while chunk := file.read(1 << 22):
                        digest.update(chunk)
                        out.write(chunk)
        return digest.hexdigest()

    def _rewritten(self, shards: list[Shard], target: Path) -> str:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode))
        writer = open_writer(target, self.schema, self.kind)
        for shard in shards:
            for batch in open_table(self.file(shard.number)).batches():
                writer.write(batch)
        writer.close()
        return sha256_of(target)


def _written(outputs: Iterable[BlockRows], writer: Writer, lane: Lane) -> Iterator[BlockRows]:
    """Write while the next blocks are being read and worked on."""
    if lane.threads < 2:
        for each in outputs:
            writer.write(each.batch)
            yield each
        return
    with ThreadPoolExecutor(1) as pool:
        last: Future[None] | None = None
        for each in outputs:
            if last is not None:
                last.result()
            last = pool.submit(writer.write, each.batch)
            yield each
        if last is not None:
            last.result()


def write_shards(
    work: Callable[[Block], BlockRows],
    columns: Sequence[str] | None,
    folder: ShardFolder,
    done: frozenset[int],
    table: Table,
    span: Span,
    lane: Lane,
) -> list[Shard]:
    """Write the shards of a span, except those that are ``done``."""
    if span.stop is not None and span.stop - span.first <= SPAN_BLOCKS and _number(span.first) in done:
        return []
    missing = (block for block in lane.blocks(table, columns, span) if _shard_of(block) not in done)
    outputs = lane.map(partial(_numbered, work), missing)
    return [
        folder.write(number, (rows for _, rows in group), lane) for number, group in groupby(outputs, key=itemgetter(0))
    ]


def _numbered(work: Callable[[Block], BlockRows], block: Block) -> tuple[int, BlockRows]:
    return _shard_of(block), work(block)


def _shard_of(block: Block) -> int:
    return _number(block.start // BLOCK_ROWS)


def _linked(shard: Path, target: Path) -> None:
    """A shard under another name; it stays in its place, so that putting shards together can be begun again."""
    try:
        target.hardlink_to(shard)
    except OSError:  # a file system without hard links
        shutil.copyfile(shard, target)
        target.chmod(shard.stat().st_mode & 0o777)
        sync_file(target)


def _number(block: int) -> int:
    """The shard that a block belongs to."""
    return block // SPAN_BLOCKS


def remove(folder: Path) -> None:
    """Remove a folder of shards and all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)
