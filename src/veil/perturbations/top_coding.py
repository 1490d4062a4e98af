"""P24: top and bottom coding.

*Model.* Values above a limit are released as one number: the limit itself, or the rounded mean of the values above it;
values below a lower limit likewise (Hundepool et al. 2012, 3.2.3). All other values are released as they are. With the
mean in their place the column keeps its mean to rounding, and the coded values' spread is lost.

Limits that come from the table are quantiles rounded to two digits, and so are means. A mean of few values would tell
them, so it takes three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veil.arguments import choice, number
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.method import Learned, one_of
from veil.release.models import TopCodedModel

FEWEST = 3
"""Values that a published mean is of, at least."""
_INFINITE = (-np.inf, np.inf)


class TopCoding(Perturbation):
    """P24. Release values beyond a limit as the limit, or as their mean.

    Parameters
    ----------
    upper, lower : float, or dict of floats by column, optional
        Limits; they say nothing about the table.
    top, bottom : float, or dict of floats by column, optional
        Shares of the values that are to lie beyond, from 0 to 0.5, from which limits are taken and rounded. Without any
        setting ``top`` is 0.01.
    replace : {"limit", "mean"}
        What the coded values are released as.
    random_state : None or int
        Not used: the method is not random.

    Attributes
    ----------
    limits_ : the limits of each column

    Examples
    --------
    >>> import numpy as np, veil
    >>> incomes = np.array([[20.0], [31.0], [44.0], [120.0], [180.0], [300.0]])
    >>> release, _ = veil.publish(incomes, veil.TopCoding(upper=100.0, replace="mean"))
    >>> release.to_numpy().ravel().tolist()
    [20.0, 31.0, 44.0, 200.0, 200.0, 200.0]
    """

    threat = (
        "Released: every value within the limits exactly, and which are beyond; the limits, and with replace='mean' "
        "the rounded mean of those beyond. Secret: how far beyond they are. It protects the largest and the smallest "
        "values and nobody else: the release alone gives all others away (A1). There is no formal guarantee."
    )
    catalogue = "P24"
    summary = "Release values beyond a limit as the limit, or as their mean."
    layout = Layout(Takes.AMOUNTS, noise=Noise.NONE, tails=True)
    headline = ("replace",)
    model_: TopCodedModel
    limits_ = Learned("limits")

    def __init__(
        self,
        *,
        upper: Any = None,
        lower: Any = None,
        top: Any = None,
        bottom: Any = None,
        replace: str = "limit",
        random_state: Any = None,
    ) -> None:
        self.upper = upper
        self.lower = lower
        self.top = top
        self.bottom = bottom
        self.replace = replace
        self.random_state = random_state

    def learn(self, facts: Facts) -> TopCodedModel:
        """Limits, given or rounded quantiles, and what is released in the place of values beyond."""
        choice(self.replace, "replace", ("limit", "mean"))
        fixed = [facts.fixed.get(name) for name in facts.columns]
        rows = [
            self._fixed_ends(known) if known is not None else self._ends(name, *tail)
            for name, known, tail in zip(facts.columns, fixed, facts.scan.tails or (), strict=True)
        ]
        limits, stand_ins = (np.array([row[i] for row in rows]) for i in (0, 1))
        return TopCodedModel(limits, stand_ins, self.replace)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Values within the limits, and stand-ins."""
        return self.model_.coded(block.T).T

    @staticmethod
    def _fixed_ends(known: Mapping[str, Any]) -> tuple[list[float], list[float]]:
        return tuple(  # type: ignore[return-value]
            [end if value is None else value for value, end in zip(known[name], _INFINITE, strict=True)]
            for name in ("limits", "released_as")
        )

    def _ends(self, name: str, values: Vector, weights: Vector) -> tuple[list[float], list[float]]:
        """Limits and stand-ins of a column whose values are known with the number of records behind each."""
        upper, lower, top, bottom = (one_of(each, name) for each in (self.upper, self.lower, self.top, self.bottom))
        if all(each is None for each in (self.upper, self.lower, self.top, self.bottom)):
            top = 0.01
        given = [
            _limit(name, "lower", lower, "bottom", bottom, values, weights),
            -_limit(name, "upper", None if upper is None else -number(upper, "upper"), "top", top, -values, weights),
        ]
        if not given[0] < given[1]:
            raise InputError(f"column {name!r}: the lower limit is not below the upper one; move them apart")
        stand_ins = [
            self._stand_in(name, limit, sign, values, weights) for limit, sign in zip(given, (-1, 1), strict=True)
        ]
        return given, stand_ins

    def _stand_in(self, name: str, limit: float, sign: int, values: Vector, weights: Vector) -> float:
        """What is released beyond a limit."""
        if self.replace == "limit" or np.isinf(limit):
            return limit
        beyond = sign * values > sign * limit
        n = float(weights[beyond].sum())
        if round(n) < FEWEST:
            raise InputError(
                f"column {name!r}: fewer than {FEWEST} values are beyond the limit, whose mean would tell them; use "
                "replace='limit', or move the limit"
            )
        mean = two_digits(float(values[beyond] @ weights[beyond]) / n)
        return mean if sign * mean > sign * limit else limit


def _limit(
    name: str, parameter: str, given: Any, share_name: str, share: Any, values: Vector, weights: Vector
) -> float:
    """The lower limit of values: given, or the quantile of a share to two digits; without either, none."""
    if given is not None:
        if share is not None:
            raise InputError(f"column {name!r} has both {parameter} and {share_name}; state one of them")
        return number(given, parameter)
    if share is None:
        return -np.inf
    part = number(share, share_name, least=0.0, most=0.5)
    if part == 0.0 or not len(values):
        return -np.inf
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return two_digits(float(values[order][np.searchsorted(below, part * below[-1])]))
