"""The attacker's door for files: a release folder and files of knowledge in, a guess out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa

from veil.attacks import Attack
from veil.attacks.guess_files import ROW_COLUMN, GuessFile, write_guess
from veil.attacks.knowledge import (
    ExternalTable,
    IndependentSignals,
    Knowledge,
    KnownAttributes,
    KnownMatrix,
    KnownNoise,
    KnownPairs,
    KnownRanges,
    KnownRecords,
    KnownSample,
    TimeOrder,
    as_records,
    select_columns,
)
from veil.attacks.previous_releases import PreviousReleases, public_columns, rows_by_identifier
from veil.data.files import format_of, open_table
from veil.data.passes import Engine
from veil.errors import InputError
from veil.progress import Progress, silent
from veil.release.release import Release
from veil.storage.atomic import refuse_existing


@dataclass(frozen=True)
class KnowledgeFiles:
    """What a red team knows, as files; columns are found by name. Each field is an option of ``veil attack``."""

    known_pairs: Path | None = None
    known_records: Path | None = None
    known_sample: Path | None = None
    known_attributes: Path | None = None
    known_ranges: Path | None = None
    known_matrix: Path | None = None
    known_noise: Path | None = None
    external_table: Path | None = None
    previous_releases: Path | None = None
    independent_signals: bool = False
    time_order: bool = False

    def given(self) -> list[str]:
        """The options that were given."""
        return ["--" + f.name.replace("_", "-") for f in fields(self) if getattr(self, f.name)]

    def read(self, release: Release) -> list[Knowledge]:
        """All knowledge, in the order and units of the release's private columns."""
        names, found = _private(release), list[Knowledge]()
        if self.known_pairs is not None:
            found.append(read_known_pairs(self.known_pairs, release))
        if self.known_records is not None:
            found.append(KnownRecords(select_columns(self.known_records, names, "--known-records")))
        if self.known_sample is not None:
            found.append(KnownSample(select_columns(self.known_sample, names, "--known-sample")))
        if self.known_attributes is not None:
            table = open_table(self.known_attributes)
            found.append(KnownAttributes(table.schema.names, table.read()))
        if self.known_ranges is not None:
            rows = as_records(select_columns(self.known_ranges, names, "--known-ranges"), "--known-ranges")
            if len(rows) != 2:
                raise InputError(
                    f"{self.known_ranges.name}: needs two rows, each column's least and greatest; it has {len(rows)}"
                )
            found.append(KnownRanges(rows[0], rows[1]))
        if self.known_matrix is not None:
            found.append(KnownMatrix(as_records(self.known_matrix, "--known-matrix")))
        if self.known_noise is not None:
            found.append(
                KnownNoise(as_records(select_columns(self.known_noise, names, "--known-noise"), "--known-noise"))
            )
        if self.external_table is not None:
            found.append(ExternalTable(self.external_table))
        if self.previous_releases is not None:
            found.append(read_previous_release(self.previous_releases, release))
        if self.independent_signals:
            found.append(IndependentSignals())
        if self.time_order:
            found.append(TimeOrder())
        return found


def attack_folder(
    folder: Path,
    attack: Attack,
    target: Path,
    known: KnowledgeFiles,
    part: int | None = None,
    *,
    resume: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> GuessFile:
    """Attack a release folder and write the guess as a private file (mode 0600).

    Attacks that need moments alone run in constant memory, on all cores or on ``engine``, and can be continued with
    ``resume``. Where an attack states an interval for each value, its ends go along as columns ``NAME lower`` and
    ``NAME upper``. An attack that links people of another table to rows writes its links instead: ``record`` (the
    person's row in that table, from 0), ``row`` (of the release, from 0; empty for none) and ``probability``.
    """
    refuse_existing(target)
    format_of(target)
    release = chosen_part(Release.load(folder, engine=engine), attack, part)
    return write_guess(release, attack, known.read(release), target, resume=resume, progress=progress)


def chosen_part(release: Release, attack: Attack, part: int | None) -> Release:
    """The part of a release that is attacked: the one asked for, or the only one that the attack has a theory for.

    An attack on the whole release gets all of it.
    """
    steps = release.manifest.parts
    if attack.whole_release:
        if part is not None:
            raise InputError(f"--part: {attack.attack_name()} looks at all parts of a release at once; leave it out")
        return release
    if part is not None:
        return release.part(part - 1)
    fitting = [i for i, step in enumerate(steps) if attack.applies_to(step.model)]
    if len(steps) == 1 or not fitting:
        return release.part(0) if len(steps) == 1 else release
    if len(fitting) > 1:
        named = ", ".join(f"{i + 1} ({steps[i].method})" for i in fitting)
        raise InputError(f"the release has several parts that this attack applies to: {named}; choose one with --part")
    return release.part(fitting[0])


def _private(release: Release) -> tuple[str, ...]:
    """The private columns of all parts."""
    return tuple(name for step in release.manifest.parts for name in step.names)


def read_known_pairs(path: Path, release: Release) -> KnownPairs:
    """Known records from a file with the private columns and a column of release rows, counted from 0."""
    table = open_table(path)
    if ROW_COLUMN not in table.schema.names:
        raise InputError(f"{path.name}: needs a column {ROW_COLUMN!r} with each record's row in the release, from 0")
    rows = table.read([ROW_COLUMN]).column(0)
    if not pa.types.is_integer(rows.type) or rows.null_count:
        raise InputError(f"{path.name}: column {ROW_COLUMN!r} must hold whole numbers without gaps")
    return KnownPairs(select_columns(table, _private(release), "--known-pairs"), np.asarray(rows, dtype=np.intp))


def read_previous_release(folder: Path, release: Release) -> PreviousReleases:
    """An earlier release from its folder, matched by a public column that tells people apart, or row by row.

    Such a column has whole numbers or texts, and none of them twice, in both releases. Of several the one with most
    people in common is taken; where no column serves, rows must be in the same order.
    """
    earlier = Release.load(folder)
    most = rows_by_identifier(public_columns(release), public_columns(earlier))
    if most is not None and (most >= 0).any():
        return PreviousReleases(earlier, most)
    if most is not None:
        raise InputError(f"{folder.name}: both releases have identifiers, and none of them in common")
    known = PreviousReleases(earlier)
    try:
        list(known.aligned(release))
    except InputError:
        raise InputError(
            f"{folder.name}: its rows cannot be matched; both releases need the same rows in the same order, or a "
            "public column of identifiers"
        ) from None
    return known
