"""Where a search begins: what the best attack on one column alone would gain, by the column's own distribution.

*Model.* A value x becomes y with a published density f(y|x). Whoever knows the column's distribution p and wants to be
within the tolerance names the window that most probably holds x, so that of all values the share

    ∫ max_a Σ_{|x − a| ≤ t} p(x)·f(y|x) dy

is right. That is exact for one column, whatever its shape. What other columns tell is added as for normal data: behind
noise with the covariance N on data with the covariance R, all columns together leave R − R(R + N)⁻¹R of uncertainty,
which one column alone would have behind noise of the variance v/(1 − v), v being its share (M16). It is a beginning,
not an answer: what is recommended was attacked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from veil import measures
from veil.data.blocks import Matrix, Vector
from veil.measures.far_out import far_out

BINS_OF_WINDOW = 4
TAIL = 0.001
"""Share of the values at either end that a column's distribution is cut off at."""
MOST_BINS = 600
LEAST_SCALE, LARGEST_SCALE = 0.05, 50.0
TIED = 0.5
"""The correlation from which on columns need the same scale."""
STEPS, CLOSE = 6, 1.05
"""How often scales are raised, and how near to what is needed is enough."""
FAR_OUT = 3.0
Density = Callable[[Vector, Vector], Matrix]
"""f(y|x), one row for each y and one column for each x."""


def window_gain(column: Vector, reach: float, density: Density, outcomes: Vector) -> float:
    """The advantage of the best window of half width ``reach`` over the best constant, given y on a regular grid."""
    low, high = np.quantile(column, [TAIL, 1.0 - TAIL])
    width = max(2.0 * reach / BINS_OF_WINDOW, (high - low) / MOST_BINS)
    edges = np.arange(low - width, high + 2.0 * width, width)
    shares = np.histogram(np.clip(column, low, high), edges)[0] / len(column)
    window = max(1, round(2.0 * reach / width))
    joint = density((edges[1:] + edges[:-1]) / 2.0, outcomes) * shares
    sums = np.cumsum(np.pad(joint, ((0, 0), (1, 0))), axis=1)
    rate = float((sums[:, window:] - sums[:, :-window]).max(axis=1).sum()) * float(outcomes[1] - outcomes[0])
    constant = float(np.convolve(shares, np.ones(window)).max())
    return max(0.0, (rate - constant) / max(1.0 - constant, 1e-9))


def normal_density(deviation: float) -> Density:
    """Additive normal noise."""

    def density(x: Vector, y: Vector) -> Matrix:
        z = (y[:, None] - x) / deviation
        return np.asarray(np.exp(-0.5 * z * z) / (deviation * math.sqrt(2.0 * math.pi)))

    return density


