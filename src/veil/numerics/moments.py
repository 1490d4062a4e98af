"""One-pass, mergeable moments: count, mean, covariance, minimum and maximum.

Each tile is centred on its own mean, so a mean of 1e9 costs a variance of 1 nothing, and
tiles are merged pairwise (Chan, Golub and LeVeque, 1983) along a fixed binary tree over
tile numbers: a sequential, a parallel and a distributed run round alike.

Missing values: means, variances and extremes use every present value of a column; the
covariance uses the records in which every column is present.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector, tiles
from veil.data.sums import Tree


@dataclass(frozen=True)
class Moments:
    """Moments of d columns. Variances and covariances divide by n (``ddof`` 0)."""

    n_rows: int
    count: npt.NDArray[np.int64]
    mean: Vector
    centred_squares: Vector
    minimum: Vector
    maximum: Vector
    n_complete: int
    complete_mean: Vector
    comoment: Matrix | None

    @property
    def variance(self) -> Vector:
        """Variance of each column over its present values; NaN where there are none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.centred_squares / self.count)

    @property
    def std(self) -> Vector:
        """Standard deviation of each column over its present values."""
        return np.sqrt(self.variance)

    @property
    def covariance(self) -> Matrix:
        """Covariance matrix over complete records."""
        if self.comoment is None:
            raise TypeError("these moments were taken without the covariance")
        return np.asarray(self.comoment / max(self.n_complete, 1))

    @property
    def missing(self) -> npt.NDArray[np.int64]:
        """Number of missing values of each column."""
        return self.n_rows - self.count

    def __add__(self, other: Moments) -> Moments:
        """Moments of both parts together."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self._merged(other)

    def _merged(self, other: Moments) -> Moments:
        count, mean, squares = _merge_columns(self, other)
        n = self.n_complete + other.n_complete
        shift = other.complete_mean - self.complete_mean
        complete_mean, comoment = self.complete_mean, self.comoment
        if n:
            complete_mean = self.complete_mean + shift * (other.n_complete / n)
        if comoment is not None and other.comoment is not None and n:
            weight = self.n_complete * (other.n_complete / n)
            comoment = comoment + other.comoment + weight * np.outer(shift, shift)
        return Moments(
            n_rows=self.n_rows + other.n_rows,
            count=count,
            mean=mean,
            centred_squares=squares,
            minimum=np.fmin(self.minimum, other.minimum),
            maximum=np.fmax(self.maximum, other.maximum),
            n_complete=n,
            complete_mean=complete_mean,
            comoment=comoment,
        )


def _merge_columns(a: Moments, b: Moments) -> tuple[npt.NDArray[np.int64], Vector, Vector]:
    count = a.count + b.count
    share = np.divide(b.count, count, out=np.zeros_like(a.mean), where=count > 0)
    shift = b.mean - a.mean
    return count, a.mean + shift * share, a.centred_squares + b.centred_squares + shift**2 * a.count * share


def tile_moments(block: Matrix, part: slice | None = None, *, covariance: bool = True) -> Moments:
    """Moments of one tile of a d × n block; sums that leave float64's range become infinite or zero."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return _tile_moments(np.ascontiguousarray(block), part or slice(0, block.shape[1]), covariance=covariance)


def _tile_moments(block: Matrix, part: slice, *, covariance: bool) -> Moments:
    from veil.numerics.moments_compiled import finite_moments  # compiled code is loaded where it is used

    tile = block[:, part]
    mean_and_squares = np.empty((len(tile), 2))
    if tile.shape[1] and finite_moments(block, part.start, part.stop, mean_and_squares):
        n = tile.shape[1]
        mean, squares = np.ascontiguousarray(mean_and_squares.T)
        minimum, maximum = tile.min(axis=1), tile.max(axis=1)
        comoment = None
        if covariance:
            centred = tile - mean[:, None]
            comoment = centred @ centred.T
        return Moments(n, np.full(len(tile), n), mean, squares, minimum, maximum, n, mean, comoment)
    present = ~np.isnan(tile)
    complete = tile[:, present.all(axis=0)]
    complete_mean, _, centred = _centre(complete)
    count = present.sum(axis=1)
    filled = np.where(present, tile, 0.0)
    mean = np.divide(filled.sum(axis=1), count, out=np.zeros(len(tile)), where=count > 0)
    deviation = np.where(present, tile - mean[:, None], 0.0)
    drift = np.divide(deviation.sum(axis=1), count, out=np.zeros(len(tile)), where=count > 0)
    return Moments(
        n_rows=tile.shape[1],
        count=count,
        mean=mean + drift,
        centred_squares=(deviation**2).sum(axis=1) - count * drift**2,
        minimum=np.where(present, tile, np.inf).min(axis=1, initial=np.inf),
        maximum=np.where(present, tile, -np.inf).max(axis=1, initial=-np.inf),
        n_complete=complete.shape[1],
        complete_mean=complete_mean,
        comoment=centred @ centred.T if covariance else None,
    )


def _centre(tile: Matrix) -> tuple[Vector, Vector, Matrix]:
    """Mean, centred sum of squares and centred values; the mean is corrected once for rounding."""
    if not tile.shape[1]:
        zeros = np.zeros(len(tile))
        return zeros, zeros, tile
    mean = tile.mean(axis=1)
    centred = tile - mean[:, None]
    drift = centred.mean(axis=1)
    centred -= drift[:, None]
    return mean + drift, np.einsum("ij,ij->i", centred, centred), centred


class MomentTree:
    """Merges tile moments along a fixed binary tree over tile numbers (:class:`veil.data.sums.Tree`)."""

    def __init__(self, *, covariance: bool = True) -> None:
        self._covariance = covariance
        self._tree = Tree[Moments]()

    def update(self, block: Matrix) -> None:
        """Add the next canonical block."""
        for tile in tiles(block.shape[1]):
            self._tree.push(tile_moments(block, tile, covariance=self._covariance))

    def result(self) -> Moments | None:
        """Moments of everything added so far; None when nothing was."""
        return self._tree.result()


def block_moments(block: Matrix, *, covariance: bool = True) -> Moments:
    """Moments of one canonical block: the node that all its tiles come to in the tree."""
    tree = MomentTree(covariance=covariance)
    tree.update(block)
    moments = tree.result()
    return tile_moments(block, covariance=covariance) if moments is None else moments


def moments_of(blocks: Iterable[Matrix], *, covariance: bool = True) -> Moments | None:
    """Moments of a sequence of canonical d × n blocks."""
    tree = MomentTree(covariance=covariance)
    for block in blocks:
        tree.update(block)
    return tree.result()
