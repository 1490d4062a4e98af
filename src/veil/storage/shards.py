"""Files in parts: written by many hands, whole or not at all, and continued after an interruption.

A large output is cut into parts of :data:`veil.data.blocks.SPAN_BLOCKS` blocks. A part is written under a
name of its own, synced and renamed, then a note with its SHA-256 is put beside it: whoever writes a
part again, after a crash or on another machine, writes the same bytes. When all parts are there they
become one file, or for Parquet a folder of part files, which every reader takes as one table.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from veil.data.blocks import BLOCK_ROWS, SPAN_BLOCKS, Block, Span
from veil.data.files import Writer, open_table, open_writer
from veil.data.passes import Lane
from veil.data.tables import Table
from veil.storage.atomic import sync_file, sync_folder, write_private, writing
from veil.storage.hashes import sha256_of, sha256_of_parts


class Made(Protocol):
    """What was made of a block: a batch to write, and notes that are kept beside it."""

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows to write."""
        ...

    @property
    def notes(self) -> dict[str, Any]:
        """What else came of the block, as JSON values."""
        ...


@dataclass(frozen=True)
class Shard:
    """A part that is whole: its number, rows, hash, and the notes of its blocks."""

    number: int
    n_rows: int
    sha256: str
    notes: list[dict[str, Any]] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class ShardFolder:
    """Where parts are written: a folder that nobody else reads; in ``distinct`` columns no value repeats."""

    path: Path
    schema: pa.Schema
    kind: str
    mode: int = 0o644
    distinct: frozenset[str] = frozenset()

    def file(self, number: int) -> Path:
        """The file of a part."""
        return self.path / f"part-{number:05d}.{self.kind}"

    def note(self, number: int) -> Path:
        """The note beside a part."""
        return self.path / f"part-{number:05d}.json"

    def write(self, number: int, made: Iterable[Made], lane: Lane) -> Shard:
        """Write one part, whole or not at all."""
        draft = self.path / f".part-{number:05d}.{uuid.uuid4().hex[:12]}.tmp"
        notes: list[dict[str, Any]] = []
        n_rows = 0
        try:
            with writing(self.path):
                os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode))
                writer = open_writer(draft, self.schema, self.kind, header=number == 0, distinct=self.distinct)
            try:
                with writing(self.path):
                    for each in _written(made, writer, lane):
                        n_rows += each.batch.num_rows
                        if each.notes:
                            notes.append(each.notes)
            finally:
                writer.close()
            part = Shard(number, n_rows, sha256_of(draft), notes)
            with writing(self.path):
                sync_file(draft)
                draft.replace(self.file(number))
                write_private(self.note(number), json.dumps(asdict(part)).encode(), replace=True)
        finally:
            draft.unlink(missing_ok=True)
        return part

    def whole(self) -> dict[int, Shard]:
        """The parts that are there and have the hash that their note says."""
        notes = sorted(self.path.glob("part-*.json"))
        with ThreadPoolExecutor() as pool:
            found = pool.map(self._checked, notes)
            return {part.number: part for part in found if part is not None}

    def _checked(self, note: Path) -> Shard | None:
        try:
            part = Shard(**json.loads(note.read_text(encoding="utf-8")))
            return part if sha256_of(self.file(part.number)) == part.sha256 else None
        except (OSError, ValueError, TypeError):
            return None

    def assemble(self, parts: list[Shard], target: Path) -> str:
        """Make one table of all parts, in order, and return its hash; ``target`` is a new name on the same disk."""
        with writing(target):
            if len(parts) == 1:
                _linked(self.file(parts[0].number), target)
                return parts[0].sha256
            if self.kind == "parquet":
                target.mkdir(mode=0o755 if self.mode == 0o644 else 0o700)
                for part in parts:
                    _linked(self.file(part.number), target / self.file(part.number).name)
                sync_folder(target)
                return sha256_of_parts({self.file(part.number).name: part.sha256 for part in parts})
            if self.kind == "feather":
                return self._rewritten(parts, target)
            return self._joined(parts, target)

    def _joined(self, parts: list[Shard], target: Path) -> str:
        """Texts one after the other; gzip allows that, too."""
        digest = hashlib.sha256()
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode)
        with os.fdopen(descriptor, "wb") as out:
            for part in parts:
                with self.file(part.number).open("rb") as file:
                    while chunk := file.read(1 << 22):
                        digest.update(chunk)
                        out.write(chunk)
        return digest.hexdigest()

    def _rewritten(self, parts: list[Shard], target: Path) -> str:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode))
        writer = open_writer(target, self.schema, self.kind)
        for part in parts:
            for batch in open_table(self.file(part.number)).batches():
                writer.write(batch)
        writer.close()
        return sha256_of(target)


def _written(made: Iterable[Made], writer: Writer, lane: Lane) -> Iterator[Made]:
    """Write while the next blocks are being read and worked on."""
    if lane.threads < 2:
        for each in made:
            writer.write(each.batch)
            yield each
        return
    with ThreadPoolExecutor(1) as pool:
        last: Future[None] | None = None
        for each in made:
            if last is not None:
                last.result()
            last = pool.submit(writer.write, each.batch)
            yield each
        if last is not None:
            last.result()


@dataclass(frozen=True)
class WritingShards:
    """The work of making a span's parts, except those that are done."""

    work: Callable[[Block], Made]
    columns: tuple[str, ...]
    folder: ShardFolder
    done: frozenset[int] = frozenset()

    def __call__(self, table: Table, span: Span, lane: Lane) -> list[Shard]:
        if span.stop is not None and span.stop - span.first <= SPAN_BLOCKS and _number(span.first) in self.done:
            return []
        todo = (block for block in lane.blocks(table, self.columns, span) if self._open(block))
        parts = []
        for number, made in groupby(lane.map(self._numbered, todo), key=lambda pair: pair[0]):
            parts.append(self.folder.write(number, (each for _, each in made), lane))
        return parts

    def _open(self, block: Block) -> bool:
        return _number(block.start // BLOCK_ROWS) not in self.done

    def _numbered(self, block: Block) -> tuple[int, Made]:
        return _number(block.start // BLOCK_ROWS), self.work(block)


def _linked(part: Path, target: Path) -> None:
    """A part under another name; it stays in its place, so that putting parts together can be begun again."""
    try:
        target.hardlink_to(part)
    except OSError:  # a file system without hard links
        shutil.copyfile(part, target)
        target.chmod(part.stat().st_mode & 0o777)
        sync_file(target)


def _number(block: int) -> int:
    """The part that a block belongs to."""
    return block // SPAN_BLOCKS


def remove(folder: Path) -> None:
    """Remove a folder of parts and all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)
