"""The laws of noise that is not normal, against the normal ones that stand in for them (A28).

The joint posterior takes every noise as normal with its own variance. Where a column itself is guessed, the density of
what was released is known exactly, and the ratio of the two corrects the posterior of that column::

    p(x | all) ∝ q(x) · f(y | x) / N(y; x, σ²)

with q the posterior under normal noise: for the other columns only the noise's variance counts, for this one its law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veil.data.blocks import Vector
from veil.numerics.factor_law import FactorLaw
from veil.numerics.laws import LAWS, is_law

POINTS = 2_001
REACH = 8.0
"""Standard deviations of the noise that a table covers to either side."""
RULED_OUT = -1e3
"""The logarithm of the ratio where the law has no density."""


@dataclass(frozen=True, eq=False)
class OwnLaw:
    """``ln f(e) − ln N(e; 0, σ²)`` on a grid of errors e in the working scale, from −reach to reach."""

    reach: float
    table: Vector

    @property
    def divergence(self) -> float:
        """By how much the law differs from a normal one, ∫ f ln(f/N), in units of log-likelihood per record.

        >>> round(additive_law("uniform", 1.0).divergence, 2), round(additive_law("laplace", 1.0).divergence, 2)
        (0.18, 0.07)
        """
        z = np.linspace(-REACH, REACH, len(self.table))
        density = np.exp(np.maximum(self.table - 0.5 * z**2, -700.0))
        return float((density * np.where(density > 0, self.table, 0.0)).sum() / density.sum())


@dataclass(frozen=True, eq=False)
class FactorSum:
    """``y = x r + e``: given x, y is nearly normal with mean x E r and variance x² Var r + τ²."""

    law: FactorLaw
    noise: float


@dataclass(frozen=True, eq=False)
class Interval:
    """A class: the ends between which each value lies, infinite for an open one; and the usual ``width``."""

    lower: Vector
    upper: Vector
    width: float


def additive_law(name: str, sigma: float) -> OwnLaw | None:
    """The law of added noise; None for a law without a name here, of which the variance serves.

    >>> additive_law("uniform", 1.0).table[[1000, 1200]].round(2).tolist()
    [-0.32, 0.96]
    """
    if not is_law(name) or not sigma > 0:
        return None
    z = np.linspace(-REACH, REACH, POINTS)
    return OwnLaw(REACH * sigma, _logs(LAWS[name].pdf(z)) + 0.5 * z**2 + 0.5 * math.log(2 * math.pi))


def factor_law(law: FactorLaw) -> OwnLaw:
    """The law of ``ln r − E ln r``."""
    mean, variance = law.log_moments()
    sigma = math.sqrt(variance)
    z = np.linspace(-REACH, REACH, POINTS)
    r = np.exp(mean + sigma * z)
    inside = np.zeros(len(r), dtype=bool)
    for low, high in law.pieces:
        inside |= (r >= low) & (r <= high)
    t = (r - law.mean) / law.std
    density = np.where(inside, np.exp(-0.5 * t * t) / (math.sqrt(2 * math.pi) * law.std * law.acceptance) * r, 0.0)
    return OwnLaw(REACH * sigma, _logs(density * sigma) + 0.5 * z**2 + 0.5 * math.log(2 * math.pi))


def _logs(density: Vector) -> Vector:
    return np.log(density, out=np.full(len(density), RULED_OUT), where=density > 0)
