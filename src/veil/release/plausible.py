"""Rules by which released values are made plausible: whole, within bounds, on heaps or not, in order, adding up.

A rule changes a released value and looks at nothing but the released record, so it tells nobody more than that record
did: a formal guarantee stays, and an attacker of the release knows no more than one of the values before. What an
analyst needs of these, their moments, stands in the manifest (:attr:`veil.release.manifest.Part.products`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.arguments import number
from veil.data.blocks import Vector
from veil.errors import InputError

NUMBERS = ("grain", "low", "high", "zero_below")
SETTINGS = (*NUMBERS, "after", "heaps")
Heap = float | tuple[float, float | None, float | None]
"""A value that many records share, and between which released values it is set; None where there is no limit."""


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
    heaps
        Values that many records share, as 0 or 40 hours. Publishing finds the limits between which released values are
        set to each, so that it has the share that the noisy values say it has; a manifest has each heap with these two.

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
    heaps: Sequence[Heap] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "heaps", _heaps(self.heaps))
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
            raise InputError(
                "plausible: a rule needs a grain, a bound, zero_below, after or heaps", parameter="plausible"
            )
        low, high = self.ends
        if not low < high:
            raise InputError("plausible: low must be less than high", parameter="plausible")
        for name, end in (("low", self.low), ("high", self.high)):
            if end is not None and self.grain is not None and not math.isclose(end, self._rounded(np.array([end]))[0]):
                raise InputError(f"plausible: {name} must be a multiple of the grain", parameter="plausible")

        for heap in self.heap_values:
            if not low <= heap <= high or (
                self.grain is not None and not math.isclose(heap, self._rounded(np.array([heap]))[0], abs_tol=1e-12)
            ):
                raise InputError(
                    "plausible: heaps must be within the bounds, and multiples of the grain", parameter="plausible"
                )

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds, infinite where there are none."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        ends = [end for end in (self.grain, self.low, self.high, *self.heap_values) if end is not None]
        return self.grain is not None and all(float(end).is_integer() for end in ends)

    @property
    def heap_values(self) -> tuple[float, ...]:
        """The heaps without their limits."""
        return tuple(heap[0] if isinstance(heap, tuple) else heap for heap in self.heaps)

    @property
    def limits(self) -> dict[float, tuple[float, float]]:
        """Between which released values each heap is set, as far as that is known."""
        known = [heap for heap in self.heaps if isinstance(heap, tuple)]
        return {
            heap: (-math.inf if low is None else low, math.inf if high is None else high) for heap, low, high in known
        }

    @property
    def stand_ins(self) -> tuple[float, ...]:
        """Values that stand for many others: heaps, and bounds."""
        return tuple(sorted({float(end) for end in (self.low, self.high, *self.heap_values) if end is not None}))

    def applied(self, values: Vector) -> Vector:
        """The values, made plausible; missing ones stay missing."""
        before = values
        for heap, (low, high) in self.limits.items():
            values = np.where((before >= low) & (before <= high), heap, values)
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
        values: dict[str, Any] = {name: float(v) for name in NUMBERS if (v := getattr(self, name)) is not None}
        heaps = [list(heap) if isinstance(heap, tuple) else heap for heap in self.heaps]
        return values | ({} if self.after is None else {"after": self.after}) | ({"heaps": heaps} if heaps else {})

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
            if name not in SETTINGS:
                raise InputError.from_unknown_name("setting of plausible", name, SETTINGS, parameter="plausible")
        return cls(**raw)


def _heaps(heaps: Any) -> tuple[Heap, ...]:
    """Heaps in order: as numbers, or each with its limits."""
    try:
        listed = [tuple(each) if isinstance(each, list | tuple) else (each,) for each in heaps]
        if any(len(each) != len(listed[0]) or len(each) not in (1, 3) or each[0] is None for each in listed):
            raise TypeError
        numbers = [tuple(None if end is None else float(end) for end in each) for each in listed]
        finite = all(end is None or math.isfinite(end) for each in numbers for end in each)
        if not finite or len({each[0] for each in numbers}) < len(numbers):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError("plausible: heaps must be numbers, each once", parameter="plausible") from None
    ordered = sorted(numbers, key=lambda each: each[0] or 0.0)
    return tuple(each if len(each) == 3 else each[0] for each in ordered)  # type: ignore[misc]
