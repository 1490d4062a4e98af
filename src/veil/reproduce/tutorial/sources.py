"""In place of the bank table, which is not public: five independent signals, none of them normal, mixed at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import veil
from veil.reproduce.experiment import Context

Matrix = npt.NDArray[np.float64]
RECORDS = 50_000
FAILED = 0.9
"""A relative error of about one: no better than guessing the means."""


def draw(rng: np.random.Generator, n: int) -> Matrix:
    """Exponential, Laplace, uniform, log-normal and bimodal signals; their means are not 0: signs can be told."""
    bimodal = rng.choice([-1.0, 1.0], n) + 0.3 * rng.normal(size=n)
    signals = (rng.exponential(size=n), rng.laplace(size=n), rng.random(n), rng.lognormal(sigma=0.5, size=n), bimodal)
    return np.column_stack(signals) + 1.0


def population(context: Context, n: int, known: int, *address: int) -> tuple[Matrix, Matrix, int]:
    """A private table, a sample of the same population, and a seed for the release."""
    rng = context.rng(*address)
    mixing = rng.normal(size=(5, 5))
    return draw(rng, n) @ mixing.T, draw(rng, known) @ mixing.T, int(rng.integers(2**31))


def error(truth: Matrix, guess: Matrix) -> float:
    """F-RE about the means."""
    return float(veil.measures.frobenius_error(truth, guess, centred=True))
