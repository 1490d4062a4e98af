"""A15: the secret matrix of a linear method is disclosed (Liu 2007, §5.4.5).

*Model.* ``y = R z + e`` with ``z = x / unit``: R k × d, now known; e normal with public deviations, mostly 0. With
k < d equations the reals leave a family of solutions.

*paper*: the one of least length, ``ẑ = R⁺ y``. *best*: the mean given y under what else is known, the prior of a sample
that guesses its own records best (:mod:`veil.attacks.projection.sample_prior`), or a box's mean and variance; then, for
columns of whole numbers in known ranges, a search for *all* records of the box with that y
(:mod:`veil.attacks.projection.lattice`). The paper says that no element can be recovered; whole numbers are, exactly
and mostly from one equation (errata L-x), and so is every attribute whose unit vector lies in the row space of a sparse
R (errata L-ae).

With records projected (``Y = R Z``, R k × N) the prior's covariance cancels and only its mean helps,
which R itself gives: ``Ẑ = 1μᵀ + R⁺(Y − R1μᵀ)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from veil.arguments import number
from veil.attacks.base import Guess, check_width, full_guess, granted, needed
from veil.attacks.blockwise import BlockwiseAttack, LinearFilter, Reconstruction, linear_guess
from veil.attacks.knowledge import Knowledge, KnownMatrix, KnownRanges, KnownSample
from veil.attacks.projection.disclosed_blocks import (
    Disclosed,
    DisclosedDetails,
    LinearModel,
    block_lengths,
    block_turns,
    disclosed_details,
    disclosed_guess,
    parity_guess,
)
from veil.attacks.projection.linear_bayes import Prior, conditional_mean, plain_prior, prior_moments
from veil.attacks.projection.sample_prior import SamplePrior, best_prior
from veil.attacks.projection.whole_search import SearchDetails, WholeNumbers, WholeSearch, search_details
from veil.attacks.rotation.normalized import normalization_of_sample
from veil.attacks.rotation.parity import parities_of
from veil.data.blocks import Matrix, Vector
from veil.data.schema import Column
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures.row_space import determined_attributes
from veil.numerics.ordering import by_name
from veil.release.models import (
    BinaryProjectionModel,
    Model,
    NormalizedRotationModel,
    OrthogonalModel,
    ProjectionModel,
    RecordProjectionModel,
)
from veil.release.models.linear import Dithered
from veil.release.release import Release

MOST_UNKNOWNS: Final = 64
"""Whole-number columns up to which the lattice is searched: there its reduction takes seconds."""


class DisclosedMatrixAttack(BlockwiseAttack):
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

    Examples
    --------
    >>> import numpy as np, veil
    >>> x, matrix = np.random.default_rng(0).random((200, 3)), np.random.default_rng(1).normal(size=(2, 3))
    >>> release, _ = veil.publish(x, veil.LinearTransform(matrix, random_state=0))
    >>> known = veil.KnownMatrix(matrix), veil.KnownRanges(np.zeros(3), np.ones(3))
    >>> guess = veil.DisclosedMatrixAttack().run(release, *known)
    >>> bool(np.mean((guess.values - x) ** 2) < 0.5 * x.var())
    True
    """

    catalogue = "A15"
    words = "solves the equations of a disclosed matrix, and fills in what they leave open by a sample or ranges"
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
        return isinstance(model, LinearModel | RecordProjectionModel | NormalizedRotationModel | BinaryProjectionModel)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """The way back through the matrix; records that were projected are not apart from each other."""
        number(self.tolerance, "tolerance", least=0, infinite=True, rule="half a rounding step, at least 0")
        model, matrix = release.only_part.model, needed(knowledge, KnownMatrix).matrix
        if isinstance(model, RecordProjectionModel):
            return None
        if isinstance(model, NormalizedRotationModel):
            return _rotated_back(release, model, matrix, knowledge)
        if isinstance(model, BinaryProjectionModel):
            return _parities(release, matrix, granted(knowledge, KnownSample))
        if not isinstance(model, LinearModel):
            raise NotApplicableError("the manifest does not describe a linear method with units")
        known, ranges = granted(knowledge, KnownSample), granted(knowledge, KnownRanges)
        if known is not None:
            check_width(known.sample, release, "KnownSample.sample")
        sample = None if known is None else model.scaled(known.sample)
        released, d = release.only_part.released, len(release.only_part.names)
        _check_shape(matrix, len(released), d)
        named = tuple(release.only_part.names[j] for j in determined_attributes(matrix))
        lengths = None
        if ranges is None and (sample is None or len(sample) < 2):
            lengths = release.summed(partial(block_lengths, released))
        own = None if known is None else known.sample
        whole = whole_numbers(
            release.only_part.columns, model.unit, ranges, own, None if lengths is None else lengths.longest
        )
        if isinstance(model, OrthogonalModel) and model.translated:
            if sample is None:
                raise MissingKnowledgeError(
                    f"{type(self).__name__} needs KnownSample for a translated release: pass it to run()",
                    parameter=KnownSample.parameter(),
                )
            gain, mean = model.unit[:, None] * np.linalg.inv(matrix), release.moments().mean
            back = _linear(gain, mean=mean, centre=model.private(sample.mean(axis=0)))
            if self.variant == "best" and whole is not None:
                back = _snapped(release, back, whole)
            return _solved(release, back)
        if self.variant == "paper":
            return _solved(release, _linear(model.unit[:, None] * np.linalg.pinv(matrix)), named)
        noise = model.noise if isinstance(model, ProjectionModel) else np.zeros(len(matrix))
        if isinstance(model, Dithered) and model.dither is not None:
            whole = None  # what was multiplied is off its grid
            if len(matrix) < d:  # and each released column has the dither of many, like noise
                noise = np.sqrt(noise**2 + matrix**2 @ (model.dither.variance / model.unit**2))
        limits = None if ranges is None else tuple(model.scaled(side) for side in ranges.for_columns(d))
        prior = prior_moments(sample, limits)
        if prior is None:
            prior = plain_prior(np.empty((0, 1)) if lengths is None else lengths.typical, matrix, noise)
        belief = SamplePrior(prior)
        if sample is not None and len(sample) > 1 and (noise.any() or np.linalg.matrix_rank(matrix) < d):
            belief = best_prior(sample, matrix, noise, by_name(release.only_part.names), by_name(released))
        widest = max(self.tolerance, float(np.max(release.only_part.parameters.get("grid", 0.0)) / 2))
        search = prepared_search(matrix, prior, noise, whole, widest)
        disclosed = Disclosed(
            model=model,
            matrix=matrix,
            prior=belief,
            noise=noise,
            n_rows=_n_rows(release),
            search=search,
            limits=limits,
        )
        guess = partial(disclosed_guess, released, disclosed)
        return Reconstruction(columns=released, guess=guess, counted=partial(disclosed_details, named, search))

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        model, matrix, known = (
            release.only_part.model,
            needed(knowledge, KnownMatrix).matrix,
            granted(knowledge, KnownSample),
        )
        if not isinstance(model, RecordProjectionModel):
            raise NotApplicableError("the manifest does not describe a projection of records")
        if known is not None:
            check_width(known.sample, release, "KnownSample.sample")
        y = release.to_numpy()
        _check_shape(matrix, len(y), model.n_records)
        mean = None if known is None else model.scaled(known.sample).mean(axis=0)
        z = unprojected(y, matrix, mean, least=self.variant == "paper")
        return full_guess(release, model.private(z), DisclosedDetails())


