"""Interval privacy (M3): how wide an interval must be to hold the value with confidence c.

Agrawal and Srikant (2000): if a value can be estimated with c % confidence to lie in [a, b],
the width b − a is its privacy at c %. Noise uniform on ±α gives 2αc; normal noise of
deviation σ gives 2σΦ⁻¹((1+c)/2), that is 1.35σ at 50 % and 3.92σ at 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, choice, number
from veil.errors import InputError
from veil.measures.measure import Measure

IntervalKind = Literal["shortest", "central"]
_Z95 = NormalDist().inv_cdf(0.975)


@runtime_checkable
class QuantileLaw(Protocol):
    """A distribution with a quantile function ``ppf``, as scipy's frozen ones have."""

    def ppf(self, q: float, /) -> float: ...


def interval_privacy(
    values: npt.ArrayLike | QuantileLaw | Callable[[float], float],
    confidence: float = 0.95,
    *,
    kind: IntervalKind = "shortest",
) -> Measure:
    """Width of the interval that holds a share ``confidence`` of the errors or of a posterior.

    Parameters
    ----------
    values
        A sample (the errors x̂ − x of an attack, or draws from a posterior), a frozen scipy
        law, or a quantile function such as a recovered distribution's.
    confidence
        c as a share, strictly between 0 and 1.
    kind
        ``"shortest"``, the default, is the best an attacker can promise; ``"central"`` is the
        tutorial's [x_(1−c)/2, x_(1+c)/2]. They agree for symmetric laws with one mode.

    From a sample of n the shortest interval spans ⌈cn⌉ neighbouring order statistics, which
    is a little narrow at small n. The interval of the measure is 95 %: the widths at the
    shares c ± 1.96√(c(1−c)/n), infinite where that passes 1. Missing values are left out.

    >>> float(interval_privacy([0.0, 1.0, 2.0, 10.0], 0.75))
    2.0
    """
    c = number(confidence, "confidence", least=0.0, most=1.0)
    if not 0.0 < c < 1.0:
        raise InputError("confidence: must lie strictly between 0 and 1; pass e.g. 0.95")
    chosen = choice(kind, "kind", ("shortest", "central"))
    if isinstance(values, QuantileLaw):
        return Measure(_law_width(values.ppf, c, chosen), higher_is="private")
    if callable(values):
        return Measure(_law_width(values, c, chosen), higher_is="private")
    table = as_table(values, "values")
    if 1 not in table.shape:
        raise InputError(f"values: has shape {table.shape}; pass one column of errors at a time")
    sample = np.sort(table.ravel())
    sample = sample[~np.isnan(sample)]
    if sample.size == 0:
        return Measure(math.nan, low=math.nan, high=math.nan, higher_is="private")
    half = _Z95 * math.sqrt(c * (1.0 - c) / sample.size)
    low = _sample_width(sample, c - half, chosen) if c > half else 0.0
    high = _sample_width(sample, c + half, chosen) if c + half < 1.0 else math.inf
    return Measure(_sample_width(sample, c, chosen), low=low, high=high, higher_is="private")


def _sample_width(ordered: Array, c: float, kind: str) -> float:
    if kind == "central":
        low, high = np.quantile(ordered, [(1.0 - c) / 2.0, (1.0 + c) / 2.0])
        return float(high - low)
    n = ordered.size
    held = min(n, max(1, math.ceil(c * n - 1e-9)))
    return float((ordered[held - 1 :] - ordered[: n - held + 1]).min())


def _law_width(quantile: Callable[[float], float], c: float, kind: str) -> float:
    def width(below: float) -> float:
        return float(quantile(min(1.0, below + c))) - float(quantile(below))

    if kind == "central":
        value = width((1.0 - c) / 2.0)
    else:
        from scipy.optimize import minimize_scalar

        # A grid first: with several modes the width has several valleys. Its ends may be infinite.
        grid = (1.0 - c) * np.linspace(0.0, 1.0, 201)
        widths = np.array([width(float(below)) for below in grid])
        best = int(np.nanargmin(widths))
        ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 200)])
        minimum = minimize_scalar(width, bounds=ends, method="bounded", options={"xatol": 1e-10})
        value = min(float(widths[best]), float(minimum.fun))
    if not value >= 0.0:
        raise InputError("values: is no quantile function; pass one that rises from 0 to 1")
    return value
