"""The judge: the one place where the truth meets a guess.

Everything is scored in standard units (a column's standard deviation, or IQR/1.349 where
heavy-tailed), so that units and origin do not matter, and against the best constant guess:
what anybody could say without the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.attacks.base import Guess
from veil.attacks.knowledge import Rows
from veil.auditing.scores import GuessScores, Score, pooled, unless_luck
from veil.data.blocks import Matrix
from veil.measures import Measure
from veil.measures.far_out import far_out
from veil.measures.units import scored_columns
from veil.numerics.ordering import by_name
from veil.report.model import Picture

SMALLEST_CELL = 10
FEWEST_FAR_OUT = 5
CODE_UNIT = 1e-9
"""The standard unit of a column of codes: no wrong category is within any tolerance of the right one."""
FAR_OUT = 3.0


class Judge:
    """Scores guesses against the private values.

    Parameters
    ----------
    truth
        N × d private values.
    columns
        Their names.
    tolerance
        How near a guess must be, in standard units.
    categorical
        Which columns are codes of categories: there only the right one counts.
    known
        Columns that the attacker knows, which are not scored.
    """

    def __init__(
        self,
        truth: Matrix,
        columns: Sequence[str],
        tolerance: float,
        categorical: npt.NDArray[np.bool_] | None = None,
        known: Sequence[int] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.tolerance = tolerance
        self.categorical = np.zeros(truth.shape[1], dtype=bool) if categorical is None else categorical
        varies = np.array([len(np.unique(c[~np.isnan(c)])) > 1 for c in truth.T])
        self.units = np.where(self.categorical, np.where(varies, CODE_UNIT, 0.0), measures.standard_units(truth))
        unscored = ~scored_columns(self.units)
        unscored[list(known)] = True
        self.truth = np.where(unscored, np.nan, truth) if unscored.any() else truth
        present = [c[~np.isnan(c)] for c in truth.T]
        self.centre = np.array([np.median(c) if c.size else 0.0 for c in present])

    @cached_property
    def _constants(self) -> npt.NDArray[np.float64]:
        """The best constant guess of each column."""
        return measures.best_constant_guess(self.truth, self.tolerance, self.units)

    @cached_property
    def value_baseline(self) -> float:
        """What the best constant guess breaches, per value."""
        return float(measures.constant_guess_baseline(self.truth, self.tolerance, "value", self.units))

    @cached_property
    def record_baseline(self) -> float:
        """What the best constant guess breaches, per record."""
        columns = by_name(self.columns)  # the search for it looks at rows in the order of their values
        truth, units = self.truth[:, columns], self.units[columns]
        return float(measures.constant_guess_baseline(truth, self.tolerance, "record", units))

    @cached_property
    def column_baselines(self) -> npt.NDArray[np.float64]:
        """What the best constant guess breaches, per column."""
        guess = np.broadcast_to(self._constants, self.truth.shape)
        return measures.column_breach_rates(self.truth, guess, self.tolerance, units=self.units)

    @cached_property
    def far_out_baseline(self) -> float:
        """What the best constant guess breaches among far-out values."""
        return float(
            measures.far_out_baseline(self._numbers(self.truth), self.tolerance, self.units, FAR_OUT, self.centre)
        )

    def try_guess(self, guess: Guess, private_rows: Rows, given: Rows) -> GuessScores:
        """Score a guess on a release of the private rows ``private_rows``, leaving out the release's rows ``given``."""
        scores = self._scored(self.matched(guess, private_rows), private_rows, given)
        if not guess.up_to or "scale" in guess.up_to:
            return scores
        turned = [self._scored(self.matched(null, private_rows), private_rows, given) for null in _turned(guess)]
        return replace(
            scores,
            value_null=float(np.mean([t.value for t in turned])),
            record_null=float(np.mean([t.record for t in turned])),
            column_nulls=np.mean([t.columns for t in turned], axis=0),
            value_luck=max(float(t.value) for t in turned),
            record_luck=max(float(t.record) for t in turned),
            column_lucks=np.max([t.columns for t in turned], axis=0),
        )

    def _scored(self, guess: Guess, private_rows: Rows, given: Rows) -> GuessScores:
        scored = np.delete(np.arange(len(guess.rows)), np.flatnonzero(np.isin(guess.rows, given)))
        truth, values = self.truth[private_rows[guess.rows[scored]]], guess.values[scored]
        at = {"units": self.units}
        return GuessScores(
            value=measures.breach_rate(truth, values, self.tolerance, "value", **at),  # type: ignore[arg-type]
            record=measures.breach_rate(truth, values, self.tolerance, "record", **at),  # type: ignore[arg-type]
            columns=measures.column_breach_rates(truth, values, self.tolerance, units=self.units),
            n_columns=(~np.isnan(truth)).sum(axis=0),
            far_out=measures.far_out_rate(
                self._numbers(truth), values, self.tolerance, self.units, FAR_OUT, self.centre
            ),
            n_far_out=int(far_out(self._numbers(truth), self.units, FAR_OUT, self.centre)[1].sum()),
            nrmse=self._error(truth, values),
            n_scored=len(scored),
        )

    def _numbers(self, truth: Matrix) -> Matrix:
        """Values that can be far out: codes cannot."""
        return np.where(self.categorical, np.nan, truth) if self.categorical.any() else truth

    def matched(self, guess: Guess, private_rows: Rows) -> Guess:
        """A guess with its columns in the private table's order, sign and scale, where it left them open.

        The matching is the best there is for the attacker: contents are disclosed whatever their order. Columns
        that the attack says nothing about are guessed by their constant.
        """
        values, truth = guess.values, self.truth[private_rows[guess.rows]]
        if guess.up_to and guess.units is not None:
            values = measures.matched_signals(truth / guess.units, values, scale=False, origin=False) * guess.units
        elif guess.up_to:
            values = measures.matched_signals(
                truth, values, scale="scale" in guess.up_to, origin="scale" in guess.up_to
            )
        silent = np.isnan(values).all(axis=0)
        if not silent.any():
            return replace(guess, values=values)
        return replace(guess, values=np.where(silent, self._constants, values))

    def _error(self, truth: Matrix, values: Matrix) -> float:
        """The root mean square error in standard units; a wrong category is one unit off."""
        if np.isinf(values).any():
            return math.inf
        units = np.where(self.categorical | (self.units <= 0), 1.0, self.units)
        if self.categorical.any():
            off = np.where(np.isnan(values), np.nan, values != truth)
            values = np.where(self.categorical, truth + off, values)
        return math.sqrt(measures.mean_squared_error(truth / units, values / units))

    def scores(self, guesses: Sequence[GuessScores], *, one_matrix: bool, goal: float) -> dict[str, Any]:
        """The guesses of one attack as scores per value, record, column and far-out value."""
        pool = partial(pooled, one_matrix=one_matrix, goal=goal, n=[t.n_scored for t in guesses])
        far_out = None
        if min(t.n_far_out for t in guesses) >= FEWEST_FAR_OUT:
            far_out = pool([t.far_out for t in guesses], self.far_out_baseline, n=[t.n_far_out for t in guesses])
        worst, column = self._worst_column(guesses, pool)
        value, record = (
            max(least, float(np.mean([getattr(t, name) for t in guesses])))
            for least, name in ((self.value_baseline, "value_null"), (self.record_baseline, "record_null"))
        )
        luck = [float(np.mean([getattr(t, name) for t in guesses])) for name in ("value_luck", "record_luck")]
        return {
            "value": unless_luck(pool([t.value for t in guesses], value), luck[0]),
            "record": unless_luck(pool([t.record for t in guesses], record), luck[1]),
            "worst_column": worst,
            "column": column,
            "far_out": far_out,
            "n_far_out": min(t.n_far_out for t in guesses),
            "column_gains": self._column_gains(guesses),
        }

    def _column_baselines(self, guesses: Sequence[GuessScores]) -> npt.NDArray[np.float64]:
        nulls = [t.column_nulls for t in guesses if t.column_nulls is not None]
        return np.maximum(self.column_baselines, np.mean(nulls, axis=0)) if nulls else self.column_baselines

    def _column_gains(self, guesses: Sequence[GuessScores]) -> dict[str, float]:
        """The advantage on each column that is scored, without intervals."""
        rates = np.mean([t.columns for t in guesses], axis=0)
        gains = measures.advantage(rates, self._column_baselines(guesses))
        counts = np.min([t.n_columns for t in guesses], axis=0)
        known = zip(self.columns, gains, counts, strict=True)
        return {name: float(g) for name, g, n in known if np.isfinite(g) and n >= SMALLEST_CELL}

    def _worst_column(self, guesses: Sequence[GuessScores], pool: Callable[..., Score]) -> tuple[str, Score]:
        """The column that is shown to be most exposed; its interval allows for having looked at all of them."""
        baselines, confidence = self._column_baselines(guesses), 1 - 0.05 / len(self.columns)
        lucks = [t.column_lucks for t in guesses if t.column_lucks is not None]
        luck = np.mean(lucks, axis=0) if lucks else np.zeros(len(self.columns))
        ranked: list[tuple[float, float, int, Score]] = []
        for place, j in enumerate(by_name(self.columns)):  # of equally exposed columns the first by name
            counts = [int(t.n_columns[j]) for t in guesses]
            if min(counts) < SMALLEST_CELL or any(np.isnan(t.columns[j]) for t in guesses):
                continue
            ends = [
                measures.wilson(float(t.columns[j]) * n, n, confidence) for t, n in zip(guesses, counts, strict=True)
            ]
            rates = [
                Measure(float(t.columns[j]), low=low, high=high, higher_is="exposed")
                for t, (low, high) in zip(guesses, ends, strict=True)
            ]
            score = unless_luck(pool(rates, float(baselines[j]), n=counts, confidence=confidence), float(luck[j]))
            ranked.append((score.advantage.low, float(score.advantage), -place, score))
        if not ranked:
            nothing = Measure(math.nan, higher_is="exposed")
            return "", Score(nothing, math.nan, nothing)
        best = max(ranked, key=lambda entry: entry[:3])
        return self.columns[by_name(self.columns)[-best[2]]], best[3]

    def _picture_units(self) -> npt.NDArray[np.float64]:
        return np.where((self.units > 0) & ~self.categorical, self.units, 1.0)

    def worst_records(self, guess: Guess, private_rows: Rows, given: Rows, limit: int = 10) -> list[tuple[int, float]]:
        """Rows of the private table that the guess comes nearest to, with their error in standard units."""
        unit = self._picture_units()
        guess = self.matched(guess, private_rows)
        rows = private_rows[guess.rows]
        square = ((guess.values - self.truth[rows]) / unit) ** 2
        scored = np.isfinite(square).sum(axis=1)
        error = np.where(scored > 0, np.sqrt(np.nansum(square, axis=1) / np.maximum(scored, 1)), np.inf)
        error[np.isin(guess.rows, given)] = np.inf
        order = np.argsort(error)[:limit]
        return [(int(rows[i]), float(error[i])) for i in order if np.isfinite(error[i])]

    def picture(self, guess: Guess, private_rows: Rows, given: Rows, *, bins: int = 36, reach: float = 3.6) -> Picture:
        """Original against guess, pooled over columns, binned, cells under 10 suppressed."""
        guess = self.matched(guess, private_rows)
        use = ~np.isin(guess.rows, given)
        unit = self._picture_units()
        x = (self.truth[private_rows[guess.rows[use]]] - self.centre) / unit
        y = (guess.values[use] - self.centre) / unit
        both = np.isfinite(x) & np.isfinite(y)
        edges = np.linspace(-reach, reach, bins + 1)
        counts, _, _ = np.histogram2d(x[both], y[both], bins=[edges, edges])
        counts = counts.astype(int)
        small = (counts > 0) & (counts < SMALLEST_CELL)
        n_small = int(counts[small].sum())
        counts[small] = 0
        n_outside = int(both.sum()) - int(counts.sum()) - n_small
        if n_outside < SMALLEST_CELL:  # a small cell like any other
            n_small, n_outside = n_small + n_outside, 0
        return Picture(
            edges=tuple(float(e) for e in edges),
            counts=tuple(tuple(int(c) for c in row) for row in counts),
            n_values=int(both.sum()),
            n_suppressed=n_small,
            n_outside=n_outside,
        )


def _turned(guess: Guess, runs: int = 19) -> list[Guess]:
    """Guesses that say nothing but have the same spread: the guess's columns, turned at random among themselves.

    Of columns that are turned at random, the best matched one still looks like some private column (its correlation
    is at least 1/√d); what the judge's matching brings such guesses is not the attack's merit.
    """
    values = np.nan_to_num(guess.values, posinf=0.0, neginf=0.0)
    centre, spread = values.mean(axis=0), values.std(axis=0)
    white = np.where(spread > 0, (values - centre) / np.where(spread > 0, spread, 1.0), 0.0)
    guesses = []
    for run in range(runs):
        gauss = np.random.default_rng(run).standard_normal((values.shape[1], values.shape[1]))
        basis, corner = np.linalg.qr(gauss)
        guesses.append(replace(guess, values=(white @ (basis * np.sign(np.diag(corner)))) * spread + centre))
    return guesses
