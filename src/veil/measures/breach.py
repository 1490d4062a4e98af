"""Breach rate (M5): how often an attack's guess comes close to the private value.

Closeness is measured in the standard units of each column, so that neither the unit nor
the origin of a column matters. The papers' relative breach, ‖x̂ − x‖ ≤ ε‖x‖, is kept as
``variant="paper"``; it depends on the origin (guessing the mean breaches 14 % of a set
of temperatures in °C and 99.9 % of the same ones in kelvin).
"""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_pair, as_table, choice, number
from veil.errors import InputError
from veil.measures.intervals import wilson
from veil.measures.measure import Measure
from veil.measures.units import column_units

Level = Literal["value", "record"]
BreachVariant = Literal["standard", "paper"]

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


def breached(
    truth: npt.ArrayLike,
    guess: npt.ArrayLike,
    tolerance: float,
    level: Level = "value",
    variant: BreachVariant = "standard",
    units: npt.ArrayLike | None = None,
) -> Mask:
    """Which values (N×d) or records (N) are breached; the rules are those of :func:`breach_rate`.

    What is not scored (NaN in truth) is False here: it was not breached.
    """
    x, guessed = as_pair(truth, guess, infinite=True)
    tolerance = number(tolerance, "tolerance", least=0.0)
    by_value = choice(level, "level", ("value", "record")) == "value"
    paper = choice(variant, "variant", ("standard", "paper")) == "paper"
    s = column_units(x, units) if not paper else np.ones(x.shape[1])
    present = ~np.isnan(x)
    with np.errstate(over="ignore"):  # what overflows is infinitely far off
        error = np.abs(guessed - x)
        magnitude = np.abs(guessed) + np.abs(x)
        if by_value:
            return within(error, tolerance * (np.abs(x) if paper else s), magnitude)
        if paper:
            return within(_norm(error, present), tolerance * _norm(x, present), _norm(magnitude, present)) & (
                present.any(axis=1)
            )
        counted = present & (s > 0.0)
        width = counted.sum(axis=1)
        root = np.sqrt(np.maximum(width, 1))
        scale = np.where(s > 0.0, s, 1.0)
        close = within(
            _norm(error / scale, counted) / root,
            np.float64(tolerance),
            _norm(magnitude / scale, counted) / root,
        )
    equal = ((guessed == x) | ~present).all(axis=1) & present.any(axis=1)
    return np.where(width > 0, close, equal)


