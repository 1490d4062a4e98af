"""Two measures of what correlation gives away: canonical (M2) and dissimilarity (M9)."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_table, choice
from veil.errors import InputError
from veil.measures.measure import Measure
from veil.measures.spectrum import about_mean, as_correlation, as_covariance, is_correlation

DissimilarityForm = Literal["paper", "rms"]
_Z95 = NormalDist().inv_cdf(0.975)


def canonical_privacy(x: npt.ArrayLike, y: npt.ArrayLike) -> Measure:
    """1 − λ_max(Cxx⁻¹ Cxy Cyy⁻¹ Cyx): the unexplained share of the most exposed combination (M2).

    λ_max is the largest squared canonical correlation: the share of variance of the linear
    combination of private columns that a linear combination of what is out explains best
    (Sarathy and Muralidhar 2002). Liu 2007, 3.3 prints C_YY for C_XY, which makes no sense
    (errata L-o). 0: some combination is known exactly; 1: nothing linear is known.

    Parameters
    ----------
    x
        The private columns.
    y
        Everything the attacker sees of the same records: released *and* public columns.

    Computed from orthonormal bases of the standardised columns (singular values of QₓᵀQ_y),
    so collinear and constant columns do no harm. Records with a missing value are left out.
    NaN when no private column varies. The interval is 95 %, Fisher's for a correlation with
    n − rank(x) − rank(y) − 1 degrees of freedom; when the ranks leave none, the columns
    explain anything by counting alone, and the interval is (0, 1).

    >>> float(canonical_privacy([[1.0], [2.0], [3.0], [4.0]], [[1.0], [-1.0], [-1.0], [1.0]]))
    1.0
    """
    a, b = as_table(x, "x"), as_table(y, "y")
    if len(a) != len(b):
        raise InputError(f"y: has {len(b)} records where x has {len(a)}; pass the same records in order")
    complete: Mask = np.asarray(~(np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)))
    if (count := int(complete.sum())) < 2:
        raise InputError(f"x: has {count} record(s) complete in both tables; pass at least two")
    left, right = _basis(a[complete]), _basis(b[complete])
    if left.shape[1] == 0:
        return Measure(math.nan, low=math.nan, high=math.nan, higher_is="private")
    if right.shape[1] == 0:
        return Measure(1.0, higher_is="private")
    rho = min(1.0, float(np.linalg.norm(left.T @ right, 2)))
    freedom = count - left.shape[1] - right.shape[1] - 1
    if freedom <= 0:
        return Measure(1.0 - rho * rho, low=0.0, high=1.0, higher_is="private")
    if 1.0 - rho * rho < 1e-12:  # rounding of two bases that share a direction
        return Measure(0.0, higher_is="private")
    half = _Z95 / math.sqrt(freedom)
    low, high = (1.0 - math.tanh(max(0.0, math.atanh(rho) + sign * half)) ** 2 for sign in (1, -1))
    return Measure((1.0 - rho) * (1.0 + rho), low=low, high=high, higher_is="private")


def correlation_dissimilarity(x: npt.ArrayLike, r: npt.ArrayLike, form: DissimilarityForm = "paper") -> Measure:
    """How unlike the correlations of the noise are to those of the data (M9; Huang et al. 2005, 8.1).

        paper:  (1/(m² − m)) · √(Σ_{i≠j} (C_X(i,j) − C_R(i,j))²)
        rms:    √(Σ_{i≠j} (C_X(i,j) − C_R(i,j))² / (m² − m))

    The paper's form, as printed, shrinks with the number m of columns (it is the RMS form over
    √(m² − m)); compare tables of different width by ``"rms"`` only. Noise unlike the data is
    easier to filter out, so higher is more exposed.

    ``x`` and ``r`` are tables of the same columns (the noise may have its own number of
    records; records with a missing value are left out) or correlation matrices, told apart
    by their ones on the diagonal. Columns that are constant in either are left out; fewer
    than two others are refused.

    >>> float(correlation_dissimilarity([[1.0, 0.6], [0.6, 1.0]], [[1.0, 0.0], [0.0, 1.0]], "rms"))
    0.6
    """
    chosen = choice(form, "form", ("paper", "rms"))
    (data, data_varies), (noise, noise_varies) = _correlations(x, "x"), _correlations(r, "r")
    if len(data) != len(noise):
        raise InputError(f"r: has {len(noise)} columns where x has {len(data)}; pass the same columns in order")
    varies = data_varies & noise_varies
    if (m := int(varies.sum())) < 2:
        raise InputError(f"x: has {m} column(s) that vary in both tables; pass at least two")
    difference = (data - noise)[np.ix_(varies, varies)]
    np.fill_diagonal(difference, 0.0)
    root = float(np.linalg.norm(difference))
    pairs = m * m - m
    return Measure(root / (pairs if chosen == "paper" else math.sqrt(pairs)), higher_is="exposed")


def _basis(table: Array) -> Array:
    """An orthonormal basis of the centred columns, each brought to the same size first."""
    deviation = about_mean(table)
    size = np.sqrt((deviation * deviation).sum(axis=0))
    deviation = np.asarray(deviation[:, size > 0.0] / size[size > 0.0])
    if deviation.shape[1] == 0:
        return deviation
    vectors, sizes, _ = np.linalg.svd(deviation, full_matrices=False)
    return np.asarray(vectors[:, sizes > 1e-10 * sizes[0]])


def _correlations(values: npt.ArrayLike, name: str) -> tuple[Array, Mask]:
    """The correlation matrix with zeros for the columns that do not vary, and the mask of those that do."""
    table = as_table(values, name)
    if is_correlation(table):
        return table, np.ones(len(table), dtype=np.bool_)
    correlation, varying = as_correlation(as_covariance(table, name, "table"))
    full = np.zeros((varying.size, varying.size))
    full[np.ix_(varying, varying)] = correlation
    return full, varying
