"""The owner's door: publish a private table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from veil.data.dask_frames import PartitionedTable
from veil.data.sources import as_table
from veil.data.tables import Table
from veil.keys.key import Key
from veil.perturbations import Perturbation
from veil.publishing.plan import Plan
from veil.publishing.publication import Publication
from veil.release.release import Release, memory_release


def publish(
    table: Any,
    perturbation: Perturbation | Plan,
    *,
    key: Key | None = None,
    again: bool = False,
    roles: Mapping[str, str] | None = None,
    consistent_on: str | None = None,
    shuffle: bool | None = None,
) -> tuple[Release, Key]:
    """Perturb a private table: the release goes out, the key stays home.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow frame, a 2-D numpy array, a file path, a polars lazy frame or a DuckDB relation
        (its rows, as pyarrow), or any of these as :func:`veil.read_table` declares it. A Dask frame is read where it
        is, by the cluster that this process is connected to or by its threads; the release's data is a Dask frame, too.
    perturbation
        The method, or a :class:`veil.Plan` of several; it is cloned, not changed.
    key
        A key to use again. It refuses another table or other parameters unless ``again``.
    again
        Allow a second release under one key; the manifest numbers it.
    roles
        Column roles: identifier, sensitive, quasi, key, public, group, weight or drop. Numeric columns are
        sensitive by default; text and all-different integer columns must be given one.
    consistent_on
        An id column: an unchanged cell of the same id keeps its noise in every release of this key. A value that drifts
        (age + 1) gets new noise, so that releases of many years average it out.
    shuffle
        Release the rows in a secret order, which the key knows. None does what the plan says.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> release, key = veil.publish(x, veil.OrthogonalTransform())
    >>> bool(np.allclose(veil.restore(release, key), x))
    True
    """
    source = as_table(table, settle=False)
    cluster = None
    if isinstance(source, PartitionedTable):
        from veil.publishing.dask_release import active_cluster

        cluster = active_cluster()
    publication = Publication(
        source,
        perturbation,
        key=key,
        again=again,
        roles=roles,
        consistent_on=consistent_on,
        shuffle=shuffle,
        engine=cluster,
    )
    if isinstance(source, PartitionedTable) and not publication.shuffled and not publication.reduces:
        return publication.lazily(source, cluster), publication.key
    released, native = _like_source(publication.rows(), source)
    return memory_release(released, publication.manifest, source.kind, native), publication.key


def _like_source(released: pa.Table, source: Table) -> tuple[pa.Table, dict[str, str]]:
    """Public columns get their own type back: categories re-encoded, without unused ones."""
    native = {}
    for i, field in enumerate(released.schema):
        if field.name not in source.schema.names or field.type == pa.float64():
            continue
        original = source.schema.field(field.name).type
        if pa.types.is_dictionary(original):
            released = released.set_column(i, field.name, released.column(i).dictionary_encode())
        elif field.name in source.native and released.schema.field(i).type == original:
            native[field.name] = source.native[field.name]
    return released, native
