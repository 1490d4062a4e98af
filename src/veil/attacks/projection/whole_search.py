"""The search for whole-number records behind equations with a known matrix (A15, errata L-x).

*Model.* ``y = R z + e``, ``z = x / unit``; some columns of x are whole numbers in a box. Combinations of equations that
the other columns drop out of are searched for all records of the box (:mod:`veil.attacks.projection.lattice`), and the
other columns follow from what is found. The search is prepared once and then takes any records, block by block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.attacks.base import Details
from veil.attacks.projection.lattice import LatticeSearch, Matches
from veil.attacks.projection.linear_bayes import Prior, conditional_mean
from veil.data.blocks import Matrix, Vector

MOST_NODES: Final = 200_000_000
"""Nodes of the search over a whole release: about ten seconds on one core."""
MOST_CHANCE: Final = 32.0
"""Chance matches per record from which the search is not worth it."""
RARE_CHANCE: Final = 1e-3
"""Chance matches per record below which a match is the truth for all practical purposes."""
BOX_FACTORS: Final = (1.0, 4.0, 16.0)
"""A box that was not granted is widened so many times for records outside it, while chance matches stay rare."""
NOISE_WIDTH: Final = 5.0  # standard deviations of released noise that a match may miss y by


@dataclass(frozen=True)
class WholeNumbers:
    """Private columns that hold whole numbers, and the box of their values in the private table's units."""

    columns: npt.NDArray[np.intp]
    lower: Vector
    upper: Vector
    unit: Vector
    certain: bool = True

    def grown(self, factor: float) -> WholeNumbers:
        """The box around the same middle, so many times as wide."""
        middle, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2 + 1
        lower, upper = np.ceil(middle - factor * half), np.floor(middle + factor * half)
        return replace(self, lower=lower, upper=upper)


@dataclass(frozen=True)
class BoxSearch:
    """The search in one box, prepared when it is first asked for: wider boxes mostly are not."""

    name: str
    whole: WholeNumbers
    system: Matrix
    margin: Vector
    most_chance: float

    @cached_property
    def search(self) -> LatticeSearch:
        """The prepared search."""
        return LatticeSearch(self.system, self.whole.lower, self.whole.upper, tolerance=self.margin)

    @property
    def is_worth_it(self) -> bool:
        """Whether few enough candidates fit by chance."""
        return self.search.expected_matches <= self.most_chance


