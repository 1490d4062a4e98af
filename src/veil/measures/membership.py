"""How well scores tell members of a table from strangers (A30): the area under the ROC curve, and an advantage.

A score is higher the more a person seems to be in the table. The *area* under the ROC curve is the probability that a
member drawn by lot has a higher score than a stranger drawn by lot, ties counting one half (Hanley and McNeil 1982): of
two people, one of whom is in the table, the right one is picked so often. 1/2 is a coin, 1 tells everybody. The
*advantage* of whoever calls everybody with a score from some threshold on a member is TPR − FPR: the share of members
who are called so, less that of strangers (Yeom et al. 2018).

Of an ε-differentially private release TPR ≤ e^ε FPR and 1 − FPR ≤ e^ε (1 − TPR), so that the advantage is at most
tanh(ε/2) and the area at most 1/2 + tanh(ε/2)/2 (:func:`membership_bound`).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.data.blocks import Vector
from veil.errors import InputError
from veil.measures.measure import Measure

FEWEST = 2


def roc_area(
    members: npt.ArrayLike, strangers: npt.ArrayLike, *, paired: bool = False, confidence: float = 0.95
) -> Measure:
    """The area under the ROC curve with its interval.

    With V_i the share of strangers whom member i is above, and W_j the share of members who are above stranger j, the
    area A is the mean of either, and its variance Var(V)/n + Var(W)/m (DeLong, DeLong and Clarke-Pearson 1988). With
    ``paired``, stranger i is member i without the own row, and the variance is Var(V + W)/n. No interval is narrower
    than one person, however clear the scores are.

    >>> float(roc_area([3.0, 2.0], [1.0, 2.0]))
    0.875
    """
    from scipy.stats import rankdata

    s, t = _scores(members, strangers, paired=paired)
    n, m = len(s), len(t)
    ranks = rankdata(np.concatenate([s, t]))
    above = (ranks[:n] - rankdata(s)) / m
    exceeded = 1.0 - (ranks[n:] - rankdata(t)) / n
    area = float(above.mean())
    if paired:
        variance = float(np.var(above + exceeded, ddof=1)) / n
    else:
        variance = float(np.var(above, ddof=1)) / n + float(np.var(exceeded, ddof=1)) / m
    half = max(_quantile(confidence) * math.sqrt(variance), 1.0 / min(n, m))
    return Measure(area, low=max(0.0, area - half), high=min(1.0, area + half), higher_is="exposed")


def membership_advantage(
    members: npt.ArrayLike, strangers: npt.ArrayLike, *, paired: bool = False, confidence: float = 0.95
) -> Measure:
    """TPR − FPR with its interval, by thresholds that were chosen on other people.

    People are dealt into two halves. The threshold with the highest TPR − FPR on one half is applied to the other; the
    highest on the same people would be above 0 by luck alone. One of each kind who is called a member, and one who is
    not, are added to the variance. Whoever would do worse than not guessing does not guess: it is not below 0.
    """
    s, t = _scores(members, strangers, paired=paired)
    called = [np.empty(len(each), dtype=np.bool_) for each in (s, t)]
    for half in (0, 1):
        threshold = _threshold(s[half::2], t[half::2])
        for each, scores in zip(called, (s, t), strict=True):
            each[1 - half :: 2] = scores[1 - half :: 2] >= threshold
    true, false = (float(each.mean()) for each in called)
    if paired:
        difference = called[0].astype(np.float64) - called[1]
        variance = (float(((difference - difference.mean()) ** 2).sum()) + 2.0) / len(s) ** 2
    else:
        shares = [((each.sum() + 1.0) / (len(each) + 2.0), len(each) + 2.0) for each in called]
        variance = float(sum(share * (1.0 - share) / n for share, n in shares))
    half_width, gain = _quantile(confidence) * math.sqrt(variance), true - false
    return Measure(
        max(0.0, gain),
        low=max(0.0, gain - half_width),
        high=max(0.0, min(1.0, gain + half_width)),
        higher_is="exposed",
    )


def membership_bound(epsilon: float) -> float:
    """The highest advantage TPR − FPR that ε-differential privacy allows: tanh(ε/2) = (e^ε − 1)/(e^ε + 1).

    >>> round(membership_bound(0.5), 3)
    0.245
    """
    return math.tanh(number(epsilon, "epsilon", least=0.0) / 2.0)


def _threshold(s: Vector, t: Vector) -> float:
    """The score from which on TPR − FPR is highest; infinite where none is above 0."""
    rising = np.unique(np.concatenate([s, t]))
    called = [1.0 - np.searchsorted(np.sort(each), rising, side="left") / max(len(each), 1) for each in (s, t)]
    gain = called[0] - called[1]
    best = int(gain.argmax())
    return float(rising[best]) if gain[best] > 0 else math.inf


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1.0 + number(confidence, "confidence", least=0.0, most=1.0 - 1e-12)) / 2.0)


def _scores(members: npt.ArrayLike, strangers: npt.ArrayLike, *, paired: bool) -> tuple[Vector, Vector]:
    both = []
    for name, values in (("members", members), ("strangers", strangers)):
        scores = np.asarray(values, dtype=np.float64)
        if scores.ndim != 1 or len(scores) < FEWEST or np.isnan(scores).any():
            raise InputError(f"{name} must be at least {FEWEST} scores, one for each person, and none missing")
        both.append(scores)
    if paired and len(both[0]) != len(both[1]):
        raise InputError(
            f"members and strangers are paired, so they must be equally many; there are {len(both[0])} and "
            f"{len(both[1])}"
        )
    return both[0], both[1]
