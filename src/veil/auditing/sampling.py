"""The records that an audit works on: all of them, or of a large table a uniform sample.

Shares of breached records are estimated from a sample as well as from all, and moments of a hundred thousand records
are those of the table to half a percent. Three things differ, and the audit says so: records are rarer in a sample, so
linkage looks riskier than it is; far-out records may not be in it; and attacks that learn from the release, or from a
share of its records, learn from fewer, so they may look weaker than they are.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks.knowledge.previous_releases import count_table_rows
from veil.auditing.groups import group_codes
from veil.data.blocks import Span
from veil.data.dask_frames import PartitionedTable
from veil.data.passes import Engine, Lane, Threads
from veil.data.tables import Table
from veil.publishing.dask_release import active_cluster

MOST_RECORDS = 100_000


def rows_of_span(rows: npt.NDArray[np.int64], table: Table, span: Span, lane: Lane) -> list[pa.RecordBatch]:
    """Some rows, by their numbers in rising order, out of a span."""
    batches = []
    for block in lane.blocks(table, None, span):
        low, high = np.searchsorted(rows, [block.start, block.start + block.n_rows])
        if low < high:
            batches.append(block.batch.take(pa.array(rows[low:high] - block.start)))
    return batches


class Audited(NamedTuple):
    """The records to audit in the table's order, what a reader should know of them, and how many the table has."""

    table: pa.Table
    remarks: tuple[str, ...]
    n_rows: int


def _rows_of_groups(table: Table, names: Collection[str], most: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Rows of whole groups of the column that has the fewest, as many as are within ``most`` rows."""
    read = table.read(list(names))
    coded = [group_codes(read, name) for name in names]
    codes = min(coded, key=lambda each: int(each.max(initial=0)))
    order = rng.permutation(int(codes.max()) + 1)
    kept = np.cumsum(np.bincount(codes)[order]) <= most
    return np.flatnonzero(np.isin(codes, order[kept])).astype(np.int64)


def audited_records(table: Table, most: int | None, seed: int | None, groups: Collection[str] = ()) -> Audited:
    """The records to audit: all, or a uniform sample of ``most``.

    Whole groups are drawn, where the table has columns of them: members tell what is constant in a group.
    """
    if most is None:
        return _whole(table)
    n_rows = count_table_rows(table)
    if n_rows <= most:
        return _whole(table)
    rng = np.random.default_rng(None if seed is None else [seed, n_rows])
    rows = np.sort(rng.choice(n_rows, most, replace=False, shuffle=False))
    if groups:
        rows = _rows_of_groups(table, groups, most, rng)
    engine: Engine = (active_cluster() if isinstance(table, PartitionedTable) else None) or Threads()
    batches = [batch for part in engine.run(partial(rows_of_span, rows), table, what="sampling") for batch in part]
    remark = (
        f"Audited on a uniform sample of {len(rows):,} of the table's {n_rows:,} records: linkage looks riskier than "
        "among all of them, far-out records may be missing and the largest values are those of the sample, "
        "and attacks that learn from the release learn from fewer records than it will have, so they may look weaker "
        "than they are."
    )
    return Audited(pa.Table.from_batches(batches, schema=table.schema), (remark,), n_rows)


def _whole(table: Table) -> Audited:
    records = table.read()
    return Audited(records, (), records.num_rows)
