"""Which tables are at risk before anything is released (M14, M16).

M14 (Liu 2007, 4.5.4) is about the known-sample attack on orthogonal releases: it matches
eigenvectors, which works when neighbouring eigenvalues differ (the eigen-ratio), and their
signs, which works when the distribution is not its own mirror image (the invariance).

M16 is about additive noise (Huang et al. 2005): where columns are correlated, most of the
noise can be filtered out. Every function takes a table of records or its covariance matrix;
records with a missing value are left out. All describe the table given, without an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, per_column, whole
from veil.errors import InputError
from veil.measures.measure import Measure
from veil.measures.spectrum import MatrixKind, as_correlation, as_covariance, eigenpairs


def eigen_ratio(table: npt.ArrayLike, *, kind: MatrixKind = "auto") -> Measure:
    """The smallest ratio of neighbouring covariance eigenvalues, larger over smaller (M14).

    At 1 two eigenvectors cannot be told apart and the known-sample attack fails; the larger,
    the better it works. The paper's minimum "over all i ≠ j" of λ_i/λ_j would be the smallest
    over the largest eigenvalue (errata L-f). A pair of zero eigenvalues does not count:
    where nothing varies, nothing is hidden. Without any pair, infinite.

    ``kind`` says what ``table`` is; ``"auto"`` takes a symmetric matrix without negative
    eigenvalues for a covariance.

    >>> round(eigen_ratio([[1, 1.5, 0.5], [1.5, 3, 2.5], [0.5, 2.5, 75]]), 4)
    19.6003
    """
    values, _ = eigenpairs(as_covariance(table, "table", kind))
    above, below = values[:-1], values[1:]
    counted = above > 0.0
    ratios = np.where(below > 0.0, above / np.where(below > 0.0, below, 1.0), np.inf)[counted]
    return Measure(float(ratios.min(initial=math.inf)), higher_is="exposed")


@dataclass(frozen=True)
class SampleRisk:
    """What a sample of ``n_records`` tells about a secret rotation before anything is released (M14).

    Attributes
    ----------
    ratio
        The smallest ratio of neighbouring eigenvalues.
    angle
        The largest standard error of an eigenvector's direction, in radians.
    margin
        The smallest number of standard errors by which an eigenvector's sign is known from the mean.
    at_risk
        Whether eigenvectors and signs alone undo the rotation: every angle within 0.3 and every sign by more than 2.
    """

    n_records: int
    ratio: float
    angle: float
    margin: float
    at_risk: bool

    @property
    def statement(self) -> str:
        """The finding in words."""
        if self.at_risk:
            return (
                f"A rotation of this table is at risk from a sample of {self.n_records:,} records: it shows the main "
                f"directions to {self.angle:.2f} radians and the weakest sign by {self.margin:.1f} standard errors."
            )
        return (
            "Only an audit can tell whether a sample undoes a rotation of this table: skewed columns often give it "
            f"away (A11). Means and covariances of {self.n_records:,} records alone do not "
            f"(smallest eigen-ratio {self.ratio:.2f}, directions to {self.angle:.2f} radians, weakest sign "
            f"{self.margin:.1f} standard errors)."
        )


def sample_risk(mean: npt.ArrayLike, covariance: npt.ArrayLike, n_records: int) -> SampleRisk:
    """Whether a sample of the population is enough to undo a rotation of normal data (A11 as the paper has it).

    The angle between neighbouring eigenvectors λ_i > λ_j of n records has a standard error of about
    ``√(λ_i λ_j/n)/(λ_i − λ_j)`` (Anderson 1963), and a sign is told by ``√(n·Inv)`` standard errors of the mean.

    >>> sample_risk([10, 10, 10], [[1, 1.5, 0.5], [1.5, 3, 2.5], [0.5, 2.5, 75]], 200).at_risk
    True
    """
    matrix = as_covariance(covariance, "covariance", "covariance")
    n = whole(n_records, "n_records", least=2)
    values, _ = eigenpairs(matrix)
    above, below = values[:-1], values[1:]
    gap = above - below
    with np.errstate(divide="ignore", invalid="ignore"):
        angles = np.where(gap > 0, np.sqrt(above * below / n) / np.where(gap > 0, gap, 1.0), math.pi / 2)
    angle = min(float(angles[above > 0].max(initial=0.0)), math.pi / 2)
    margin = math.sqrt(n * float(invariance(mean, matrix)))
    ratio = float(eigen_ratio(matrix, kind="covariance"))
    return SampleRisk(n, ratio, angle, margin, bool(angle < 0.3 and margin > 2.0))


def invariance(mean: npt.ArrayLike, covariance: npt.ArrayLike) -> Measure:
    """Inv(f) = 4·min_i (z_iᵀμ)²/λ_i of a normal law with eigenpairs (λ_i, z_i) (M14).

    The least symmetrised Kullback–Leibler divergence between the law and its mirror images
    along the eigenvectors (Liu 2007, Eq 4.4, symmetrised as in errata L-g): at 0 some sign
    cannot be known, whatever the sample, and the known-sample attack guesses it. A direction
    without variance counts as infinitely distinguishable when the mean has a part in it and
    is left out when not. Equal eigenvalues leave their eigenvectors free; one can always be
    taken across the mean, so they give 0.

    >>> round(invariance([1, 1, 1], [[0.1, 0, 0], [0, 2, 0], [0, 0, 40]]), 12)
    0.1
    """
    matrix = as_covariance(covariance, "covariance", "covariance")
    mu = per_column(mean, "mean", len(matrix))
    values, vectors = eigenpairs(matrix)
    varying = values > 0.0
    if not varying.any():
        return Measure(math.inf if mu.any() else math.nan, higher_is="exposed")
    above, below = values[varying][:-1], values[varying][1:]
    if (above - below <= 1e-9 * above).any():
        return Measure(0.0, higher_is="exposed")
    parts = (vectors.T @ mu)[varying] ** 2 / values[varying]
    return Measure(4.0 * float(parts.min()), higher_is="exposed")


def effective_dimension(table: npt.ArrayLike, *, kind: MatrixKind = "auto") -> Measure:
    """(Σλ)²/Σλ² over the eigenvalues of the correlation matrix (M16): how many columns there really are.

    d for uncorrelated columns, 1 when one factor drives all of them. Constant columns do not
    count; 0 when none varies. High is private: there is less for a filter to work with.

    >>> float(effective_dimension([[1.0, 0.0], [0.0, 9.0]]))
    2.0
    """
    correlation, varying = as_correlation(as_covariance(table, "table", kind))
    if not varying.any():
        return Measure(0.0, higher_is="private")
    return Measure(len(correlation) ** 2 / float((correlation**2).sum()), higher_is="private")


@dataclass(frozen=True)
class CorrelationRisk:
    """What :func:`correlation_risk` predicts for independent normal noise at several scales.

    One row per scale s, one column per column of the table (NaN for constant ones). With
    v_j the posterior variance of column j:

    * ``of_noise`` v_j over the noise variance s²σ_j²: the share of the noise that survives;
    * ``of_variance`` v_j over σ_j²: 0 is full disclosure, 1 is no better than the mean.

    ``noise_left`` and ``variance_left`` are their means over columns; ``univariate`` is
    ``variance_left`` if the columns were uncorrelated, s²/(1 + s²). ``spectrum`` holds the
    eigenvalues of the correlation matrix of the columns that vary, largest first.
    """

    scales: Array
    spectrum: Array
    effective_dimension: Measure
    of_noise: Array
    of_variance: Array
    noise_left: Array
    variance_left: Array
    univariate: Array


def correlation_risk(
    table: npt.ArrayLike, scales: npt.ArrayLike = (0.1, 0.25, 0.5, 1.0), *, kind: MatrixKind = "auto"
) -> CorrelationRisk:
    """The error that the Bayes estimate (A6) would make under noise of the given scales (M16).

    Noise of scale s adds variance s²σ_j² to column j. For normal data with covariance Σx the
    posterior variances are the diagonal of Σx − Σx(Σx + Σr)⁻¹Σx. In units of each column's
    standard deviation, with (λ_i, q_i) the eigenpairs of the correlation matrix,

        v_j = Σ_i q_ij² λ_i s²/(λ_i + s²),    mean_j v_j = mean_i λ_i s²/(λ_i + s²)

    which inverts nothing, so collinear columns are welcome. It takes the attacker to know the
    mean and the covariance exactly: a floor of the error for normal data. With few records per
    column the table's own spectrum is more uneven than its population's, and the floor lower.

    >>> risk = correlation_risk([[1.0, 0.8], [0.8, 1.0]], [1.0])
    >>> f"{risk.variance_left[0]:.4f} {risk.univariate[0]:.4f}"
    '0.4048 0.5000'
    """
    given = np.atleast_1d(np.asarray(scales)) if np.ndim(scales) < 2 else np.empty(0)
    if given.size == 0:
        raise InputError("scales: must be one or more numbers above 0; pass noise scales, e.g. [0.1, 0.5]")
    levels = per_column(given, "scales", given.size)
    if count := int((levels <= 0.0).sum()):
        raise InputError(f"scales: {count} of {levels.size} are not above 0; pass noise scales, e.g. [0.1, 0.5]")
    covariance = as_covariance(table, "table", kind)
    correlation, varying = as_correlation(covariance)
    if not varying.any():
        raise InputError("table: has no column that varies; correlation has nothing to work on")
    values, vectors = eigenpairs(correlation)
    power = levels[:, None] ** 2
    per_component = values * power / (values + power)  # scales × components
    variance = np.full((levels.size, varying.size), np.nan)
    variance[:, varying] = per_component @ (vectors**2).T
    variance_left = per_component.mean(axis=1)
    return CorrelationRisk(
        scales=levels,
        spectrum=values,
        effective_dimension=effective_dimension(covariance, kind="covariance"),
        of_noise=variance / power,
        of_variance=variance,
        noise_left=variance_left / levels**2,
        variance_left=variance_left,
        univariate=levels**2 / (1.0 + levels**2),
    )
