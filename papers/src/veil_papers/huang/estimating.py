"""What PCA-DR loses by taking its directions from the release, to first order in 1/N."""

from __future__ import annotations

import numpy as np

from veil_papers.arrays import Vector


def direction_cost(values: Vector, noise: Vector, n_directions: int, n: int) -> float:
    """By how much the mean squared error per value grows over its closed form.

    ``values`` λ and ``noise`` ν are variances along common eigenvectors; the directions are those of Σy − Σr. With P̂
    the projection, the error is tr Sxx + tr P̂(Srr − Sxx), S being sample covariances. Directions i (kept) and j
    (dropped) mix by an angle of variance (λᵢ + νᵢ)(λⱼ + νⱼ)/(N(λᵢ − λⱼ)²), and lean towards what this very release has:
    the angle's covariance with (Srr − Sxx)ᵢⱼ is (νᵢνⱼ − λᵢλⱼ)/(N(λᵢ − λⱼ)). The mean is estimated, too. For equal noise
    the sum is Σ[(λᵢ + σ²)(λⱼ + σ²) − 2λᵢλⱼ + 2σ⁴]/(λᵢ − λⱼ), and the means.
    """
    gap = np.subtract.outer(values[:n_directions], values[n_directions:])
    released = np.outer(values[:n_directions] + noise[:n_directions], values[n_directions:] + noise[n_directions:])
    turned = released * (gap - np.subtract.outer(noise[:n_directions], noise[n_directions:])) / gap**2
    own = np.outer(noise[:n_directions], noise[n_directions:]) - np.outer(values[:n_directions], values[n_directions:])
    return float(
        (turned.sum() + 2 * (own / gap).sum() + (noise[n_directions:] - values[n_directions:]).sum())
        / (n * len(values))
    )


def noise_cost(values: Vector, noise: float, n_directions: int, n: int) -> float:
    """The part of it that is noise let through, for equal noise: 2σ⁴/(Nm) Σ 1/(λᵢ − λⱼ)."""
    gap = np.subtract.outer(values[:n_directions], values[n_directions:])
    return float(2 * noise**2 * (1 / gap).sum() / (n * len(values)))


def bayes_cost(values: Vector, noise: Vector, n: int) -> float:
    """What the plug-in of BE-DR, not clipped, loses by estimating the covariance: exact for normal records.

    By Stein's identity the mean of tr(Σr S⁻¹ Σr) is N/(N − d − 2) times that with the true covariance. Clipping loses
    less.
    """
    d = len(values)
    return float((noise**2 / (values + noise)).mean() * (d + 2) / (n - d - 2))
