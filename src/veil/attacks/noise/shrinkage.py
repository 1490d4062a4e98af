"""Eigenvalues of a noisy release, shrunk so that the Bayes filter keeps its promise on few records.

*Model.* ``y = x + r`` in units where r has covariance I: Σy has eigenvalues τᵢ ≥ 1 and the Bayes filter
multiplies the i-th principal component by ``gᵢ = 1 − 1/τᵢ``. The eigenvalues ℓᵢ of N records spread around
the τᵢ (a bulk of equal ones over the Marchenko–Pastur interval ``τ(1 ± √(m/N))²``) and their eigenvectors
have fitted some of the noise, so the plug-in ``1 − 1/ℓᵢ`` loses to principal components at small N
(Huang, Du and Chen 2005 claim that it never does).

*Cure.* Three steps, none of which assumes a shape of the spectrum or a law of x:

1. Stein's unbiased estimate of the risk of ``Y Q diag(g) Qᵀ`` is minimal at ``gᵢ = 1 − cᵢ/ℓᵢ`` with
   ``N cᵢ = |N − 1 − d| + 1 + 2 Σ_{j≠i} ℓᵢ/(ℓᵢ − ℓⱼ)`` (Stein 1975; Candès, Sing-Long and Trzasko 2013).
2. The smallest eigenvalues that lie within one Marchenko–Pastur interval of their own mean are the bulk and
   get one common gain, unless the risk estimate objects.
3. Gains must fall with the eigenvalue: violators are pooled (isotonic regression with weights ℓᵢ).
"""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError

MOST_GAIN = 1.0 - 1e-12
MOST_RISE = 0.4
"""A bulk is pooled unless that raises a record's estimated squared error by more (in noise variances): isotonic
regression alone fits the bulk's upper edge, which lowers the estimate by some .1 to .3 and raises the error."""

EDGE_DEVIATIONS = 1.5
"""Tracy–Widom units (mean −1.21, deviation 1.27) by which an eigenvalue may pass the bulk's edge: the 99 % point."""


def pooled_eigenvalues(eigenvalues: Vector, n_rows: int) -> Vector:
    """Eigenvalues for the Bayes filter from those of the noise-whitened release.

    Parameters
    ----------
    eigenvalues
        The d eigenvalues of the whitened release's covariance (divisor N), in any order.
    n_rows
        N, the number of records behind the covariance.

    Returns
    -------
    The τᵢ ≥ 1, in the same order: the filter multiplies component i by ``1 − 1/τᵢ``. Directions that the
    records do not span (N ≤ d) have τ = 1, a filter gain of zero.

    >>> import numpy as np
    >>> pooled_eigenvalues(np.array([0.9, 1.3, 1.1, 50.0]), 100).round(3)
    array([ 1.123,  1.123,  1.123, 48.955])
    """
    given = np.asarray(eigenvalues, dtype=np.float64)
    order = np.argsort(given)[::-1]
    values = given[order]
    rank = _seen(values, n_rows)
    pooled = np.ones_like(values)
    if rank:
        raw = 1.0 - _stein_factors(values[:rank], n_rows, len(values)) / values[:rank]
        free, flat = (_shrunk(raw, values, bulk) for bulk in (rank, bulk_start(values, n_rows)))
        risks = [direction_errors(values, each, n_rows).sum() for each in (free, flat)]
        pooled[order] = flat if risks[1] <= risks[0] + MOST_RISE else free
    return pooled


def bulk_start(eigenvalues: Vector, n_rows: int) -> int:
    """How many of the falling eigenvalues stand out of the bulk; their number when there is no bulk.

    The bulk is the longest tail within the Marchenko–Pastur interval of its own level, widened by the
    sampling spread of the extremes; of eigenvalues that the records do not span, zero counts as seen.

    >>> bulk_start(np.array([50.0, 1.3, 1.1, 0.9]), 100)
    1
    """
    d, n = len(eigenvalues), max(n_rows - 1, 1)
    rank = _seen(eigenvalues, n_rows)
    tails = np.cumsum(eigenvalues[::-1])[::-1]
    for k in range(rank):
        m, left = d - k, max(n - k, 1)
        level = tails[k] / m * n / left
        root_n, root_m = np.sqrt(left), np.sqrt(m)
        # Johnstone's (2001) centre and scale of the largest eigenvalue; mirrored for the smallest.
        spread = (root_n + root_m) * np.cbrt(1 / root_n + 1 / root_m)
        top = level * ((root_n + root_m) ** 2 + EDGE_DEVIATIONS * spread) / n
        if m <= left:
            margin = abs(root_n - root_m) * np.cbrt(abs(1 / root_m - 1 / root_n))
            bottom = level * ((root_n - root_m) ** 2 - 3.0 * margin) / n
        else:
            bottom = 0.0
        if eigenvalues[k] <= top and eigenvalues[rank - 1] >= bottom:
            return k
    return d


