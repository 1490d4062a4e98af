"""The rows of a large release from which A28 learns: runs of rows, spread over the whole file.

Runs and not single rows, because neighbours may resemble each other (:mod:`veil.attacks.posterior.relatives`), which
single rows would not show. The file is cut into as many stretches as there are runs, and each run lies somewhere in its
stretch, so that rows that repeat at any distance meet. Where they lie depends on the number of rows alone: the same
rows are taken however the release is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Block
from veil.data.passes import map_blocks
from veil.release.release import Release

Rows = npt.NDArray[np.int64]
MOST_LEARNED = 100_000
"""Rows from which the prior is learned; releases of no more are guessed with all of them in memory."""
RUN = 1_024
"""Rows of a run: four of the widest stretches in which neighbours are looked for."""


def learning_rows(n: int) -> Rows:
    """Numbers of some rows of n, in rising order.

    >>> rows = learning_rows(1_000_000)
    >>> len(rows), int((np.diff(rows) > 1).sum()), bool((np.diff(rows) > 0).all())
    (99328, 96, True)
    """
    n_runs = max(MOST_LEARNED // RUN, 1)
    ends = np.arange(n_runs + 1) * n // n_runs
    room = np.maximum(np.diff(ends) - RUN, 0)
    starts = ends[:-1] + np.random.default_rng(n).integers(0, room + 1)
    rows: Rows = (starts[:, None] + np.arange(RUN)).ravel()
    return rows[rows < n]


def rows_of(release: Release, columns: Sequence[str], rows: Rows) -> pa.Table:
    """Some columns of some rows, whose numbers rise, by a pass over the release."""
    work = partial(_taken, rows, tuple(columns))
    pieces = map_blocks(work, release.table, columns, engine=release.engine, what="reading some rows")
    schema = pa.schema([release.table.schema.field(name) for name in columns])
    held = [piece for piece in pieces if piece.num_rows]
    return pa.concat_tables([schema.empty_table(), *held], promote_options="permissive").unify_dictionaries()


def _taken(rows: Rows, columns: Sequence[str], block: Block) -> pa.Table:
    first, last = np.searchsorted(rows, (block.start, block.start + block.n_rows))
    at = pa.array(rows[first:last] - block.start)
    return pa.table({name: block.column(name).take(at) for name in columns})
