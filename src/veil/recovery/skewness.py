"""Intervals that account for the skewness of an estimate: of heavy-tailed columns two standard errors are too few.

*Law.* An estimate that is a mean of influences, less its truth and divided by its estimated standard error, is T with

    P(T ≤ t) = Φ(t) + (a/6)(2t² + 1) φ(t) + O(1/n),        a = κ₃/s³,

s the standard error and κ₃ the third cumulant (Hall 1992a, section 2.4). A sample that misses a heavy tail has a small
variance *and* a small error of it, so that truths above are missed. With g(t) = t + at²/3 + a²t³/27 + a/6, which only
rises, g(T) is normal to order 1/n (Hall 1992b), and T between g⁻¹(−z) and g⁻¹(z) is the interval. Without skewness
that is ± z standard errors.

Hall (1992a), The Bootstrap and Edgeworth Expansion. Hall (1992b), On the removal of skewness by transformation, Journal
of the Royal Statistical Society B 54.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from veil.data.blocks import Block, Matrix, Vector
from veil.numerics.gap_noise import GapNoise, term_values
from veil.recovery.clusters import Clusters
from veil.recovery.gaps_of_numbers import noise_behind
from veil.release.release import Release

_LEAST = 1e-6
"""Skewness below which an interval is that without it."""
_ROWS = 2**12
"""Records whose influences are held at once."""


def skewed_limits(estimate: Matrix, error: Matrix, third: Matrix, z: float) -> tuple[Matrix, Matrix]:
    """The ends of an interval of ± z standard errors, moved by the third cumulant of the estimate.

    >>> low, high = skewed_limits(np.zeros(2), np.ones(2), np.array([0.0, 0.2]), 2.0)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-2.0, -1.75], [2.0, 2.4])
    """
    skew = np.divide(third, error**3, out=np.zeros_like(error), where=error > 0.0)
    skew = np.where(np.isfinite(skew), skew, 0.0)
    return estimate - error * _inverse(z, skew), estimate - error * _inverse(-z, skew)


def _inverse(z: float, skew: Matrix) -> Matrix:
    """g⁻¹(z)."""
    plain = np.abs(skew) < _LEAST
    a = np.where(plain, 1.0, skew)
    return np.where(plain, z, 3.0 / a * (np.cbrt(1.0 + a * (z - a / 6.0)) - 1.0))


def complete_third(release: Release, mean: Vector, covariance: Matrix, clusters: Clusters | None) -> Vector:
    """Third cumulants of the means and the covariance (its upper triangle) over complete records, from one pass.

    With groups they are those of groups, and the release is held in memory.
    """
    part = release.only_part
    noise = noise_behind(part, 0)
    if clusters is None:
        total = release.summed(partial(cube_sums, part.released, noise, mean, covariance), list(part.released))
        return np.asarray(total[1:] / max(total[0], 1.0) ** 3)
    influences = clusters.sums(_influences(release.to_numpy(), noise, mean, covariance).T)
    return np.asarray((influences**3).sum(axis=1) / float(clusters.sizes.sum()) ** 3)


def cube_sums(names: tuple[str, ...], noise: GapNoise, mean: Vector, covariance: Matrix, block: Block) -> Vector:
    """How many records of a block are complete, and the sums of their influences' cubes."""
    released = block.matrix(names).T
    released = released[~np.isnan(released).any(axis=1)]
    d = len(names)
    sums = np.zeros(1 + d + d * (d + 1) // 2)
    sums[0] = len(released)
    for start in range(0, len(released), _ROWS):
        sums[1:] += (_influences(released[start : start + _ROWS], noise, mean, covariance) ** 3).sum(axis=0)
    return sums


def _influences(released: Matrix, noise: GapNoise, mean: Vector, covariance: Matrix) -> Matrix:
    """What each record adds to the means and covariances: z − μ, and T − μz′ − zμ′ + μμ′ − Σ."""
    d = len(mean)
    first, second = np.triu_indices(d)
    terms = term_values(noise, released)
    z = terms[:, :d]
    products = terms[:, d:] - mean[first] * z[:, second] - mean[second] * z[:, first]
    return np.hstack([z - mean, products + mean[first] * mean[second] - covariance[first, second]])
