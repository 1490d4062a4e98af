"""The judge of a release whose rows belong to nobody in particular: people are held against strangers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from veil import measures
from veil.attacks import Guess
from veil.attacks.knowledge.base import Rows
from veil.auditing.judge import Judge
from veil.auditing.scores import GuessScores
from veil.data.blocks import Matrix
from veil.measures import Measure


class UnmatchedJudge(Judge):
    """Scores guesses whose rows belong to nobody in particular, against strangers."""

    def try_guess(self, guess: Guess, private_rows: Rows, given: Rows) -> GuessScores:
        """Each person against the nearest guess; people that the attacker knows (``given``) are not scored."""
        truth = np.delete(self.truth, given, axis=0)
        values = _recognised(truth, guess) if guess.up_to else guess.values
        breach = measures.unmatched_breach(truth, values, self.tolerance, self.units)
        value, record = float(breach.value_baseline), float(breach.record_baseline)
        # Of fewer rows than people only so many can be found, and a stranger has only so many to look among.
        share = min(1.0, len(values) / len(truth))
        if len(values) < len(truth) - 1:
            value, record = self._strangers(truth, len(values))
        silent = np.full(truth.shape[1], np.nan)
        return GuessScores(
            value=_rate(breach.value_rate, breach.value_advantage, value, share),
            record=_rate(breach.record_rate, breach.record_advantage, record, share),
            columns=silent,
            n_columns=np.zeros(truth.shape[1], dtype=np.int64),
            far_out=Measure(float("nan"), higher_is="exposed"),
            n_far_out=0,
            nrmse=self._error(truth, values[breach.nearest]),
            n_scored=len(truth),
            value_null=value,
            record_null=record,
        )

    def _strangers(self, truth: Matrix, m: int, draws: int = 5) -> tuple[float, float]:
        """What people find among m others, by value and by record: the mean over draws of the others."""
        rates = []
        for draw in range(draws):
            chosen = np.zeros(len(truth), dtype=bool)
            chosen[np.random.default_rng(draw).choice(len(truth), m, replace=False)] = True
            breach = measures.unmatched_breach(truth[~chosen], truth[chosen], self.tolerance, self.units)
            rates.append((float(breach.value_rate), float(breach.record_rate)))
        value, record = np.mean(rates, axis=0)
        return float(value), float(record)

    def picture(self, guess: Guess, private_rows: Rows, given: Rows, **_: Any) -> Any:
        """None: nobody knows which guess is whose."""
        return None

    def worst_records(self, guess: Guess, private_rows: Rows, given: Rows, limit: int = 10) -> list[tuple[int, float]]:
        """None: nobody knows which guess is whose."""
        return []


def _rate(rate: Measure, advantage: Measure, baseline: float, share: float) -> Measure:
    """A rate whose interval is that of its paired advantage over strangers.

    With fewer rows than people, what is found beyond strangers is counted over those who can be found (``share``).
    """
    if share == 1.0:
        low, high = (baseline + gain * (1.0 - baseline) for gain in (advantage.low, advantage.high))
        return Measure(float(rate), low=min(low, rate), high=max(high, rate), higher_is="exposed")
    value, low, high = (min(1.0, baseline + (end - baseline) / share) for end in (float(rate), rate.low, rate.high))
    return Measure(max(0.0, value), low=max(0.0, low), high=max(0.0, high), higher_is="exposed")


def _recognised(truth: Matrix, guess: Guess) -> Matrix:
    """Columns that a guess leaves open in order and sign, as their distributions tell which is which."""
    at = np.linspace(0.005, 0.995, 100)
    unit = np.ones(truth.shape[1]) if guess.units is None else guess.units
    own = np.nanquantile(truth / unit, at, axis=0)
    theirs = np.nanquantile(guess.values, at, axis=0)
    apart = np.array(
        [[np.abs(own[:, [j]] - side).mean(axis=0) for side in (theirs, -theirs[::-1])] for j in range(own.shape[1])]
    )
    columns, chosen = linear_sum_assignment(apart.min(axis=1))
    values = np.full((len(guess.values), truth.shape[1]), np.nan)
    for j, k in zip(columns, chosen, strict=True):
        sign = 1.0 if apart[j, 0, k] <= apart[j, 1, k] else -1.0
        values[:, j] = sign * guess.values[:, k] * unit[j]
    return values
