"""What A15 does with one block of a release, and what it sums over blocks beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.attacks.blockwise import BlockGuess, Reconstruction
from veil.attacks.projection.linear_bayes import Prior, conditional_mean, mixture_mean
from veil.attacks.projection.whole_search import MOST_NODES, WholeSearch, search_details
from veil.attacks.rotation.parity import parities_of
from veil.data.blocks import Block, Matrix, Vector
from veil.release.models import OrthogonalModel, PermutedTransformModel, ProjectionModel

LinearModel = ProjectionModel | OrthogonalModel | PermutedTransformModel


@dataclass(frozen=True, kw_only=True)
class Disclosed(Reconstruction):
    """The mean of each record given y under the prior, and whole numbers where the search finds them."""

    model: LinearModel
    matrix: Matrix
    prior: Prior
    noise: Vector
    n_rows: int
    centres: Matrix | None
    search: WholeSearch | None
    limits: tuple[Vector, ...] | None

    def __call__(self, block: Block) -> BlockGuess:
        y = np.ascontiguousarray(block.matrix(self.columns).T)
        if self.centres is None:
            z = conditional_mean(y, self.matrix, self.prior, self.noise)
        else:
            z = mixture_mean(y, self.matrix, self.prior, self.centres, self.noise)
        # Every block may use its share of the nodes that the whole release is allowed.
        tally = {} if self.search is None else self.search.fill(z, y, MOST_NODES * (len(y) / self.n_rows))
        if self.limits is not None:
            z = np.clip(z, *self.limits)
        return BlockGuess(self.model.private(z), dict(tally))

    def details_with(self, tally: Mapping[str, int]) -> dict[str, Any]:
        """The details, with what the search found."""
        return {**self.details, **search_details(self.search, Counter(tally))}


@dataclass(frozen=True, kw_only=True)
class Parities(Reconstruction):
    """What follows modulo 2 from the disclosed subsets; the rest as usual."""

    subsets: npt.NDArray[np.bool_]
    usual: Vector

    def __call__(self, block: Block) -> BlockGuess:
        return BlockGuess(parities_of(self.subsets, block.matrix(self.columns).T, self.usual)[1])


@dataclass(frozen=True)
class Lengths:
    """The longest whole record, the sum of all squared lengths and the number of records."""

    longest: float
    squares: float
    n_rows: int

    def __add__(self, other: Lengths) -> Lengths:
        longest = max(self.longest, other.longest)
        return Lengths(longest, self.squares + other.squares, self.n_rows + other.n_rows)

    @property
    def typical(self) -> Matrix:
        """One record of one column with the mean power of all; none where there are none."""
        return np.full((min(self.n_rows, 1), 1), np.sqrt(self.squares / max(self.n_rows, 1)))


@dataclass(frozen=True)
class LengthsOf:
    """Lengths of a block's records."""

    columns: tuple[str, ...]

    def __call__(self, block: Block) -> Lengths:
        squares = (block.matrix(self.columns) ** 2).sum(axis=0)
        squares = squares[~np.isnan(squares)]
        return Lengths(float(np.sqrt(squares.max(initial=0.0))), float(squares.sum()), len(squares))


@dataclass(frozen=True)
class TurnsOf:
    """Sums of ``exp(2πi x)`` over the guesses of a block, in some columns, and their number: real, imaginary, count."""

    reconstruction: Reconstruction
    columns: npt.NDArray[np.intp]

    def __call__(self, block: Block) -> Matrix:
        angles = 2 * np.pi * self.reconstruction(block).values[:, self.columns].T
        present = ~np.isnan(angles)
        angles = np.where(present, angles, 0.0)
        return np.stack([(np.where(present, each, 0.0)).sum(axis=1) for each in (np.cos(angles), np.sin(angles), 1.0)])
