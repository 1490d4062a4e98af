"""R4: proportions of categories from randomized reports, with where their error comes from.

*Model.* ``λ = P π``, P public (pkdd2006 tutorial, "Vector Response"; errata: its formulas are right). ``π̂ = P⁻¹λ̂`` is
unbiased with the dispersion

    Σ(π̂) = P⁻¹(diag λ − λλ′)P⁻ᵀ/n = (diag π − ππ′)/n + (P⁻¹ diag λ P⁻ᵀ − diag π)/n,

the *sampling* part of a survey without randomization and the *randomization* part. The second alone says how far π̂ is
from the private table's own proportions; both together, how far from the population's. π̂ may leave the simplex; the
distribution of largest likelihood does not, and equals π̂ where that is one.

Attributes answered one by one have ``λ = (P1 ⊗ P2 ⊗ …)π``: solved along each axis of the table of counts. There
complete independence of π is complete independence of λ, so that a test on the reported table has the right level.

Counts are all that any of this needs: they are taken block by block, and no record is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.blocks import Block, Matrix
from veil.errors import InputError, NotApplicableError
from veil.models import ResponseModel
from veil.parameters import whole_number
from veil.release import Release
from veil.response import Vector, check_channel, check_proportions, check_response_matrix, kron_apply, kron_solve
from veil.response_likelihood import most_likely

MOST_CELLS = 1_000_000
_SINGULAR = 1e12
Shares = dict[str, dict[Any, float]]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Dispersion:
    """The covariance of estimated proportions, in its two parts."""

    sampling: Matrix
    randomization: Matrix

    @property
    def total(self) -> Matrix:
        """Both parts: the error for the population's proportions."""
        return np.asarray(self.sampling + self.randomization)


@dataclass(frozen=True)
class ProportionEstimate:
    """``P⁻¹λ̂`` (it may have negative entries) and an unbiased estimate of its dispersion."""

    estimate: Vector
    dispersion: Dispersion


@dataclass(frozen=True)
class JointProportions:
    """Proportions of combinations, one axis per column.

    ``unconstrained`` is the unbiased estimate, ``proportions`` the distribution of largest likelihood;
    ``standard_errors`` and ``randomization_se`` are those of the unbiased one.
    """

    proportions: Matrix
    unconstrained: Matrix
    standard_errors: Matrix
    randomization_se: Matrix


@dataclass(frozen=True)
class IndependenceTest:
    """Pearson's chi-square of complete independence."""

    statistic: float
    degrees: int
    p_value: float


def dispersion(matrix: npt.ArrayLike, proportions: npt.ArrayLike, n: int) -> Dispersion:
    """The dispersion of π̂ from n reports when the true proportions are π.

    Parameters
    ----------
    matrix
        P, reported × true: its columns sum to 1.
    proportions
        π, of the population.
    n
        Number of reports.

    >>> parts = dispersion([[0.7, 0.3], [0.3, 0.7]], [0.3, 0.7], 1000)  # Warner's model
    >>> f"{parts.total[0, 0]:.7f} {parts.sampling[0, 0]:.7f}"
    '0.0015225 0.0002100'
    """
    n, channel = whole_number(n, "n", least=1), check_channel(matrix)
    shares = check_proportions(proportions, channel.shape[1])
    inverse = _inverse(check_response_matrix(channel, len(shares)))
    spread = (inverse * (channel @ shares)) @ inverse.T
    return Dispersion((np.diag(shares) - np.outer(shares, shares)) / n, (spread - np.diag(shares)) / n)


def estimate_proportions(counts: npt.ArrayLike, matrix: npt.ArrayLike) -> ProportionEstimate:
    """``π̂ = P⁻¹λ̂`` from counts of reports, with its dispersion.

    The total divides by n − 1 and the randomization part is linear in λ̂, so that all three are unbiased; a part may
    have a negative entry on its diagonal when it is small.

    Parameters
    ----------
    counts
        Reports of each category.
    matrix
        P, reported × true: its columns sum to 1. Singular: the reports do not tell the proportions, refused.

    >>> found = estimate_proportions([420, 580], [[0.7, 0.3], [0.3, 0.7]])
    >>> found.estimate.round(6).tolist()
    [0.3, 0.7]
    >>> f"{found.dispersion.total[0, 0] ** 0.5:.4f}"  # the standard error for the population
    '0.0390'
    """
    reports = _counts(counts, axes=1)
    channel = check_response_matrix(matrix, len(reports))
    inverse, n = _inverse(channel), float(reports.sum())
    estimate = inverse @ (reports / n)
    spread = (inverse * (reports / n)) @ inverse.T
    randomization = (spread - np.diag(estimate)) / n
    total = (spread - np.outer(estimate, estimate)) / max(n - 1.0, 1.0)
    return ProportionEstimate(estimate, Dispersion(total - randomization, randomization))


