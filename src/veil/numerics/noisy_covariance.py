"""The covariance behind additive noise: how exactly Σy − Σr tells it, and what else is published of it together with
that."""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix, Vector


def noise_variance(table: Matrix, noise: Matrix, kurtosis: float) -> Matrix:
    """n times the variance of each entry of ``Σy − Σr`` given the n records of a table with covariance ``table``.

    ``Σy − Σx = Sxr + Srx + Srr`` with Sxr the covariance of records and noise. Given x, an entry of the first two has
    the variance ``(ΣxᵢᵢΣrⱼⱼ + ΣxⱼⱼΣrᵢᵢ + 2ΣxᵢⱼΣrᵢⱼ)/n``, one of the last ``(ΣrᵢᵢΣrⱼⱼ + Σrᵢⱼ²)/n`` for normal noise
    (Isserlis 1918); for independent noise of another law its fourth moment, ``kurtosis`` in units of its squared
    variance, enters on the diagonal. As r is symmetric, they are uncorrelated.
    """
    spread, own = np.diag(table), np.diag(noise)
    given = np.outer(spread, own) + np.outer(own, spread) + 2 * table * noise
    given += np.outer(own, own) + noise**2
    return np.asarray(given + np.diag((kurtosis - 3.0) * own**2))


def combined(first: Matrix, first_variance: Matrix, second: Matrix, second_variance: Matrix) -> tuple[Matrix, Matrix]:
    """Two independent estimates of one matrix, entry by entry with weights inverse to their variances; the variances.

    Where the second is NaN it is not there, and the first stays.

    >>> estimate, variance = combined(*(np.array([[v]]) for v in (1.0, 0.3, 2.0, 0.1)))
    >>> estimate.round(3), variance.round(3)
    (array([[1.75]]), array([[0.075]]))
    """
    there = ~np.isnan(second)
    total = first_variance + np.where(there, second_variance, 0.0)
    share = np.divide(first_variance, total, out=np.zeros_like(total), where=there & (total > 0))
    estimate = first + share * np.where(there, second - first, 0.0)
    return estimate, np.where(there, share * np.where(there, second_variance, 0.0), first_variance)


def slopes_with_published(slopes: Matrix, spread: Matrix, noise: Vector, covariance: Matrix, error: Matrix) -> Matrix:
    """Slopes on the known columns, from a regression and from published covariances together.

    Given x, the regression's slopes b̂ of one column err with covariance ``σ²S⁻¹``, S the known columns' ``spread`` and
    σ² the variance of the column's ``noise`` over the number of records; the published covariances ``c = S b`` err with
    variances v. The weighted least squares of both solve ``(I + σ²V⁻¹S) b = b̂ + σ²V⁻¹c``: in directions that the known
    columns hardly vary in, the regression alone decides. ``covariance`` and ``error`` (a × r) are NaN where nothing is
    published.
    """
    told = np.isfinite(covariance) & (error > 0)
    weight = np.divide(noise, error**2, out=np.zeros_like(slopes), where=told)
    right = slopes + weight * np.where(told, covariance, 0.0)
    systems = np.eye(len(spread)) + weight.T[:, :, None] * spread
    return np.asarray(np.linalg.solve(systems, right.T[:, :, None])[:, :, 0].T)