def breach_rate(
    truth: npt.ArrayLike,
    guess: npt.ArrayLike,
    tolerance: float,
    level: Level = "value",
    variant: BreachVariant = "standard",
    units: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Measure:
    """Share of values or of records that the guess gives away.

    Parameters
    ----------
    truth, guess
        N×d tables in the same units. NaN in ``guess``: the attack says nothing, no breach.
        NaN in ``truth``: not scored (that cell; the record when all its cells are missing).
    tolerance
        In standard units; 0 asks for exact equality. A guess on the boundary counts.
    level
        ``"value"``: |x̂ − x| ≤ tolerance·s_j, over all scored cells. ``"record"``: root mean
        square of (x̂ − x)/s_j over the record's present columns ≤ tolerance.
    variant
        ``"paper"``: ‖x̂ − x‖ ≤ ε‖x‖ per record, |x̂ − x| ≤ ε|x| per value (Liu 2007, 4.4).
    units
        s_j per column, :func:`veil.measures.standard_units` of ``truth`` when left out; pass those of the
        whole table when scoring a part of it. Where s_j = 0 the column is constant: a value
        breach is exact equality, and the record score leaves the column out (a rounding
        error there must not hide a breach) unless the record has no other, when all must be
        equal. Codes of categories: pass a tiny unit such as 1e-9, then only the right one counts.
        The paper's variant has no units.

    Returns
    -------
    Measure
        With the Wilson interval for n = number of scored records at either level, because
        the cells of a record are not independent; it holds where the guesses of different
        records are (else see :func:`repetition_interval`). NaN when nothing is scored.

    >>> breach_rate([[0.0], [1.0], [2.0], [3.0]], [[0.0], [1.1], [2.5], [0.0]], tolerance=0.1)
    0.5 [0.15, 0.85] higher is exposed
    """
    mask = breached(truth, guess, tolerance, level, variant, units)
    present = ~np.isnan(as_table(truth, "truth"))
    scored: Mask = present if level == "value" else np.asarray(present.any(axis=1))
    return exposure(mask, scored, confidence)


def column_breach_rates(
    truth: npt.ArrayLike,
    guess: npt.ArrayLike,
    tolerance: float,
    variant: BreachVariant = "standard",
    units: npt.ArrayLike | None = None,
) -> Array:
    """Value breach rate of each column; NaN for a column without any value in ``truth``."""
    mask = breached(truth, guess, tolerance, "value", variant, units)
    scored = (~np.isnan(as_table(truth, "truth"))).sum(axis=0)
    return column_shares(mask.sum(axis=0), scored)


@overload
def advantage(rate: float, baseline: float) -> Measure: ...
@overload
def advantage(rate: Array, baseline: Array | float) -> Array: ...
def advantage(rate: float | Array, baseline: float | Array) -> Measure | Array:
    """How far an attack gets from the best constant guess towards certainty.

    (rate − baseline)/(1 − baseline); negative for an attack worse than the constant. The
    ends of ``rate``'s interval are carried over, the baseline counts as fixed. A baseline
    of 1 leaves nothing to gain: the advantage is 0. NaN in, NaN out.

    >>> advantage(0.6, 0.2)
    0.5 [0.5, 0.5] higher is exposed
    """
    rates, bases = np.asarray(rate, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    for name, given in (("rate", rates), ("baseline", bases)):
        if count := int(((given < 0.0) | (given > 1.0)).sum()):
            raise InputError(f"{name}: {count} of {given.size} lie outside [0, 1]; pass shares")
    if rates.ndim or bases.ndim:
        return _gain(rates, bases)
    low, high = (rate.low, rate.high) if isinstance(rate, Measure) else (float(rates), float(rates))
    value, low, high = _gain(np.array([float(rates), low, high]), bases).tolist()
    return Measure(value, low=low, high=high, higher_is="exposed")


def within(error: Array, limit: Array | np.float64, magnitude: Array) -> Mask:
    """error ≤ limit, where the rounding of numbers of that magnitude cannot undo a tie.

    The slack is at most a thousandth of the limit, so a limit of 0 stays exact equality.
    """
    slack = np.minimum(_ROUNDING * (magnitude + limit), 1e-3 * limit)
    return (error <= limit + slack) & (error < np.inf)


def exposure(mask: Mask, scored: Mask, confidence: float = 0.95) -> Measure:
    """Share of the scored cells (or records) in ``mask``, Wilson interval over records."""
    records = int(scored.any(axis=1).sum()) if scored.ndim == 2 else int(scored.sum())
    return counted_exposure(int((mask & scored).sum()), int(scored.sum()), records, confidence)


def counted_exposure(breaches: int, scored: int, records: int, confidence: float = 0.95) -> Measure:
    """The same from counts: of the breaches, of the scored cells (or records), and of the records with any."""
    if records == 0:
        return Measure(math.nan, low=math.nan, high=math.nan, higher_is="exposed")
    rate = breaches / scored
    low, high = wilson(rate * records, records, confidence)
    return Measure(rate, low=low, high=high, higher_is="exposed")


def column_shares(breaches: npt.NDArray[np.int64], scored: npt.NDArray[np.int64]) -> Array:
    """Breaches over scored values, column by column; NaN for a column without any."""
    return np.where(scored > 0, breaches / np.maximum(scored, 1), np.nan)


def _norm(table: Array, counted: Mask) -> Array:
    return np.asarray(np.sqrt(np.sum(np.where(counted, table, 0.0) ** 2, axis=1)))


def _gain(rate: Array, baseline: Array) -> Array:
    rest = 1.0 - baseline
    gain = (rate - baseline) / np.where(rest == 0.0, 1.0, rest)
    return np.where((rest == 0.0) & ~np.isnan(rate), 0.0, gain)
