"""The attacker's door for files: a release folder and files of knowledge in, a guess out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from veil.atomic import draft_file, refuse_existing
from veil.attacks import Attack, Guess
from veil.errors import InputError
from veil.files import format_of, open_table, write_table
from veil.knowledge import Knowledge, KnownPairs, KnownSample, select_columns
from veil.release import Release

ROW_COLUMN = "row"


def attack_folder(
    folder: Path,
    attack: Attack,
    target: Path,
    *,
    known_pairs: Path | None = None,
    known_sample: Path | None = None,
) -> Guess:
    """Attack a release folder and write the guess as a private file (mode 0600)."""
    refuse_existing(target)
    kind = format_of(target)
    release = Release.load(folder)
    knowledge: list[Knowledge] = []
    if known_pairs is not None:
        knowledge.append(read_known_pairs(known_pairs, release))
    if known_sample is not None:
        knowledge.append(KnownSample(select_columns(known_sample, release.step.names, "--known-sample")))
    guess = attack.run(release, *knowledge)
    columns = {name: pa.array(guess.values[:, j], from_pandas=True) for j, name in enumerate(guess.columns)}
    row = next(n for n in (ROW_COLUMN, f"release {ROW_COLUMN}", f"veil {ROW_COLUMN}") if n not in columns)
    with draft_file(target, mode=0o600) as draft:
        write_table(pa.table({row: pa.array(guess.rows), **columns}), draft, kind)
    return guess


def read_known_pairs(path: Path, release: Release) -> KnownPairs:
    """Known records from a file with the private columns and a column of release rows, counted from 0."""
    table = open_table(path)
    if ROW_COLUMN not in table.schema.names:
        raise InputError(f"{path.name}: needs a column {ROW_COLUMN!r} with each record's row in the release, from 0")
    rows = table.read([ROW_COLUMN]).column(0)
    if not pa.types.is_integer(rows.type) or rows.null_count:
        raise InputError(f"{path.name}: column {ROW_COLUMN!r} must hold whole numbers without gaps")
    return KnownPairs(select_columns(table, release.step.names, "--known-pairs"), np.asarray(rows, dtype=np.intp))
