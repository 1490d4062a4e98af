"""Sums of products of columns over complete records: what means, covariances and their errors are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veil.data.blocks import Block, Matrix, Vector, tiles
from veil.data.sums import Tree
from veil.numerics.gap_patterns import PatternSums


@dataclass(frozen=True)
class Products:
    """Means of products of columns over complete records: y^p yᵀ^q for p, q ≤ 2, and powers to 4.

    ``n`` of the ``n_rows`` records are complete.
    """

    n_rows: int
    n: int
    power: Matrix
    one_one: Matrix
    one_two: Matrix
    two_two: Matrix

    @property
    def mean(self) -> Vector:
        """E y."""
        return np.asarray(self.power[1])


@dataclass(frozen=True, eq=False)
class ProductSums:
    """Sums of products of columns about an origin: y, and y^p yᵀ^q for (p, q) of (1, 1), (1, 2), (2, 2)."""

    n_rows: int
    n: int
    one: Vector
    cross: Matrix
    origin: tuple[float, ...] = ()

    def __add__(self, other: ProductSums) -> ProductSums:
        """Sums over both parts together."""
        n_rows, n = self.n_rows + other.n_rows, self.n + other.n
        return ProductSums(n_rows, n, self.one + other.one, self.cross + other.cross, self.origin)

    @property
    def mean(self) -> Vector:
        """The mean of the columns themselves."""
        return np.asarray(self.origin + self.one / max(self.n, 1))

    def means(self) -> Products:
        """The products' means; powers are the products of a column with itself."""
        own = self.cross.diagonal(axis1=1, axis2=2)
        power = np.vstack([np.full(len(self.one), float(self.n)), self.one, own])
        return Products(self.n_rows, self.n, power / self.n, *(self.cross / self.n))

    def as_pattern(self) -> PatternSums:
        """The same of records that are all complete, as those of one pattern of gaps."""
        n, d = np.array([float(self.n)]), len(self.one)
        return PatternSums(self.n_rows, np.ones((1, d), dtype=np.bool_), n, n, self.one[None], self.cross[:1])

    def about(self, origin: Vector) -> ProductSums:
        """The sums about another origin.

        >>> y = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]])
        >>> moved, direct = sums_of(y.copy(), (0.0, 0.0)).about(np.array([1.0, 2.0])), sums_of(y, (1.0, 2.0))
        >>> bool(np.allclose(moved.cross, direct.cross)), bool(np.allclose(moved.one, direct.one))
        (True, True)
        """
        by = origin - np.array(self.origin)
        s, (s11, s12, s22), n = self.one, self.cross, float(self.n)
        t, u = by[:, None], by[None, :]
        si, sj, own = s[:, None], s[None, :], np.diag(s11)
        one_one = s11 - t * sj - u * si + n * t * u
        one_two = s12 - 2 * u * s11 + u**2 * si - t * own[None, :] + 2 * t * u * sj - n * t * u**2
        two_two = s22 - 2 * u * s12.T + u**2 * own[:, None] - 2 * t * s12 + 4 * t * u * s11 - 2 * t * u**2 * si
        two_two = two_two + t**2 * own[None, :] - 2 * t**2 * u * sj + n * t**2 * u**2
        cross = np.array([one_one, one_two, two_two])
        return ProductSums(self.n_rows, self.n, s - n * by, cross, tuple(origin.tolist()))

    def to_json(self) -> dict[str, Any]:
        """The sums as JSON values."""
        values = {"n_rows": self.n_rows, "n": self.n, "origin": list(self.origin)}
        return {**values, "one": self.one.tolist(), "cross": self.cross.tolist()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ProductSums:
        """Back from :meth:`to_json`; ValueError for what is none."""
        one, cross = np.array(raw["one"], dtype=np.float64), np.array(raw["cross"], dtype=np.float64)
        origin, d = np.array(raw["origin"], dtype=np.float64), one.size
        n_rows, n = int(raw["n_rows"]), int(raw["n"])
        if origin.shape != (d,) or one.shape != (d,) or cross.shape != (3, d, d) or not 0 <= n <= n_rows:
            raise ValueError("products")
        if not all(np.isfinite(each).all() for each in (origin, one, cross)):
            raise ValueError("products")
        return cls(n_rows, n, one, cross, tuple(origin.tolist()))


def block_products(columns: tuple[str, ...], origin: tuple[float, ...], block: Block) -> ProductSums:
    """Product sums of the complete records of a block."""
    return sums_of(block.matrix(columns), origin)


def sums_of(y: Matrix, origin: tuple[float, ...]) -> ProductSums:
    """Product sums of the complete records among columns of values (d × n), which are moved to the origin."""
    y -= np.array(origin)[:, None]
    tree = Tree[ProductSums]()
    for tile in tiles(y.shape[1]):
        tree.push(_tile_products(y[:, tile]))
    sums = tree.result()
    return replace(_tile_products(y) if sums is None else sums, origin=origin)


@np.errstate(over="ignore", invalid="ignore")  # fourth powers beyond float64 leave standard errors unknown, no more
def _tile_products(y: Matrix) -> ProductSums:
    n_rows, complete = y.shape[1], ~np.isnan(y).any(axis=0)
    if not complete.all():
        y = y[:, complete]
    squared = y * y
    return ProductSums(n_rows, y.shape[1], y.sum(axis=1), np.array([y @ y.T, y @ squared.T, squared @ squared.T]))
