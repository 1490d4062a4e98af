"""Scores: what a guess gets right of people in the release, of the same people absent from it, and by a constant.

*Individual advantage.* A release exists to teach about people; the harm is what it tells about this person. With h_i
what the attack gets right of person i and c_i what the same attacker would, had the person's row not been there
(:mod:`veil.auditing.absent`), the individual advantage is Σ(h_i − c_i)/Σ(1 − c_i), a paired ratio
(:func:`veil.measures.ratio_interval`). The advantage over the best constant guess stays beside it: it is what the
release teaches about people like this one as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.attacks.knowledge import Rows
from veil.auditing.spread import ENOUGH_KEYS, KeySpread
from veil.data.blocks import Matrix, Vector
from veil.measures import Measure
from veil.report.values import Estimate, Over

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.intp]


FEWEST_LEFT = 1.5
"""People of the largest values whom the absent attacker does not tell, on average, for a goal on these to count."""


@dataclass(frozen=True)
class Score:
    """A rate of breaches and what it is held against.

    Attributes
    ----------
    rate
        What the attack gets right of people in the release.
    control
        What the same attacker gets right of people who are absent from it.
    baseline
        What the best constant guess gets right.
    advantage
        How far the rate is from the control towards certainty; from the baseline where the goals say so.
    taught
        How far the rate is from the baseline: what the release teaches, about this person or people like them.
    """

    rate: Measure
    control: float
    baseline: float
    advantage: Measure
    taught: Measure


@dataclass(frozen=True)
class LargestScore:
    """The score on the ``n`` largest values of a column, and how often the largest guess is of the largest value."""

    score: Score
    n: int
    first: float

    @property
    def counts(self) -> bool:
        """Whether there is something to be gained: a share of one person is no rate."""
        return leave_some([self])


def leave_some(scores: Sequence[LargestScore]) -> bool:
    """Whether about two people or more are not told without their own rows, on average over runs."""
    left = [each.n * (1.0 - float(each.score.control)) for each in scores]
    return bool(np.mean(left) >= FEWEST_LEFT)


def estimate(measure: Measure) -> Estimate:
    """A measure rounded to four digits, as reports have it: more would be false precision."""
    return Estimate(round(float(measure), 4), round(measure.low, 4), round(measure.high, 4))


@dataclass(frozen=True)
class Contrast:
    """One guess on n records: its rate, the control, and the standard error of the individual advantage."""

    rate: float
    control: float
    error: float
    n: int

    @classmethod
    def of(cls, present: Matrix | Mask, absent: Matrix | Mask, scored: Mask, groups: Codes | None = None) -> Contrast:
        """Hits of both guesses, N × d or N, where ``scored``; records are the units, since cells of one depend.

        With ``groups``, rows of one may depend, too: the error is over groups, and ``n`` is how many independent
        records would have it (Kish's design effect), no more than there are.

        One record that only the guess gets right and one that only the control does are added, as in Bonett and
        Price's (2012) interval of a paired difference, so that few records without a difference are no certainty.
        """
        cells = scored if scored.ndim == 2 else scored[:, None]
        n, total = int(cells.any(axis=1).sum()), float(cells.sum())
        if not n:
            return cls(math.nan, math.nan, math.nan, 0)
        width = total / n
        hit, chance = (
            np.where(cells, right.reshape(cells.shape), 0.0).sum(axis=1) / width for right in (present, absent)
        )
        rate, control = (min(1.0, float(shares.sum()) / n) for shares in (hit, chance))  # sums of shares round
        left = cells.sum(axis=1) / width - chance
        to_gain = float(left.sum())
        if to_gain < 1e-9:
            return cls(rate, control, 0.0, n)
        off = (hit - chance) - float((hit - chance).sum()) / to_gain * left
        if groups is None:
            return cls(rate, control, math.sqrt(float((off**2).sum()) + 2.0) / to_gain, n)
        size = n / len(np.unique(groups[cells.any(axis=1)]))
        error = math.sqrt(float((_sums(off, groups) ** 2).sum()) + 2.0 * size**2) / to_gain
        return cls(rate, control, error, _independent(hit - rate * cells.sum(axis=1) / width, groups, n))

    @classmethod
    def of_groups(cls, present: Mask, absent: Mask, scored: Mask, groups: Codes) -> Contrast:
        """Hits of a column that is constant within groups: each group counts once, as the mean of its rows."""
        _, at = np.unique(groups, return_inverse=True)
        counts = np.bincount(at, scored)
        hit, chance = (np.bincount(at, each & scored) / np.maximum(counts, 1.0) for each in (present, absent))
        return cls.of(hit[:, None], chance[:, None], counts > 0)

    @property
    def advantage(self) -> float:
        """The individual advantage; 0 where the control leaves nothing to gain."""
        return _gained(self.rate, self.control)

    def raised(self, null: float) -> Contrast:
        """The same rate against a control that is at least ``null``."""
        if not null > self.control:
            return self
        return Contrast(self.rate, null, self.error * (1.0 - self.control) / max(1.0 - null, 1e-9), self.n)

    def lifted(self, baseline: float) -> Contrast:
        """The same advantage of attackers who both get at least ``baseline`` right, by saying a constant.

        The best constant of a table fits it by luck, too; neither attacker may profit from that alone.
        """
        if not baseline > self.control:
            return self
        return Contrast(baseline + self.advantage * (1.0 - baseline), baseline, self.error, self.n)


def _sums(values: Vector, groups: Codes) -> Vector:
    return np.asarray(np.bincount(np.unique(groups, return_inverse=True)[1], values), dtype=np.float64)


def _independent(off: Vector, groups: Codes, n: int) -> int:
    """How many of n records would be independent, from their distances from the mean."""
    single, together = float((off**2).sum()), float((_sums(off, groups) ** 2).sum())
    if not together > 0.0:  # all are right or all are wrong, and so may be a group's
        return min(n, len(np.unique(groups)))
    return max(1, min(n, round(n * single / together)))


NOTHING = Contrast(math.nan, math.nan, math.nan, 0)


@dataclass(frozen=True)
class GuessScores:
    """One guess, scored.

    ``largest`` are the largest values of each column, and ``firsts`` says whether its largest guess is of the largest.
    The nulls are what guesses that say nothing get by the judge's own matching, where columns are matched, and the
    lucks what the best of them gets: a rate that is no higher than that shows nothing. ``links`` says that people were
    linked to rows, and no values guessed: every score is that of the links.
    """

    value: Contrast
    record: Contrast
    columns: tuple[Contrast, ...]
    far_out: Contrast
    nrmse: float
    n_scored: int
    value_null: float = 0.0
    record_null: float = 0.0
    column_nulls: Vector | None = None
    value_luck: float = 0.0
    record_luck: float = 0.0
    column_lucks: Vector | None = None
    largest_nulls: Vector | None = None
    largest_lucks: Vector | None = None
    largest: tuple[Contrast, ...] = ()
    firsts: Vector | None = None
    links: bool = False

    @classmethod
    def of_links(cls, own: Rows, links: Rows) -> GuessScores:
        """Links of people to rows of the release; ``own`` are their true rows, -1 for people who are not in it.

        Whoever is absent has no row to be linked to; what is left is to name one of the rows at random.
        """
        people = own >= 0
        n = int(people.sum())
        right = (links == own)[people]
        chance = np.full(n, 1.0 / max(n, 1))
        contrast = Contrast.of(right.astype(np.float64), chance, np.ones(n, dtype=np.bool_)) if n else NOTHING
        return cls(contrast, contrast, (), NOTHING, math.nan, n, links=True)


def nothing_scored() -> Score:
    """The score where nothing was scored."""
    nothing = Measure(math.nan, higher_is="exposed")
    return Score(nothing, math.nan, math.nan, nothing, nothing)


def pooled(
    runs: Sequence[Contrast],
    baseline: float,
    *,
    one_matrix: bool,
    goal: float,
    over: Over = Over.ABSENT,
    null: float = 0.0,
    luck: float = 0.0,
    confidence: float = 0.95,
    lifted: bool = True,
) -> Score:
    """The guesses of one attack over repetitions, with intervals.

    Guesses that are independent per record have an interval over records; over several keys, over the records of all,
    and not narrower than the keys themselves differ. An attack that estimates one matrix succeeds or fails
    on all records alike, so its interval is over repetitions, and its upper end is at least the upper Wilson limit of
    the share of runs, and so of keys, whose advantage is over the goal: five runs that all fail do not show that one
    key in five is safe. Nobody does worse than the control: an attacker who would, over all keys, takes it instead.

    ``null`` is the least that the control can be, and a rate up to ``luck`` is not shown to be any advantage. Rates
    that are not ``lifted`` are left as they are, where the best constant in hindsight gets more.
    """
    if not runs or any(math.isnan(run.rate) for run in runs):
        return nothing_scored()
    runs = [run.raised(null).lifted(baseline) if lifted else run.raised(null) for run in runs]
    rates = [run.rate for run in runs]
    control = float(np.mean([run.control for run in runs]))
    gains = [run.advantage for run in runs]
    rate = _at_least(control, _of_rates(rates, [run.n for run in runs], one_matrix, confidence))
    least = max(null, baseline)
    taught = _ends(max(0.0, _gained(float(rate), least)), rate, least)
    individual = _individual(runs, gains, one_matrix, confidence)
    if one_matrix:
        individual = _over_keys(individual, gains, goal)
        taught = _over_keys(taught, [_gained(each, least) for each in rates], goal)
    if luck > 0.0 and float(rate) <= luck:
        individual, taught = (
            Measure(float(m), low=0.0, high=m.high, higher_is="exposed") for m in (individual, taught)
        )
    return Score(rate, control, baseline, individual if over is Over.ABSENT else taught, taught)


def _of_rates(rates: Sequence[float], n: Sequence[int], one_matrix: bool, confidence: float) -> Measure:
    """The mean rate: over the records of all keys, and not narrower than keys differ."""
    mean = float(np.mean(rates))
    if len(rates) >= ENOUGH_KEYS and not one_matrix:
        low, high = measures.wilson(sum(r * k for r, k in zip(rates, n, strict=True)), sum(n), confidence)
    else:
        ends = [measures.wilson(r * k, k, confidence) for r, k in zip(rates, n, strict=True)]
        low, high = (float(end) for end in np.mean(ends, axis=0))
    if one_matrix and len(rates) > 1:
        keys = measures.repetition_interval(rates, confidence)
        low, high = min(low, keys[0]), max(high, keys[1])
    elif one_matrix:
        low, high = 0.0, 1.0
    elif len(rates) >= ENOUGH_KEYS:
        half = KeySpread.of(rates, math.sqrt(max(mean * (1.0 - mean), 1e-12) / sum(n))).half(confidence)
        low, high = max(0.0, min(low, mean - half)), min(1.0, max(high, mean + half))
    return Measure(mean, low=min(low, mean), high=max(high, mean), higher_is="exposed")


def _gained(rate: float, baseline: float) -> float:
    """:func:`veil.measures.advantage` of one share, which is asked for very often."""
    return (rate - baseline) / (1.0 - baseline) if baseline < 1.0 else 0.0


def _at_least(control: float, rate: Measure) -> Measure:
    """A rate that is not under the control."""
    value = max(control, float(rate))
    return Measure(value, low=rate.low, high=max(rate.high, value), higher_is="exposed")


def _ends(mean: float, rate: Measure, baseline: float) -> Measure:
    """An advantage over a fixed baseline, with the ends of its rate; never negative."""
    low, high = (max(0.0, _gained(end, baseline)) for end in (rate.low, rate.high))
    return Measure(mean, low=min(low, mean), high=max(high, mean), higher_is="exposed")


def _individual(runs: Sequence[Contrast], gains: Sequence[float], one_matrix: bool, confidence: float) -> Measure:
    mean = max(0.0, float(np.mean(gains)))
    errors = np.array([run.error for run in runs])
    many = len(runs) >= ENOUGH_KEYS and not one_matrix
    error = float(np.sqrt((errors**2).sum())) / len(runs) if many else float(errors.mean())
    half = (KeySpread.of(gains, error) if many else KeySpread(error, 1, apart=False)).half(confidence)
    low, high = mean - half, mean + half
    if one_matrix and len(gains) > 1:
        keys = measures.repetition_interval(gains, confidence, lower=-math.inf)
        low, high = min(low, keys[0]), max(high, keys[1])
    elif one_matrix:
        low, high = 0.0, 1.0
    return Measure(mean, low=min(max(low, 0.0), mean), high=max(min(high, 1.0), mean), higher_is="exposed")


def _over_keys(measure: Measure, gains: Sequence[float], goal: float) -> Measure:
    """An advantage that may be as high as the share of keys over the goal is."""
    _, share = measures.wilson(sum(gain > goal for gain in gains), len(gains))
    return Measure(float(measure), low=measure.low, high=max(measure.high, share), higher_is="exposed")
