"""The methods that advice searches, from useful to private: one strength, or one for every column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veil.auditing.advice.prediction import LARGEST_SCALE, LEAST_SCALE, Survey
from veil.data.blocks import Vector
from veil.perturbations import Perturbation
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.lognormal import LogNormalNoise
from veil.perturbations.multiplicative import MultiplicativeNoise
from veil.perturbations.orthogonal import OrthogonalTransform
from veil.perturbations.projection import RandomProjection
from veil.perturbations.response import RandomizedResponse
from veil.perturbations.rotation import PairwiseRotation

Strengths = tuple[float, ...]
"""One strength, or one for every numeric column."""


@dataclass(frozen=True)
class Family:
    """A method whose strength goes from useful to private.

    Attributes
    ----------
    name
        How the method is called on the command line.
    words
        What it does, for a report.
    make
        The method at given strengths, which rise with privacy.
    limits
        The weakest and the strongest that are tried.
    begin
        The strengths at which theory expects the most that a column gives away to be an aim.
    by_column
        Whether every column has a strength of its own.
    least_gain
        What the best guess of one column alone gains even at the strongest; None where strength has no end.
    similar
        Whether the noise has the data's correlations.
    """

    name: str
    words: str
    make: Callable[[Strengths], Perturbation]
    limits: tuple[float, float]
    begin: Callable[[Survey, float], Strengths]
    by_column: bool = False
    similar: bool = False
    least_gain: Callable[[Survey], float] | None = None

    def within(self, strengths: Sequence[float] | Vector) -> Strengths:
        """Strengths inside the limits, in two digits."""
        low, high = self.limits
        return tuple(min(max(rounded_up(float(s)), low), high) for s in strengths)


def rounded_up(strength: float) -> float:
    """A strength in two digits, as people write it, rounded up: more private, never less.

    >>> rounded_up(0.1234), rounded_up(2.0), rounded_up(17.03)
    (0.13, 2.0, 18.0)
    """
    if strength <= 0:
        return strength
    step = 10.0 ** (math.floor(math.log10(strength)) - 1)
    return float(f"{math.ceil(strength / step - 1e-9) * step:.6g}")


def scale_of(strengths: Strengths) -> Any:
    """A scale for every column, or one number where all are the same."""
    return strengths[0] if len(set(strengths)) == 1 else [float(s) for s in strengths]


def bounds_of(std: float) -> tuple[float, float]:
    """Where the factors of multiplicative noise are cut off: three standard deviations from 1, and above 0."""
    return round(max(0.01, 1.0 - 3.0 * std), 2), round(1.0 + 3.0 * std, 2)


def _independent(survey: Survey, aim: float) -> Strengths:
    return tuple(survey.scales(aim))


def _similar(survey: Survey, aim: float) -> Strengths:
    """One scale for all columns, the largest that one of them needs.

    With scales of their own, a linear relation between columns would be another one between their noises, and take
    them off.
    """
    return (float(survey.needed(aim).max()),)


def _factors(survey: Survey, aim: float) -> Strengths:
    """By bisection; the strongest where even that gives away more."""
    low, high = 0.05, 3.0
    for _ in range(8):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if survey.factor_gain(middle, bounds_of(middle)) > aim else (low, middle)
    return (high,)


def _logarithms(survey: Survey, aim: float) -> Strengths:
    """By bisection, as the factors; the noise's share of the variance is under 1."""
    low, high = 0.02, 0.95
    for _ in range(8):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if survey.log_gain(middle) > aim else (low, middle)
    return (high,)


NUMERIC: tuple[Family, ...] = (
    Family(
        "correlated-noise",
        "noise with the data's correlations",
        lambda scale: AdditiveNoise(scale[0], similarity=1.0),
        (LEAST_SCALE, LARGEST_SCALE),
        _similar,
        similar=True,
    ),
    Family(
        "additive-noise",
        "independent noise",
        lambda scales: AdditiveNoise(scale_of(scales)),
        (LEAST_SCALE, LARGEST_SCALE),
        _independent,
        by_column=True,
    ),
    Family(
        "multiplicative-noise",
        "random factors",
        lambda std: MultiplicativeNoise(std[0], bounds=bounds_of(std[0])),
        (0.05, 3.0),
        _factors,
        least_gain=lambda survey: survey.factor_gain(3.0, bounds_of(3.0)),
    ),
    Family(
        "log-normal-noise",
        "noise on the logarithms",
        lambda c: LogNormalNoise(c[0]),
        (0.02, 0.95),
        _logarithms,
        least_gain=lambda survey: survey.log_gain(0.95),
    ),
)
"""Noise: every record has noise of its own, so that a release can be shown to be safe by its records."""


def response(doubt: float, classes: Mapping[str, Sequence[float]] | None = None) -> RandomizedResponse:
    """Responses of a strength, which is 1/ε; of numbers by their classes."""
    epsilon = float(f"{1.0 / doubt:.2g}")
    return RandomizedResponse(epsilon=epsilon, classes={n: list(e) for n, e in classes.items()} if classes else None)


RESPONSE = Family(
    "randomized-response",
    "randomized responses",
    lambda doubt: response(doubt[0]),
    (0.2, 40.0),
    lambda *_: (1.0,),
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
