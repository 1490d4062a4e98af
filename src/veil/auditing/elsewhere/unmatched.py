"""The judge of a release whose rows belong to nobody in particular: people are held against strangers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from veil import measures
from veil.attacks import Guess
from veil.attacks.knowledge.base import Rows
from veil.auditing.judge import Judge
from veil.auditing.scores import NOTHING, Contrast, GuessScores
from veil.data.blocks import Matrix
from veil.measures import Measure
from veil.report.model import Picture

Z = 1.959964
"""Standard errors in half of a 95 % interval."""
LUCK = 1.8
"""What one release teaches better than another by luck, all people alike, in errors over people.

Over 100 pairs of tables of 1,000 and 3,000 people the gain had 1.1 to 1.3 times the error that people account for, and
1.8 times over 24 pairs of samples of 1,500 people with eight hidden columns: only those with good luck are guessed.
"""


class UnmatchedJudge(Judge):
    """Scores guesses whose rows belong to nobody in particular, against strangers."""

    def try_guess(
        self,
        guess: Guess,
        private_rows: Rows,
        given: Rows,
        features: Matrix | None = None,
        absent: Matrix | None = None,
    ) -> GuessScores:
        """Each person against the nearest guess; people that the attacker knows (``given``) are not scored.

        The control is what a stranger finds. Of people who are guessed themselves, it is what other people teach.
        """
        if guess.of_people:
            return _with_luck(super().try_guess(guess, private_rows, given, features, absent))
        truth = np.delete(self.truth, given, axis=0)
        values = _recognised(truth, guess) if guess.up_to else guess.values
        breach = measures.unmatched_breach(truth, values, self.tolerance, self.units)
        value, record = float(breach.value_baseline), float(breach.record_baseline)
        # Of fewer rows than people only so many can be found, and a stranger has only so many to look among.
        share = min(1.0, len(values) / len(truth))
        if len(values) < len(truth) - 1:
            value, record = self._strangers(truth, len(values))
        return GuessScores(
            value=_contrast(breach.value_rate, breach.value_advantage, value, share, len(truth)),
            record=_contrast(breach.record_rate, breach.record_advantage, record, share, len(truth)),
            columns=(),
            far_out=NOTHING,
            nrmse=self._error(truth, values[breach.nearest]),
            n_scored=len(truth),
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

    def picture(self, guess: Guess, private_rows: Rows, given: Rows) -> Picture | None:
        """None where nobody knows which guess is whose."""
        return super().picture(guess, private_rows, given) if guess.of_people else None

    def worst_records(self, guess: Guess, private_rows: Rows, given: Rows, limit: int = 10) -> list[tuple[int, float]]:
        """None where nobody knows which guess is whose."""
        return super().worst_records(guess, private_rows, given, limit) if guess.of_people else []


def _with_luck(scores: GuessScores) -> GuessScores:
    """Scores against records that stand in for the release, with the luck of the two samples in their errors."""
    value, record, far_out, *each_column = (
        replace(each, error=LUCK * each.error)
        for each in (scores.value, scores.record, scores.far_out, *scores.columns, *scores.largest)
    )
    columns, largest = each_column[: len(scores.columns)], each_column[len(scores.columns) :]
    return replace(scores, value=value, record=record, far_out=far_out, columns=tuple(columns), largest=tuple(largest))


def _contrast(rate: Measure, advantage: Measure, control: float, share: float, n: int) -> Contrast:
    """A rate against strangers, with the error of their paired comparison.

    With fewer rows than people, what is found beyond strangers is counted over those who can be found (``share``).
    """
    if share == 1.0:
        return Contrast(float(rate), control, (advantage.high - advantage.low) / (2.0 * Z), n)
    value = min(1.0, max(0.0, control + (float(rate) - control) / share))
    return Contrast(value, control, (rate.high - rate.low) / (2.0 * Z * share * max(1.0 - control, 1e-9)), n)


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
