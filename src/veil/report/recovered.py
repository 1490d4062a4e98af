"""What an analyst recovered of a column, as data."""

from __future__ import annotations

from dataclasses import dataclass

from veil.report.words import digits


@dataclass(frozen=True)
class RecoveredColumn:
    """One private column: estimates with two standard errors' half-widths, quantiles and density.

    A quantile is (share, estimate, low, high); None stands for an end that the release cannot bound.
    """

    name: str
    mean: float
    mean_half: float
    mean_half_total: float
    std: float
    std_half: float
    quantiles: tuple[tuple[float, float, float | None, float | None], ...]
    density: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class RecoveredShares:
    """One column of categories: (category, share, two standard errors for the table, and for the population)."""

    name: str
    shares: tuple[tuple[str, float, float, float], ...]


@dataclass(frozen=True)
class RecoveredRegression:
    """A regression: (term, coefficient, two standard errors for the table, and for the population)."""

    target: str
    terms: tuple[tuple[str, float, float, float], ...]
    residual_std: float
    r_squared: float


def span(low: float | None, high: float | None) -> str:
    """An interval in text; an end that is not known is a dash.

    >>> span(1.0, None)
    '1.000 to –'
    """
    ends = ("–" if end is None else digits(end) for end in (low, high))
    return "\u00a0to\u00a0".join(ends).replace("\u00a0", " ")