def _linear(gain: Matrix, *, mean: Vector | None = None, centre: Vector | None = None) -> LinearFilter:
    """``centre + gain (y − mean)``; zero where they are not given."""
    d, k = gain.shape
    return LinearFilter(np.zeros(k) if mean is None else mean, np.zeros(d) if centre is None else centre, gain)


def _solved(release: Release, linear: LinearFilter, determined: tuple[str, ...] = ()) -> Reconstruction:
    """Records by a linear filter alone."""
    released = release.only_part.released
    guess, details = partial(linear_guess, released, linear), DisclosedDetails(determined=determined)
    return Reconstruction(columns=released, guess=guess, details=details)


def _rotated_back(
    release: Release, model: NormalizedRotationModel, matrix: Matrix, knowledge: Sequence[Knowledge]
) -> Reconstruction:
    """Normalized values follow exactly; a sample, or the ranges of min-max columns, gives their units."""
    k = len(release.only_part.released)
    _check_shape(matrix, k, k)
    known, ranges = granted(knowledge, KnownSample), granted(knowledge, KnownRanges)
    if ranges is not None and model.normalize == "minmax":
        lower, upper = ranges.for_columns(k)
        gain = (upper - lower)[:, None] * matrix.T
        return _solved(release, _linear(gain, centre=lower), release.only_part.names)
    if known is not None and len(known.sample) > 1:
        centre, width = normalization_of_sample(model, known.sample)
        return replace(_solved(release, _linear(width[:, None] * matrix.T, centre=centre)), ambiguity="scale")
    return replace(_solved(release, _linear(matrix.T)), ambiguity="scale", up_to=("scale",))


