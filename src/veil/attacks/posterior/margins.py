"""The marginal of a column: which of several the release itself makes most likely (A28).

A marginal p on a grid of points gives what is seen the density ``Σ_b p_b f(z | u_b)``, with f the column's own law of
noise. Compared are the joint prior's own marginal, the deconvolved one of A2 and, with a sample, kernel estimates from
the sample's values; the likeliest on some records of the release is taken, another than the joint prior's only for a
gain in log-likelihood that chance does not give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veil.attacks.posterior.cells import Codes, marginal
from veil.attacks.posterior.observations import Number
from veil.attacks.posterior.own_laws import FactorSum, Interval, OwnLaw
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import row_order

LEAST_GAIN, OVER_SAMPLE = 3.0, 12.0
"""Log-likelihood by which a marginal must win over the joint prior's (20 to 1), and over the sample's: it was itself
fitted to the release, and the sample's was not."""
MOST_JUDGES = 3_000
BANDWIDTHS = (0.1, 0.4, 1.0, 2.0)
"""Of a kernel estimate, in units of Silverman's rule."""
OTHERS = 20.0
"""Records of the joint prior that a kernel estimate counts in: for values beyond those of the sample."""


def likeliest(
    shapes: Sequence[Vector], of_sample: Sequence[Vector], number: Number, points: Vector, sigma: float
) -> Vector:
    """The marginal under which the release is most likely.

    Without a clear gain it is one of the sample, which has seen the values themselves, or else the first.
    """
    rows = np.flatnonzero(~np.isnan(number.z))
    rows = rows[row_order(number.z[rows, None])][:MOST_JUDGES]
    every = [*shapes, *of_sample]
    if len(every) == 1 or not len(rows):
        return every[0]
    seen = own_density(number, rows, points, sigma)
    scores = np.array([np.log(np.maximum(seen @ (shape / shape.sum()), 1e-300)).sum() for shape in every])
    best = int(scores.argmax())
    usual = len(shapes) + int(scores[len(shapes) :].argmax()) if of_sample else 0
    least = OVER_SAMPLE if of_sample else LEAST_GAIN
    return every[best] if scores[best] > scores[usual] + least else every[usual]


def sample_margins(u: Vector, other: Vector, start: float, step: float) -> list[Vector]:
    """Kernel estimates from a sample's values on a grid, by several bandwidths, each with a share of another margin."""
    u = u[~np.isnan(u)]
    if len(u) < 10 or not np.ptp(u) > 0:
        return []
    low, high = np.quantile(u, (0.25, 0.75))
    spread = min(float(u.std()), float(high - low) / 1.34) or float(u.std())
    margins = []
    for factor in BANDWIDTHS:
        width = factor * 0.9 * spread * len(u) ** -0.2
        first = np.array([0, len(u)], dtype=np.int64)
        shape = marginal(np.full(len(u), 1.0 / len(u)), first, u, np.array([width]), start, step, len(other))
        share = OTHERS / (OTHERS + len(u))
        if shape.sum() > 0:
            margins.append((1.0 - share) * shape / shape.sum() + share * other)
    return margins


def own_density(number: Number, rows: Codes, points: Vector, sigma: float) -> Matrix:
    """The density of what is seen in some rows for each point of the grid, by the column's own law."""
    error = number.z[rows][:, None] - points
    if isinstance(number.law, Interval):
        lower, upper = number.law.lower[rows][:, None], number.law.upper[rows][:, None]
        return ((points >= lower) & (points < upper)).astype(np.float64)
    if isinstance(number.law, FactorSum):
        m1, deviation, noise = factor_moments(number.law)
        variance = np.maximum((points * deviation / m1) ** 2 + (noise / m1) ** 2, 1e-12 * sigma**2)
        return np.asarray(np.exp(-0.5 * error**2 / variance) / np.sqrt(2 * math.pi * variance))
    density = np.exp(-0.5 * (error / sigma) ** 2) / (math.sqrt(2 * math.pi) * sigma)
    if isinstance(number.law, OwnLaw):
        ratios = own_ratios(number.law)
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
