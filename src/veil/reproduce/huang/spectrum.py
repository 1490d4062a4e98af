"""The set-up that Huang's experiments share: normal records with chosen eigenvalues, normal noise, four attacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import veil
from veil.reproduce.experiment import Context

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
NOISE = 25.0
VARIANCE = 100.0
ATTACKS = ("UDR", "SF", "PCA-DR", "BE-DR", "BE-DR, best")


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


def haar_basis(d: int, rng: np.random.Generator) -> Matrix:
    """Gram–Schmidt of a random matrix, as the paper says."""
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


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
    attacks: dict[str, veil.Attack] = {
        "UDR": veil.UnivariateBayesAttack(variant="paper"),
        "SF": veil.SpectralFilterAttack(variant="paper"),
        "PCA-DR": veil.PCAAttack(variant="paper"),
        "BE-DR": veil.BayesEstimateAttack(variant="paper"),
        "BE-DR, best": veil.BayesEstimateAttack(),
    }
    return {name: float(((attacks[name].run(release).values - x) ** 2).mean()) for name in asked}


def closed_forms(eigenvalues: Vector, basis: Matrix, p: int) -> dict[str, float]:
    """What the attacks leave when the covariance is known; SF has no closed form."""
    own = (basis**2) @ eigenvalues
    return {
        "UDR": float((own * NOISE / (own + NOISE)).mean()),
        "PCA-DR": float((NOISE * p + eigenvalues[p:].sum()) / len(eigenvalues)),
        "BE-DR": float((eigenvalues * NOISE / (eigenvalues + NOISE)).mean()),
    }
