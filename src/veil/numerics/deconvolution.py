"""The distribution of x from counts of ``y = x + r``: one EM iteration for attackers and analysts.

*Model.* y falls in bin b with probability ``g_b = Σ_a w_a K_ba``: w_a is the probability of place a of x, and K_ba the
chance of bin b given place a, which the law of the noise says (:mod:`veil.numerics.laws`). A place is a bin's middle
for an attacker's prior (:mod:`veil.numerics.priors`) and an interval in which x is spread evenly for an analyst's
reconstruction (:mod:`veil.recovery.density`). The weights of largest likelihood (NPMLE; Kiefer and Wolfowitz 1956, by
EM as Agrawal and Aggarwal 2001) come from the iteration::

    w_a ← w_a · Σ_b n_b K_ba / (N g_b)

It works on counts, so a step costs the same whatever N, and the likelihood never falls. When to stop is the caller's:
going on over-fits, since the weights pile up on a few places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from veil.data.blocks import Matrix, Vector

LEAST_GAIN: Final = 0.03
MOST_STEPS: Final = 2_000
CHI_SQUARE_SHARE: Final = 0.01
"""Of the 95 % point of chi-square, under which Agrawal and Srikant's estimates stop to change."""


@dataclass(frozen=True)
class Estimate:
    """The weights after some steps, the probability of each bin under them, and the counts' log-likelihood."""

    weights: Matrix
    mixture: Matrix
    log_likelihood: float


def estimates(
    counts: Matrix,
    start: Matrix,
    forward: Callable[[Matrix], Matrix],
    backward: Callable[[Matrix], Matrix],
) -> Iterator[Estimate]:
    """The start and the weights after each step, without end.

    ``forward`` takes weights to probabilities of bins, ``backward`` is its transpose. Bins without a count have no say,
    nor have those that no place leads to.

    >>> from itertools import islice
    >>> kernel = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> steps = estimates(np.array([44.0, 56]), np.array([0.5, 0.5]), kernel.__matmul__, kernel.T.__matmul__)
    >>> list(islice(steps, 100))[-1].weights.round(3).tolist()
    [0.4, 0.6]
    """
    from veil.numerics.deconvolution_compiled import expected, reweighted  # compiled code is loaded where it is used

    weights, table = np.ascontiguousarray(start), np.ascontiguousarray(counts, dtype=np.float64)
    while True:
        mixture = np.ascontiguousarray(forward(weights))
        ratio = np.empty_like(mixture)
        log_likelihood = expected(table.reshape(-1), mixture.reshape(-1), ratio.reshape(-1))
        yield Estimate(weights, mixture, log_likelihood)
        factors, before = np.ascontiguousarray(backward(ratio)), weights
        weights = np.empty_like(before)
        reweighted(before.reshape(-1), factors.reshape(-1), weights.reshape(-1))


def chi_square(new: Matrix, old: Matrix) -> float:
    """Σ (new − old)²/old over all places that had a weight.

    >>> chi_square(np.array([0.2, 0.8]), np.array([0.4, 0.6])).__round__(4)
    0.1667
    """
    from veil.numerics.deconvolution_compiled import chi_square as compiled

    return float(compiled(np.ascontiguousarray(new).reshape(-1), np.ascontiguousarray(old).reshape(-1)))


def fit_weights(counts: Vector, kernel: Vector) -> tuple[Vector, int]:
    """The weights of (nearly) largest likelihood on a grid of bins, and the number of steps they took.

    *Stopping rule.* The iteration starts from a wide normal curve and stops when a step raises the log-likelihood of
    the whole column by less than 0.03, or after 2,000 steps. More steps gain nothing that the data could show and pile
    the weights up on a few points, which costs a little accuracy of the posterior mean and much of its intervals.
    """
    place = np.arange(len(counts)) - counts @ np.arange(len(counts)) / counts.sum()
    spread = max(float(counts @ place**2 / counts.sum()), 1.0)
    curve = np.exp(-0.5 * place**2 / spread)
    before = -np.inf
    for step, estimate in enumerate(grid_estimates(counts, 0.9 * curve / curve.sum() + 0.1 / len(counts), kernel)):
        if step == MOST_STEPS or estimate.log_likelihood - before < LEAST_GAIN:
            break
        before = estimate.log_likelihood
    return estimate.weights, step


def reconstructed_weights(counts: Vector, kernel: Vector) -> tuple[Vector, int]:
    """Agrawal and Srikant's (2000) reconstruction on a grid of bins, and the number of its steps.

    It starts flat and stops when the chi-square distance of two successive estimates, ``n Σ (w′ − w)²/w``, is below
    1 % of the 95 % point with as many degrees of freedom as there are bins, less one.
    """
    from scipy.special import chdtri

    n, size = float(counts.sum()), len(counts)
    enough = CHI_SQUARE_SHARE * float(chdtri(max(size - 1, 1), 0.05))
    before = np.zeros(size)
    for step, estimate in enumerate(grid_estimates(counts, np.full(size, 1.0 / size), kernel)):
        if step == MOST_STEPS or (step and n * chi_square(estimate.weights, before) < enough):
            break
        before = estimate.weights
    return estimate.weights, step


def grid_estimates(counts: Vector, start: Vector, kernel: Vector) -> Iterator[Estimate]:
    """The estimates where places are the bins themselves; a step costs bins × width of the noise."""
    return estimates(counts, start, lambda w: convolve(w, kernel), lambda ratio: convolve(ratio, kernel[::-1]))


def convolve(values: Vector, kernel: Vector) -> Vector:
    """Σ_a values_a · kernel(b − a) for every bin b of the grid."""
    reach = len(kernel) // 2
    return np.asarray(np.convolve(values, kernel)[reach : reach + len(values)])