@dataclass(frozen=True)
class WholeSearch:
    """The search under one matrix: boxes, each for the records that were not found in those before it.

    Attributes
    ----------
    free
        Combinations of equations without the other columns (k × m).
    spread
        Standard deviations of the noise of these combinations.
    """

    matrix: Matrix
    prior: Prior
    noise: Vector
    free: Matrix
    spread: Vector
    boxes: tuple[BoxSearch, ...]

    @classmethod
    def prepared(
        cls, matrix: Matrix, prior: Prior, noise: Vector, whole: WholeNumbers, tolerance: float
    ) -> WholeSearch | None:
        """The search for the whole numbers of a box; None where every equation holds other columns too."""
        rest = np.delete(np.arange(matrix.shape[1]), whole.columns)
        free = _left_kernel(matrix[:, rest])
        if not free.shape[1]:
            return None
        system = (free.T @ matrix)[:, whole.columns] / whole.unit
        spread = np.sqrt((free**2).T @ noise**2)
        margin = NOISE_WIDTH * spread + tolerance * np.abs(free).sum(axis=0)
        boxes = [BoxSearch("box", whole, system, margin, MOST_CHANCE)]
        if not whole.certain:
            boxes += [BoxSearch(f"box × {f:g}", whole.grown(f), system, margin, RARE_CHANCE) for f in BOX_FACTORS[1:]]
        search = cls(matrix, prior, noise, free, spread, tuple(boxes))
        search.boxes[0].search  # noqa: B018 - is asked for in any case: once here, and not in every thread
        return search

    def expected_matches(self, tally: Counter[str]) -> float:
        """Candidates per record that fit by chance, in the widest box that was searched."""
        widest = [box for box in self.boxes if tally[box.name]] or [self.boxes[0]]
        return widest[-1].search.expected_matches

    def fill(self, z: Matrix, y: Matrix, nodes: float = MOST_NODES) -> Counter[str]:
        """Put found records into the guess ``z`` of ``y``, within so many nodes.

        Counts the records with one candidate (``unique``) and with several (``ambiguous``), and by its name each box
        that was come to.
        """
        tally = Counter(unique=0, ambiguous=0)
        released = y @ self.free
        left = np.arange(len(y))
        for box in self.boxes:
            if not len(left) or not box.is_worth_it:
                break
            tally[box.name] += 1
            if box.search.expected_nodes * len(left) > nodes:
                break
            matches = box.search.solve(released[left], most_nodes=max(1_000, int(nodes // len(left))))
            good = (matches.count > 0) & matches.complete
            tally["unique"] += int(matches.unique.sum())
            tally["ambiguous"] += int((good & ~matches.unique).sum())
            if box.search.expected_matches < RARE_CHANCE:  # a match of an unfinished search is hardly a chance one
                good |= matches.count == 1
            if good.any():
                self._put(z, left, good, matches, released[left], y[left], box)
            left = left[~good]
        return tally

    def _put(
        self,
        z: Matrix,
        rows: npt.NDArray[np.intp],
        good: npt.NDArray[np.bool_],
        matches: Matches,
        released: Matrix,
        y: Matrix,
        box: BoxSearch,
    ) -> None:
        """Write found whole numbers into the guess, and let the other columns follow from them."""
        whole, prior = box.whole, self.prior
        inner = (prior[0][whole.columns], prior[1][np.ix_(whole.columns, whole.columns)])
        misses = released[matches.record] - matches.values @ box.system.T
        fit = ((misses / np.where(self.spread > 0, self.spread, np.inf)) ** 2).sum(axis=1)
        weight = _log_density(matches.values / whole.unit, inner) - fit / 2
        guess = _weighted_means(matches.record, matches.values / whole.unit, weight, len(rows))[good]
        # With the whole numbers observed, the other columns follow as before.
        units = np.eye(self.matrix.shape[1])[whole.columns]
        observed, noise = np.hstack([y[good], guess]), np.append(self.noise, np.zeros(len(units)))
        z[rows[good]] = conditional_mean(observed, np.vstack([self.matrix, units]), prior, noise)
        z[np.ix_(rows[good], whole.columns)] = guess


@dataclass(frozen=True, eq=False)
class SearchDetails(Details):
    """What the search for whole numbers found.

    Attributes
    ----------
    unique, ambiguous
        Numbers of records for which it found one whole-number record, or several.
    expected_matches
        Candidates per record that would fit by chance; None where nothing was searched.
    """

    unique: int = 0
    ambiguous: int = 0
    expected_matches: float | None = None


def search_details(search: WholeSearch | None, tally: Mapping[str, int]) -> SearchDetails:
    """What a search found, from its counts."""
    counts = Counter(tally)
    expected = None if search is None else search.expected_matches(counts)
    return SearchDetails(counts["unique"], counts["ambiguous"], expected)


def _weighted_means(record: npt.NDArray[np.intp], values: Matrix, weight: Vector, n: int) -> Matrix:
    """Mean of each record's candidates under log-weights; NaN for records without any."""
    highest = np.full(n, -np.inf)
    np.maximum.at(highest, record, weight)
    share = np.exp(weight - highest[record])
    total = np.bincount(record, share, minlength=n)
    sums = np.stack([np.bincount(record, share * column, minlength=n) for column in values.T], axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / total[:, None])


def _log_density(values: Matrix, prior: Prior) -> Vector:
    """Log of a normal density up to a constant; directions of no spread are left out."""
    centred = values - prior[0]
    return np.asarray(-0.5 * ((centred @ np.linalg.pinv(prior[1], hermitian=True)) * centred).sum(axis=1))


def _left_kernel(block: Matrix) -> Matrix:
    """An orthonormal basis of the combinations of rows that vanish on ``block`` (k × r)."""
    k = len(block)
    if not block.shape[1]:
        return np.eye(k)
    u, sizes, _ = np.linalg.svd(block)
    rank = int((sizes > 1e-12 * sizes[0]).sum()) if len(sizes) and sizes[0] > 0 else 0
    return np.asarray(u[:, rank:])