@dataclass(frozen=True)
class Survey:
    """What the closed forms know of a table: complete records of its numbers, and how near a guess must be."""

    records: Matrix
    tolerance: float

    @cached_property
    def units(self) -> Vector:
        """Standard units of the columns."""
        return np.asarray(measures.standard_units(self.records))

    @cached_property
    def deviations(self) -> Vector:
        """Standard deviations of the columns; 1 for a constant."""
        spread = self.records.std(axis=0)
        return np.where(spread > 0, spread, 1.0)

    @cached_property
    def far(self) -> Vector:
        """How many values far from the crowd a column has, as shares of the most that one has."""
        far = far_out(self.records, self.units, FAR_OUT, np.median(self.records, axis=0))[1].sum(axis=0)
        return np.asarray(far / max(int(far.max()), 1))

    @cached_property
    def correlation(self) -> Matrix:
        """Correlations of the columns; a constant has none."""
        z = (self.records - self.records.mean(axis=0)) / self.deviations
        return np.asarray(z.T @ z / len(z)) + np.diag((self.records.std(axis=0) == 0).astype(float))

    def needed(self, aim: float) -> Vector:
        """The least normal noise, in standard deviations, behind which each column alone gives away no more."""
        scales = []
        for column, unit, deviation in zip(self.records.T, self.units, self.deviations, strict=True):
            z, reach = (column - np.median(column)) / deviation, self.tolerance * unit / deviation
            low, high = LEAST_SCALE, LARGEST_SCALE
            for _ in range(12 if np.ptp(z) > 0 and reach > 0 else 0):
                middle = math.sqrt(low * high)
                gain = window_gain(z, reach, normal_density(middle), _outcomes(z, middle))
                low, high = (middle, high) if gain > aim else (low, middle)
            scales.append(high if np.ptp(z) > 0 and reach > 0 else 1.0)
        return np.array(scales)

    @cached_property
    def ties(self) -> Matrix:
        """How far a column's noise must go with another's, between 0 and 1: columns that correlate tell each other."""
        ties = np.abs(self.correlation)
        ties = np.where(ties >= TIED, 1.0, ties)
        for _ in range(len(ties)):  # what is tied to one of a group is tied to all
            joined = np.maximum(ties, (ties == 1.0).astype(float) @ (ties == 1.0).astype(float) >= 1.0)
            if (joined == ties).all():
                break
            ties = joined
        return np.asarray(ties)

    def spread(self, factors: Vector) -> Vector:
        """Factors of at least 1 for some columns, and as much of them for others as these are tied to them."""
        return np.asarray(np.exp((np.log(np.maximum(factors, 1.0)) * self.ties).max(axis=1)))

    def scales(self, aim: float) -> Vector:
        """Scales of independent noise whose columns together give away no more."""
        needed = self.needed(aim)
        scales = needed.min() * self.spread(needed / needed.min())
        for _ in range(STEPS):
            noise = np.diag(scales**2)
            gain = np.linalg.solve(self.correlation + noise + 1e-6 * np.eye(len(scales)), self.correlation)
            left = np.clip(np.diag(self.correlation - self.correlation @ gain), 1e-9, 1.0 - 1e-9)
            missing = needed / np.sqrt(left / (1.0 - left))
            if (missing <= CLOSE).all():
                break
            scales = np.clip(scales * self.spread(missing) ** 0.5, LEAST_SCALE, LARGEST_SCALE)
        return np.asarray(scales)

    def factor_gain(self, std: float, bounds: tuple[float, float]) -> float:
        """The most that factors of a normal law cut to ``bounds`` give away of a column, taken on logarithms."""
        mass = float(ndtr((bounds[1] - 1.0) / std) - ndtr((bounds[0] - 1.0) / std))

        def density(x: Vector, y: Vector) -> Matrix:
            size = np.maximum(np.abs(x), 1e-300)
            factor = y[:, None] * np.sign(x) / size
            inside = (factor >= bounds[0]) & (factor <= bounds[1])
            z = (factor - 1.0) / std
            return np.asarray(inside * np.exp(-0.5 * z * z) / (std * math.sqrt(2.0 * math.pi) * mass * size))

        gains = []
        for column, unit in zip(self.records.T, self.units, strict=True):
            low, high = np.quantile(column, [TAIL, 1.0 - TAIL])
            if unit > 0 and high > low:
                ends = min(low * bounds[1], low * bounds[0], 0.0), max(high * bounds[1], high * bounds[0], 0.0)
                gains.append(window_gain(column, self.tolerance * unit, density, np.linspace(*ends, 4 * MOST_BINS)))
        return max(gains, default=0.0)

    def log_gain(self, share: float) -> float:
        """The most that normal noise with a share of the logarithms' variance gives away of a positive column."""
        gains = []
        for column, unit in zip(self.records.T, self.units, strict=True):
            logs = np.log(np.maximum(column, 1e-300))
            deviation = math.sqrt(share) * float(logs.std())
            if unit > 0 and deviation > 0:
                noise = normal_density(deviation)

                def density(x: Vector, y: Vector, noise: Density = noise, least: float = column.min()) -> Matrix:
                    return noise(np.log(np.maximum(x, least)), y)

                outcomes = np.linspace(logs.min() - 5.0 * deviation, logs.max() + 5.0 * deviation, 2 * MOST_BINS)
                gains.append(window_gain(column, self.tolerance * unit, density, outcomes))
        return max(gains, default=0.0)


def _outcomes(z: Vector, deviation: float) -> Vector:
    """A grid of outcomes of noise on standardised values."""
    low, high = np.quantile(z, [TAIL, 1.0 - TAIL])
    step = max(0.02, deviation / 10.0, (high - low + 10.0 * deviation) / MOST_BINS)
    return np.arange(low - 5.0 * deviation, high + 5.0 * deviation, step)
