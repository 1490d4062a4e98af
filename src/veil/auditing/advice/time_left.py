"""The time that advice has: for its search, and a little more for the audit of what it comes to."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

SECONDS_FOR_MATRICES = 40.0
SHARE_OF_SEARCH = 0.85
"""What of the time is for the search."""
OUT_OF_TIME = "not tried: out of time"


class TimeIsOver(Exception):  # noqa: N818 - no error: it says where a search stops
    """A setting could not be tried to its end."""


@dataclass(frozen=True)
class TimeLeft:
    """The time until a ``deadline`` of :func:`time.monotonic`, and the very ``end``; None is as long as it takes."""

    deadline: float | None
    end: float | None = None

    @classmethod
    def of(cls, seconds: float | None) -> TimeLeft:
        """So many seconds from now."""
        if seconds is None:
            return cls(None)
        now = time.monotonic()
        return cls(now + SHARE_OF_SEARCH * seconds, now + seconds)

    def left(self) -> float:
        """Seconds that are left."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    def is_over(self) -> bool:
        """Whether none is left."""
        return self.left() < 0.0

    def patience(self) -> float:
        """Seconds for one method with a secret matrix."""
        return max(1.0, min(SECONDS_FOR_MATRICES, self.left()))