def _parities(release: Release, matrix: Matrix, known: KnownSample | None) -> Reconstruction:
    """What follows modulo 2 from the disclosed subsets; the rest as a sample mostly has it, or 0."""
    k = len(release.only_part.released)
    _check_shape(matrix, k, len(release.only_part.names))
    usual = np.zeros(matrix.shape[1]) if known is None else np.rint(known.sample.mean(axis=0))
    determined, _ = parities_of(matrix > 0.5, np.empty((0, k)), usual)
    named = tuple(name for name, sure in zip(release.only_part.names, determined, strict=True) if sure)
    released = release.only_part.released
    guess = partial(parity_guess, released, matrix > 0.5, usual)
    return Reconstruction(columns=released, guess=guess, details=DisclosedDetails(determined=named))


def _snapped(release: Release, back: LinearFilter, whole: WholeNumbers) -> LinearFilter:
    """Records known up to one shift per column, moved by less than ½ so that integer columns become whole numbers."""
    guess = partial(linear_guess, release.only_part.released, back)
    real, imaginary, count = release.summed(partial(block_turns, guess, whole.columns))
    length = np.hypot(real, imaginary)
    centre = back.centre.copy()
    centre[whole.columns] -= np.where(length > 0.99 * count, np.arctan2(imaginary, real) / (2 * np.pi), 0.0)
    return replace(back, centre=centre)


def _n_rows(release: Release) -> int:
    return release.moments().n_rows if release.table.n_rows is None else release.table.n_rows


def prepared_search(
    matrix: Matrix, prior: Prior, noise: Vector, whole: WholeNumbers | None, tolerance: float
) -> WholeSearch | None:
    """The search for whole numbers; None where there are none, or too many columns of them."""
    if whole is None or not 0 < len(whole.columns) <= MOST_UNKNOWNS:
        return None
    return WholeSearch.prepared(matrix, prior, noise, whole, tolerance)


def solve_disclosed(
    y: Matrix,
    matrix: Matrix,
    prior: Prior,
    noise: Vector,
    whole: WholeNumbers | None,
    *,
    tolerance: float = 0.0,
    start: Matrix | None = None,
) -> tuple[Matrix, SearchDetails]:
    """The best guess of z for a known matrix, and what the search for whole numbers found.

    Records for which it finds nothing keep their guess in ``start``, by default the conditional mean.
    """
    z = conditional_mean(y, matrix, prior, noise) if start is None else start
    search = prepared_search(matrix, prior, noise, whole, tolerance) if len(y) else None
    return z, search_details(search, {} if search is None else search.fill(z, y))


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
    columns: Sequence[Column],
    unit: Vector,
    ranges: KnownRanges | None,
    sample: Matrix | None,
    longest: float | None = None,
) -> WholeNumbers | None:
    """The integer-typed columns and their box: as granted; as a sample spans it, half as wide again; or all that a
    record of twice the longest released length could hold.
    """
    chosen = np.array([j for j, c in enumerate(columns) if c.is_integer], dtype=np.intp)
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


def _check_shape(matrix: Matrix, k: int, d: int) -> None:
    if matrix.shape != (k, d):
        raise InputError(
            f"KnownMatrix.matrix must be {k} × {d} for this release; got {matrix.shape[0]} × {matrix.shape[1]}"
        )
