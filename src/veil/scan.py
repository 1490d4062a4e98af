"""The first pass over a private table: refuse what breaks a rule, take moments and fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.blocks import Block, Matrix
from veil.errors import InputError
from veil.key import Key
from veil.moments import Moments, MomentTree, Vector
from veil.randomness import Fingerprint
from veil.schema import listed


@dataclass(frozen=True)
class ScanResult:
    """What the first pass learned about some columns; of categories, how often each occurs."""

    moments: Moments
    fingerprint: str
    categories: tuple[dict[Any, int], ...] | None = None
    combinations: dict[tuple[Any, ...], int] | None = None
    quantiles: tuple[Vector, ...] | None = None


class Scan:
    """Reads canonical blocks of some columns once.

    Parameters
    ----------
    columns
        Names of the columns.
    key
        The key under which the fingerprint is taken.
    covariance
        Whether the covariance is needed, which costs d² per row.
    allow_missing
        Whether missing values may pass.
    method
        How messages call the method.
    """

    def __init__(self, columns: Sequence[str], *, key: Key, covariance: bool, allow_missing: bool, method: str) -> None:
        self._columns = list(columns)
        self._fingerprint = Fingerprint(key.derive("fingerprint"), self._columns)
        self._moments = MomentTree(covariance=covariance)
        self._infinite = np.zeros(len(self._columns), dtype=np.int64)
        self._allow_missing = allow_missing
        self._method = method

    def update_block(self, block: Block) -> None:
        """Read the next block of a table."""
        self.update(block.matrix(self._columns))

    def update(self, block: Matrix) -> None:
        """Read the next block, as a matrix."""
        infinite = np.isinf(block).sum(axis=1)
        self._infinite += infinite
        if self._infinite.any():
            return
        self._moments.update(self._measured(block))
        self._fingerprint.update(block)

    def _measured(self, block: Matrix) -> Matrix:
        """What moments are taken of."""
        return block

    def result(self) -> ScanResult:
        """What was learned, once every rule holds."""
        if self._infinite.any():
            j = int(np.argmax(self._infinite))
            raise InputError(
                f"column {self._columns[j]!r} has {self._infinite[j]} infinite values; "
                "replace them by a finite value or mark them missing"
            )
        moments = self._moments.result()
        if moments is None:
            raise InputError("the table has no rows; a release needs at least one")
        if not self._allow_missing and moments.missing.any():
            counts = [
                f"{name!r} ({count})" for name, count in zip(self._columns, moments.missing, strict=True) if count
            ]
            raise InputError(
                f"{self._method} mixes columns, so it refuses missing values: {', '.join(counts[:8])}; "
                "fill them, drop those records, or give the columns another role"
            )
        empty = [name for name, count in zip(self._columns, moments.count, strict=True) if not count]
        if empty:
            raise InputError(f"{listed(empty)}: every value is missing; give the role drop, or fill it")
        with np.errstate(invalid="ignore"):
            unmeasured = ~np.isfinite(moments.std) | ((moments.std == 0) & (moments.minimum < moments.maximum))
        if unmeasured.any():
            name = self._columns[int(np.argmax(unmeasured))]
            raise InputError(
                f"column {name!r}: the {moments.n_rows} values are too large or too close together for float64 to "
                "measure their spread (about 1e150 and 1e-150 are the limits); rescale the column"
            )
        return ScanResult(moments, self._fingerprint.digest())
