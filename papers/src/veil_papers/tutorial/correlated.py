"""The artificial table of the spectral experiments: 35 correlated variables, normal, with a falling spectrum."""

from __future__ import annotations

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.bases import haar_basis
from veil_papers.experiment import Context

SPECTRUM = np.array([400.0, 250, 150, 90, 60, 40, 25, 15, 10, 6, *(3 * 0.85 ** np.arange(25))])
NOISES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0)
"""σ², with λ_V = σ²."""


def table(context: Context, n: int, *address: int) -> Matrix:
    """n normal records with that spectrum in a random basis."""
    rng = context.rng(*address)
    basis = haar_basis(len(SPECTRUM), rng)
    return np.asarray((rng.normal(size=(n, len(SPECTRUM))) * np.sqrt(SPECTRUM)) @ basis.T)


def noisy(context: Context, u: Matrix, variance: float, *address: int) -> veil.Release:
    """The table with independent normal noise."""
    seed = int(context.rng(*address).integers(2**31))
    return veil.publish(u, veil.AdditiveNoise(variance**0.5, relative=False, random_state=seed))[0]


def error(u: Matrix, guess: Matrix) -> float:
    """‖Û − U‖/‖U‖, both about their means: what the attacks centre on."""
    return float(veil.measures.frobenius_error(u - u.mean(axis=0), guess - guess.mean(axis=0)))


def rank_error(variance: float, k: int) -> float:
    """What k known directions leave: kσ² of noise and the dropped eigenvalues."""
    return float(np.sqrt((k * variance + SPECTRUM[k:].sum()) / SPECTRUM.sum()))


def bayes_error(variance: float) -> float:
    """What the Bayes filter leaves with the covariance known."""
    return float(np.sqrt((SPECTRUM * variance / (SPECTRUM + variance)).sum() / SPECTRUM.sum()))


def best_rank(variance: float) -> int:
    """The k of the smallest error with known directions: those with λ ≥ σ²."""
    return int((variance <= SPECTRUM).sum())
