"""How exactly the moments of a table with gaps are known, with the noise alone and in all.

*Law.* An estimate that solves "the mean of ψ is 0" has, to first order, the error −J⁻¹ times the mean of ψ, J the
derivative of that mean (Huber 1967; White 1982). So its covariance is J⁻¹ V J⁻ᵀ/n², with V

- *total*: Σ w²ψψ′ over records. That is the error for the population whatever its law, and with weights that of drawing
  with replacement (Särndal, Swensson and Wretman 1992, 5.5);
- *noise*: Σ w² Cov(ψ|x). Given the table and its gaps, the mean of ψ differs by this much from the private table's own.
  So it is the error for what the private table would tell by the same equations: its maximum-likelihood moments.

Where rows of a group resemble each other or share noise, the total is that of the groups' sums of wψ (Liang and Zeger
1986). The third cumulant of an error is, in the same way, the sum of the cubes of what each record or group adds to
it.

ψ is linear in a record's terms (:mod:`veil.numerics.gap_noise`): with B = ΣA, the predictions from what is there,
ψ = (Bδ, BTB′ about μ, less the covariance, plus the covariance of what is missing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, Vector
from veil.numerics.gap_moments import GapMoments, inverses, jacobian
from veil.numerics.gap_noise import GapNoise, Indices
from veil.numerics.gap_patterns import Mask, PatternSums, by_pattern

_NUMBERS = 2**21
"""Numbers that are held at once."""


@dataclass(frozen=True)
class GapSpread:
    """Sums over ``n`` records of w²ψψ′, and of the cubes of what each adds to the estimates; over ``n_noise`` of them
    of the estimate of w²Cov(ψ|x)."""

    n: int
    total: Matrix
    cubes: Vector
    n_noise: int
    noise: Matrix

    def __add__(self, other: GapSpread) -> GapSpread:
        """Over both parts together."""
        return GapSpread(
            self.n + other.n,
            self.total + other.total,
            self.cubes + other.cubes,
            self.n_noise + other.n_noise,
            self.noise + other.noise,
        )


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums of wψ over the records of each group that was seen; ``codes`` say which, in order."""

    codes: Indices
    sums: Matrix

    def __add__(self, other: GroupSums) -> GroupSums:
        """Over both parts together."""
        codes, at = np.unique(np.concatenate([self.codes, other.codes]), return_inverse=True)
        sums = np.zeros((len(codes), self.sums.shape[1]))
        for first, part in ((0, self.sums), (len(self.codes), other.sums)):
            sums[at[first : first + len(part)]] += part
        return GroupSums(codes, sums)

    @property
    def total(self) -> Matrix:
        """The sum of their squares, as of so many draws of groups."""
        n = len(self.codes)
        return np.asarray(self.sums.T @ self.sums * (n / max(n - 1.0, 1.0)))


@dataclass(frozen=True)
class GapErrors:
    """Covariances of the estimated moments: means, then the upper triangle of the covariance row by row.

    ``third`` are their third cumulants for the population.
    """

    noise: Matrix
    total: Matrix
    third: Vector


