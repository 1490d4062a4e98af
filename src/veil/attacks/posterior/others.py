"""Records of other people that an attacker holds: a sample as it is granted to A28."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veil.attacks.base import check_rows, granted
from veil.attacks.knowledge import Knowledge, KnownPairs, KnownSample
from veil.attacks.knowledge.base import Rows, private_names
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.posterior.learning_rows import rows_of
from veil.data.blocks import Matrix, one_array
from veil.errors import InputError
from veil.release.release import Release

MOST_RECORDS = 4_000


@dataclass(frozen=True, eq=False)
class Others:
    """People whose private values are known.

    Attributes
    ----------
    values
        m × all perturbed columns.
    public
        Columns that the release shows as they are, outside dictionaries, with nulls where they are unknown of these
        people; None where none is known.
    """

    values: Matrix
    public: pa.Table | None


def known_others(release: Release, knowledge: Sequence[Knowledge]) -> Others | None:
    """A sample, with the records of a release whose rows are known, if there are any; at most as many as are useful."""
    sample, pairs = granted(knowledge, KnownSample), granted(knowledge, KnownPairs)
    if sample is None:
        return None
    _check_columns("KnownSample.sample", sample.sample, release)
    values = sample.sample
    public = None if sample.public is None else sampled_public(sample.public, release)
    if pairs is not None:
        _check_columns("KnownPairs.records", pairs.records, release)
        values = np.vstack([values, pairs.records])
        if public is not None:
            public = pa.concat_tables([public, _released(release, pairs.rows)])
    if len(values) > MOST_RECORDS:
        rows = np.linspace(0, len(values) - 1, MOST_RECORDS).astype(np.intp)
        values, public = values[rows], None if public is None else public.take(pa.array(rows))
    return Others(values, public)


def _released(release: Release, rows: Rows) -> pa.Table:
    """Public columns of some rows of a release."""
    names = [column.name for column in release.manifest.public]
    check_rows(rows, count_rows(release))
    own, place = np.unique(rows, return_inverse=True)
    table = rows_of(release, names, own.astype(np.int64))
    return pa.table({name: one_array(table.column(name)).take(pa.array(place.ravel())) for name in names})


def sampled_public(sample: pa.Table, release: Release) -> pa.Table | None:
    """Public columns of a sample in the types of the release's; None where it has none of them."""
    names = [column.name for column in release.manifest.public]
    if not {*names} & {*sample.column_names}:
        return None
    columns = {}
    for name in names:
        kind = release.table.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if name not in sample.column_names:
            columns[name] = pa.nulls(sample.num_rows, kind)
            continue
        try:
            columns[name] = one_array(sample.column(name)).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"public column {name!r} of the sample does not hold the type of the release's, {kind}; convert it"
            ) from None
    return pa.table(columns)


def _check_columns(parameter: str, records: Matrix, release: Release) -> None:
    d = len(private_names(release))
    if records.shape[1] != d:
        raise InputError(f"{parameter} has {records.shape[1]} columns; the private table has {d} perturbed ones")
