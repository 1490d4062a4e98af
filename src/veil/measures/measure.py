"""What a measure returns: a number that remembers its interval and which way is better."""

from __future__ import annotations

from typing import Literal

Direction = Literal["private", "useful", "exposed", "distorted"]


class Measure(float):
    """A float with an interval and a meaning.

    Parameters
    ----------
    value
        The measured value.
    low, high
        Ends of the interval (95 % unless the function says otherwise); both equal
        ``value`` when the measure is exact.
    higher_is
        What a higher value means: more ``"private"``, more ``"useful"``, more
        ``"exposed"`` or more ``"distorted"``.

    >>> m = Measure(0.25, low=0.2, high=0.31, higher_is="exposed")
    >>> m + 1
    1.25
    >>> m
    0.25 [0.2, 0.31] higher is exposed
    """

    __slots__ = ("high", "higher_is", "low")
    low: float
    high: float
    higher_is: Direction

    def __new__(
        cls, value: float, *, low: float | None = None, high: float | None = None, higher_is: Direction
    ) -> Measure:
        self = super().__new__(cls, value)
        self.low = float(value if low is None else low)
        self.high = float(value if high is None else high)
        self.higher_is = higher_is
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, object]]:
        return (float(self),), {"low": self.low, "high": self.high, "higher_is": self.higher_is}

    def __repr__(self) -> str:
        return f"{float(self):.4g} [{self.low:.4g}, {self.high:.4g}] higher is {self.higher_is}"
