"""The set-up that Huang's experiments share: normal records with chosen eigenvalues, normal noise, the attacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import veil
from veil_papers.arrays import Matrix, Vector
from veil_papers.bases import haar_basis
from veil_papers.experiment import Context

NOISE = 25.0
VARIANCE = 100.0
ATTACKS = ("UDR", "SF", "PCA-DR", "BE-DR", "BE-DR, best")
UNCLIPPED = "BE-DR, unclipped"
"""Equation 11 with Σy − σ²I as it comes; "BE-DR" sets the negative eigenvalues of it to 0 (H-a)."""


def spectrum(d: int, p: int, small: float) -> Vector:
    """p equal large eigenvalues and d − p small ones, so that the attributes' mean variance is 100."""
    large = (VARIANCE * d - small * (d - p)) / p
    return np.array([large] * p + [small] * (d - p))


def fourier_basis(d: int, p: int) -> Matrix:
    """A real Fourier basis whose first p vectors give every attribute the same variance, so that UDR stays put.

    The squares of cas(kt) and cas((d − k)t) add up to a constant; those of the constant vector are one themselves. An
    odd p starts with it, an even one ends on it.
    """
    k, t = np.arange(d), np.arange(d)[:, None]
    paired = [i for j in range(1, (d + 1) // 2) for i in (j, d - j)]
    single = [i for i in k.tolist() if i not in paired]
    order = [single[0], *paired, *single[1:]] if p % 2 else [*paired, *single]
    angle = 2 * np.pi * t * k[order] / d
    return np.asarray((np.cos(angle) + np.sin(angle)) / np.sqrt(d))


def unclipped(release: veil.Release, noise: float = NOISE) -> Matrix:
    """BE-DR as printed: equation 11, with Σy − σ²I for the private covariance even where it is none."""
    y = release.to_numpy()
    mean, covariance = y.mean(axis=0), np.cov(y.T, ddof=0)
    prior = covariance - noise * np.eye(y.shape[1])
    return np.asarray(mean + (y - mean) @ np.linalg.solve(covariance, prior))


def unclipped_error(eigenvalues: Vector, n: float, noise: float = NOISE) -> float:
    """What it leaves, by Stein's identity: σ² − σ⁴ tr(Σy⁻¹)/d · (2 − N/(N − d − 2)) for normal records."""
    return float(noise - noise**2 * (1 / (eigenvalues + noise)).mean() * (2 - n / (n - len(eigenvalues) - 2)))


def errors(
    context: Context,
    eigenvalues: Vector,
    basis: Matrix,
    n: int,
    address: Sequence[int],
    asked: Sequence[str] = ATTACKS,
) -> dict[str, float]:
    """Mean squared error per value of each attack on one table of n records."""
    rng = context.rng(*address)
    x = (rng.normal(size=(n, len(eigenvalues))) * np.sqrt(eigenvalues)) @ basis.T
    noise = veil.AdditiveNoise(NOISE**0.5, relative=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, noise)
    attacks: dict[str, veil.GuessingAttack] = {
        "UDR": veil.UnivariateBayesAttack(variant="normal"),
        "SF": veil.SpectralFilterAttack(variant="paper"),
        "PCA-DR": veil.PCAAttack(variant="paper"),
        "BE-DR": veil.BayesEstimateAttack(variant="paper"),
        "BE-DR, best": veil.BayesEstimateAttack(),
    }
    guesses = ((name, unclipped(release) if name == UNCLIPPED else attacks[name].run(release).values) for name in asked)
    return {name: float(((guess - x) ** 2).mean()) for name, guess in guesses}


def agreement(ours: float, error: float, repeats: int, listed: float, rounding: float) -> float:
    """How far a mean is from an independent simulation's, as a share of what chance and rounding allow.

    ``error`` is the standard error of ours over ``repeats`` repetitions; the other mean is over 20 of the same kind.
    """
    return float(abs(ours - listed) / (4 * error * (1 + repeats / 20) ** 0.5 + rounding))


def closed_forms(eigenvalues: Vector, basis: Matrix, p: int) -> dict[str, float]:
    """What the attacks leave when the covariance is known; SF has no closed form."""
    own = (basis**2) @ eigenvalues
    return {
        "UDR": float((own * NOISE / (own + NOISE)).mean()),
        "PCA-DR": float((NOISE * p + eigenvalues[p:].sum()) / len(eigenvalues)),
        "BE-DR": float((eigenvalues * NOISE / (eigenvalues + NOISE)).mean()),
    }


def udr_over_bases(context: Context, eigenvalues: Vector, count: int = 100) -> Vector:
    """What UDR leaves, by its closed form, in each of some random bases."""
    bases = (haar_basis(len(eigenvalues), context.rng(len(eigenvalues), i)) for i in range(count))
    return np.array([closed_forms(eigenvalues, basis, len(eigenvalues))["UDR"] for basis in bases])
