"""Breaches of a guess whose rows belong to nobody in particular: a foreign release without a key to its rows.

*Model.* A table of m guessed records and N people; which guess is whose is not known, or there is no such thing (the
rows were shuffled, drawn anew, or made by a generator). *Definition.* A person's nearest guess is the record with the
least root mean square error in standard units over the values that the person has. The record is breached where that
error is within the tolerance, a value where the nearest guess's value is (:func:`veil.measures.breach_rate`).

*Yardstick.* Whoever picks the nearest of N records finds something near whether or not anything leaked: an optimal
pairing of two unrelated samples looks like a breach of half the table. So the same is done for a stranger: each person
against the *other* private records, of which none is about this person. If the release's rows were fresh draws of the
population, a person would find as much among m ≈ N of them as among the N − 1 others (up to 1/N); what is found beyond
that is about the person. Somebody with an identical twin in the table is found either way, and says nothing.

Is that the right yardstick for N *noisy* guesses? It answers "more than unrelated true records would", and it errs:

* Guesses more spread out than people (noise that nobody filtered) lie thinner where people are. A stranger would find
  less among them than among true records, so the advantage is too low, and may be negative. The rows are then not a
  guess yet: filter them first (any attack that applies), as an attacker would.
* Guesses more drawn together (group means, Bayes estimates) lie thicker in the middle, where a stranger would find more
  than among true records. At the worst all of them are one constant; therefore the baseline is at least what the best
  constant guess breaches, and the rest of this error is on the safe side: the advantage is too high.
* m > N − 1 guesses find more by number alone (too high); m < N − 1 find less (too low).

``nearer`` needs no tolerance: how often a person's nearest guess is nearer than the nearest other person, a tie being
half. Unrelated draws do so with probability m/(m + N − 1), exactly and for every m and every law without ties, because
all m + N − 1 records are then exchangeable; the advantage is counted from there, for m = N − 1 as 2(p − ½). It is
about who is nearer, not how near: noise far over the tolerance still shows in it, and so does a mere change of spread.

*Interval.* Both rates are of the same persons, so the advantage Σ(found − chance)/Σ(1 − chance) is a paired ratio
(:func:`veil.measures.ratio_interval`). People with one nearest guess are found together and count as one unit: for
unrelated draws the spread is then 0.9 to 1.2 times the stated one, against 1.1 to 1.25 with persons as units. One unit
found by the guess alone and one by chance alone are added, as in Bonett and Price's (2012) interval of a paired
difference, so that few people without a difference do not look like certainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_table, number
from veil.errors import InputError
from veil.measures.baselines import best_constant_guess
from veil.measures.breach import Level, breached, exposure
from veil.measures.intervals import ratio_interval
from veil.measures.measure import Measure
from veil.measures.nearest import TIE, Rows, nearest_records
from veil.measures.units import column_units


@dataclass(frozen=True)
class UnmatchedScores:
    """What a set of guesses gives away of a set of people, and what strangers would seem to.

    Attributes
    ----------
    value_rate, record_rate
        Share of values and of persons that the nearest guess breaches.
    value_baseline, record_baseline
        The same for the nearest *other* person, or for the best constant guess where that breaches more.
    value_advantage, record_advantage
        (rate − baseline)/(1 − baseline) with a paired interval; 0 where the baseline leaves nothing to gain.
    nearer
        Advantage of the nearest guess over the nearest other person in who is nearer; 0 for unrelated draws, 1 when
        everybody's guess is nearer.
    nearest
        Each person's nearest guess, −1 for a person without any value.
    """

    value_rate: Measure
    value_baseline: Measure
    value_advantage: Measure
    record_rate: Measure
    record_baseline: Measure
    record_advantage: Measure
    nearer: Measure
    nearest: Rows


def unmatched_breach(
    truth: npt.ArrayLike,
    guess: npt.ArrayLike,
    tolerance: float,
    units: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> UnmatchedScores:
    """Score guessed records without knowing whose they are.

    Parameters
    ----------
    truth
        N × d private values, N ≥ 2. NaN: not scored.
    guess
        m × d guessed values in the same units and column order, in any row order. NaN: no breach.
    tolerance
        In standard units.
    units
        Standard units of the columns, those of ``truth`` when left out. A column of codes gets a tiny unit such as
        1e-9: there only the right code counts, and all wrong ones are equally far.
    confidence
        Of the intervals.

    Notes
    -----
    Of several nearest guesses at one distance the one that breaches most values is taken, here and for strangers, so
    that no result depends on the order of rows; of those that breach as many, the first in rising order.

    >>> import numpy as np
    >>> x = np.array([[0.0, 1.0], [2.0, 5.0], [9.0, 3.0], [4.0, 7.0]])
    >>> scores = unmatched_breach(x, x[::-1], tolerance=0.1)
    >>> float(scores.record_rate), float(scores.record_baseline), float(scores.record_advantage)
    (1.0, 0.25, 1.0)
    """
    x, guesses = as_table(truth, "truth"), as_table(guess, "guess", infinite=True)
    if x.shape[1] != guesses.shape[1]:
        raise InputError(f"guess: has {guesses.shape[1]} columns where truth has {x.shape[1]}; pass the same columns")
    if len(x) < 2:
        raise InputError("truth: has 1 record; pass at least 2, a stranger is measured against the others")
    tolerance = number(tolerance, "tolerance", least=0.0)
    s = column_units(x, units)
    present = ~np.isnan(x)
    persons = np.asarray(present.any(axis=1))
    nearest, distance = nearest_records(x, guesses, s, tolerance)
    stranger, apart = nearest_records(x, x, s, tolerance, others=True)
    near, far = guesses[nearest], x[stranger]
    scores = {}
    levels: tuple[tuple[Level, Mask], ...] = (("value", present), ("record", persons))
    for level, scored in levels:
        hit = breached(x, near, tolerance, level, units=s)
        constant = np.broadcast_to(best_constant_guess(x, tolerance, s, level), x.shape)
        chances = [breached(x, other, tolerance, level, units=s) for other in (far, constant)]
        chance = max(chances, key=lambda mask: int((mask & scored).sum()))
        scores[f"{level}_rate"] = exposure(hit, scored, confidence)
        scores[f"{level}_baseline"] = exposure(chance, scored, confidence)
        scores[f"{level}_advantage"] = _paired_advantage(hit & scored, chance & scored, scored, nearest, confidence)
    null = len(guesses) / (len(guesses) + len(x) - 1)
    nearer = _nearer(distance[persons], apart[persons], nearest[persons], null, confidence)
    return UnmatchedScores(**scores, nearer=nearer, nearest=np.where(persons, nearest, -1))


def _paired_advantage(hit: Mask, chance: Mask, scored: Mask, nearest: Rows, confidence: float) -> Measure:
    """(rate − baseline)/(1 − baseline) over persons, those with one nearest guess as one unit."""
    per_person = [np.asarray(m.sum(axis=1) if m.ndim == 2 else m, dtype=np.float64) for m in (hit, chance, scored)]
    gain, rest = (np.bincount(nearest, part) for part in (per_person[0] - per_person[1], per_person[2] - per_person[1]))
    size = float(per_person[2].sum()) / max(int((per_person[2] > 0).sum()), 1)
    if not per_person[2].any():
        return Measure(math.nan, low=math.nan, high=math.nan, higher_is="exposed")
    if not rest.any():
        return Measure(0.0, higher_is="exposed")
    value = float(gain.sum() / rest.sum())
    # Found by the guess alone, found by chance alone.
    _, low, high = _over_units(np.r_[gain, size, -size], np.r_[rest, size, 0.0], confidence)
    return Measure(value, low=min(low, value), high=min(max(high, value), 1.0), higher_is="exposed")


def _nearer(distance: Array, apart: Array, nearest: Rows, null: float, confidence: float) -> Measure:
    """How much more often than unrelated draws the nearest guess is nearer than the nearest other person."""
    if not len(distance):
        return Measure(math.nan, low=math.nan, high=math.nan, higher_is="exposed")
    tie = np.abs(distance - apart) <= TIE * (1.0 + apart)
    score = np.where(tie, 0.5, distance < apart)
    wins, units = np.bincount(nearest, score), np.bincount(nearest).astype(np.float64)
    share = float(score.mean())
    _, low, high = _over_units(np.r_[wins, 1.0, 0.0], np.r_[units, 1.0, 1.0], confidence)
    ends = (share, min(max(low, 0.0), share), max(min(high, 1.0), share))
    value, low, high = ((p - null) / (1.0 - null) for p in ends)
    return Measure(value, low=low, high=high, higher_is="exposed")


def _over_units(above: Array, below: Array, confidence: float) -> tuple[float, float, float]:
    """The interval of a ratio of sums; sums do not depend on the order of rows, not even by rounding."""
    order = np.lexsort((above, below))
    return ratio_interval(above[order], below[order], confidence, lower=-math.inf)
