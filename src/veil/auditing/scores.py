"""Scores: what one guess breaches, and what the guesses of one attack breach together, over the best constant guess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.attacks.knowledge import Rows
from veil.measures import Measure
from veil.report.values import Estimate

ENOUGH_KEYS = 5
"""Repetitions from which the spread between keys is known well enough to narrow an interval."""


@dataclass(frozen=True)
class Score:
    """A rate of breaches, what a constant guess would breach, and the advantage over it."""

    rate: Measure
    baseline: float
    advantage: Measure


def estimate(measure: Measure) -> Estimate:
    """A measure rounded to four digits, as reports have it: more would be false precision."""
    return Estimate(round(float(measure), 4), round(measure.low, 4), round(measure.high, 4))


@dataclass(frozen=True)
class GuessScores:
    """One guess, scored.

    The nulls are what guesses that say nothing get by the judge's own matching, where columns are matched, and the
    lucks what the best of them gets: a rate that is no higher than that shows nothing. ``links`` says that people were
    linked to rows, and no values guessed: every score is that of the links.
    """

    value: Measure
    record: Measure
    columns: npt.NDArray[np.float64]
    n_columns: npt.NDArray[np.int64]
    far_out: Measure
    n_far_out: int
    nrmse: float
    n_scored: int
    value_null: float = 0.0
    record_null: float = 0.0
    column_nulls: npt.NDArray[np.float64] | None = None
    value_luck: float = 0.0
    record_luck: float = 0.0
    column_lucks: npt.NDArray[np.float64] | None = None
    links: bool = False

    @classmethod
    def of_links(cls, own: Rows, links: Rows) -> GuessScores:
        """Links of people to rows of the release; ``own`` are their true rows, -1 for people who are not in it."""
        rate = measures.linkage_rate(own, links)
        nothing = Measure(math.nan, higher_is="exposed")
        n_people = int((own >= 0).sum())
        return cls(rate, rate, np.empty(0), np.empty(0, dtype=np.int64), nothing, 0, math.nan, n_people, links=True)


def unless_luck(score: Score, luck: float) -> Score:
    """A score that is not shown to be any where the best of many empty guesses does as well."""
    if luck == 0.0 or float(score.rate) > luck:
        return score
    rate = Measure(
        float(score.rate), low=min(score.rate.low, score.baseline), high=score.rate.high, higher_is="exposed"
    )
    return Score(rate, score.baseline, measures.advantage(rate, score.baseline))


def pooled(
    runs: Sequence[Measure],
    baseline: float,
    *,
    one_matrix: bool,
    goal: float,
    n: Sequence[int] = (),
    confidence: float = 0.95,
) -> Score:
    """The mean rate over repetitions against its baseline, with an interval.

    Guesses that are independent per record have a Wilson interval over records; over several keys, over the records
    of all (``n`` counts them), and not narrower than the keys themselves differ (Student). An attack that estimates
    one matrix succeeds or fails on all records alike, so its interval is over repetitions, and its upper end is at
    least the upper Wilson limit of the share of runs, and so of keys, whose advantage is over the goal: five runs that
    all fail do not show that one key in five is safe.
    """
    rates = [float(run) for run in runs]
    low, high = float(np.mean([run.low for run in runs])), float(np.mean([run.high for run in runs]))
    if len(rates) >= ENOUGH_KEYS and not one_matrix and n and not any(map(math.isnan, rates)):
        hits = sum(rate * count for rate, count in zip(rates, n, strict=True))
        records, keys = measures.wilson(hits, sum(n), confidence), measures.repetition_interval(rates, confidence)
        low, high = min(records[0], keys[0]), max(records[1], keys[1])
    if one_matrix and not any(map(math.isnan, rates)):
        over = measures.repetition_interval(rates, confidence)
        broken = sum(measures.advantage(rate, baseline) > goal for rate in rates)
        _, share = measures.wilson(broken, len(rates))
        low, high = min(low, over[0]), max(high, over[1], baseline + share * (1.0 - baseline))
    rate = Measure(float(np.mean(rates)), low=low, high=high, higher_is="exposed")
    return Score(rate, baseline, measures.advantage(rate, baseline))
