"""Numbers and tables granted to an attacker, checked: errors name parameter, rule and count, and quote no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Matrix
from veil.data.sources import as_table
from veil.errors import InputError

LARGEST = 1e140
"""Beyond this, squares and their sums leave float64."""


def as_records(data: Any, parameter: str) -> Matrix:
    """Numbers granted to an attacker as an n × d float64 array without missing values."""
    if isinstance(data, list | tuple):
        data = as_numbers(data, parameter)
    if isinstance(data, np.ndarray) and data.ndim == 1:
        data = data[None, :]
    try:
        table = as_table(data)
    except InputError as error:
        raise InputError(f"{parameter}: {error}") from None
    names = table.numeric()
    if len(names) != len(table.schema.names):
        raise InputError(f"{parameter} must hold numbers only; leave out its text columns")
    blocks = [block.matrix(names) for block in table.blocks()]
    array = np.ascontiguousarray(np.hstack(blocks).T) if blocks else np.empty((0, len(names)))
    bad = (~np.isfinite(array)).sum(axis=0)
    if bad.any():
        column = names[int(np.argmax(bad))]
        raise InputError(
            f"{parameter} has {int(bad.sum())} missing or infinite values (column {column!r} first); leave out or "
            "complete those rows"
        )
    huge = int((np.abs(array) > LARGEST).sum())
    if huge:
        raise InputError(
            f"{parameter} has {huge} values beyond ±{LARGEST:g}, which cannot be squared; rescale the columns"
        )
    return array


def as_numbers(data: Any, parameter: str) -> npt.NDArray[Any]:
    """An array of numbers, or an error that quotes none of them."""
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{parameter} must hold numbers only, in rows of one length")
    return array


def select_columns(data: Any, names: Sequence[str], parameter: str) -> pa.Table:
    """The named columns of a frame or file, in that order, or an error that lists the absent ones."""
    table = as_table(data)
    absent = [name for name in names if name not in table.schema.names]
    if absent:
        raise InputError(f"{parameter} lacks column {absent[0]!r} of the release's private columns")
    return table.read(list(names))
