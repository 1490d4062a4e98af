"""Releases of Dask frames: partitions that are perturbed when they are asked for.

Perturbing is a pure function of key, fingerprint and block, so a partition that is computed twice, or on another
worker, is the same. The first pass has been made; what is left to do goes to the workers sealed
(:mod:`veil.data.sealed`), and a task carries the run's name and its span, nothing else.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any

import pyarrow as pa

from veil.data.blas import one_blas_thread
from veil.data.blocks import BLOCK_ROWS, Block, Span
from veil.data.cluster import Admission, Cluster
from veil.data.dask_frames import PartitionedTable, dask
from veil.data.sealed import Session, attend
from veil.data.tables import as_frame
from veil.publishing.parts import Corrections
from veil.publishing.second_pass import CORRECTIONS, Releasing

LOOK = 2.0


def active_cluster() -> Cluster | None:
    """The Dask cluster that this process is connected to, if any."""
    if "distributed" not in sys.modules:
        return None
    import distributed

    try:
        return Cluster(client=distributed.default_client())
    except ValueError:
        return None


def corrections_of(releasing: Releasing, block: Block) -> Corrections:
    """What the key must keep to restore a block to the last digit."""
    corrections: Corrections = releasing.batch(block).notes[CORRECTIONS]
    return corrections


def released_partitions(releasing: Releasing, table: PartitionedTable, cluster: Cluster | None) -> PartitionedTable:
    """The release as a frame whose partitions are perturbed when they are computed."""
    library = dask()
    content = (releasing, table)
    session = Session() if cluster is None else Admission(cluster.client, content, look=LOOK)
    session.stay(content)
    if isinstance(session, Admission):
        session.__enter__()
        atexit.register(session.close)
    make = library.delayed(released_frame, pure=False)
    spans = table.spans()
    parts = [
        make(session.name, span, *table.inputs(span), dask_key_name=f"veil-perturb-{session.name}-{span.first}")
        for span in spans
    ]
    meta = as_frame(releasing.schema.empty_table(), "pandas")
    frame = library.dataframe.from_delayed(parts, meta=meta, verify_meta=False)
    n_rows = table.n_rows or 0
    lengths = [min((span.stop or 0) * BLOCK_ROWS, n_rows) - span.first * BLOCK_ROWS for span in spans]
    return PartitionedTable(frame, lengths)


def released_frame(name: str, span: Span, *frames: Any) -> Any:
    """One released partition."""
    _, (releasing, table) = attend(name)
    held = table.holding(span, frames)
    with one_blas_thread():
        batches = [releasing.batch(block).batch for block in held.blocks(releasing.columns, span)]
    return as_frame(pa.Table.from_batches(batches, schema=releasing.schema), "pandas")
