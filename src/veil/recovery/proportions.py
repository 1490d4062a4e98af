"""R4: proportions of categories of a release with randomized columns.

Where reports are missing, every report that is there is used. The true categories' indicators have unbiased estimates
P⁻¹e from a report's indicator e, and their means are those of a normal working model with gaps, corrected for the
randomization (:mod:`veil.recovery.gaps`): in effect each missing indicator is predicted by a straight line from the
other randomized columns and the public ones. That is right if chance decides what is missing, or other columns on whose
indicators the conditional proportions depend additively (of one other column: always). The formulas for all
else are in :mod:`veil.recovery.response_estimates`; counts are all that they need, and are taken block by block
(:mod:`veil.recovery.report_counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from veil.arguments import flag
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.recovery.class_numbers import class_distribution, class_mean
from veil.recovery.clusters import Clusters, clustered_dispersion, raised, weighted_design
from veil.recovery.display import Displayed, shares_of
from veil.recovery.gaps_of_answers import answer_proportions, likely_shares
from veil.recovery.report_counts import (
    Reports,
    count_categories,
    count_cells,
    count_combinations,
    count_gaps,
    weigh_cells,
)
from veil.recovery.response_estimates import (
    Dispersion,
    IndependenceTest,
    JointProportions,
    ProportionEstimate,
    constrained_proportions,
    estimate_proportions,
    independence_test,
    invariant_proportions,
    joint_proportions,
    square_root,
)
from veil.recovery.weights import Weights, as_weights
from veil.release.models import NumberClasses, ResponseModel
from veil.release.release import Release
from veil.report.recovered_text import RecoveredView

MOST_CELLS = 1_000_000
_SHARES = ("proportions_", "unconstrained_", "standard_errors_", "sampling_se_", "randomization_se_")
Shares = dict[str, dict[Any, float]]


class ProportionRecovery(Displayed):
    """R4. Estimate the proportions of every category of randomized columns.

    Parameters
    ----------
    weights : name of a public column, array of one number per row, or False, optional
        How many people of the population each record stands for: the inverse of the probability that it was drawn with.
        Standard errors for the population are then those of drawing with replacement. By default the release's column
        with the role weight, if it has one; False for none.
    public : bool, default True
        Where reports are missing, predict them from the release's public columns, too.

    Attributes
    ----------
    columns_ : names of the private columns
    proportions_
        ``proportions_[column][category]``, a distribution: the one of largest likelihood.
    unconstrained_
        The same of the unbiased estimate P⁻¹λ̂, which may be negative or above 1.
    standard_errors_, sampling_se_, randomization_se_
        Standard errors of the unbiased estimate: total (for the population's proportions), and its two parts. The
        randomization part is the error for the private table's own proportions; where reports are missing, for those
        that the table itself would tell by the same estimate.
    means_, mean_se_, distributions_
        Of columns of numbers that were reported by class: the mean, its standard error for the population's, and points
        of the distribution function with its heights there (:mod:`veil.recovery.class_numbers`).
    n_rows_, n_gaps_
        Rows of the release, and how many of them lack a report.

    Notes
    -----
    Every count is a pass over the release: one for :meth:`fit`, and one more for each :meth:`joint` or
    :meth:`association` of columns that were answered one by one. So the release is kept, but none of its records. Both
    count the records that have all reports. With weights the errors of combinations are those of drawing with
    replacement, and the test is that of the (Σw)²/Σw² records that the weighted ones are worth (Rao and Scott 1981).

    With noise that is one per group, errors are those of groups (:mod:`veil.recovery.clusters`), and reports are held
    in memory. Errors of combinations, and the test, then count the rows of a group as one. Where a release names groups
    and noise is drawn for every row, errors of columns are those of groups, and combinations count every row.
    """

    columns_: tuple[str, ...]
    proportions_: Shares
    unconstrained_: Shares
    standard_errors_: Shares
    sampling_se_: Shares
    randomization_se_: Shares
    means_: dict[str, float]
    mean_se_: dict[str, float]
    distributions_: dict[str, tuple[Vector, Vector]]
    n_rows_: int
    n_gaps_: int
    _model: ResponseModel
    _classes: tuple[NumberClasses | None, ...]
    _release: Release
    _clusters: Clusters | None
    _weights: Weights
    _reported: Vector

    def __init__(self, *, weights: Any = None, public: bool = True) -> None:
        self.weights = weights
        self.public = flag(public, "public")

    def fit(self, release: Release) -> Self:
        """Estimate from a release with randomized responses."""
        if not isinstance(release, Release):
            raise InputError(f"ProportionRecovery takes a release; got a {type(release).__name__}")
        model = release.only_part.model
        if not isinstance(model, ResponseModel):
            raise NotApplicableError(f"a {release.method} release has no randomized categories; use another recovery")
        self._model, self._release, self.columns_ = model, release, release.only_part.names
        self._classes = model.number_classes()
        self._clusters = Clusters.of(release)
        for name in (*_SHARES, "means_", "mean_se_", "distributions_"):
            setattr(self, name, {})
        weights = self._weights = as_weights(self.weights, release)
        self._saw(release)
        if model.compound is None:
            columns = self._columns()
            if weights.given or self.n_gaps_:
                return self._all_records(weights)
            for j, (matrix, counts) in enumerate(zip(model.matrices, columns, strict=True)):
                if model.invariant:
                    self._set(j, counts / counts.sum(), self._of_groups(j, invariant_proportions(counts, matrix)))
                    continue
                estimated = self._of_groups(j, estimate_proportions(counts, matrix))
                self._set(j, constrained_proportions(counts, matrix), estimated)
            return self
        self._reported = self._combinations(model.compound)
        if weights.given or self.n_gaps_:
            return self._all_records(weights)
        self._fold(model.compound, *self._compound())
        return self

    def _all_records(self, weights: Weights) -> Self:
        """The estimates where reports are missing, or records have weights."""
        estimates = answer_proportions(
            self._release, weights, public=self.public and bool(self.n_gaps_), clusters=self._clusters
        )
        likely = [likely_shares(e.estimate, matrix) for e, matrix in zip(estimates, self._model.matrices, strict=True)]
        if self._model.compound is not None:
            self._fold(self._model.compound, likely[0], estimates[0])
            return self
        for j, estimated in enumerate(estimates):
            self._set(j, likely[j], estimated)
        return self

    def _fold(self, compound: tuple[tuple[int, ...], ...], likely: Vector, estimated: ProportionEstimate) -> None:
        """Each column's proportions from those of the combinations."""
        parts = estimated.dispersion
        for j, labels in enumerate(self._model.categories):
            fold = np.equal.outer(np.arange(len(labels)), np.array([cell[j] for cell in compound])).astype(float)
            folded = Dispersion(fold @ parts.sampling @ fold.T, fold @ parts.randomization @ fold.T)
            self._set(j, fold @ likely, ProportionEstimate(fold @ estimated.estimate, folded))

    def view(self) -> RecoveredView:
        """Shares with two standard errors, as they are shown."""
        found = self.proportions_, self.randomization_se_, self.standard_errors_
        return self._view(self.n_rows_, proportions=shares_of(self.columns_, *found))

    def joint(self, columns: Sequence[str]) -> JointProportions:
        """Proportions of the combinations of some columns, in the order of ``model.categories``."""
        at = self._places(columns)
        if self._model.compound is None:
            matrices = [self._model.matrices[j] for j in at]
            counts, squares = self._weighed(at) if self._weights.given else (self._cells(at), None)
            joint = joint_proportions(counts, matrices, squares)
            up = np.sqrt(self._design())
            scaled = (up * joint.standard_errors, up * joint.randomization_se)
            return JointProportions(joint.proportions, joint.unconstrained, *scaled)
        shape = self._shape(at)
        likely, estimated = self._compound()
        cells = np.ravel_multi_index(tuple(np.array(self._model.compound).T[at]), shape)
        labels, place = np.unique(cells, return_inverse=True)
        fold = np.equal.outer(np.arange(len(labels)), place).astype(float)
        errors = [
            square_root(np.einsum("ci,ij,cj->c", fold, part, fold, optimize=True))
            for part in (estimated.dispersion.total, estimated.dispersion.randomization)
        ]
        tables = [np.zeros(shape) for _ in range(4)]
        for table, values in zip(tables, (fold @ likely, fold @ estimated.estimate, *errors), strict=True):
            table.flat[labels] = values
        return JointProportions(*tables)

    def association(self, columns: Sequence[str]) -> IndependenceTest:
        """Test whether columns that were answered one by one are independent."""
        if self._model.compound is not None:
            raise NotApplicableError(
                "the columns were randomized as one variable: their reports may depend where the truth does not"
            )
        at = self._places(columns)
        if self._weights.given:
            sums, squares = self._weighed(at)
            return independence_test(sums * (sums.sum() / squares.sum()) / self._design())
        return independence_test(self._cells(at) / self._design())

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
        released = self._release.only_part.released
        return Reports(tuple(released[j] for j in at), tuple(self._model.categories[j] for j in at))

    def _columns(self) -> list[Vector]:
        """Counts of each column's categories."""
        reports = self._reports(range(len(self.columns_)))
        sizes = [len(known) + 1 for known in reports.categories]
        counts = np.split(self._release.summed(partial(count_categories, reports)), np.cumsum(sizes)[:-1])
        self.n_rows_, self.n_gaps_ = int(counts[0].sum()), 0
        if any(column[0] for column in counts):
            *missing, self.n_gaps_ = self._release.summed(partial(count_gaps, reports)).tolist()
            for name, column, gaps in zip(self.columns_, counts, missing, strict=True):
                if column[0] > gaps:
                    line = f"{column[0] - gaps} reports are none of the categories that the manifest lists"
                    raise NotApplicableError(f"column {name!r}: {line}")
        return [column[1:].astype(np.float64) for column in counts]

    def _cells(self, at: list[int]) -> Matrix:
        """Counts of the combinations of some columns."""
        self._shape(at)
        reports = self._reports(at)
        return self._release.summed(partial(count_cells, reports), reports.columns).astype(np.float64)

    def _weighed(self, at: list[int]) -> tuple[Matrix, Matrix]:
        """Sums of weights, and of their squares, of the combinations of some columns."""
        self._shape(at)
        reports = self._reports(at)
        read = reports.columns + self._weights.columns
        sums, squares = self._release.summed(partial(weigh_cells, reports, self._weights), read)
        return sums, squares

    def _combinations(self, compound: tuple[tuple[int, ...], ...]) -> Vector:
        """Counts of the combinations that occur."""
        reports = self._reports(range(len(self.columns_)))
        counts = self._release.summed(partial(count_combinations, reports, compound))
        self.n_rows_, self.n_gaps_ = int(counts.sum()), 0
        if counts[-1]:
            self.n_gaps_ = int(self._release.summed(partial(count_gaps, reports))[-1])
            if counts[-1] > self.n_gaps_:
                raise NotApplicableError("the release has combinations that its manifest does not list")
        return counts[:-1].astype(np.float64)

    def _compound(self) -> tuple[Vector, ProportionEstimate]:
        """Both estimates over the combinations that occur."""
        (matrix,) = self._model.matrices
        if self._weights.given:
            estimated = answer_proportions(self._release, self._weights, public=False, clusters=self._clusters)[0]
            return likely_shares(estimated.estimate, matrix), estimated
        estimated = estimate_proportions(self._reported, matrix)
        estimated = estimated if self._clusters is None else raised(estimated, self._design())
        return constrained_proportions(self._reported, matrix), estimated

    def _design(self) -> float:
        """By what the variances of combinations rise where the rows of a group are one."""
        if self._clusters is None or not self._clusters.shared:
            return 1.0
        if self.n_gaps_ or self._weights.given:
            return weighted_design(self._release, self._clusters, self._weights)
        return self._clusters.design

    def _of_groups(self, j: int, estimated: ProportionEstimate) -> ProportionEstimate:
        """An estimate with the errors of groups, where the release has noise per group."""
        if self._clusters is None:
            return estimated
        if self._model.invariant:
            return raised(estimated, self._clusters.design) if self._clusters.shared else estimated
        reports, matrix = self._release.codes()[:, j], self._model.matrices[j]
        shared = self.columns_[j] in self._release.only_part.groups
        return clustered_dispersion(self._clusters, reports, matrix, estimated, shared=shared)

    def _set(self, j: int, likely: Vector, estimated: ProportionEstimate) -> None:
        parts, name, labels = estimated.dispersion, self.columns_[j], self._model.categories[j]
        # An unbiased estimate of a small part can be negative; the error of both is not less than that of one.
        both = np.clip(np.diag(parts.sampling), 0.0, None) + np.clip(np.diag(parts.randomization), 0.0, None)
        for kind, values in (
            (self.proportions_, likely),
            (self.unconstrained_, estimated.estimate),
            (self.standard_errors_, square_root(both)),
            (self.sampling_se_, square_root(np.diag(parts.sampling))),
            (self.randomization_se_, square_root(np.diag(parts.randomization))),
        ):
            kind[name] = dict(zip(labels, values.tolist(), strict=True))
        classes = self._classes[j] if self._classes else None
        if classes is not None:
            self.means_[name], self.mean_se_[name] = class_mean(classes, estimated)
            self.distributions_[name] = class_distribution(classes, likely)
