"""Settings of a family, and how they are moved by what attacks gained.

A column that an attack gains too much of gets more noise, and so do the columns that it is tied to; noise with the
data's correlations has one scale for all. How strong the responses are is settled before, so that they take only a part
of the goal by themselves: what more is told of a category, the numbers tell, and they get more noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from veil.auditing.advice.families import RESPONSE, Family, Strengths, rounded_up
from veil.auditing.advice.prediction import Survey
from veil.perturbations import Perturbation
from veil.report.values import Scored

Gains = Mapping[tuple[Scored, str], float]
"""The most that attacks gain: on a column by its name, on everything else by an empty one."""
STEEP, STEEP_OF_CATEGORIES = 1.5, 1.0
"""Advantages fall with about this power of the scale: of a category, with how far apart its states are behind noise."""
LEAST_STEP, LARGEST_STEP = 1.1, 2.5


@dataclass(frozen=True)
class Numbers:
    """The numeric columns by name, and what theory knows of them."""

    names: tuple[str, ...]
    survey: Survey


@dataclass(frozen=True)
class Doubts:
    """The strengths of responses: of categories, and of numbers that are reported by class."""

    categories: float | None = None
    classes: float | None = None


@dataclass(frozen=True)
class Setting:
    """A family at given strengths, with those of the responses."""

    family: Family
    strengths: Strengths
    doubts: Doubts = Doubts()

    @property
    def strength(self) -> float:
        """One number for a picture: the geometric mean of the strengths."""
        return float(np.exp(np.mean(np.log(self.strengths))))

    def method(self) -> Perturbation:
        """The perturbation of the numbers, or of the categories where there are no numbers."""
        return self.family.make(self.strengths)

    def scaled(self, factor: float) -> Setting:
        """The same with all strengths of the numbers times a factor."""
        return replace(self, strengths=self.family.within(np.array(self.strengths) * factor))

    def weakened(self, factor: float) -> Setting:
        """The same with all strengths of the numbers times a factor, even weaker than what is searched."""
        return replace(self, strengths=tuple(rounded_up(strength * factor) for strength in self.strengths))

    def halfway(self, other: Setting) -> Setting:
        """This setting with strengths between its own and those of another of the family."""
        middle = np.sqrt(np.array(self.strengths) * np.array(other.strengths))
        return replace(self, strengths=self.family.within(middle))

    def moved(self, gains: Gains, aim: float, numbers: Numbers | None, most: float = LARGEST_STEP) -> Setting:
        """A setting that is expected to keep the gains under the aim, at ``most`` so many times as strong."""

        def step(ratio: float, steep: float = STEEP) -> float:
            return float(np.clip(ratio ** (1.0 / steep), LEAST_STEP, most))

        names = numbers.names if numbers is not None else ()
        over: dict[str, float] = {}
        for (_, name), gain in gains.items():
            if gain > aim and name:
                over[name] = max(over.get(name, 0.0), gain / aim)
        pooled = {scored: gain / aim for (scored, name), gain in gains.items() if gain > aim and not name}
        categories = {name: ratio for name, ratio in over.items() if name not in names}
        if self.family is RESPONSE:
            return self.scaled(step(max([*over.values(), *pooled.values()], default=1.0)))
        factors = np.array([step(over[name]) if name in over else 1.0 for name in names])
        rest = [ratio for scored, ratio in pooled.items() if scored is not Scored.FAR_OUT]
        if rest and not over:
            factors = factors * step(max(rest))
        if numbers is not None and Scored.FAR_OUT in pooled:
            factors = np.maximum(factors, step(pooled[Scored.FAR_OUT]) ** numbers.survey.far)
        if categories:
            factors = np.maximum(factors, step(max(categories.values()), STEEP_OF_CATEGORIES))
        if numbers is None or (factors == 1.0).all():
            return self
        factors = numbers.survey.spread(factors) if self.family.by_column else np.array([factors.max()])
        return replace(self, strengths=self.family.within(np.array(self.strengths) * factors))
