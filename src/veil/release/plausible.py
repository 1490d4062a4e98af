"""Rules by which released values are made plausible: whole, within bounds, zero or not, in order, and adding up.

A rule changes a released value and looks at nothing but the released record, so it tells nobody more than that record
did: a formal guarantee stays, and an attacker of the release knows no more than one of the values before. What an
analyst needs of these, their moments, stands in the manifest (:attr:`veil.release.manifest.Part.products`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.arguments import number
from veil.data.blocks import Vector
from veil.errors import InputError

NUMBERS = ("grain", "low", "high", "zero_below")


@dataclass(frozen=True)
class Plausible:
    """What the released values of a column look like.

    Parameters
    ----------
    grain
        They are multiples of it: 1 for whole numbers, 0.01 for cents, 100 for rounded incomes.
    low, high
        They are not below or above it.
    zero_below
        Those nearer to zero than it are zero, as where most people have none of something.
    after
        They are not below the released value of this other column, as a discharge is not before the admission; a record
        where it would be has the other's value. Where that is missing, nothing is changed.

    Bounds of dates are days since the beginning of 1970, those of moments seconds.

    Examples
    --------
    >>> import numpy as np
    >>> Plausible(grain=1, low=0, high=110).applied(np.array([-3.2, 41.7, 130.0])).tolist()
    [0.0, 42.0, 110.0]
    """

    grain: float | None = None
    low: float | None = None
    high: float | None = None
    zero_below: float | None = None
    after: str | None = None

    def __post_init__(self) -> None:
        for name in ("grain", "zero_below"):
            value = getattr(self, name)
            if value is not None:
                rule = "a positive number, for example 1"
                number(value, f"plausible: {name}", least=1e-300, most=1e300, rule=rule, parameter="plausible")
        for name in ("low", "high"):
            value = getattr(self, name)
            if value is not None:
                number(value, f"plausible: {name}", least=-1e300, most=1e300, rule="a number", parameter="plausible")
        if self.after is not None and (not isinstance(self.after, str) or not self.after):
            raise InputError("plausible: after must be the name of a column", parameter="plausible")
        if self.after is not None and self.high is not None:
            raise InputError(
                "plausible: a column that is after another has no bound above of its own; give the other one the bound",
                parameter="plausible",
            )
        if not self.to_json():
            raise InputError("plausible: a rule needs a grain, a bound, zero_below or after", parameter="plausible")
        low, high = self.ends
        if not low < high:
            raise InputError("plausible: low must be less than high", parameter="plausible")
        for name, end in (("low", self.low), ("high", self.high)):
            if end is not None and self.grain is not None and not math.isclose(end, self._rounded(np.array([end]))[0]):
                raise InputError(f"plausible: {name} must be a multiple of the grain", parameter="plausible")

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds, infinite where there are none."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        ends = [end for end in (self.grain, self.low, self.high) if end is not None]
        return self.grain is not None and all(float(end).is_integer() for end in ends)

    def applied(self, values: Vector) -> Vector:
        """The values, made plausible; missing ones stay missing."""
        if self.zero_below is not None:
            values = np.where(np.abs(values) < self.zero_below, 0.0, values)
        if self.grain is not None:
            values = self._rounded(values)
        return np.asarray(np.clip(values, *self.ends) + 0.0)

    def in_order(self, values: Vector, others: Vector) -> Vector:
        """The values, none of which is below that of the other column; missing ones stay missing."""
        return np.asarray(np.where(np.isnan(values), np.nan, np.fmax(values, others)))

    def _rounded(self, values: Vector) -> Vector:
        grain = float(self.grain or 1.0)
        # Multiples of 1/100 are nearest to the decimals that people write as whole numbers of steps divided by 100.
        steps = 1.0 / grain
        if steps > 1.0 and math.isclose(steps, round(steps), rel_tol=1e-12):
            return np.asarray(np.rint(values * round(steps)) / round(steps))
        return np.asarray(np.rint(values / grain) * grain)

    def to_json(self) -> dict[str, Any]:
        """What is set."""
        numbers = {name: float(value) for name in NUMBERS if (value := getattr(self, name)) is not None}
        return numbers if self.after is None else {**numbers, "after": self.after}

    @classmethod
    def from_json(cls, raw: Any) -> Plausible:
        """Back from :meth:`to_json`, or from a section of a plan; errors name what is unknown."""
        if isinstance(raw, Plausible):
            return raw
        if not isinstance(raw, Mapping):
            raise InputError(
                "plausible: a column's rule must be a mapping, for example {'grain': 1, 'low': 0}",
                parameter="plausible",
            )
        for name in raw:
            if name not in (*NUMBERS, "after"):
                known = (*NUMBERS, "after")
                raise InputError.from_unknown_name("setting of plausible", name, known, parameter="plausible")
        return cls(**raw)
