"""R3: a linear regression of the private table, from the corrected moments of a release.

*Model.* The coefficients of y on x are B = Σxx⁻¹Σxy, of the population or of the private table: a description of how
the columns go together, whatever law they have. The moments are those of :mod:`veil.recovery.gaps`: noise of every
column is taken off, predictors' noise too, which would pull coefficients towards 0 (Fuller 1987, section 2.2); missing
values are predicted, records weighted. Columns may come from several perturbations, whose noises are independent of
each other, from public columns, and from randomized answers, which are read as P⁻¹e.

*Errors.* With c = (−B, 1) over (x, y) a change dΣ of the moments moves B by Σxx⁻¹ dΣx· c, so the moments' errors, a
sandwich over records, give those of B. For the population they are the linearised errors of a survey that draws with
replacement (Binder 1983), over groups where the release names groups (Liang and Zeger 1986). For the table they are
those of the noise alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from veil.arguments import choice, flag
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError, listed
from veil.numerics.gap_patterns import PatternSums
from veil.recovery.display import Displayed
from veil.recovery.gaps import Estimated, estimate
from veil.recovery.products import moved, patterns_before
from veil.recovery.regression_columns import Variable, clusters_of, regression_problem
from veil.recovery.weights import Weights, as_weights
from veil.release.release import Release
from veil.report.recovered import RecoveredRegression
from veil.report.recovered_text import RecoveredView

INTERCEPT = "(intercept)"
_CLEAR = 1e-8
"""Share of a predictor's variance that the other predictors must leave open."""


class RegressionRecovery(Displayed):
    """R3. Least squares of one column on others, as the private table would have it.

    Parameters
    ----------
    target : str
        The column to explain: a private number, a public one, or a category as ``"column=category"``.
    predictors : sequence of str
        The columns that explain it. One with categories counts as an indicator of each but the last.
    weights : name of a public column, array of one number per row, or False, optional
        As for :class:`MomentRecovery`.
    public : bool, default True
        Predict missing values from the release's other columns, too.

    Attributes
    ----------
    terms_ : tuple of str
        The intercept, then what each coefficient belongs to.
    coefficients_ : array
        The estimates.
    coefficient_se_, coefficient_total_se_ : array
        Standard errors for the private table's own coefficients (noise only), and for the population's.
    residual_std_, r_squared_ : float
        The spread that is left, and the share of the variance that is explained.
    n_rows_, n_gaps_
        Rows of the release, and how many of them lack one of the columns.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> table = np.column_stack([x, 1 + 2 * x[:, 0] - x[:, 1]])
    >>> release, _ = veil.publish(table, veil.AdditiveNoise(0.5, random_state=0))
    >>> recovery = veil.RegressionRecovery("x2", ["x0", "x1"]).fit(release)
    >>> bool((abs(recovery.coefficients_ - [1, 2, -1]) < 3 * recovery.coefficient_se_).all())
    True
    """

    catalogue = "R3"
    terms_: tuple[str, ...]
    coefficients_: Vector
    coefficient_se_: Vector
    coefficient_total_se_: Vector
    residual_std_: float
    r_squared_: float
    n_rows_: int
    n_gaps_: int

    def __init__(self, target: str, predictors: Sequence[str], *, weights: Any = None, public: bool = True) -> None:
        self.target = target
        self.predictors = predictors
        self.weights = weights
        self.public = flag(public, "public")

    def fit(self, release: Release) -> Self:
        """Estimate from a release."""
        if not isinstance(release, Release):
            raise InputError(f"RegressionRecovery takes a release; got a {type(release).__name__}")
        predictors = [self.predictors] if isinstance(self.predictors, str) else list(self.predictors)
        if not predictors or len({self.target, *predictors}) <= len(predictors):
            raise InputError("predictors must be one or more columns, each named once, and not the target")
        weights = as_weights(self.weights, release)
        alone, sums = _before(release, (self.target, *predictors), weights)
        problem = regression_problem(alone, self.target, predictors, weights, public=self.public)
        self.n_rows_, self.n_gaps_ = problem.n_rows, problem.n_gaps
        used, columns, part = problem.used, problem.columns, alone.manifest.parts[0]
        if sums is not None and part.products is not None:
            names = [columns.numbers[j] for j in columns.order or range(len(columns.numbers))]
            places = [part.released.index(name) for name in names]
            origin = np.array(columns.origin)[[columns.numbers.index(name) for name in names]]
            sums = moved(sums.of(places), np.array(part.products.origin)[places], problem.noise, origin)
        clusters = problem.clusters or clusters_of(release, ())
        told = estimate(release, columns, len(used), weights, problem.noise, clusters, sums)
        mean = told.mean + problem.origin
        if not np.isfinite(told.covariance).all():
            lacking = [
                v.label for v, known in zip(used, np.isfinite(np.diag(told.covariance)), strict=True) if not known
            ]
            raise NotApplicableError(
                f"no two records have both of some of the columns; leave out {listed(lacking) or 'one'}"
            )
        self._solve(used, mean, told, known=problem.known_laws)
        self._saw(release)
        return self

    def _solve(self, used: Sequence[Variable], mean: Vector, told: Estimated, *, known: bool) -> None:
        """The coefficients and their errors, the target being first; noise of an unknown law counts as the total."""
        unit = np.sqrt(np.clip(np.diag(told.covariance), 1e-300, None))
        inner = told.covariance[1:, 1:] / np.outer(unit[1:], unit[1:])
        if not np.linalg.eigvalsh(inner)[0] > _CLEAR:
            raise NotApplicableError(
                "the predictors' covariance without the noise is not positive: they depend on each other, or the noise "
                "hides them; take fewer predictors"
            )
        inverse = np.linalg.inv(inner) / np.outer(unit[1:], unit[1:])
        slopes = inverse @ told.covariance[1:, 0]
        explained = float(slopes @ told.covariance[1:, 0])
        gradient = coefficient_gradient(inverse, slopes, mean)
        self.terms_ = (INTERCEPT, *(variable.label for variable in used[1:]))
        self.coefficients_ = np.concatenate([[mean[0] - mean[1:] @ slopes], slopes])
        noise = told.noise if known else told.total
        errors = [np.einsum("ki,ij,kj->k", gradient, part, gradient) for part in (noise, told.total)]
        self.coefficient_se_, self.coefficient_total_se_ = (np.sqrt(np.clip(e, 0.0, None)) for e in errors)
        self.residual_std_ = float(np.sqrt(max(told.covariance[0, 0] - explained, 0.0)))
        self.r_squared_ = float(np.clip(explained / max(told.covariance[0, 0], 1e-300), 0.0, 1.0))

    def interval(self, *, target: str = "table", z: float = 2.0) -> tuple[Vector, Vector]:
        """The coefficients ± z standard errors, for the ``"table"`` or the ``"population"``."""
        choice(target, "target", ("table", "population"))
        error = self.coefficient_total_se_ if target == "population" else self.coefficient_se_
        return self.coefficients_ - z * error, self.coefficients_ + z * error

    def view(self) -> RecoveredView:
        """The coefficients with two standard errors, as they are shown."""
        return self._view(self.n_rows_, regressions=(self.shown(),))

    def shown(self) -> RecoveredRegression:
        """The coefficients as data."""
        numbers = zip(self.coefficients_, 2 * self.coefficient_se_, 2 * self.coefficient_total_se_, strict=True)
        rows = tuple((term, *map(float, each)) for term, each in zip(self.terms_, numbers, strict=True))
        return RecoveredRegression(self.target, rows, self.residual_std_, self.r_squared_)  # type: ignore[arg-type]


