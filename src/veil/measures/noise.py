"""How much noise for an error of τ (D2): the tutorial's answer, and what it leaves out.

The tutorial wants ‖Û − U‖_F ≥ τ‖U‖_F. With s_1 ≥ s_2 ≥ … the singular values of U it takes

    k = max{i : Σ_{j>i} s_j² ≥ τ²‖U‖_F²},    Nσ² just above s²_{k+1}

(the print lacks a root: it compares Σ s_j² with τ‖U‖_F, which depends on the units). At that
noise an attack that keeps the components with λ̃_i ≥ 2Nσ² (T, strategy 2) keeps at most k, and
no guess of rank k errs by less than τ. A component more would bring in more noise than it saves.

The bound is about guesses of rank k only. The Bayes filter (A6) shrinks instead of cutting;
for a table with covariance eigenvalues λ_i its error is √(N·Σ λ_iσ²/(λ_i + σ²)), which can
lie far below τ‖U‖_F. So the smallest σ at which *that* error reaches τ stands beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, number
from veil.errors import InputError
from veil.measures.spectrum import NEGLIGIBLE, about_mean, complete_table, singular

_ABOVE = 1.0 + 1e-9


@dataclass(frozen=True)
class NoiseAdvice:
    """What :func:`noise_for_threshold` found.

    ``sigma`` is the tutorial's standard deviation of the noise (the same for every column, in
    the table's units) and ``rank`` its k. ``bayes_error`` is the relative error that the Bayes
    filter is predicted to have at that noise; ``bayes_sigma`` the smallest standard deviation
    at which it reaches ``tau``, None when no noise does; ``limit`` the relative error of
    guessing every column's mean, which no noise can push an attacker beyond.
    """

    tau: float
    sigma: float
    rank: int
    bayes_error: float
    bayes_sigma: float | None
    limit: float
    centred: bool

    @property
    def reached(self) -> bool:
        """Whether the tutorial's noise holds the Bayes filter at ``tau`` too."""
        return self.bayes_error >= self.tau

    @property
    def statement(self) -> str:
        """What the numbers promise, in words."""
        bound = (
            f"Noise of standard deviation {self.sigma:.3g} keeps guesses of rank {self.rank} at a relative error of "
            f"{self.tau:g} or more. It protects against rank-{self.rank} attacks only."
        )
        bayes = f"A Bayes filter is predicted to err by {self.bayes_error:.2g} there"
        if self.bayes_sigma is None:
            return (
                f"{bound} {bayes}, and no noise makes it err by {self.tau:g}: "
                f"guessing each column's mean errs by {self.limit:.2g}."
            )
        if self.reached:
            return f"{bound} {bayes}, and by {self.tau:g} from {self.bayes_sigma:.3g} on."
        return f"{bound} {bayes}, less than {self.tau:g}: holding it takes {self.bayes_sigma:.3g}."


def noise_for_threshold(table: npt.ArrayLike, tau: float, *, centred: bool = False) -> NoiseAdvice:
    """Independent noise that keeps the relative error of spectral attacks at ``tau`` or more.

    Parameters
    ----------
    table
        U, records × columns. One σ serves all columns: bring them to a common unit first.
        Records with a missing value are left out.
    tau
        The relative error ‖Û − U‖_F/‖U‖_F to force, above 0 and at most 1 (a guess of zeros
        errs by 1, so no noise forces more).
    centred
        Take U about its column means. The default is T's raw matrix, where a large mean
        makes errors look small: an attacker who guesses the means errs by ``limit`` only.
        Attacks that centre (A4, A6) are bounded by the centred form.

    The Bayes prediction always centres, as the attack does, and assumes that the attacker
    knows the true mean and covariance: a floor for normal data.

    >>> u = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> advice = noise_for_threshold(u, 0.4)
    >>> advice.rank, round(advice.sigma, 3), round(advice.bayes_sigma, 3)
    (1, 0.707, 0.509)
    """
    threshold = number(tau, "tau", least=0.0, most=1.0)
    if threshold == 0.0:
        raise InputError("tau: must lie above 0 and be at most 1; pass the relative error to force, e.g. 0.5")
    records = complete_table(table, "table")
    n = len(records)
    spread = singular(about_mean(records))[0] ** 2
    squares = spread if centred else singular(records)[0] ** 2
    total = float(squares.sum())
    if not total > 0.0:
        raise InputError("table: has no variation to hide; leave out constant columns")
    tails = np.append(np.cumsum(squares[::-1])[::-1], 0.0)  # tails[i] = Σ_{j>i} s_j², 1-based j
    rank = int(np.flatnonzero(tails >= threshold**2 * tails[0])[-1])
    sigma = math.sqrt(_ABOVE * float(squares[rank]) / n)
    eigenvalues = spread[spread > NEGLIGIBLE * max(total, float(spread.sum()))] / n
    scale = n / total
    limit = math.sqrt(scale * float(eigenvalues.sum()))
    return NoiseAdvice(
        tau=threshold,
        sigma=sigma,
        rank=rank,
        bayes_error=_bayes_error(eigenvalues, scale, sigma),
        bayes_sigma=_bayes_sigma(eigenvalues, scale, threshold) if threshold < limit * (1.0 - 1e-9) else None,
        limit=limit,
        centred=bool(centred),
    )


def _bayes_error(eigenvalues: Array, scale: float, sigma: float) -> float:
    variance = sigma * sigma
    return math.sqrt(scale * float((eigenvalues * variance / (eigenvalues + variance)).sum())) if sigma > 0.0 else 0.0


def _bayes_sigma(eigenvalues: Array, scale: float, tau: float) -> float:
    """The σ at which the predicted error, which rises with σ, is τ; by bisection on a log scale."""
    low = high = math.sqrt(float(eigenvalues.max()))
    while _bayes_error(eigenvalues, scale, high) < tau:
        high *= 2.0
    while _bayes_error(eigenvalues, scale, low) >= tau:
        low /= 2.0
    while high / low > 1.0 + 1e-13:
        middle = math.sqrt(low * high)
        if middle in (low, high):
            break
        low, high = (low, middle) if _bayes_error(eigenvalues, scale, middle) >= tau else (middle, high)
    return high
