"""The law of P19's sampler: its thresholds, and what they amount to (:mod:`veil.perturbations.baskets` derives it)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from veil.numerics.response_matrix import UNITS, cumulative, exact_probabilities, implemented_epsilon
from veil.release.models import BasketModel

_UP = 1.0 + 2.0**-50  # more than the rounding of a logarithm


class BasketLaw:
    """Thresholds of the sampler of a model, in units of 2⁻⁶³, so that its law is known exactly.

    Attributes
    ----------
    reports, sizes
        Cumulative thresholds of reports, and with "select" of how many items are kept.
    unit
        With "gamma", how many words stand for each pattern that is not the true one.
    item_epsilon, epsilon
        Local ε of one item, infinite for "select", and of one transaction.
    """

    def __init__(self, model: BasketModel) -> None:
        self._model = model
        self.reports: Any = None
        self.sizes: Any = None
        self.unit = 0
        d = model.n_items
        if model.kind == "mask":
            p, rho = _given(model.keep), _given(model.insert)
            self.reports = cumulative([[1.0 - rho, 1.0 - p], [rho, p]])
            self.item_epsilon = implemented_epsilon(self.reports)
            self.epsilon = d * self.item_epsilon
        elif model.kind == "select":
            rho, width = _given(model.insert), int(_given(model.cutoff)) + 1
            self.reports = cumulative([[1.0 - rho], [rho]])
            self.sizes = cumulative(np.full((width, 1), 1.0 / width))
            inserted = exact_probabilities(self.reports)[1][0]
            chosen = [row[0] for row in exact_probabilities(self.sizes)]
            ratio = sum((w / chosen[0] / inserted**i for i, w in enumerate(chosen)), Fraction(0))
            self.item_epsilon, self.epsilon = math.inf, _logarithm(ratio)
        else:
            # Rounded up, so that no ratio exceeds γ.
            self.unit = math.ceil(UNITS / (Fraction(_given(model.gamma)) + 2**d - 1))
            true = UNITS - (2**d - 1) * self.unit
            self.item_epsilon = self.epsilon = _logarithm(Fraction(true, self.unit))

    def guarantee(self) -> str:
        """Local differential privacy of items and transactions, in words."""
        d, outside = self._model.n_items, "the number of transactions is outside it"
        if self._model.kind == "mask":
            return (
                f"local differential privacy: epsilon {self.item_epsilon:.6g} for one item, {self.epsilon:.6g} for "
                f"all {d} items of one transaction; {outside}"
            )
        if self._model.kind == "gamma":
            return f"local differential privacy: epsilon {self.epsilon:.6g} for one transaction of {d} items; {outside}"
        # Items are chosen by the order of 64-bit words, uniformly unless two words are equal or one is the largest.
        delta = (1.0 + math.exp(self.epsilon)) * d * d * 2.0**-64
        return (
            f"local differential privacy: epsilon {self.epsilon:.6g}, delta {delta:.3g} for one transaction, among "
            f"those of the same size; the sizes are released as they are; {outside}"
        )


def _given(value: float | None) -> float:
    if value is None:
        raise ValueError("the model lacks a value that its kind needs")
    return value


def _logarithm(ratio: Fraction) -> float:
    """ln of a ratio of at least 1, rounded up."""
    return math.log1p(float(ratio - 1)) * _UP
