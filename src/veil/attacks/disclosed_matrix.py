"""A15: the secret matrix of a linear method is disclosed (Liu 2007, §5.4.5).

*Model.* ``y = R z + e`` with ``z = x / unit``: R k × d, now known; e normal with public deviations, mostly 0. With
k < d equations the reals leave a family of solutions.

*paper*: the one of least length, ``ẑ = R⁺ y``. *best*: the mean given y under what else is known, a prior around
a sample's records, or a box's mean and variance; then, for columns of whole numbers in known ranges, a search
for *all* records of the box with that y (:mod:`veil.attacks.lattice`). The paper says that no element
can be recovered; whole numbers are, exactly and mostly from one equation (errata L-x), and so is every
attribute whose unit vector lies in the row space of a sparse R (errata L-ae).

With records projected (``Y = R Z``, R k × N) the prior's covariance cancels and only its mean helps,
which R itself gives: ``Ẑ = 1μᵀ + R⁺(Y − R1μᵀ)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from veil.attacks.base import Attack, Guess, check_width, full_guess, granted, needed
from veil.attacks.lattice import LatticeSearch, Matches
from veil.attacks.linear_bayes import Prior, conditional_mean, mixture_mean, plain_prior, prior_moments, thinned
from veil.attacks.normalized import normalization_of_sample
from veil.attacks.parity import parities_of
from veil.blocks import Matrix
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.knowledge import Knowledge, KnownMatrix, KnownRanges, KnownSample
from veil.measures.row_space import determined_attributes
from veil.models import (
    BinaryProjectionModel,
    Model,
    NormalizedRotationModel,
    OrthogonalModel,
    PermutedTransformModel,
    ProjectionModel,
    RecordProjectionModel,
)
from veil.moments import Vector
from veil.parameters import number
from veil.release import Release

MOST_UNKNOWNS: Final = 64
"""Whole-number columns up to which the lattice is searched: there its reduction takes seconds."""
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


class DisclosedMatrixAttack(Attack):
    """A15. Solve for the records when the secret matrix has become known.

    Parameters
    ----------
    variant : {"best", "paper"}
        The conditional mean and the search for whole numbers, or the solution of least length.
    tolerance : float, default 0
        Half the step of the grid that the release was rounded to, in released units; never taken below
        float64's own rounding. A ``grid`` in the manifest counts without it.

    Notes
    -----
    A translated orthogonal release needs a KnownSample, whose mean replaces the unknown translation.

    ``guess.details``: ``determined``, names of the columns that follow exactly from R alone; ``unique`` and
    ``ambiguous``, numbers of records for which the search found one whole-number record or several;
    ``expected_matches``, candidates per record that would fit by chance (None where nothing was searched).
    """

    catalogue = "A15"
    words = "solves the linear equations of a disclosed matrix"
    requires = (KnownMatrix,)
    uses = (KnownSample, KnownRanges)
    one_matrix = True
    variants = ("best", "paper")

    def __init__(self, *, variant: str = "best", tolerance: float = 0.0) -> None:
        super().__init__(variant=variant)
        self.tolerance = tolerance

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Every method with a secret matrix."""
        linear = ProjectionModel | RecordProjectionModel | OrthogonalModel | PermutedTransformModel
        return isinstance(model, linear | NormalizedRotationModel | BinaryProjectionModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        number(self.tolerance, "tolerance", low=0, high=np.inf, rule="half a rounding step, at least 0")
        y, model = release.to_numpy(), release.step.model
        if isinstance(model, NormalizedRotationModel):
            return _rotated_back(release, model, y, needed(knowledge, KnownMatrix).matrix, knowledge)
        if isinstance(model, BinaryProjectionModel):
            return _parities(release, y, needed(knowledge, KnownMatrix).matrix, granted(knowledge, KnownSample))
        if not isinstance(model, ProjectionModel | RecordProjectionModel | OrthogonalModel | PermutedTransformModel):
            raise NotApplicableError("the manifest does not describe a linear method with units")
        matrix = needed(knowledge, KnownMatrix).matrix
        d = len(release.step.names)
        known = granted(knowledge, KnownSample)
        if known is not None:
            check_width(known.sample, release, "KnownSample.sample")
        sample = None if known is None else model.scaled(known.sample)
        if isinstance(model, RecordProjectionModel):
            _check_shape(matrix, len(y), model.n_records)
            mean = None if sample is None else sample.mean(axis=0)
            least = self.variant == "paper"
            return full_guess(release, model.private(unprojected(y, matrix, mean, least=least)), determined=())
        _check_shape(matrix, y.shape[1], d)
        named = tuple(release.step.names[j] for j in determined_attributes(matrix))
        ranges = granted(knowledge, KnownRanges)
        longest = float(np.sqrt(np.nanmax((y**2).sum(axis=1), initial=0.0)))
        whole = whole_numbers(
            release.step.columns, model.unit, ranges, None if known is None else known.sample, longest
        )
        if isinstance(model, OrthogonalModel) and model.translated:
            if sample is None:
                raise MissingKnowledgeError(
                    f"{type(self).__name__} needs KnownSample for a translated release: pass it to run() "
                    f"(command line: {KnownSample.option()})"
                )
            z = np.linalg.solve(matrix, (y - np.nanmean(y, axis=0)).T).T
            x = model.private(z + sample.mean(axis=0))
            return full_guess(release, x if self.variant == "paper" else snapped(x, whole), determined=())
        if self.variant == "paper":
            return full_guess(release, model.private(y @ np.linalg.pinv(matrix).T), determined=named)
        noise = model.noise if isinstance(model, ProjectionModel) else np.zeros(len(matrix))
        limits = None if ranges is None else tuple(model.scaled(side) for side in ranges.for_columns(d))
        prior = prior_moments(sample, limits) or plain_prior(y, matrix, noise)
        grid = np.max(release.step.parameters.get("grid", 0.0)) / 2
        start = None
        if sample is not None and len(sample) > 1 and (noise.any() or np.linalg.matrix_rank(matrix) < d):
            start = mixture_mean(y, matrix, prior, thinned(sample), noise)
        widest = max(self.tolerance, float(grid))
        z, details = solve_disclosed(y, matrix, prior, noise, whole, tolerance=widest, start=start)
        if limits is not None:
            z = np.clip(z, *limits)
        return full_guess(release, model.private(z), determined=named, **details)


def _rotated_back(
    release: Release, model: NormalizedRotationModel, y: Matrix, matrix: Matrix, knowledge: Sequence[Knowledge]
) -> Guess:
    """Normalized values follow exactly; a sample, or the ranges of min-max columns, gives their units."""
    _check_shape(matrix, y.shape[1], y.shape[1])
    z = y @ matrix
    known, ranges = granted(knowledge, KnownSample), granted(knowledge, KnownRanges)
    if ranges is not None and model.normalize == "minmax":
        lower, upper = ranges.for_columns(z.shape[1])
        return full_guess(release, lower + z * (upper - lower), determined=release.step.names)
    if known is not None and len(known.sample) > 1:
        centre, width = normalization_of_sample(model, known.sample)
        return full_guess(release, centre + z * width, ambiguity="scale", determined=())
    return full_guess(release, z, ambiguity="scale", up_to=("scale",), determined=())


def _parities(release: Release, y: Matrix, matrix: Matrix, known: KnownSample | None) -> Guess:
    """What follows modulo 2 from the disclosed subsets; the rest as a sample mostly has it, or 0."""
    _check_shape(matrix, y.shape[1], len(release.step.names))
    usual = np.zeros(matrix.shape[1]) if known is None else np.rint(known.sample.mean(axis=0))
    determined, values = parities_of(matrix > 0.5, y, usual)
    named = tuple(name for name, told in zip(release.step.names, determined, strict=True) if told)
    return full_guess(release, values, determined=named)


def solve_disclosed(
    y: Matrix,
    matrix: Matrix,
    prior: Prior,
    noise: Vector,
    whole: WholeNumbers | None,
    *,
    tolerance: float = 0.0,
    start: Matrix | None = None,
) -> tuple[Matrix, dict[str, Any]]:
    """The best guess of z for a known matrix, and what the search for whole numbers found.

    Records for which it finds nothing keep their guess in ``start``, by default the conditional mean.
    """
    z = conditional_mean(y, matrix, prior, noise) if start is None else start
    details: dict[str, Any] = {"unique": 0, "ambiguous": 0, "expected_matches": None}
    if whole is None or not len(y) or not 0 < len(whole.columns) <= MOST_UNKNOWNS:
        return z, details
    rest = np.delete(np.arange(matrix.shape[1]), whole.columns)
    free = _left_kernel(matrix[:, rest])  # combinations of equations without the other columns
    if not free.shape[1]:
        return z, details
    system = (free.T @ matrix)[:, whole.columns] / whole.unit
    spread = np.sqrt((free**2).T @ noise**2)
    margin = NOISE_WIDTH * spread + tolerance * np.abs(free).sum(axis=0)
    released = y @ free
    left = np.arange(len(y))
    for factor in (1.0,) if whole.certain else BOX_FACTORS:
        box = whole.grown(factor) if factor > 1 else whole
        search = LatticeSearch(system, box.lower, box.upper, tolerance=margin)
        many = search.expected_matches > (MOST_CHANCE if factor == 1 else RARE_CHANCE)
        if factor == 1 or not many:
            details["expected_matches"] = search.expected_matches  # of the widest box that was searched
        if many or search.expected_nodes * len(left) > MOST_NODES:
            break
        found = search.solve(released[left], most_nodes=max(1_000, MOST_NODES // len(left)))
        good = (found.count > 0) & found.complete
        details["unique"] += int(found.unique.sum())
        details["ambiguous"] += int((good & ~found.unique).sum())
        if search.expected_matches < RARE_CHANCE:  # a match of an unfinished search is hardly a chance one
            good |= found.count == 1
        if good.any():
            _put(z, left, good, found, released[left], system, spread, box, (y[left], matrix, noise, prior))
        left = left[~good]
        if not len(left):
            break
    return z, details


def _put(
    z: Matrix,
    rows: npt.NDArray[np.intp],
    good: npt.NDArray[np.bool_],
    found: Matches,
    released: Matrix,
    system: Matrix,
    spread: Vector,
    whole: WholeNumbers,
    model: tuple[Matrix, Matrix, Vector, Prior],
) -> None:
    """Write found whole numbers into the guess, and let the other columns follow from them."""
    y, matrix, noise, prior = model
    inner = (prior[0][whole.columns], prior[1][np.ix_(whole.columns, whole.columns)])
    misses = released[found.record] - found.values @ system.T
    fit = ((misses / np.where(spread > 0, spread, np.inf)) ** 2).sum(axis=1)
    weight = _log_density(found.values / whole.unit, inner) - fit / 2
    guess = _weighted_means(found.record, found.values / whole.unit, weight, len(rows))[good]
    # With the whole numbers observed, the other columns follow as before.
    units = np.eye(matrix.shape[1])[whole.columns]
    seen = np.hstack([y[good], guess])
    z[rows[good]] = conditional_mean(seen, np.vstack([matrix, units]), prior, np.append(noise, np.zeros(len(units))))
    z[np.ix_(rows[good], whole.columns)] = guess


def unprojected(y: Matrix, matrix: Matrix, mean: Vector | None = None, *, least: bool = False) -> Matrix:
    """Z from ``Y = R Z`` with R k × N: least length, or the mean given Y for records of one population.

    For independent records of any covariance E[Z | Y] = 1μᵀ + R⁺(Y − R1μᵀ); μ is estimated from
    the same equations (generalised least squares) where it is not known.
    """
    if least:
        return np.asarray(np.linalg.lstsq(matrix, y, rcond=None)[0])
    ones = matrix.sum(axis=1)
    inverse = np.linalg.lstsq(matrix, np.column_stack([ones, y]), rcond=None)[0]
    whole, solved = inverse[:, 0], inverse[:, 1:]
    total = whole.sum()
    if mean is None:
        mean = solved.sum(axis=0) / total if total > 0 else np.zeros(y.shape[1])
    return np.asarray(mean + solved - np.outer(whole, mean))


def whole_numbers(
    columns: Sequence[dict[str, str]],
    unit: Vector,
    ranges: KnownRanges | None,
    sample: Matrix | None,
    longest: float | None = None,
) -> WholeNumbers | None:
    """The integer-typed columns and their box: as granted; as a sample spans it, half as wide again; or all that a
    record of twice the longest released length could hold.
    """
    chosen = np.array([j for j, c in enumerate(columns) if c["dtype"].startswith(("int", "uint"))], dtype=np.intp)
    if not len(chosen):
        return None
    if ranges is not None:
        lower, upper = ranges.for_columns(len(columns))
    elif sample is not None and len(sample):
        margin = np.ptp(sample, axis=0) / 4 + 1
        lower, upper = sample.min(axis=0) - margin, sample.max(axis=0) + margin
    elif longest is not None and np.isfinite(longest):
        lower, upper = -2 * longest * unit, 2 * longest * unit
    else:
        return None
    lower, upper = np.ceil(lower[chosen]), np.floor(upper[chosen])
    if (lower > upper).any():
        raise InputError(
            f"KnownRanges holds no whole number for {int((lower > upper).sum())} integer column(s); widen them"
        )
    return WholeNumbers(chosen, lower, upper, unit[chosen], certain=ranges is not None)


def snapped(x: Matrix, whole: WholeNumbers | None) -> Matrix:
    """Records known up to one shift per column, moved by less than ½ so that integer columns become whole numbers."""
    if whole is None:
        return x
    x = x.copy()
    turns = np.exp(2j * np.pi * x[:, whole.columns])
    common = np.nanmean(turns, axis=0)
    offset = np.angle(common) / (2 * np.pi)
    x[:, whole.columns] -= np.where(np.abs(common) > 0.99, offset, 0.0)
    return x


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


def _check_shape(matrix: Matrix, k: int, d: int) -> None:
    if matrix.shape != (k, d):
        raise InputError(
            f"KnownMatrix.matrix must be {k} × {d} for this release; got {matrix.shape[0]} × {matrix.shape[1]}"
        )
