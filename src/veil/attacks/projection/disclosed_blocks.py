"""What A15 does with one block of a release, and what it sums over blocks beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.attacks.blockwise import BlockGuess
from veil.attacks.projection.sample_prior import SamplePrior
from veil.attacks.projection.whole_search import MOST_NODES, SearchDetails, WholeSearch, search_details
from veil.attacks.rotation.parity import parities_of
from veil.data.blocks import Block, Matrix, Vector
from veil.release.models import OrthogonalModel, PermutedTransformModel, ProjectionModel

LinearModel = ProjectionModel | OrthogonalModel | PermutedTransformModel


@dataclass(frozen=True, eq=False)
class DisclosedDetails(SearchDetails):
    """Also the names of the columns that follow exactly from the matrix alone."""

    determined: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Disclosed:
    """The known matrix, the prior of the records and what the search for whole numbers needs."""

    model: LinearModel
    matrix: Matrix
    prior: SamplePrior
    noise: Vector
    n_rows: int
    search: WholeSearch | None
    limits: tuple[Vector, ...] | None


def disclosed_guess(columns: Sequence[str], disclosed: Disclosed, block: Block) -> BlockGuess:
    """The mean of each record given y under the prior, and whole numbers where the search finds them."""
    y = np.ascontiguousarray(block.matrix(columns).T)
    z = disclosed.prior.mean(y, disclosed.matrix, disclosed.noise)
    # Every block may use its share of the nodes that the whole release is allowed.
    search, nodes = disclosed.search, MOST_NODES * (len(y) / disclosed.n_rows)
    tally = {} if search is None else search.fill(z, y, nodes)
    if disclosed.limits is not None:
        z = np.clip(z, *disclosed.limits)
    return BlockGuess(disclosed.model.private(z), dict(tally))


def disclosed_details(
    determined: tuple[str, ...], search: WholeSearch | None, tally: Mapping[str, int]
) -> DisclosedDetails:
    """The details, with what the search found."""
    return DisclosedDetails(**search_details(search, tally), determined=determined)


def parity_guess(columns: Sequence[str], subsets: npt.NDArray[np.bool_], usual: Vector, block: Block) -> BlockGuess:
    """What follows modulo 2 from the disclosed subsets; the rest as usual."""
    return BlockGuess(parities_of(subsets, block.matrix(columns).T, usual)[1])


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


def block_lengths(columns: Sequence[str], block: Block) -> Lengths:
    """Lengths of a block's records."""
    squares = (block.matrix(columns) ** 2).sum(axis=0)
    squares = squares[~np.isnan(squares)]
    return Lengths(float(np.sqrt(squares.max(initial=0.0))), float(squares.sum()), len(squares))


def block_turns(guess: Callable[[Block], BlockGuess], columns: npt.NDArray[np.intp], block: Block) -> Matrix:
    """Sums of ``exp(2πi x)`` over the guesses of a block, in some columns, and their number: real, imaginary, count."""
    angles = 2 * np.pi * guess(block).values[:, columns].T
    present = ~np.isnan(angles)
    angles = np.where(present, angles, 0.0)
    return np.stack([(np.where(present, each, 0.0)).sum(axis=1) for each in (np.cos(angles), np.sin(angles), 1.0)])
