"""The owner's way back: the private table from a release and its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from veil.blocks import Block, from_float
from veil.errors import InputError, KeyRefusedError, NotInvertibleError
from veil.key import Key, LedgerEntry, LedgerStep
from veil.perturbations import Perturbation, Place, find_perturbation
from veil.release import Manifest, Release, arrow_type
from veil.tables import MemoryTable, as_frame
from veil.threads import one_blas_thread


def restore(release: Release, key: Key, *, partial: bool = False) -> Any:
    """The private table back from a release and its key: same columns, types and row order.

    Raises
    ------
    NotInvertibleError
        When some columns cannot come back (they were withheld, or the method cannot be undone);
        ``partial=True`` returns the others.
    """
    if not isinstance(release, Release):
        raise InputError("release must be a veil.Release; load one with veil.Release.load(folder)")
    if not isinstance(key, Key):
        raise KeyRefusedError("key must be a veil.Key; load one with veil.Key.load(path)")
    entry = key.entry(release.manifest.release_id)
    if len(entry.steps) != len(release.manifest.steps):
        raise InputError("restore needs the whole release, not one part of it")
    methods = [_rebuilt(step, key) for step in entry.steps]
    stuck = [c["name"] for c in entry.columns if c["role"] in ("identifier", "drop")]
    for step, method in zip(entry.steps, methods, strict=True):
        if not method.invertible(consistent=entry.consistent_on is not None):
            stuck += step.columns
    if len(stuck) == len(entry.columns):
        raise NotInvertibleError(f"none of the {len(stuck)} columns can come back from this release", stuck)
    if stuck and not partial:
        raise NotInvertibleError(
            f"{len(stuck)} column(s) cannot come back from this release: {', '.join(map(repr, stuck[:8]))}; "
            "use partial=True (command line: --partial) for the others",
            stuck,
        )
    table = release.table.read()
    order = key.row_order(entry)
    if order is not None:
        table = table.take(pa.array(np.argsort(order)))
    columns: dict[str, list[pa.Array]] = {c["name"]: [] for c in entry.columns if c["name"] not in stuck}
    with one_blas_thread():
        for block in MemoryTable(table).blocks():
            _restore_block(block, entry, release.manifest, methods, columns)
    dtypes = {c["name"]: c["dtype"] for c in entry.columns}
    arrays = {n: pa.chunked_array(parts, type=None if parts else arrow_type(dtypes[n])) for n, parts in columns.items()}
    kind = release.table.kind
    return as_frame(pa.table(arrays), kind, entry.native if entry.kind == kind else None)


def _restore_block(
    block: Block,
    entry: LedgerEntry,
    manifest: Manifest,
    methods: Sequence[Perturbation],
    out: dict[str, list[pa.Array]],
) -> None:
    dtypes = {c["name"]: arrow_type(c["dtype"]) for c in entry.columns}
    perturbed: set[str] = set()
    for step, public, method in zip(entry.steps, manifest.steps, methods, strict=True):
        perturbed.update(step.columns)
        if step.columns[0] not in out:
            continue
        values = method.restore_block(block.matrix(public.released), Place(step.fingerprint, block.start))
        for name, row in zip(step.columns, values, strict=True):
            rows, amounts = (np.array(part, dtype=np.int64) for part in entry.corrections.get(name, ([], [])))
            here = (rows >= block.start) & (rows < block.start + block.n_rows)
            row[rows[here] - block.start] = np.rint(row[rows[here] - block.start]) + amounts[here]
            out[name].append(from_float(row, dtypes[name]))
    for name in out.keys() - perturbed:
        values = block.column(name)
        target = dtypes[name]
        out[name].append(values.cast(target) if target is not None and target != values.type else values)


def _rebuilt(step: LedgerStep, key: Key) -> Perturbation:
    return find_perturbation(step.method).rebuild(step, key)
