"""In place of the bank table, which is not public: five independent signals, none of them normal, mixed at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Context


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


def per_value(truth: Matrix, guess: Matrix) -> tuple[float, ...]:
    """RE, the mean of |x̂ − x|/|x| over all values, and RE-R_i, the same for each attribute."""
    shares = veil.measures.relative_error(truth, guess, per_column=True)
    return float(shares.mean()), *(float(share) for share in shares)


def median_error(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The median over mixtures and its standard error, from order statistics about the middle."""
    low, high = np.quantile(values, (0.5 - 0.5 / len(values) ** 0.5, 0.5 + 0.5 / len(values) ** 0.5))
    return float(np.median(values)), float(high - low) / 2
