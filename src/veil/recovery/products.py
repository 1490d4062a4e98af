"""Sums of products of released columns over complete records, in one pass: all that moments without gaps need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from veil.data.blocks import Block, Matrix, Vector, tiles
from veil.data.sums import Tree
from veil.errors import NotApplicableError
from veil.release.models import AdditiveModel
from veil.release.release import Release


@dataclass(frozen=True)
class Products:
    """Means of products of released columns over complete records: y^p yᵀ^q for p, q ≤ 2, and powers to 4.

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


@dataclass(frozen=True)
class ProductSums:
    """Sums of products of released columns about an origin: y, and y^p yᵀ^q for (p, q) of (1, 1), (1, 2), (2, 2)."""

    n_rows: int
    n: int
    one: Vector
    cross: Matrix

    def __add__(self, other: ProductSums) -> ProductSums:
        """Sums over both parts together."""
        return ProductSums(self.n_rows + other.n_rows, self.n + other.n, self.one + other.one, self.cross + other.cross)

    def means(self) -> Products:
        """The products' means; powers are the products of a column with itself."""
        own = self.cross.diagonal(axis1=1, axis2=2)
        power = np.vstack([np.full(len(self.one), float(self.n)), self.one, own])
        return Products(self.n_rows, self.n, power / self.n, *(self.cross / self.n))


def block_products(columns: tuple[str, ...], origin: tuple[float, ...], block: Block) -> ProductSums:
    """Product sums of the complete records of a block."""
    values = block.matrix(columns)
    values -= np.array(origin)[:, None]
    tree = Tree[ProductSums]()
    for tile in tiles(block.n_rows):
        tree.push(_tile_products(values[:, tile]))
    sums = tree.result()
    return _tile_products(values) if sums is None else sums


@np.errstate(over="ignore", invalid="ignore")  # fourth powers beyond float64 leave standard errors unknown, no more
def _tile_products(y: Matrix) -> ProductSums:
    n_rows, complete = y.shape[1], ~np.isnan(y).any(axis=0)
    if not complete.all():
        y = y[:, complete]
    squared = y * y
    return ProductSums(n_rows, y.shape[1], y.sum(axis=1), np.array([y @ y.T, y @ squared.T, squared @ squared.T]))


def release_products(release: Release) -> ProductSums:
    """All sums that the moments need, in one pass (and one more for the mean where noise is additive)."""
    names = release.only_part.released
    # With additive noise nothing depends on the origin, and products about the mean lose no digits.
    additive = isinstance(release.only_part.model, AdditiveModel)
    origin = release.moments().complete_mean.tolist() if additive else [0.0] * len(names)
    return release.summed(partial(block_products, names, tuple(origin)))


def product_means(sums: ProductSums) -> Products:
    """The means of the products; refused of fewer than two records."""
    if sums.n < 2:
        raise NotApplicableError(f"the release has {sums.n} complete records; moments need at least 2")
    return sums.means()