def record_stride(n_rows: int, d: int, most: float = 2e10) -> int:
    """Every how many records the noise is looked at, so that it takes a few seconds: a sample tells errors as well.

    >>> record_stride(10_000, 10), record_stride(30_000, 20) > 1
    (1, True)
    """
    q = float(d + d * (d + 1) // 2)
    return max(1, int(np.ceil(n_rows * (q**3 + 200 * q**2) / most)))


def influence_map(sums: PatternSums, noise: GapNoise, moments: GapMoments) -> Matrix:
    """−J⁻¹ over all weights: what a record's wψ adds to the estimates, up to its sign."""
    with one_blas_thread():
        derivative = jacobian(sums, noise.correction, moments)
    scale = _scale(moments)
    derivative = derivative * scale / scale[:, None]
    inverse = np.linalg.pinv(derivative, rcond=1e-10) * scale[:, None] / scale
    return np.asarray(-inverse / sums.weight.sum())


def gap_spread(
    released: Matrix,
    weights: Vector,
    noise: GapNoise,
    moments: GapMoments,
    each: Matrix,
    stride: int = 1,
    first: int = 0,
) -> GapSpread:
    """The sums over the records of an n × d matrix of released values, the first of which is record ``first``.

    ``each`` is the :func:`influence_map`.
    """
    used = ~np.isnan(released).all(axis=1) & (weights > 0.0)
    chosen = (np.arange(first, first + len(released)) % stride == 0)[used]
    released, weights = released[used], weights[used]
    q = len(moments.mean) + len(moments.mean) * (len(moments.mean) + 1) // 2
    total, cubes, part = np.zeros((q, q)), np.zeros(q), np.zeros((q, q))
    with one_blas_thread():
        for records, patterns, which in _chunks(released, 4 * len(moments.mean) ** 2):
            influence = _influences(released[records], patterns, which, noise, moments)
            influence *= weights[records][:, None]
            total += influence.T @ influence
            cubes += ((influence @ each.T) ** 3).sum(axis=0)
        released, weights = released[chosen], weights[chosen]
        for records, patterns, which in _chunks(released, 4 * q * q):
            starts = np.searchsorted(which, np.arange(len(patterns)))
            filled = np.nan_to_num(released[records], nan=0.0)
            sums = noise.term_noise(filled, weights[records] ** 2, starts)
            linear = _linear(patterns, moments)
            part += (linear @ sums @ linear.transpose(0, 2, 1)).sum(axis=0)
    return GapSpread(int(used.sum()), total, cubes, int(chosen.sum()), part)


def group_sums(released: Matrix, weights: Vector, noise: GapNoise, moments: GapMoments, codes: Indices) -> GroupSums:
    """The sums over each group of the records of an n × d matrix of released values."""
    used = ~np.isnan(released).all(axis=1) & (weights > 0.0)
    released, weights = released[used], weights[used]
    groups, at = np.unique(codes[used], return_inverse=True)
    d = len(moments.mean)
    sums = np.zeros((len(groups), d + d * (d + 1) // 2))
    with one_blas_thread():
        for records, patterns, which in _chunks(released, 4 * d**2):
            influence = _influences(released[records], patterns, which, noise, moments)
            np.add.at(sums, at[records], influence * weights[records][:, None])
    return GroupSums(groups, sums)


def gap_errors(spread: GapSpread, each: Matrix, groups: GroupSums | None = None) -> GapErrors:
    """Covariances of the estimates; ``each`` is the :func:`influence_map`."""
    n = spread.n
    middle = spread.total * (n / max(n - 1.0, 1.0)) if groups is None else groups.total
    third = spread.cubes if groups is None else ((groups.sums @ each.T) ** 3).sum(axis=0)
    own = each @ spread.noise @ each.T * (n / max(spread.n_noise, 1))
    return GapErrors(own, each @ middle @ each.T, third)


def _scale(moments: GapMoments) -> Vector:
    """The moments' units."""
    unit = np.sqrt(np.diag(moments.working))
    first, second = np.triu_indices(len(unit))
    return np.concatenate([unit, unit[first] * unit[second]])


def _chunks(released: Matrix, size: int) -> list[tuple[Indices, Mask, Indices]]:
    """Records with few patterns at a time: their places, the patterns, and which each has (in order)."""
    if not len(released):
        return []
    patterns, order, starts = by_pattern(~np.isnan(released))
    which = np.repeat(np.arange(len(patterns)), np.diff(np.append(starts, len(order))))
    most = max(_NUMBERS // size, 1)
    parts, start = [], 0
    while start < len(order):
        # As many records as fit, and no more patterns than that.
        stop = min(start + 64 * most, len(order), int(np.searchsorted(which, which[start] + most)))
        own = which[start:stop]
        parts.append((order[start:stop], patterns[own[0] : own[-1] + 1], own - own[0]))
        start = stop
    return parts


def _influences(released: Matrix, patterns: Mask, which: Indices, noise: GapNoise, moments: GapMoments) -> Matrix:
    """ψ of every record."""
    z = noise.unbiased(np.nan_to_num(released, nan=0.0))
    there = patterns[which]
    z = np.where(there, z, 0.0)
    away = np.where(there, z - moments.mean, 0.0)
    predict = moments.working @ inverses(patterns, moments.working)
    constant = moments.working - predict @ moments.working - moments.covariance
    first, second = np.triu_indices(len(moments.mean))
    influences = []
    for start in range(0, len(z), max(_NUMBERS // (4 * z.shape[1] ** 2), 1)):
        piece = slice(start, start + max(_NUMBERS // (4 * z.shape[1] ** 2), 1))
        own, slope = z[piece], predict[which[piece]]
        products = away[piece][:, :, None] * away[piece][:, None, :]
        products -= noise.correction.of(np.ones(len(own)), own, own[:, :, None] * own[:, None, :])
        spread = slope @ products @ slope.transpose(0, 2, 1) + constant[which[piece]]
        mean = np.einsum("nij,nj->ni", slope, away[piece])
        influences.append(np.hstack([mean, spread[:, first, second]]))
    return np.concatenate(influences)


def _linear(patterns: Mask, moments: GapMoments) -> Matrix:
    """ψ as a linear function of the terms, for each pattern."""
    d = len(moments.mean)
    first, second = np.triu_indices(d)
    b = moments.working @ inverses(patterns, moments.working)
    centre = b @ moments.mean
    left, right = b[:, first], b[:, second]  # rows k and l of B
    by_value = -(left * centre[:, second, None] + right * centre[:, first, None])
    by_product = left[:, :, first] * right[:, :, second]
    by_product += np.where(first == second, 0.0, left[:, :, second] * right[:, :, first])
    upper = np.concatenate([b, np.zeros((len(b), d, len(first)))], axis=2)
    return np.concatenate([upper, np.concatenate([by_value, by_product], axis=2)], axis=1)