def constrained_proportions(counts: npt.ArrayLike, matrix: npt.ArrayLike) -> Vector:
    """The distribution π of largest likelihood given counts of reports; P may be singular.

    >>> constrained_proportions([90, 10], [[0.7, 0.3], [0.3, 0.7]]).round(6).tolist()  # P⁻¹λ̂ = (1.5, −.5)
    [1.0, 0.0]
    """
    reports = _counts(counts, axes=1)
    channel = check_response_matrix(matrix, len(reports))
    if np.linalg.cond(channel) < _SINGULAR:
        estimate = np.linalg.solve(channel, reports / reports.sum())
        if (estimate >= 0.0).all():
            return np.asarray(estimate / estimate.sum())
    return most_likely(reports, [channel])


def joint_proportions(counts: npt.ArrayLike, matrices: Sequence[Matrix]) -> JointProportions:
    """Proportions of combinations from the table of reported ones, each attribute answered by itself."""
    table = _counts(counts, axes=len(matrices))
    matrices = [check_response_matrix(p, k, "matrices") for p, k in zip(matrices, table.shape, strict=True)]
    n = float(table.sum())
    inverses = [_inverse(matrix) for matrix in matrices]
    estimate = kron_solve(matrices, table / n)
    # The diagonal of P⁻¹ diag λ̂ P⁻ᵀ: squares of a Kronecker product are the product of squares.
    spread = kron_apply([inverse**2 for inverse in inverses], table / n)
    variance, randomization = (spread - estimate**2) / max(n - 1.0, 1.0), (spread - estimate) / n
    inside = bool((estimate >= 0.0).all())
    likely = estimate / estimate.sum() if inside else most_likely(table, matrices)
    return JointProportions(likely, estimate, _root(variance), _root(randomization))


def independence_test(table: npt.ArrayLike) -> IndependenceTest:
    """Test on a table of *reported* counts whether the true attributes are independent, all of one another.

    The level is right because each attribute was answered by itself; the power is less than that of the true table.
    Categories that nobody reported are left out.

    Parameters
    ----------
    table
        Counts of reported combinations, one axis per attribute.

    >>> found = independence_test([[30, 20], [20, 30]])
    >>> found.statistic, found.degrees, f"{found.p_value:.4f}"
    (4.0, 1, '0.0455')
    """
    from scipy.stats import chi2

    counts = _counts(table)
    for axis in range(counts.ndim):
        others = tuple(a for a in range(counts.ndim) if a != axis)
        counts = np.compress(counts.sum(axis=others) > 0.0, counts, axis=axis)
    degrees = counts.size - 1 - sum(k - 1 for k in counts.shape)
    if counts.ndim < 2 or degrees < 1:
        raise InputError("table: needs two or more attributes with at least two reported categories each")
    n, expected = counts.sum(), np.ones(())
    for axis in range(counts.ndim):
        others = tuple(a for a in range(counts.ndim) if a != axis)
        expected = np.multiply.outer(expected, counts.sum(axis=others) / n)
    expected = expected * n
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return IndependenceTest(statistic, degrees, float(chi2.sf(statistic, degrees)))


@dataclass(frozen=True)
class Reports:
    """Reads the reports of some columns off a block."""

    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]

    def codes(self, block: Block) -> Counts:
        """One row per column: places among its categories, −1 for a report that is none of them."""
        found = np.empty((len(self.columns), block.n_rows), dtype=np.int64)
        for row, name, known in zip(found, self.columns, self.categories, strict=True):
            values = block.column(name)
            if pa.types.is_dictionary(values.type):
                values = values.cast(values.type.value_type)
            places = pc.index_in(values, value_set=pa.array(list(known), type=values.type), skip_nulls=False)
            row[:] = places.fill_null(-1).to_numpy(zero_copy_only=False)
        return found


@dataclass(frozen=True)
class CategoryCounts:
    """For each column in turn, how many reports of a block are none of its categories, and how many are each."""

    reports: Reports

    def __call__(self, block: Block) -> Counts:
        sizes = [len(known) + 1 for known in self.reports.categories]
        codes = self.reports.codes(block)
        return np.concatenate([np.bincount(row + 1, minlength=k) for row, k in zip(codes, sizes, strict=True)])


@dataclass(frozen=True)
class CellCounts:
    """How many records of a block report each combination of categories, one axis per column."""

    reports: Reports

    def __call__(self, block: Block) -> Counts:
        shape = tuple(len(known) for known in self.reports.categories)
        cells = np.ravel_multi_index(tuple(self.reports.codes(block)), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True)
