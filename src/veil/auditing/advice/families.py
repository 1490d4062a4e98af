"""The methods that advice searches: one parameter each, from useful to private, and where theory says to begin.

A closed form takes the table to be normal and the attacker to know its moments. It is a beginning, not an answer: what
is recommended was attacked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from veil import measures
from veil.data.blocks import Matrix
from veil.perturbations import Perturbation
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.lognormal import LogNormalNoise
from veil.perturbations.multiplicative import MultiplicativeNoise
from veil.perturbations.orthogonal import OrthogonalTransform
from veil.perturbations.projection import RandomProjection
from veil.perturbations.response import RandomizedResponse
from veil.perturbations.rotation import PairwiseRotation


@dataclass(frozen=True)
class Survey:
    """What the closed forms know of a table: its complete records, and how near a guess must be."""

    records: Matrix
    tolerance: float

    @property
    def units(self) -> Matrix:
        """Standard units of the columns."""
        return measures.standard_units(self.records)

    def gain(self, rates: Matrix) -> float:
        """The advantage of an attack that breaches each column at such a rate."""
        baseline = measures.constant_guess_baseline(self.records, self.tolerance, "value", self.units)
        return float(measures.advantage(float(np.mean(rates)), float(baseline)))


@dataclass(frozen=True)
class Family:
    """A method with one parameter that goes from useful to private.

    Attributes
    ----------
    name
        How the method is called on the command line.
    words
        What it does, for a report.
    make
        The method at a strength; strengths rise with privacy.
    strengths
        The weakest and the strongest that are tried.
    predicted
        The advantage that theory expects at a strength; None where there is no theory.
    """

    name: str
    words: str
    make: Callable[[float], Perturbation]
    strengths: tuple[float, float]
    predicted: Callable[[Survey, float], float] | None = None

    def beginning(self, survey: Survey, goal: float) -> float:
        """The strength at which theory expects the goal to be met, or the middle of the range."""
        low, high = self.strengths
        if self.predicted is None:
            return math.sqrt(low * high)
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.predicted(survey, middle) > goal else (low, middle)
        return high

    def grid(self, around: float, factors: Sequence[float]) -> list[float]:
        """Strengths around one, inside the range, in two digits."""
        low, high = self.strengths
        return sorted({rounded_up(min(max(around * factor, low), high)) for factor in factors})


def rounded_up(strength: float) -> float:
    """A strength in two digits, as people write it, rounded up: more private, never less.

    >>> rounded_up(0.1234), rounded_up(2.0), rounded_up(17.03)
    (0.13, 2.0, 18.0)
    """
    if strength <= 0:
        return strength
    step = 10.0 ** (math.floor(math.log10(strength)) - 1)
    return float(f"{math.ceil(strength / step - 1e-9) * step:.6g}")


def _additive_gain(survey: Survey, scale: float) -> float:
    """The Bayes estimate (A6) of normal data leaves the standard deviations of ``correlation_risk`` (M16)."""
    varying = survey.records.std(axis=0) > 0
    x = survey.records[:, varying]
    left = measures.correlation_risk(x, [scale]).of_variance[0]
    error = np.sqrt(left) * x.std(axis=0)
    return survey.gain(2.0 * ndtr(survey.tolerance * survey.units[varying] / np.maximum(error, 1e-300)) - 1.0)


def _correlated_gain(survey: Survey, scale: float) -> float:
    """Noise with the data's correlations is filtered by one factor: the error is s/√(1 + s²) of each column."""
    error = scale / math.sqrt(1.0 + scale * scale) * survey.records.std(axis=0)
    return survey.gain(2.0 * ndtr(survey.tolerance * survey.units / np.maximum(error, 1e-300)) - 1.0)


def _multiplicative_gain(survey: Survey, std: float) -> float:
    """Taken at face value, a value x is off by |x|·std: near where that is within the tolerance."""
    error = np.maximum(np.abs(survey.records) * std, 1e-300)
    return survey.gain((2.0 * ndtr(survey.tolerance * survey.units / error) - 1.0).mean(axis=0))


NUMERIC: tuple[Family, ...] = (
    Family(
        "additive-noise",
        "independent noise",
        lambda scale: AdditiveNoise(scale),
        (0.05, 50.0),
        _additive_gain,
    ),
    Family(
        "correlated-noise",
        "noise with the data's correlations",
        lambda scale: AdditiveNoise(scale, similarity=1.0),
        (0.05, 50.0),
        _correlated_gain,
    ),
    Family(
        "multiplicative-noise",
        "random factors",
        lambda std: MultiplicativeNoise(std, bounds=(round(max(0.01, 1.0 - 3.0 * std), 2), round(1.0 + 3.0 * std, 2))),
        (0.05, 3.0),
        _multiplicative_gain,
    ),
    Family("log-normal-noise", "noise on the logarithms", lambda c: LogNormalNoise(c), (0.02, 0.95)),
)
"""Noise: every record has noise of its own, so that a release can be shown to be safe by its records."""

RESPONSE = Family(
    "randomized-response",
    "randomized responses",
    lambda doubt: RandomizedResponse(epsilon=float(f"{1.0 / doubt:.2g}")),
    (0.2, 20.0),
)
"""Categories: the strength is 1/ε."""


def matrices(n_columns: int) -> list[Perturbation]:
    """Methods with one secret matrix, which a leak of few records can undo; tried as they are."""
    methods: list[Perturbation] = [OrthogonalTransform()]
    if n_columns >= 2:
        methods.append(PairwiseRotation())
    if n_columns >= 3:
        methods.append(RandomProjection(max(1, n_columns // 2)))
    return methods
