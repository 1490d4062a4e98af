"""How a mean over keys varies: one law for the intervals of audits and for the limits of advice.

*Model.* Every key gives one value v = μ + δ + ε: δ is what the key does, and ε what the records that were scored happen
to be, with a standard error that is known. The mean of n keys has the standard error of its records alone unless the
keys differ by more than records explain, which a χ² test at 1 % says; then it is that of the keys, which n of them know
badly, and Student's points with n − 1 degrees of freedom pay for it. Fewer keys than :data:`ENOUGH_KEYS` cannot tell.

*Coverage.* With δ = 0 the interval is as wide as the normal one at least. In between, where the test misses keys that
differ a little, it covers somewhat less than it says (a test of its coverage states how much).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

ENOUGH_KEYS = 5
"""Repetitions from which the spread between keys is known well enough to tell it from that of records."""
SURPRISE = 0.01
"""How seldom keys that do not differ seem to."""
KEYS, ENOUGH_RECORDS = (10, 30, 100), 50_000
"""Keys over which an audit settles an attack on single records: as many as let it see so many records in all."""


def keys_for(n_records: int) -> int:
    """Keys that an audit of so many records takes: few records say little each time, and are quickly attacked.

    >>> keys_for(1_000), keys_for(2_000), keys_for(20_000)
    (100, 30, 10)
    """
    return next((keys for keys in KEYS if keys * n_records >= ENOUGH_RECORDS), KEYS[-1])


@dataclass(frozen=True)
class KeySpread:
    """The standard ``error`` of a mean over ``n`` keys, and whether they are ``apart`` by more than records explain.

    ``of_keys`` is the error by the keys alone, 0 where they are too few to tell.
    """

    error: float
    n: int
    apart: bool
    of_keys: float = 0.0

    @classmethod
    def of(cls, values: Sequence[float], error: float) -> KeySpread:
        """The spread of values over keys, of whose mean records alone would give the standard ``error``."""
        n = len(values)
        if n < ENOUGH_KEYS:
            return cls(error, n, apart=False)
        by_keys = float(np.std(values, ddof=1)) / math.sqrt(n)
        apart = by_keys > math.sqrt(float(chdtri(n - 1, SURPRISE)) / (n - 1)) * error
        return cls(max(by_keys, error), n, apart, by_keys)

    def half(self, confidence: float) -> float:
        """Half the interval of the mean."""
        return self.error * _point(self.n, confidence, self.apart)

    def next_upper(self, n: int, confidence: float, certainty: float) -> float:
        """How far over this mean the upper end of the mean of ``n`` other keys stays, with a certainty.

        In standard errors of n keys it is the quantile of (√(1 + n/m)·Z + t·S')/S, with m the keys of this mean, Z
        normal, t the point of their interval, and S, S' what both estimate of the true error: roots of χ²/(m − 1) and
        χ²/(n − 1) variables where keys are apart; else S = 1, and S' is at least 1.
        """
        theirs = self.error * math.sqrt(self.n / n)
        return theirs * _next_end(self.n, n, _point(n, confidence, self.apart), certainty, self.apart)

    def next_lower(self, n: int, confidence: float, certainty: float) -> float:
        """The same of the lower end, which is negative where keys hardly differ.

        Means that are never under 0 vary as their keys do, which may be much less than the error of few records.
        """
        ours, theirs = (error * math.sqrt(self.n / n) for error in (self.of_keys, self.error))
        return math.sqrt(1.0 + n / self.n) * float(ndtri(certainty)) * ours - _point(n, confidence, self.apart) * theirs


def _point(n: int, confidence: float, apart: bool) -> float:
    tail = (1.0 + confidence) / 2.0
    return float(stdtrit(n - 1, tail) if apart else ndtri(tail))


@lru_cache(maxsize=256)
def _next_end(m: int, n: int, point: float, certainty: float, apart: bool) -> float:
    """The quantile of :meth:`KeySpread.next_upper`, by simulation with a fixed seed, to 1 %."""
    rng, draws = np.random.default_rng(0), 100_000
    theirs = np.sqrt(rng.chisquare(n - 1, draws) / (n - 1))
    normal = math.sqrt(1.0 + n / m) * rng.standard_normal(draws)
    if apart:
        ends = (normal + point * theirs) / np.sqrt(rng.chisquare(m - 1, draws) / (m - 1))
    else:
        ends = normal + point * np.maximum(theirs, 1.0)
    return float(np.quantile(ends, certainty))