class CompoundCounts:
    """How many records of a block report each listed combination, and at last how many report another."""

    reports: Reports
    compound: tuple[tuple[int, ...], ...]

    def __call__(self, block: Block) -> Counts:
        # A combination's number is that of its beginning times k, plus the next code. Beginnings are numbered anew at
        # each column, so that numbers stay small however many columns there are.
        listed = np.array(self.compound, dtype=np.int64).T
        codes = self.reports.codes(block)
        begun, place = np.zeros(len(self.compound), dtype=np.int64), np.zeros(block.n_rows, dtype=np.int64)
        other = np.zeros(block.n_rows, dtype=bool)
        for known, told, here in zip(self.reports.categories, listed, codes, strict=True):
            numbers, begun = np.unique(begun * len(known) + told, return_inverse=True)
            wanted = place * len(known) + here
            place = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            other |= (numbers[place] != wanted) | (here < 0)
        # Now each listed combination has a number of its own.
        listed_place = np.empty(len(self.compound), dtype=np.int64)
        listed_place[begun] = np.arange(len(self.compound))
        place = np.where(other, len(self.compound), listed_place[place])
        return np.bincount(place, minlength=len(self.compound) + 1)


class ProportionRecovery:
    """R4. Estimate the proportions of every category of randomized columns.

    Attributes
    ----------
    columns_ : names of the private columns
    proportions_
        ``proportions_[column][category]``, a distribution: the one of largest likelihood.
    unconstrained_
        The same of the unbiased estimate P⁻¹λ̂, which may be negative or above 1.
    standard_errors_, sampling_se_, randomization_se_
        Standard errors of the unbiased estimate: total (for the population's proportions), and its two parts. The
        randomization part is the error for the private table's own proportions.
    n_rows_
        Rows of the release.

    Notes
    -----
    Every count is a pass over the release: one for :meth:`fit`, and one more for each :meth:`joint` or
    :meth:`association` of columns that were answered one by one. So the release is kept, but none of its records.
    """

    columns_: tuple[str, ...]
    proportions_: Shares
    unconstrained_: Shares
    standard_errors_: Shares
    sampling_se_: Shares
    randomization_se_: Shares
    n_rows_: int
    _model: ResponseModel
    _release: Release
    _reported: Vector

    def fit(self, release: Release) -> Self:
        """Estimate from a release with randomized responses."""
        if not isinstance(release, Release):
            raise InputError(f"ProportionRecovery takes a release; got a {type(release).__name__}")
        model = release.step.model
        if not isinstance(model, ResponseModel):
            raise NotApplicableError(f"a {release.method} release has no randomized categories; use another recovery")
        self._model, self._release, self.columns_ = model, release, release.step.names
        for name in ("proportions_", "unconstrained_", "standard_errors_", "sampling_se_", "randomization_se_"):
            setattr(self, name, {})
        if model.compound is None:
            for j, (matrix, counts) in enumerate(zip(model.matrices, self._columns(), strict=True)):
                if model.invariant:
                    self._set(j, counts / counts.sum(), invariant_proportions(counts, matrix))
                    continue
                self._set(j, constrained_proportions(counts, matrix), estimate_proportions(counts, matrix))
            return self
        self._reported = self._combinations(model.compound)
        likely, found = self._compound()
        parts = found.dispersion
        for j, labels in enumerate(model.categories):
            fold = np.equal.outer(np.arange(len(labels)), np.array([cell[j] for cell in model.compound])).astype(float)
            folded = Dispersion(fold @ parts.sampling @ fold.T, fold @ parts.randomization @ fold.T)
            self._set(j, fold @ likely, ProportionEstimate(fold @ found.estimate, folded))
        return self

    def joint(self, columns: Sequence[str]) -> JointProportions:
        """Proportions of the combinations of some columns, in the order of ``model.categories``."""
        at = self._places(columns)
        if self._model.compound is None:
            return joint_proportions(self._cells(at), [self._model.matrices[j] for j in at])
        shape = self._shape(at)
        likely, found = self._compound()
        cells = np.ravel_multi_index(tuple(np.array(self._model.compound).T[at]), shape)
        labels, place = np.unique(cells, return_inverse=True)
        fold = np.equal.outer(np.arange(len(labels)), place).astype(float)
        errors = [
            _root(np.einsum("ci,ij,cj->c", fold, part, fold, optimize=True))
            for part in (found.dispersion.total, found.dispersion.randomization)
        ]
        tables = [np.zeros(shape) for _ in range(4)]
        for table, values in zip(tables, (fold @ likely, fold @ found.estimate, *errors), strict=True):
            table.flat[labels] = values
        return JointProportions(*tables)

    def association(self, columns: Sequence[str]) -> IndependenceTest:
        """Test whether columns that were answered one by one are independent."""
        if self._model.compound is not None:
            raise NotApplicableError(
                "the columns were randomized as one variable: their reports may depend where the truth does not"
            )
        at = self._places(columns)
        return independence_test(self._cells(at))

    def _places(self, columns: Sequence[str]) -> list[int]:
        names = [columns] if isinstance(columns, str) else list(columns)
        if unknown := [name for name in names if name not in self.columns_]:
            raise InputError(f"columns: {len(unknown)} are not among the randomized ones: {', '.join(self.columns_)}")
        if not names or len(set(names)) != len(names):
            raise InputError("columns: name each column once")
        return [self.columns_.index(name) for name in names]

    def _shape(self, at: list[int]) -> tuple[int, ...]:
        shape = tuple(len(self._model.categories[j]) for j in at)
        if np.prod(shape, dtype=float) > MOST_CELLS:
            raise InputError(f"columns: have {np.prod(shape, dtype=float):.3g} combinations; name fewer columns")
        return shape

    def _reports(self, at: Sequence[int]) -> Reports:
        released = self._release.step.released
        return Reports(tuple(released[j] for j in at), tuple(self._model.categories[j] for j in at))

    def _columns(self) -> list[Vector]:
        """Counts of each column's categories."""
        reports = self._reports(range(len(self.columns_)))
        sizes = [len(known) + 1 for known in reports.categories]
        counts = np.split(self._release.summed(CategoryCounts(reports)), np.cumsum(sizes)[:-1])
        for name, column in zip(self.columns_, counts, strict=True):
            if column[0]:
                raise NotApplicableError(
                    f"column {name!r}: {column[0]} reports are none of the categories that the manifest lists"
                )
        self.n_rows_ = int(counts[0].sum())
        return [column[1:].astype(np.float64) for column in counts]

    def _cells(self, at: list[int]) -> Matrix:
        """Counts of the combinations of some columns."""
        self._shape(at)
        reports = self._reports(at)
        return self._release.summed(CellCounts(reports), reports.columns).astype(np.float64)

    def _combinations(self, compound: tuple[tuple[int, ...], ...]) -> Vector:
        """Counts of the combinations that occur."""
        reports = self._reports(range(len(self.columns_)))
        counts = self._release.summed(CompoundCounts(reports, compound))
        if counts[-1]:
            raise NotApplicableError("the release has combinations that its manifest does not list")
        self.n_rows_ = int(counts.sum())
        return counts[:-1].astype(np.float64)

    def _compound(self) -> tuple[Vector, ProportionEstimate]:
        """Both estimates over the combinations that occur."""
        (matrix,) = self._model.matrices
        return constrained_proportions(self._reported, matrix), estimate_proportions(self._reported, matrix)

    def _set(self, j: int, likely: Vector, found: ProportionEstimate) -> None:
        parts, name, labels = found.dispersion, self.columns_[j], self._model.categories[j]
        # An unbiased estimate of a small part can be negative; the error of both is not less than that of one.
        both = np.clip(np.diag(parts.sampling), 0.0, None) + np.clip(np.diag(parts.randomization), 0.0, None)
        for kind, values in (
            (self.proportions_, likely),
            (self.unconstrained_, found.estimate),
            (self.standard_errors_, _root(both)),
            (self.sampling_se_, _root(np.diag(parts.sampling))),
            (self.randomization_se_, _root(np.diag(parts.randomization))),
        ):
            kind[name] = dict(zip(labels, values.tolist(), strict=True))


