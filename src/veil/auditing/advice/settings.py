"""Settings of a family, and how they are moved by what attacks gained: column by column.

A column that an attack gains too much of gets more noise, and so do the columns that it is tied to. A category that is
told by its own responses gets more doubt. One that the numbers tell gets noise in the direction in which it moves them:
with R the correlations of the numbers and B those of their means given the category, noise with the correlations
R + κB in place of R takes the category's part of every number's variance for κ times as large, and hides it at the cost
of that direction alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from veil.auditing.advice.families import RESPONSE, Family, Strengths, rounded_up
from veil.auditing.advice.prediction import Survey
from veil.data.blocks import Matrix, Vector
from veil.numerics.rounding import two_digits
from veil.perturbations import Perturbation
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.correlated import lifted_eigenpairs
from veil.report.values import Scored

Gains = Mapping[tuple[Scored, str], float]
"""The most that attacks gain: on a column by its name, on everything else by an empty one."""
STEEP = 1.5
"""Advantages fall with about this power of the scale."""
LEAST_STEP, LARGEST_STEP = 1.1, 2.5
ENOUGH_DOUBT = 10.0
"""Strength of responses from which they say so little that the numbers must be what tells a category."""
LEAST_DOUBTED, MOST_DOUBTED = 2.0, 4.0
"""How many times the doubt is raised at once."""
MOST_WEIGHTED, MOST_WEIGHT = 4.0, 30.0
"""How many times a category's weight is raised at once, and the most that it can be."""


@dataclass(frozen=True)
class Numbers:
    """The numeric columns by name, what theory knows of them, and B of every category."""

    names: tuple[str, ...]
    survey: Survey
    between: Mapping[str, Matrix]


@dataclass(frozen=True)
class Setting:
    """A family at given strengths, with the strength of the responses (``doubt``) and the weights κ of categories."""

    family: Family
    strengths: Strengths
    doubt: float | None = None
    weights: tuple[tuple[str, float], ...] = ()

    @property
    def strength(self) -> float:
        """One number for a picture: the geometric mean of the strengths."""
        return float(np.exp(np.mean(np.log(self.strengths))))

    def method(self, numbers: Numbers | None) -> Perturbation:
        """The perturbation of the numbers, or of the categories where there are no numbers."""
        if not self.weights or numbers is None:
            return self.family.make(self.strengths)
        return AdditiveNoise(covariance=_covariance(numbers, np.array(self.strengths), dict(self.weights)).tolist())

    def scaled(self, factor: float) -> Setting:
        """The same with all strengths of the numbers times a factor."""
        return replace(self, strengths=self.family.within(np.array(self.strengths) * factor))

    def halfway(self, other: Setting) -> Setting:
        """This setting with strengths between its own and those of another of the family."""
        middle = np.sqrt(np.array(self.strengths) * np.array(other.strengths))
        return replace(self, strengths=self.family.within(middle))

    def moved(self, gains: Gains, aim: float, numbers: Numbers | None, most: float = LARGEST_STEP) -> Setting:
        """A setting that is expected to keep the gains under the aim, at ``most`` so many times as strong."""

        def step(ratio: float) -> float:
            return float(np.clip(ratio ** (1.0 / STEEP), LEAST_STEP, most))

        names = numbers.names if numbers is not None else ()
        over = {name: gain / aim for (_, name), gain in gains.items() if gain > aim and name}
        pooled = {scored: gain / aim for (scored, name), gain in gains.items() if gain > aim and not name}
        categories = {name: ratio for name, ratio in over.items() if name not in names}
        moved = self
        if self.doubt is not None and categories:
            moved = self._doubted(categories)
        elif self.family is RESPONSE:
            return moved.scaled(step(max([*over.values(), *pooled.values()], default=1.0)))
        factors = np.array([step(over[name]) if name in over else 1.0 for name in names])
        rest = [ratio for scored, ratio in pooled.items() if scored is not Scored.FAR_OUT]
        if rest and not over:
            factors = factors * step(max(rest))
        if numbers is not None and Scored.FAR_OUT in pooled:
            factors = np.maximum(factors, step(pooled[Scored.FAR_OUT]) ** numbers.survey.far)
        if categories and not self.family.similar and moved.doubt == self.doubt:
            factors = np.maximum(factors, step(max(categories.values())))
        if numbers is None or (factors == 1.0).all():
            return moved
        factors = numbers.survey.spread(factors) if self.family.by_column else np.array([factors.max()])
        return replace(moved, strengths=self.family.within(np.array(moved.strengths) * factors))

    def _doubted(self, categories: Mapping[str, float]) -> Setting:
        """More doubt, and where that is not enough, more noise in the directions of the categories."""
        doubt, worst = float(self.doubt or 1.0), max(categories.values())
        if doubt < ENOUGH_DOUBT:
            more = rounded_up(doubt * min(max(worst, LEAST_DOUBTED), MOST_DOUBTED))
            return replace(self, doubt=min(more, RESPONSE.limits[1]))
        weights = dict(self.weights)
        for name, ratio in categories.items() if self.family.similar else ():
            weight = (1.0 + weights.get(name, 0.0)) * min(ratio, MOST_WEIGHTED) - 1.0
            weights[name] = min(rounded_up(weight), MOST_WEIGHT)
        return replace(self, weights=tuple(weights.items()))


def _covariance(numbers: Numbers, scales: Vector, weights: Mapping[str, float]) -> Matrix:
    """The noise's covariance in the columns' units; rounded as noise similar to the data is, since it is published."""
    shape = numbers.survey.correlation + sum(weight * numbers.between[name] for name, weight in weights.items())
    power, axes = lifted_eigenpairs(np.asarray(shape))
    factor = np.vectorize(two_digits)(axes * np.sqrt(power))
    deviations = np.array([two_digits(each) for each in numbers.survey.deviations])
    factor = (scales * deviations)[:, None] * factor
    return np.asarray(factor @ factor.T)


def between(records: Matrix, codes: Vector) -> Matrix:
    """The covariance of standardised numbers' means given a category: Σ p_c·m_c·m_cᵀ."""
    spread = records.std(axis=0)
    z = (records - records.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    matrix = np.zeros((z.shape[1], z.shape[1]))
    for code in np.unique(codes[~np.isnan(codes)]):
        mean = z[codes == code].mean(axis=0)
        matrix += float(np.mean(codes == code)) * np.outer(mean, mean)
    return matrix
