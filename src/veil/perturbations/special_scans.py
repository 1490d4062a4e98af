"""First passes that refuse more, or learn more, than moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.perturbations.scan import Counts, Scan, ScanResult, Summary

GRAIN = 1_000
TAIL = 0.05
"""Quantiles that are kept of each block; edges of equal count are right to a thousandth of the records."""


class LogScan(Scan):
    """The first pass over logarithms; counts what has none."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str) -> None:
        super().__init__(columns, secret=secret, covariance=True, allow_missing=True, method=method)

    def _refused(self, block: Matrix) -> Counts:
        return np.asarray((block <= 0).sum(axis=1))

    def _measured(self, block: Matrix) -> Matrix:
        return np.asarray(np.log(block))

    def _refusal(self, counts: str) -> str:
        return (
            f"takes logarithms and refuses values that are not positive: {counts}; shift the columns, give them "
            "another role, or use MultiplicativeNoise"
        )


class BinaryScan(Scan):
    """The first pass over zeros and ones; counts what is neither."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str) -> None:
        super().__init__(columns, secret=secret, covariance=False, allow_missing=False, method=method)

    def _refused(self, block: Matrix) -> Counts:
        return np.asarray(((block != 0) & (block != 1) & ~np.isnan(block)).sum(axis=1))

    def _refusal(self, counts: str) -> str:
        return (
            f"takes 0 and 1 (or false and true) only; other values in {counts}; recode the columns, or give them "
            "another role"
        )


class QuantileScan(Scan):
    """The first pass with, per block, a thousand quantiles of each column."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str) -> None:
        super().__init__(columns, secret=secret, covariance=False, allow_missing=True, method=method)

    def summary(self, block: Matrix) -> Summary:
        """What a block adds."""
        return replace(super().summary(block), sketches=tuple(sketch(column) for column in block))

    def result(self, total: Summary | None) -> ScanResult:
        """Moments and quantiles, once every rule holds."""
        result = super().result(total)
        assert total is not None and total.sketches is not None  # noqa: S101, PT018 - it has rows
        return replace(result, quantiles=tuple(merged_quantiles(sketches) for sketches in total.sketches))


class TailScan(QuantileScan):
    """The first pass with quantiles of each column's middle and every value of the outer twentieths of each block."""

    def summary(self, block: Matrix) -> Summary:
        """What a block adds."""
        return replace(super().summary(block), sketches=tuple(_with_tails(column) for column in block))

    def result(self, total: Summary | None) -> ScanResult:
        """Moments, and values with the number of records that each stands for, once every rule holds."""
        result = super().result(total)
        assert total is not None and total.sketches is not None  # noqa: S101, PT018 - it has rows
        return replace(result, tails=tuple(_weighed(sketches) for sketches in total.sketches))


def _with_tails(column: Vector) -> tuple[tuple[Vector, int], ...]:
    """Quantiles of the middle of one block's column, and all values of its ends."""
    values = np.sort(column[np.isfinite(column)])
    n = int(np.ceil(TAIL * len(values)))
    parts = (values[:n], values[n : len(values) - n], values[max(len(values) - n, n) :])
    return tuple(each for i, part in enumerate(parts) for each in (sketch(part) if i == 1 else ((part, len(part)),)))


def _weighed(sketches: Sequence[tuple[Vector, int]]) -> tuple[Vector, Vector]:
    """The values that are kept, and how many records each stands for."""
    kept = [(part, np.full(len(part), n / len(part))) for part, n in sketches if len(part)]
    if not kept:
        return np.empty(0), np.empty(0)
    values, weights = zip(*kept, strict=True)
    return np.concatenate(values), np.concatenate(weights)


def sketch(column: Vector) -> tuple[tuple[Vector, int], ...]:
    """A thousand quantiles of one block's column, and how many values they stand for."""
    values = np.sort(column[np.isfinite(column)])
    at = np.linspace(0, len(values) - 1, min(GRAIN, len(values))).round().astype(int)
    return ((values[at], len(values)),) if len(values) else ()


def merged_quantiles(sketches: Sequence[tuple[Vector, int]]) -> Vector:
    """A thousand quantiles of all blocks together."""
    if not sketches:
        return np.empty(0)
    values = np.concatenate([part for part, _ in sketches])
    weight = np.concatenate([np.full(len(part), n / max(len(part), 1)) for part, n in sketches])
    order = np.argsort(values)
    share = np.cumsum(weight[order]) - weight[order] / 2
    at = np.linspace(0, share[-1] + weight[order][-1] / 2, GRAIN + 1)
    return np.asarray(np.interp(at, share, values[order]))
