"""People who are guessed from a release whose rows belong to nobody in particular, and what they are held against.

Whoever knows some columns of a person can guess the others by what the release teaches (A29), without knowing which row
is the person's. Nobody can be withheld from a release that is there already, nor can an unknown row be taken out of it.
So private records stand in for it: what the same attack guesses of a person from as many records of *others*. If the
released rows were fresh draws of the population they would teach as much, since both are samples of one law and of one
length; a release that remembers its people lets more be guessed of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from veil.attacks.knowledge import ExternalTable, KnownAttributes, Rows
from veil.attacks.knowledge.base import Grant
from veil.attacks.knowledge.previous_releases import count_rows
from veil.auditing.elsewhere.undescribed import undescribed
from veil.auditing.membership import FEWEST, GROUPS, SHUFFLES, People
from veil.auditing.truth import Truth
from veil.data.schema import Schema
from veil.release.manifest import ReleasedColumn
from veil.release.release import Release, memory_release

OF_PEOPLE = ("attributes", "external", "results")
"""Kinds of knowledge that are of people, whoever's rows they have."""


def of_people(grant: Grant, outside: pa.Table) -> Grant:
    """A grant whose known columns are those of people, and not of rows; ``outside``: public columns of everybody."""
    knowledge = []
    for item in grant.knowledge:
        if isinstance(item, KnownAttributes):
            columns = dict(zip(item.columns, item.values.T, strict=True))
            table = {name: outside.column(name) for name in outside.column_names} | columns
            item = ExternalTable(pa.table(table))
        knowledge.append(item)
    return Grant(tuple(knowledge), grant.withheld, grant.given, grant.columns, grant.people)


def shortened(release: Release, n: int) -> Release:
    """A release of at most n rows, drawn by lot: more could teach more than the records that stand in for it."""
    m = count_rows(release)
    if m <= n:
        return release
    rows = np.sort(np.random.default_rng(0).choice(m, n, replace=False))
    return memory_release(release.table.read().take(pa.array(rows)), release.manifest, "pyarrow", {})


def stand_in(
    private: pa.Table, truth: Truth, schema: Schema, release: Release, *, whole: bool = False
) -> tuple[Release, Rows]:
    """Private records as a release of its columns, and the place of each person in it, −1 for none.

    As many as the release has rows, or the ``whole`` table.
    """
    n, m = private.num_rows, count_rows(release)
    rows = np.arange(n) if whole or m >= n else np.sort(np.random.default_rng(0).choice(n, m, replace=False))
    own = np.full(n, -1, dtype=np.intp)
    own[rows] = np.arange(len(rows))
    there = {field.name for field in release.table.schema}
    records = private.select([name for name in private.column_names if name in there]).take(pa.array(rows))
    return undescribed(records, truth, schema), own


def beside_records(
    release: Release,
    private: pa.Table,
    known: pa.Table,
    truth: Truth,
    schema: Schema,
    people: Rows,
    rng: np.random.Generator,
) -> list[People]:
    """Groups of people, each beside the released rows and as many private records of others; rows are drawn by lot.

    ``known`` is what an attacker has of everybody. A row has the same shuffled labels in every group.
    """
    n, m = private.num_rows, count_rows(release)
    labels = [rng.random((SHUFFLES, length)) < 0.5 for length in (m, n)]
    foreign, records = release.table.read(), stand_in(private, truth, schema, release, whole=True)[0]
    names = list(records.only_part.released) + [column.name for column in records.manifest.public]
    own = records.table.read().select(names)
    groups = []
    for group in np.array_split(people, max(1, min(GROUPS, len(people) // FEWEST))):
        others = np.delete(np.arange(n), group)
        length = min(m, len(others))
        rows, chosen = (np.sort(rng.choice(each, length, replace=False)) for each in (m, others))
        both = pa.concat_tables(
            [foreign.select(names).take(pa.array(rows)), own.take(pa.array(chosen))], promote_options="permissive"
        )
        fresh = np.vstack([np.repeat([False, True], length), np.hstack([labels[0][:, rows], labels[1][:, chosen]])])
        columns = tuple(ReleasedColumn(field.name, str(field.type)) for field in both.schema)
        pooled = memory_release(both, replace(records.manifest, schema=columns), "pyarrow", {})
        nowhere = np.full(len(group), -1, dtype=np.intp)
        groups.append(People(pooled, ExternalTable(known.take(pa.array(group))), nowhere, nowhere, fresh))
    return groups
