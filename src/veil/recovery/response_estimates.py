"""R4 in formulas: proportions from counts of randomized reports, with where their error comes from.

*Model.* ``λ = P π``, P public (pkdd2006 tutorial, "Vector Response"; errata: its formulas are right). ``π̂ = P⁻¹λ̂`` is
unbiased with the dispersion

    Σ(π̂) = P⁻¹(diag λ − λλ′)P⁻ᵀ/n = (diag π − ππ′)/n + (P⁻¹ diag λ P⁻ᵀ − diag π)/n,

the *sampling* part of a survey without randomization and the *randomization* part. The second alone says how far π̂ is
from the private table's own proportions; both together, how far from the population's. π̂ may leave the simplex; the
distribution of largest likelihood does not, and equals π̂ where that is one.

Attributes answered one by one have ``λ = (P1 ⊗ P2 ⊗ …)π``: solved along each axis of the table of counts. There
complete independence of π is complete independence of λ, so that a test on the reported table has the right level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import whole
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.response_likelihood import most_likely
from veil.numerics.response_matrix import (
    check_channel,
    check_proportions,
    check_response_matrix,
    kron_apply,
    kron_solve,
)

_SINGULAR = 1e12


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
    n, channel = whole(n, "n", least=1), check_channel(matrix)
    shares = check_proportions(proportions, channel.shape[1])
    inverse = inverse_of(check_response_matrix(channel, len(shares)))
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

    >>> estimate = estimate_proportions([420, 580], [[0.7, 0.3], [0.3, 0.7]])
    >>> estimate.estimate.round(6).tolist()
    [0.3, 0.7]
    >>> f"{estimate.dispersion.total[0, 0] ** 0.5:.4f}"  # the standard error for the population
    '0.0390'
    """
    reports = _counts(counts, axes=1)
    channel = check_response_matrix(matrix, len(reports))
    inverse, n = inverse_of(channel), float(reports.sum())
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


def joint_proportions(
    counts: npt.ArrayLike, matrices: Sequence[Matrix], squares: npt.ArrayLike | None = None
) -> JointProportions:
    """Proportions of combinations from the table of reported ones, each attribute answered by itself.

    Of weighted records ``counts`` are sums of weights and ``squares`` those of their squares. With v the column of P⁻¹
    that a record's report stands for, the variance is Σw²(v − π)²/(Σw)², linearised and with replacement (Binder 1983),
    and the randomization's share of it Σw²(v² − e)/(Σw)², e the indicator whose mean v estimates.
    """
    table = _counts(counts, axes=len(matrices))
    matrices = [check_response_matrix(p, k, "matrices") for p, k in zip(matrices, table.shape, strict=True)]
    n = float(table.sum())
    inverses = [inverse_of(matrix) for matrix in matrices]
    estimate = kron_solve(matrices, table / n)
    # The diagonal of P⁻¹ diag λ̂ P⁻ᵀ: squares of a Kronecker product are the product of squares.
    if squares is None:
        spread = kron_apply([inverse**2 for inverse in inverses], table / n)
        variance, randomization = (spread - estimate**2) / max(n - 1.0, 1.0), (spread - estimate) / n
    else:
        square = _counts(squares, axes=len(matrices))
        spread, mean = kron_apply([inverse**2 for inverse in inverses], square), kron_solve(matrices, square)
        variance = (spread - 2.0 * estimate * mean + estimate**2 * square.sum()) / n**2
        randomization = (spread - mean) / n**2
    inside = bool((estimate >= 0.0).all())
    likely = estimate / estimate.sum() if inside else most_likely(table, matrices)
    return JointProportions(likely, estimate, square_root(variance), square_root(randomization))


def independence_test(table: npt.ArrayLike) -> IndependenceTest:
    """Test on a table of *reported* counts whether the true attributes are independent, all of one another.

    The level is right because each attribute was answered by itself; the power is less than that of the true table.
    Categories that nobody reported are left out.

    Parameters
    ----------
    table
        Counts of reported combinations, one axis per attribute.

    >>> test = independence_test([[30, 20], [20, 30]])
    >>> test.statistic, test.degrees, f"{test.p_value:.4f}"
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


def invariant_proportions(counts: Vector, matrix: Matrix) -> ProportionEstimate:
    """Reports of an invariant matrix have the private table's own proportions on average: they are read off."""
    n = counts.sum()
    shares = counts / n
    randomization = (matrix * (1.0 - matrix)) @ shares / n
    sampling = np.clip(shares * (1.0 - shares) / n - randomization, 0.0, None)
    return ProportionEstimate(shares, Dispersion(np.diag(sampling), np.diag(randomization)))


def square_root(variance: Matrix) -> Matrix:
    """Standard errors from variances; what rounding left below 0 is 0."""
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


def inverse_of(matrix: Matrix) -> Matrix:
    """P⁻¹; refused where the reports do not tell the proportions."""
    if not np.linalg.cond(matrix) < _SINGULAR:
        raise NotApplicableError("the response matrix is singular: reports do not tell the proportions")
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