def _before(release: Release, names: Sequence[str], weights: Weights) -> tuple[Release, PatternSums | None]:
    """The part that has all columns as numbers, with the sums of its values before they were made plausible.

    Public columns predict none of its gaps then. Without such a part the release itself.
    """
    for i, part in enumerate(release.manifest.parts):
        if part.products is not None and set(names) <= set(part.names):
            single = release.part(i)
            sums = patterns_before(single, weights)
            if sums is not None:
                return Release(single.table, replace(single.manifest, public=(), sums={})), sums
    return release, None


def coefficient_gradient(inverse: Matrix, slopes: Vector, mean: Vector) -> Matrix:
    """The derivative of the intercept and the slopes by the means and the upper triangle of the covariance.

    The target is the first column; ``inverse`` is that of the predictors' covariance.
    """
    d = len(mean)
    first, second = np.triu_indices(d)
    c = np.concatenate([[1.0], -slopes])
    full = np.vstack([np.zeros((1, d - 1)), inverse])  # by column of the moments
    by_product = full[first].T * c[second] + np.where(first == second, 0.0, full[second].T * c[first])
    by_slope = np.hstack([np.zeros((d - 1, d)), by_product])
    by_intercept = np.concatenate([c, np.zeros(len(first))]) - mean[1:] @ by_slope
    return np.vstack([by_intercept, by_slope])


def formula(text: str) -> tuple[str, list[str]]:
    """A regression as people write it: the target, a tilde, and the predictors with plus signs or commas between them.

    >>> formula("income ~ age + hours")
    ('income', ['age', 'hours'])
    """
    target, tilde, others = text.partition("~")
    predictors = [part.strip() for part in others.replace(",", "+").split("+")]
    if not tilde or not target.strip() or not all(predictors):
        raise InputError(f"a regression is written as target ~ predictor + predictor; got {text!r}")
    return target.strip(), predictors
