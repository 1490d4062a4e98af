"""What sample eigenvalues of equal true ones do to a filter, by Marchenko and Pastur's law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veil_papers.arrays import Vector


def bulk_mean(ratio: float, function: Callable[[Vector], Vector]) -> float:
    """Mean of a function over the eigenvalues of a sample covariance of N records of d = ratio·N unit variances.

    Of d < N; by the midpoint rule in the angle that takes the density's square roots away.
    """
    angle = (np.arange(20_000) + 0.5) * np.pi / 20_000
    values = 1 + ratio - 2 * ratio**0.5 * np.cos(angle)
    weights = np.sin(angle) ** 2 / values
    return float((weights * function(values)).sum() / weights.sum())


def plug_in_cost(ratio: float) -> float:
    """What the clipped plug-in fits of pure noise of variance 1: the mean of ((1 − 1/λ)₊)²λ."""
    return bulk_mean(ratio, lambda values: np.clip(1 - 1 / values, 0, None) ** 2 * values)


def filtered_error(small: float, noise: float, ratio: float, bound: float) -> float:
    """What SF leaves in a direction of equal small eigenvalues, when it keeps sample eigenvalues over a bound.

    Given the release, x along a direction has mean λ/(λ + σ²)·y and variance λσ²/(λ + σ²), and the release's own
    eigenvectors depend on nothing else.
    """
    released = small + noise
    share = bulk_mean(
        ratio,
        lambda values: (
            np.where(values * released > bound, (noise / released) ** 2, (small / released) ** 2) * values * released
        ),
    )
    return small * noise / released + share
