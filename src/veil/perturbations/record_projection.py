"""Projection of records (P8): R is k × N, drawn tile by tile and never held whole."""

from __future__ import annotations

import math

import numpy as np

from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.perturbations.draws import Secrets
from veil.perturbations.projection_entries import MOST_DRAWS, hides_all, projection_entries
from veil.release.models import RecordProjectionModel

RECORD_TILE = 1_024
"""Records that share one stream of random words."""
MOST_CHECKED = 4e9
"""Arithmetic that the search for exactly determined records may cost (N·k²); larger ones are too many to occur."""


def first_attempt(secrets: Secrets, model: RecordProjectionModel) -> int:
    """Which draw of the matrix is the first that determines no record; kept in the key."""
    number = secrets.matrix("attempt", model.to_json(), lambda _: np.array([[_searched(secrets, model)]]))
    return int(number[0, 0])


def _searched(secrets: Secrets, model: RecordProjectionModel) -> float:
    k, n = model.n_components, model.n_records
    if model.kind == "gaussian" or n * float(k) ** 2 > MOST_CHECKED:
        return 0.0
    for attempt in range(MOST_DRAWS):
        if hides_all(_entries_of_all(secrets, model, attempt), model.kind):
            return float(attempt)
    raise InputError(
        f"kind {model.kind!r} released some record exactly in each of {MOST_DRAWS} draws of a {k} × {n} matrix; "
        "use kind='gaussian', or fewer components"
    )


def _entries(secrets: Secrets, model: RecordProjectionModel, start: int, attempt: int) -> Matrix:
    """Entries for the records ``start`` to ``start + RECORD_TILE``, k × n."""
    n = min(RECORD_TILE, model.n_records - start)
    source = secrets.generator("projected records", model.to_json(), attempt, start)
    return projection_entries(source, model.n_components, n, model.kind, model.n_records)


def _entries_of_all(secrets: Secrets, model: RecordProjectionModel, attempt: int) -> Matrix:
    starts = range(0, model.n_records, RECORD_TILE)
    return np.hstack([_entries(secrets, model, start, attempt) for start in starts])


def record_matrix(secrets: Secrets, model: RecordProjectionModel) -> Matrix:
    """The whole k × N matrix."""
    return _entries_of_all(secrets, model, first_attempt(secrets, model)) / math.sqrt(model.n_components)


def projected_share(secrets: Secrets, model: RecordProjectionModel, block: Matrix, start: int) -> Matrix:
    """What the records of a block, the first of which is ``start``, add to the projected ones: d × k."""
    attempt = first_attempt(secrets, model)
    out = np.zeros((len(block), model.n_components))
    for first in range(0, block.shape[1], RECORD_TILE):
        entries = _entries(secrets, model, start + first, attempt)
        out += (block[:, first : first + RECORD_TILE] / model.unit[:, None]) @ entries.T
    return out / math.sqrt(model.n_components)
