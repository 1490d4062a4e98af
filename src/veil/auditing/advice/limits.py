"""What another audit of a setting will say, with 99 % probability: its upper limits on risk, its utilities at least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtri, stdtrit

from veil.auditing.scores import Score
from veil.auditing.spread import ENOUGH_KEYS, KEYS, KeySpread
from veil.measures import Measure

CERTAINTY = 0.99
LUCK = 2.0
"""Standard errors that the luckiest of many attacks is taken to be over what it gains."""


def limit_of(
    scores: Sequence[Score],
    share: float = 1.0,
    *,
    confidence: float = 0.95,
    shown: bool = False,
    unclear: float = math.inf,
    hopeful: bool = False,
    keys: int = KEYS[0],
) -> tuple[float, float]:
    """The mean advantage over runs, and the end that another audit of so many ``keys`` has with 99 % probability.

    ``scores`` are of one run each, on a ``share`` of the table's records; ``confidence`` is that of their intervals.
    The goal is held against the upper end of the next audit's interval, or, where only a goal ``shown`` to break
    counts, against the lower one; so it is where half the interval is wider than ``unclear``, which an audit takes for
    too few records. How means over keys vary is :class:`veil.auditing.spread.KeySpread`'s matter. ``hopeful`` takes
    :data:`LUCK` standard errors off few runs, which are the luckiest of many, and holds the rest as an audit's runs:
    that says where to look.
    """
    gains = np.array([float(score.advantage) for score in scores])
    if np.isnan(gains).any():
        return math.nan, math.nan
    quantile = float(ndtri((1.0 + confidence) / 2.0))
    errors = np.array([(score.advantage.high - float(score.advantage)) / quantile for score in scores])
    of_one, mean = math.sqrt(float((errors**2).mean())), float(gains.mean())
    error = of_one * math.sqrt(share / len(gains))
    spread = KeySpread.of([float(gain) for gain in gains], error)
    if hopeful and len(gains) < ENOUGH_KEYS:
        mean -= LUCK * of_one / math.sqrt(len(gains))
        spread = KeySpread(of_one * math.sqrt(share / keys), keys, apart=False)
    theirs = KeySpread(spread.error * math.sqrt(spread.n / keys), keys, spread.apart)
    end = spread.next_lower if shown or theirs.half(confidence) > unclear else spread.next_upper
    return mean, mean + end(keys, confidence, CERTAINTY)


def at_least(releases: Sequence[Mapping[str, Measure]]) -> dict[str, float]:
    """What the mean utilities of as many other releases are at least, with 99 % probability, where several are known.

    For n normal utilities with the standard deviation s both means together vary by s·√(2/n), and s is known with n − 1
    degrees of freedom.
    """
    n = len(releases)
    if n < 2:
        return {}
    reach = float(stdtrit(n - 1, CERTAINTY)) * math.sqrt(2.0 / n)
    values = {name: [float(each[name]) for each in releases if name in each] for name in releases[0]}
    return {
        name: float(np.mean(known)) - reach * float(np.std(known, ddof=1))
        for name, known in values.items()
        if len(known) == n
    }
