"""Later passes over two tables side by side: breaches in units that the first pass found, and counts between edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from veil.arguments import Mask
from veil.auditing.comparison.beside import Common
from veil.auditing.comparison.cells import Cells, count_cells
from veil.auditing.comparison.comparing import Counts, Sums, whole
from veil.data.blocks import Block, Matrix, Vector, tiles
from veil.data.sums import Summable, Tree
from veil.measures.breach import BreachVariant, breached
from veil.numerics.moments import Moments, tile_moments

S = TypeVar("S", bound=Summable)
VARIANTS: Final[tuple[BreachVariant, ...]] = ("standard", "paper")


@dataclass(frozen=True)
class Hits(Sums):
    """Breaches by the two variants (standard, paper), and what each record does to the normalised error.

    ``values`` is 2 × d, ``records`` 2; ``scored`` and ``n_scored`` count the private values and the records with any.
    """

    values: Counts
    records: Counts
    scored: Counts
    n_scored: int
    influence: Moments


@dataclass(frozen=True)
class Scoring:
    """How breaches are counted.

    Attributes
    ----------
    units, tolerance
        Standard units of the columns, and how near a guess must be in them.
    scored
        Which columns a breach is counted in.
    mean, variance, count
        Of the private columns; variance 0 is a constant.
    errors, cells
        Sum of squared errors of each column, in its variance, and number of compared cells of those that vary.
    """

    units: Vector
    tolerance: float
    scored: Mask
    mean: Vector
    variance: Vector
    count: Counts
    errors: Vector
    cells: int

    def hits(self, values: Matrix) -> Hits:
        """The breaches of a block, given as 2d × n."""
        tree = Tree[Hits]()
        stacked = values.reshape(2, len(self.units), -1)
        for tile in tiles(values.shape[1]):
            tree.push(self._tile(stacked[:, :, tile]))
        hits: Hits = whole(tree)
        return hits

    def _tile(self, values: Matrix) -> Hits:
        truth = np.where(self.scored[:, None], values[0], np.nan).T
        guess, present = values[1].T, ~np.isnan(truth)
        values_hit = [breached(truth, guess, self.tolerance, "value", v, self.units) for v in VARIANTS]
        records_hit = [breached(truth, guess, self.tolerance, "record", v, self.units) for v in VARIANTS]
        return Hits(
            np.stack([mask.sum(axis=0) for mask in values_hit]),
            np.array([int(mask.sum()) for mask in records_hit]),
            present.sum(axis=0),
            int(present.any(axis=1).sum()),
            tile_moments(self._influence(values)[None, :], covariance=False),
        )

    def _influence(self, values: Matrix) -> Vector:
        """How each record moves the mean square of the normalised errors, NaN for a record without private values.

        A record also moves the units: one with a large deviation makes every error look smaller (as in
        :func:`veil.measures.nrmse`).
        """
        varies = self.variance > 0.0
        x, y = values[:, varies]
        spread, known = self.variance[varies, None], ~np.isnan(x)
        both = known & ~np.isnan(y)
        cells = max(self.cells, 1)
        square = float(self.errors[varies].sum()) / cells
        own = np.where(both, (y - x) ** 2 / spread, 0.0).sum(axis=0) - square * both.sum(axis=0)
        deviation = np.where(known, (x - self.mean[varies, None]) ** 2 / spread - 1.0, 0.0)
        moved = (self.errors[varies] / np.maximum(self.count[varies], 1)) @ deviation
        return np.where(known.any(axis=0), (own - moved) / cells, np.nan)


@dataclass(frozen=True)
class Both(Sums):
    """Counts between edges and breaches, of one pass."""

    cells: Cells
    hits: Hits


def count_and_score(edges: Sequence[Vector], scoring: Scoring, values: Matrix) -> Both:
    """Counts between edges and breaches of a block, given as 2d × n."""
    return Both(count_cells(edges, values), scoring.hits(values))


def of_numbers(common: Common, work: Callable[[Matrix], S], block: Block) -> S:
    """``work`` of the numbers of a block."""
    return work(common.values(block))
