"""A guess as a file: block by block for attacks that can, in constant memory; else all at once."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veil._version import __version__
from veil.attacks.base import Ambiguity, Attack, Details, Finding, Guess, Links, Memberships
from veil.attacks.blockwise import BlockGuess, BlockwiseAttack, Reconstruction
from veil.attacks.knowledge import Knowledge
from veil.attacks.knowledge.records import ROW_COLUMN
from veil.data.blocks import Block, Vector, from_float
from veil.data.files import target_format
from veil.data.tables import MemoryTable
from veil.errors import InputError
from veil.progress import Progress, silent
from veil.release.release import Release, arrow_type
from veil.storage.jobs import Job, Output, as_rows, file_job
from veil.storage.shards import BlockRows


@dataclass(frozen=True)
class GuessFile:
    """A guess that was written: how many records of which columns, and what the attack said beside them."""

    n_rows: int
    columns: tuple[str, ...]
    ambiguity: str
    details: Mapping[str, Any] = field(repr=False)
    links: Links | None = field(default=None, repr=False)
    members: Memberships | None = field(default=None, repr=False)

    @property
    def misfit(self) -> float:
        """As in :attr:`veil.attacks.base.Guess.misfit`."""
        return float(self.details.get("misfit") or 0.0)


def guess_rows(
    work: Callable[[Block], BlockGuess], meanings: Sequence[pa.Array | pa.DataType], schema: pa.Schema, block: Block
) -> BlockRows:
    """The rows of a guess file of a block of the release, its counts as notes."""
    guess = work(block)
    rows = np.arange(block.start, block.start + block.n_rows)
    columns = zip(guess.values.T, meanings, strict=True)
    arrays = [pa.array(rows), *(_cells(column, meaning) for column, meaning in columns)]
    return BlockRows(pa.RecordBatch.from_arrays(arrays, schema=schema), guess.tally)


def write_guess(
    release: Release,
    attack: Attack,
    knowledge: Sequence[Knowledge],
    target: Path,
    *,
    resume: bool = False,
    progress: Progress = silent,
) -> GuessFile:
    """Attack a release and write the guess as a private file (mode 0600).

    Parquet of more than a million rows becomes a folder of shards (mode 0700).
    """
    kind = target_format(target)
    with file_job(target, resume=resume) as job:
        known = hashlib.sha256(pickle.dumps(tuple(knowledge))).hexdigest()
        data = release.manifest.data.get("sha256", release.manifest.release_id)
        about = {"attack": attack.label, "release": data, "knowledge": known, "format": kind, "veil": __version__}
        job.begin({**about, "columns": [[part.method, *part.names] for part in release.manifest.parts]})
        learned = attack.prepare(release, *knowledge) if isinstance(attack, BlockwiseAttack) else None
        if learned is None:
            finding = attack.run(release, *knowledge)
            table, summary = _written(release, finding)
            output = job.output(table.schema, kind, mode=0o600)
            output.write_in_order(as_rows, MemoryTable(table))
        else:
            output = _streamed(release, learned, job, kind, progress)
            tally = Counter[str]()
            for note in output.notes:
                tally.update(note)
            details = learned.details_with(tally)
            summary = GuessFile(output.n_rows, learned.guessed(release), learned.ambiguity, details)
        job.land_table(output)
    return summary


def _streamed(release: Release, learned: Reconstruction, job: Job, kind: str, progress: Progress) -> Output:
    private = learned.guessed(release)
    meanings = [_meaning(release, name) for name in private]
    kinds = [meaning if isinstance(meaning, pa.DataType) else meaning.type for meaning in meanings]
    schema = pa.schema([(row_name(private), pa.int64()), *zip(private, kinds, strict=True)])
    output = job.output(schema, kind, mode=0o600, distinct=schema.names[:1])
    work, engine = partial(guess_rows, learned.guess, meanings, schema), release.engine
    output.write(work, release.table, learned.columns, engine=engine, what="guessing", progress=progress)
    return output


def row_name(columns: Sequence[str]) -> str:
    """The name of the column of row numbers: one that no private column has."""
    return next(n for n in (ROW_COLUMN, f"release {ROW_COLUMN}", f"veil {ROW_COLUMN}") if n not in columns)


def _values(release: Release, guess: Finding) -> tuple[pa.Table, GuessFile]:
    if not isinstance(guess, Guess):
        raise InputError(f"a {type(guess).__name__} cannot be written to a file; use the Python API")
    columns = {n: _cells(column, _meaning(release, n)) for n, column in zip(guess.columns, guess.values.T, strict=True)}
    row = row_name(guess.columns)
    for end in ("lower", "upper"):
        if end in guess.details:
            ends = guess.details[end]
            columns |= {f"{n} {end}": _cells(ends[:, j], _type(release, n)) for j, n in enumerate(guess.columns)}
    about = GuessFile(len(guess.values), guess.columns, guess.ambiguity, guess.details)
    return pa.table({row: pa.array(guess.rows), **columns}), about


def _written(release: Release, finding: Finding) -> tuple[pa.Table, GuessFile]:
    """What an attack found as a table, and what is to be said about it."""
    if isinstance(finding, Links):
        return _links(finding)
    return _members(finding) if isinstance(finding, Memberships) else _values(release, finding)


def _members(members: Memberships) -> tuple[pa.Table, GuessFile]:
    n = len(members.scores)
    columns = {
        "record": pa.array(np.arange(n)),
        "score": pa.array(members.scores),
        "probability": pa.array(members.probability),
    }
    return pa.table(columns), GuessFile(n, members.columns, Ambiguity.NONE, Details(), members=members)


def _links(links: Links) -> tuple[pa.Table, GuessFile]:
    columns = {
        "record": pa.array(np.arange(len(links.rows))),
        ROW_COLUMN: pa.array(links.rows, mask=links.rows < 0),
        "probability": pa.array(links.probability, from_pandas=True),
    }
    return pa.table(columns), GuessFile(len(links.rows), links.columns, Ambiguity.NONE, Details(), links)


def _categories(release: Release, name: str) -> pa.Array | None:
    """The categories of a private column, in the order of their codes; None where it has none."""
    for part in release.manifest.parts:
        listings = part.model.private_categories()
        listing = listings[part.names.index(name)] if listings is not None and name in part.names else None
        if listing is not None:
            return pa.array(list(listing))
    return None


def _meaning(release: Release, name: str) -> pa.Array | pa.DataType:
    """What guesses of a private column are: codes of these categories, or numbers of this type."""
    categories = _categories(release, name)
    return _type(release, name) if categories is None else categories


def _type(release: Release, name: str) -> pa.DataType:
    """The type in which numbers of a private column are written: dates as dates."""
    columns = (column for part in release.manifest.parts for column in part.columns)
    dtype = next((c.dtype for c in columns if c.name == name and c.kind.is_timed), "double")
    return arrow_type(dtype) or pa.float64()


def _cells(values: Vector, meaning: pa.Array | pa.DataType) -> pa.Array:
    """A guessed column; codes of categories as the categories themselves, and what is not guessed as missing."""
    if isinstance(meaning, pa.DataType):
        return from_float(np.ascontiguousarray(values), meaning)
    silent = np.isnan(values)
    codes = pa.array(np.where(silent, 0.0, values).astype(np.int64), mask=silent)
    return meaning.take(codes)