def direction_errors(eigenvalues: Vector, pooled: Vector, n_rows: int) -> Vector:
    """Estimated m.s.e. along each eigenvector, in noise units, of the filter with ``pooled`` eigenvalues.

    Unlike ``1 − 1/τ``, it counts the noise that the eigenvectors have fitted.
    """
    order = np.argsort(eigenvalues)[::-1]
    values, gain = eigenvalues[order], 1.0 - 1.0 / pooled[order]
    d, rank = len(values), _seen(values, n_rows)
    if not rank:
        return np.zeros(d)
    factors = np.zeros(d)
    factors[:rank] = _stein_factors(values[:rank], n_rows, d)
    # Within a pool the factors of neighbours diverge and cancel: only their sum means anything.
    _, pool = np.unique(gain, return_inverse=True)
    factors = (np.bincount(pool, factors) / np.bincount(pool))[pool]
    level = (np.bincount(pool, values) / np.bincount(pool))[pool]
    errors = np.empty(d)
    errors[order] = level * (1.0 - gain) ** 2 + 2.0 * gain * factors - 1.0
    return errors


def pooled_prior(covariance: Matrix, noise: Matrix, n_rows: int, *, alone: bool = True) -> Matrix:
    """Prior covariance Σx of the Bayes filter: the first of what :func:`pooled_filter` returns."""
    return pooled_filter(covariance, noise, n_rows, alone=alone)[0]


def pooled_filter(covariance: Matrix, noise: Matrix, n_rows: int, *, alone: bool = True) -> tuple[Matrix, Matrix]:
    """Prior covariance Σx of the Bayes filter, from N records of the release, and the covariance of its errors.

    Shrinks in the noise-whitened eigenbasis. Where the noise is independent over columns and the columns'
    own filters have the smaller estimated risk, the prior is diagonal: few records of uncorrelated columns
    show correlations that are not there. ``alone=False`` leaves that out, for columns that were themselves
    chosen by the records, as principal components are.
    """
    root, inverse = whitening(noise)
    eigenvalues, q = np.linalg.eigh(inverse @ covariance @ inverse.T)
    eigenvalues = np.clip(eigenvalues, 0.0, None)
    pooled = pooled_eigenvalues(eigenvalues, n_rows)
    errors = direction_errors(eigenvalues, pooled, n_rows)
    if alone and not np.any(noise - np.diag(np.diag(noise))):
        ratio = np.diag(covariance) / np.diag(noise)
        own = np.clip(ratio, 1.0, None)
        risk = ratio / own**2 + 2.0 * (1.0 - 1.0 / own) * max(1.0 - 1.0 / n_rows, 0.0) - 1.0
        if risk.sum() < errors.sum():
            return np.diag((own - 1.0) * np.diag(noise)), np.diag(np.maximum(risk, 1.0 - 1.0 / own) * np.diag(noise))
    turn = root @ q
    # An estimate of a risk can be small by chance; a filter that knew the spectrum would still leave 1 − 1/τ.
    left = np.maximum(errors, 1.0 - 1.0 / pooled)
    return np.asarray((turn * (pooled - 1.0)) @ turn.T), np.asarray((turn * left) @ turn.T)


def whitening(noise: Matrix) -> tuple[Matrix, Matrix]:
    """A root of the noise covariance, ``root @ root.T = Σr``, and its inverse."""
    unit = np.sqrt(np.diag(noise))
    if not (unit > 0).all():
        raise NotApplicableError("some column of the release has no noise; its values are the private ones")
    power, basis = np.linalg.eigh(noise / np.outer(unit, unit))
    if power[0] <= 1e-12:
        raise NotApplicableError("the noise covariance is singular: some direction of the release has no noise")
    return unit[:, None] * basis * np.sqrt(power), (basis / np.sqrt(power)).T / unit


def _shrunk(raw: Vector, values: Vector, bulk: int) -> Vector:
    gain = np.clip(_pool_violators(raw, values[: len(raw)], bulk), 0.0, MOST_GAIN)
    return np.append(1.0 / (1.0 - gain), np.ones(len(values) - len(raw)))


def _seen(values: Vector, n_rows: int) -> int:
    """Number of falling eigenvalues that the centred records span."""
    least = 1e-15 * len(values) * float(values[0]) if len(values) else 0.0
    return int(min((values > least).sum(), max(n_rows - 1, 0)))


def _stein_factors(values: Vector, n_rows: int, d: int) -> Vector:
    """The cᵢ of Stein's risk estimate, for falling eigenvalues."""
    apart = values[:, None] - values[None, :]
    tied = apart == 0.0
    ratio = np.divide(values[:, None], apart, out=np.full_like(apart, 0.5), where=~tied)
    np.fill_diagonal(ratio, 0.0)
    return np.asarray((abs(n_rows - 1 - d) + 1.0 + 2.0 * ratio.sum(axis=1)) / n_rows)


def _pool_violators(raw: Vector, weights: Vector, bulk: int) -> Vector:
    """The falling sequence nearest to ``raw`` in weighted squares, constant from ``bulk`` on."""
    levels: list[float] = []
    sizes: list[float] = []
    counts: list[int] = []
    blocks = [(i, i + 1) for i in range(min(bulk, len(raw)))]
    if bulk < len(raw):
        blocks.append((bulk, len(raw)))
    for start, stop in blocks:
        size = float(weights[start:stop].sum())
        levels.append(float(raw[start:stop] @ weights[start:stop]) / size)
        sizes.append(size)
        counts.append(stop - start)
        while len(levels) > 1 and levels[-2] < levels[-1]:
            level, size, count = levels.pop(), sizes.pop(), counts.pop()
            total = sizes[-1] + size
            levels[-1] = (levels[-1] * sizes[-1] + level * size) / total
            sizes[-1], counts[-1] = total, counts[-1] + count
    return np.repeat(levels, counts)