def invariant_proportions(counts: Vector, matrix: Matrix) -> ProportionEstimate:
    """Reports of an invariant matrix have the private table's own proportions on average: they are read off."""
    n = counts.sum()
    shares = counts / n
    randomization = (matrix * (1.0 - matrix)) @ shares / n
    sampling = np.clip(shares * (1.0 - shares) / n - randomization, 0.0, None)
    return ProportionEstimate(shares, Dispersion(np.diag(sampling), np.diag(randomization)))


def _root(variance: Matrix) -> Matrix:
    return np.asarray(np.sqrt(np.clip(variance, 0.0, None)))


def _counts(counts: npt.ArrayLike, axes: int | None = None) -> Matrix:
    try:
        table = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("counts must be a table of numbers") from None
    if not table.size or not np.isfinite(table).all() or not (table >= 0.0).all() or not table.sum() > 0.0:
        raise InputError("counts must be numbers of at least 0, not all 0")
    if axes is not None and table.ndim != axes:
        raise InputError(f"counts must have one axis per matrix, {axes} here; got {table.ndim}")
    return table


def _inverse(matrix: Matrix) -> Matrix:
    if not np.linalg.cond(matrix) < _SINGULAR:
        raise NotApplicableError("the response matrix is singular: reports do not tell the proportions")
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
