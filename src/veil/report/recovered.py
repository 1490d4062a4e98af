"""What an analyst recovered of a column, as data."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from veil.report.words import digits

DATE, MOMENT, SECOND = "date", "moment", "second"
"""What numbers of a column stand for: days and seconds since the beginning of 1970, or seconds."""
_DAY = 86_400
_WIDE = 20 * _DAY
"""The spread of moments, in seconds, beyond which their times of day are of no interest."""
_EPOCH = dt.datetime(1970, 1, 1)


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
    unit: str = ""

    def value(self, number: float, n: int = 4) -> str:
        """A number of the column's scale in text: dates as such, and moments that lie days apart as their dates."""
        if self.unit == MOMENT and self.std >= _WIDE:
            return calendar_text(number / _DAY, DATE)
        return digits(number, n) if self.unit not in (DATE, MOMENT) else calendar_text(number, self.unit)

    def distance(self, number: float) -> str:
        """How far apart two numbers of the column are, in text: dates by days, moments by seconds or days."""
        if not self.unit or not math.isfinite(number):
            return digits(number)
        if self.unit != DATE and abs(number) < _DAY:
            return f"{digits(number)} s"
        return f"{digits(number if self.unit == DATE else number / _DAY)} d"

    def span(self, low: float | None, high: float | None) -> str:
        """An interval in text; an end that is not known is a dash."""
        return _joined("–" if end is None else self.value(end) for end in (low, high))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; dates as texts."""
        values = asdict(self)
        if not self.unit:
            del values["unit"]
        if self.unit in (DATE, MOMENT):
            values["mean"] = calendar_text(self.mean, self.unit)
            values["quantiles"] = tuple(
                (share, *(None if x is None else calendar_text(x, self.unit) for x in ends))
                for share, *ends in self.quantiles
            )
            values["density"] = tuple((calendar_text(x, self.unit), height) for x, height in self.density)
        return values


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


def calendar_text(number: float, unit: str) -> str:
    """Days or seconds since the beginning of 1970 as a date or a moment; a dash where there is none.

    >>> calendar_text(-1.4, DATE), calendar_text(86_399.6, MOMENT)
    ('1969-12-31', '1970-01-02 00:00:00')
    """
    if not math.isfinite(number):
        return digits(number)
    whole = math.floor(number + 0.5)
    try:
        moment = _EPOCH + (dt.timedelta(days=whole) if unit == DATE else dt.timedelta(seconds=whole))
    except OverflowError:
        return digits(number)
    return moment.date().isoformat() if unit == DATE else moment.isoformat(" ")


def _joined(ends: Iterable[str]) -> str:
    return " to ".join(ends)
