"""The first pass over two tables side by side: moments, errors and a sample of rows.

Everything is a function of one block whose results are added with ``+``, so that any engine can run it. The sums are
those that the pure functions of :mod:`veil.measures` take of whole arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from veil.arguments import Mask
from veil.auditing.comparison.beside import Common
from veil.data.blocks import Block, Matrix, Vector, tiles
from veil.data.sums import Tree
from veil.numerics.moments import Moments, block_moments, tile_moments

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Sums:
    """Sums that are added field by field."""

    def __add__(self, other: Self) -> Self:
        """Both parts together."""
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class Pairs:
    """Moments of each column over the records where it is present in both tables; row 0 private, row 1 the other."""

    count: Counts
    mean: Matrix
    squares: Matrix
    product: Vector
    low: Matrix
    high: Matrix

    def __add__(self, other: Pairs) -> Pairs:
        """Moments of both parts together (Chan, Golub and LeVeque, 1983)."""
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros(len(count)), where=count > 0)
        shift, weight = other.mean - self.mean, self.count * share
        return Pairs(
            count,
            self.mean + shift * share,
            self.squares + other.squares + weight * shift**2,
            self.product + other.product + weight * shift[0] * shift[1],
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )

    @classmethod
    def of(cls, values: Matrix, both: Mask) -> Pairs:
        """Of a tile, 2 × d × n."""
        count = both.sum(axis=1)
        some = np.maximum(count, 1)
        mean = np.where(both, values, 0.0).sum(axis=2) / some
        centred = np.where(both, values - mean[:, :, None], 0.0)
        drift = centred.sum(axis=2) / some
        centred = np.where(both, centred - drift[:, :, None], 0.0)
        return cls(
            count,
            mean + drift,
            np.einsum("sij,sij->si", centred, centred),
            np.einsum("ij,ij->i", centred[0], centred[1]),
            np.where(both, values, np.inf).min(axis=2),
            np.where(both, values, -np.inf).max(axis=2),
        )

    @property
    def std(self) -> Matrix:
        """Standard deviations; 0 where all values are equal, NaN where there are none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.sqrt(self.squares / self.count)
        return np.where(self.low == self.high, 0.0, spread)


@dataclass(frozen=True)
class Errors(Sums):
    """Sums of errors over the cells present in both tables.

    Per column ``squares`` and ``base`` are the sums of (y − x)² and of x², and ``shares`` that of the relative error
    over the ``scored`` cells with x ≠ 0. ``sizes`` are moments over records of the two sums of squares of a record, and
    ``relative`` of the root of their ratio.
    """

    squares: Vector
    base: Vector
    shares: Vector
    scored: Counts
    sizes: Moments
    relative: Moments

    @classmethod
    def of(cls, values: Matrix, both: Mask) -> Errors:
        """Of a tile, 2 × d × n."""
        x = np.where(both, values[0], 0.0)
        error = np.where(both, values[1] - values[0], 0.0)
        scored = x != 0.0
        shares = np.where(scored, np.abs(error) / np.where(scored, np.abs(x), 1.0), 0.0)
        squares, base = error**2, x**2
        sizes = np.stack([squares.sum(axis=0), base.sum(axis=0)])
        nonzero = sizes[1] > 0.0
        relative = np.where(nonzero, np.sqrt(sizes[0]) / np.sqrt(np.where(nonzero, sizes[1], 1.0)), np.nan)
        sizes[:, (sizes == 0.0).all(axis=0)] = np.nan
        return cls(
            squares.sum(axis=1),
            base.sum(axis=1),
            shares.sum(axis=1),
            scored.sum(axis=1),
            tile_moments(sizes),
            tile_moments(relative[None, :], covariance=False),
        )


@dataclass(frozen=True)
class Sample:
    """The rows whose numbers have the smallest hashes, ``most`` at most: uniform, and the same however a table is read.

    ``values`` is 2d × k, in the order of the rows.
    """

    most: int
    hashes: Words
    values: Matrix

    def __add__(self, other: Sample) -> Sample:
        """The sample of both parts."""
        hashes = np.concatenate([self.hashes, other.hashes])
        return _smallest(self.most, hashes, np.concatenate([self.values, other.values], axis=1))

    @classmethod
    def of(cls, start: int, values: Matrix, most: int, seed: int, n_rows: int | None) -> Sample:
        """Of a block; where the number of all rows is known, rows that will not be in the sample are left out here."""
        hashes = _hashed(np.arange(start, start + values.shape[1], dtype=np.uint64), seed)
        share = 1.0 if n_rows is None else (most + 8.0 * most**0.5 + 32.0) / max(n_rows, 1)
        if share < 1.0:
            near = hashes < np.uint64(share * 2.0**64)
            hashes, values = hashes[near], values[:, near]
        return _smallest(most, hashes, values)


def _smallest(most: int, hashes: Words, values: Matrix) -> Sample:
    if len(hashes) > most:
        least = hashes <= np.partition(hashes, most - 1)[most - 1]
        hashes, values = hashes[least], values[:, least]
    return Sample(most, hashes, np.ascontiguousarray(values))


def _hashed(rows: Words, seed: int) -> Words:
    """Steele, Lea and Flood's splitmix64 of row numbers: a bijection, so that no two rows tie."""
    mixed = rows + np.uint64(seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True)
class First(Sums):
    """What the first pass learns; ``moments`` are of all 2d columns, ``texts`` counts of equal and compared values."""

    n_rows: int
    infinite: Counts
    texts: Counts
    moments: Moments
    pairs: Pairs
    errors: Errors
    sample: Sample


def compare_block(common: Common, most: int, seed: int, n_rows: int | None, block: Block) -> First:
    """What the first pass learns of a block; ``most`` rows are sampled of a table of ``n_rows``."""
    common.check_rows(block)
    values = common.values(block)
    infinite = np.isinf(values)
    n_infinite = infinite.sum(axis=1)
    if n_infinite.any():  # refused at the end, once all are counted
        values[infinite] = np.nan
    stacked = values.reshape(2, len(common.numbers), block.n_rows)
    pairs, errors = Tree[Pairs](), Tree[Errors]()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for tile in tiles(block.n_rows):
            both = np.asarray(~np.isnan(stacked[:, :, tile]).any(axis=0))
            pairs.push(Pairs.of(stacked[:, :, tile], both))
            errors.push(Errors.of(stacked[:, :, tile], both))
    return First(
        block.n_rows,
        n_infinite,
        common.equal(block),
        block_moments(values),
        whole(pairs),
        whole(errors),
        Sample.of(block.start, values, most, seed, n_rows),
    )


def whole(tree: Tree[Any]) -> Any:
    """The sum over the tiles of a block."""
    total = tree.result()
    if total is None:
        raise ValueError("a block has rows")
    return total
