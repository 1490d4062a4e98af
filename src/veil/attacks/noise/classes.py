"""Where in its class a value lies: the column's distribution, as the release's counts and known values show it (A2).

*Model.* A value is released as the class ``[e_i, e_{i+1})`` that holds it (P17). Within a class nothing is released, so
the posterior is the column's distribution cut to the class. From the counts alone that distribution is smooth: a
monotone cubic through the cumulated shares at the edges, whole numbers where the column's type says so. Values of a
sample are added as points: a Dirichlet process around the smooth distribution, whose posterior after n of the sample's
values in the class is ``(κ smooth + Σ δ_s)/(κ + n)``. Values that heap, such as 40 hours a week, so come out as they
are.

The middle of a class (A1) is none of this: of whole numbers in ``[1, 2)`` it is always wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.blockwise import BlockGuess
from veil.data.blocks import Block, Matrix, Vector
from veil.measures.units import standard_units

KAPPA: Final = 2.0
"""Values of a sample that the smooth distribution counts as."""
POINTS: Final = 400
"""Of the smooth distribution in a class."""
ENOUGH: Final = 30
"""Values of a sample that tell the column's unit better than counts do."""
_HEAP: Final = 0.5
"""Of a window's weight: one point that has more is the guess."""


@dataclass(frozen=True, eq=False)
class ClassPosterior:
    """The points of one class and their weights, which add up to 1."""

    points: Vector
    weights: Vector

    @property
    def mean(self) -> float:
        """The mean value in the class."""
        return float(self.points @ self.weights)

    @property
    def variance(self) -> float:
        """The variance in the class."""
        return float((self.points - self.mean) ** 2 @ self.weights)

    def hit(self, reach: float) -> float:
        """The point within ``reach`` of which most values of the class lie.

        >>> heap = ClassPosterior(np.array([30.0, 35.0, 38.0, 40.0]), np.array([0.1, 0.1, 0.2, 0.6]))
        >>> heap.hit(1.0)
        40.0
        """
        points, weights = self.points, self.weights
        total = np.concatenate([[0.0], np.cumsum(weights)])
        ends = np.searchsorted(points, points + 2 * reach * (1 - 1e-9), side="right")
        inside = total[ends] - total[:-1]
        best = np.flatnonzero(inside >= inside.max() * (1 - 1e-9))
        first = int(best[len(best) // 2])  # of a flat stretch the middle
        window = slice(first, int(ends[first]))
        heap = int(np.argmax(weights[window]))
        if weights[window][heap] > _HEAP * inside[first]:
            return float(points[window][heap])
        return float((points[window][0] + points[window][-1]) / 2)


@dataclass(frozen=True, kw_only=True)
class ClassColumn:
    """What is known of a column that was released in classes.

    Attributes
    ----------
    edges, counts
        The inner edges, and how many records are in each class.
    whole
        Whether its values are whole numbers.
    limits
        Its least and greatest value, where they are known.
    known
        Values of a sample, or of known records.
    """

    edges: Vector
    counts: npt.NDArray[np.int64]
    whole: bool
    limits: tuple[float, float] | None
    known: Vector

    def posteriors(self) -> list[ClassPosterior]:
        """The distribution within each class."""
        ends = self._ends()
        places = np.searchsorted(self.edges, self.known, side="right")
        return [self._posterior(ends, i, np.sort(self.known[places == i])) for i in range(len(self.edges) + 1)]

    def unit(self) -> float:
        """The column's unit as errors are counted in it: by known values, or where these are few by the counts."""
        if len(self.known) >= ENOUGH:
            return float(standard_units(self.known[:, None])[0])
        total = self.counts.sum()
        if not total:
            return 0.0
        some = np.interp((np.arange(1_000) + 0.5) / 1_000, self._cumulated(), self._ends())
        return float(standard_units(some[:, None])[0])

    def _ends(self) -> Vector:
        """All edges, with ends of the outer classes: known, at 0 where nothing is below it, or as wide as the next."""
        edges = self.edges
        width = float(np.diff(edges).mean()) if len(edges) > 1 else max(abs(float(edges[0])), 1.0)
        low, high = float(edges[0]) - width, float(edges[-1]) + width
        if edges[0] > 0:
            low = max(low, 0.0)
        if self.limits is not None:
            low, high = self.limits
        if len(self.known):
            low, high = min(low, float(self.known.min())), max(high, float(self.known.max()))
        tiny = 1e-9 * width
        return np.concatenate([[min(low, edges[0] - tiny)], edges, [max(high, edges[-1] + tiny)]])

    def _cumulated(self) -> Vector:
        """The share of records below each end."""
        return np.concatenate([[0.0], np.cumsum(self.counts) / max(int(self.counts.sum()), 1)])

    def _posterior(self, ends: Vector, i: int, known: Vector) -> ClassPosterior:
        from scipy.interpolate import PchipInterpolator

        low, high = float(ends[i]), float(ends[i + 1])
        points = np.linspace(low, high, POINTS + 1)
        middles = (points[1:] + points[:-1]) / 2
        mass = np.diff(PchipInterpolator(ends, self._cumulated())(points))
        if self.whole:
            numbers = np.arange(np.ceil(low), max(np.ceil(high), np.ceil(low) + 1))
            if i == len(self.edges):  # the last class holds its end
                numbers = np.arange(np.ceil(low), np.floor(high) + 1)
            if 0 < len(numbers) <= POINTS:
                density = np.interp(numbers, middles, mass)
                middles, mass = numbers, density
        mass = mass + 1e-9
        mass = mass / mass.sum()
        n = len(known)
        places = np.concatenate([middles, known])
        weights = np.concatenate([KAPPA * mass, np.ones(n)]) / (KAPPA + n)
        values, inverse = np.unique(places, return_inverse=True)
        return ClassPosterior(values, np.bincount(inverse, weights, minlength=len(values)).astype(np.float64))


def class_codes(name: str, texts: Sequence[str], block: Block) -> npt.NDArray[np.intp]:
    """The class of each value of a block; −1 for a missing one."""
    released = block.column(name)
    codes = pc.index_in(released, value_set=pa.array(list(texts), type=released.type)).fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.intp)


def block_class_counts(columns: Sequence[str], classes: Sequence[Sequence[str]], block: Block) -> npt.NDArray[np.int64]:
    """Values of a block in each class of each column, one column after the other."""
    counts = [
        np.bincount(codes[codes >= 0], minlength=len(texts))
        for codes, texts in (
            (class_codes(name, texts, block), texts) for name, texts in zip(columns, classes, strict=True)
        )
    ]
    return np.concatenate(counts).astype(np.int64)


def class_guess(
    columns: Sequence[str], classes: Sequence[Sequence[str]], guesses: Sequence[Vector], block: Block
) -> BlockGuess:
    """Each value by the guess of its class; a missing value stays missing."""
    values: Matrix = np.empty((block.n_rows, len(columns)))
    for j, (name, texts, guess) in enumerate(zip(columns, classes, guesses, strict=True)):
        codes = class_codes(name, texts, block)
        values[:, j] = np.where(codes < 0, np.nan, guess[np.maximum(codes, 0)])
    return BlockGuess(values)
