"""The marginal of a column: which of several the release itself makes most likely (A28).

A marginal p on a grid of points gives what is seen the density ``Σ_b p_b f(z | u_b)``, with f the column's own law of
noise. Compared are the joint prior's own marginal, the deconvolved one of A2 and, with a sample, kernel estimates from
the sample's values. The likeliest on some records of the release and on the sample itself is taken, another than the
joint prior's only for a gain in log-likelihood that chance does not give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veil.attacks.posterior.cells import Codes, marginal, normal_density
from veil.attacks.posterior.observations import Number
from veil.attacks.posterior.own_laws import FactorSum, Interval, OwnLaw
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import row_order

LEAST_GAIN = 8.0
"""Log-likelihood by which a marginal must win over the joint prior's: it was fitted to the same records, with about as
many parameters (Akaike 1974)."""
MOST_JUDGES, FEWEST_SAMPLED = 3_000, 10
BANDWIDTHS = (0.1, 0.4, 1.0, 2.0)
"""Of a kernel estimate, in units of Silverman's rule."""
OTHERS = 20.0
"""Records of the joint prior that a kernel estimate counts in: for values beyond those of the sample."""


def likeliest(shapes: Sequence[Vector], number: Number, points: Vector, sigma: float, sample: Vector) -> Vector:
    """The marginal under which release and sample are most likely; the first without a clear gain.

    ``sample`` are values in the working scale, perhaps none. With some, kernel estimates from them are tried as well,
    and each judges a value of the sample without that value.
    """
    rows = judges(number)
    sample = sample[~np.isnan(sample)]
    step = float(points[1] - points[0])
    at = np.clip(np.rint((sample - points[0]) / step), 0, len(points) - 1).astype(np.intp)
    tried = [(shape, shape[at]) for shape in shapes]
    if len(sample) >= FEWEST_SAMPLED and np.ptp(sample) > 0:
        tried += [_kernel_estimate(sample, at, shapes[-1], points, factor) for factor in BANDWIDTHS]
    if len(tried) == 1 or not len(rows):
        return shapes[0]
    seen = own_density(number, rows, points, sigma)
    scores = [log_likelihood(seen @ shape) + log_likelihood(own) for shape, own in tried]
    best = int(np.argmax(scores))
    return tried[best][0] if scores[best] > scores[0] + LEAST_GAIN else shapes[0]


def judges(number: Number) -> Codes:
    """Records of the release, chosen by their values, that say how likely a marginal is."""
    rows = np.flatnonzero(~np.isnan(number.z))
    return rows[row_order(number.z[rows, None])][:MOST_JUDGES]


def log_likelihood(density: Vector) -> float:
    """Of records that have these densities."""
    return float(np.log(np.maximum(density, 1e-300)).sum())


def _kernel_estimate(sample: Vector, at: Codes, other: Vector, points: Vector, factor: float) -> tuple[Vector, Vector]:
    """A kernel estimate with a share of another marginal, and its value at every record without that record."""
    m, step = len(sample), float(points[1] - points[0])
    low, high = np.quantile(sample, (0.25, 0.75))
    spread = min(float(sample.std()), float(high - low) / 1.34) or float(sample.std())
    width = np.array([factor * 0.9 * spread * m**-0.2])
    first, one = np.array([0, m], dtype=np.int64), np.array([0, 1], dtype=np.int64)
    shape = marginal(np.full(m, 1.0 / m), first, sample, width, float(points[0]), step, len(points))
    middle = points[[len(points) // 2]]
    peak = marginal(np.ones(1), one, middle, width, float(points[0]), step, len(points)).max()
    share = OTHERS / (OTHERS + m)
    without = np.maximum(m * shape[at] - peak, 0.0) / (m - 1)
    return (1.0 - share) * shape + share * other, (1.0 - share) * without + share * other[at]


def beta_masses(points: Vector, step: float, ends: tuple[float, float], mean: float, spread: float) -> Vector | None:
    """The masses of a beta distribution between two ends that has a mean and a standard deviation; None if none has.

    >>> points = np.linspace(0.0, 1.0, 5)
    >>> beta_masses(points, 0.25, (0.0, 1.0), 0.5, 12**-0.5).round(3).tolist()
    [0.125, 0.25, 0.25, 0.25, 0.125]
    """
    from scipy.special import betainc

    low, high = ends
    if not np.isfinite(ends).all() or not high > low:
        return None
    m, v = (mean - low) / (high - low), (spread / (high - low)) ** 2
    size = m * (1.0 - m) / v - 1.0 if 0.0 < m < 1.0 else 0.0
    if not size > 0.02:
        return None
    edges = np.clip((np.append(points, points[-1] + step) - 0.5 * step - low) / (high - low), 0.0, 1.0)
    return np.asarray(np.diff(betainc(m * size, (1.0 - m) * size, edges)))


def own_density(number: Number, rows: Codes, points: Vector, sigma: float) -> Matrix:
    """The density of what is seen in some rows for each point of the grid, by the column's own law."""
    if isinstance(number.law, Interval):
        lower, upper = number.law.lower[rows][:, None], number.law.upper[rows][:, None]
        return ((points >= lower) & (points < upper)).astype(np.float64)
    if isinstance(number.law, FactorSum):
        error, (m1, deviation, noise) = number.z[rows][:, None] - points, factor_moments(number.law)
        variance = np.maximum((points * deviation / m1) ** 2 + (noise / m1) ** 2, 1e-12 * sigma**2)
        return np.asarray(np.exp(-0.5 * error**2 / variance) / np.sqrt(2 * math.pi * variance))
    density = np.empty((len(rows), len(points)))
    normal_density(number.z[rows], float(points[0]), float(points[1] - points[0]), sigma, density)
    if isinstance(number.law, OwnLaw):
        ratios = own_ratios(number.law)
        error = number.z[rows][:, None] - points
        errors = np.linspace(-number.law.reach, number.law.reach, len(ratios))
        density *= np.interp(error, errors, ratios)
    return density


def own_ratios(law: OwnLaw) -> Vector:
    """Densities of a law over those of the normal one."""
    return np.asarray(np.exp(np.clip(law.table, -700.0, 50.0)))


def factor_moments(law: FactorSum) -> tuple[float, float, float]:
    """E r, √Var r and τ."""
    m1, m2 = law.law.expectation, law.law.second_moment
    return m1, math.sqrt(m2 - m1**2), law.noise


def own_tables(number: Number) -> tuple[Vector, float, Vector]:
    """The law of a column's noise as compiled code takes it: table of ratios, its reach, and the factor's moments."""
    nothing = np.empty(0)
    if isinstance(number.law, OwnLaw):
        return own_ratios(number.law), number.law.reach, nothing
    if isinstance(number.law, FactorSum):
        return nothing, 1.0, np.array(factor_moments(number.law))
    return nothing, 1.0, nothing


def class_ends(number: Number, rows: Codes) -> Matrix:
    """The ends of the classes of some rows, empty where the column has none."""
    if not isinstance(number.law, Interval):
        return np.empty((0, 2))
    return np.column_stack([number.law.lower[rows], number.law.upper[rows]])
