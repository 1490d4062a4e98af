"""The judge: the one place where the truth meets a guess.

Everything is scored in standard units (a column's standard deviation, or IQR/1.349 where
heavy-tailed), so that units and origin do not matter, and against the best constant guess:
what anybody could say without the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.attacks.base import Guess
from veil.attacks.knowledge import Rows
from veil.auditing.absent import Fold, absent_guesses, best_by_column, chosen, folds
from veil.auditing.groups import group_folds
from veil.auditing.largest import Asked, LargestValues, by_luck, with_goals
from veil.auditing.nulls import turned
from veil.auditing.pictures import SMALLEST_CELL, binned, nearest
from veil.auditing.scores import Codes, Contrast, GuessScores, Mask, Score, nothing_scored, pooled
from veil.data.blocks import Matrix, Vector
from veil.measures.breach import column_shares, within
from veil.measures.far_out import far_out
from veil.measures.largest import USUAL_LARGEST, LargestRule
from veil.measures.units import scored_columns
from veil.numerics.ordering import by_name, row_order
from veil.report.model import Picture
from veil.report.values import OF_COLUMNS, Over, Scored

Columns = slice | list[int]
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
    groups
        For each column the groups of all rows in which it is constant; None where it varies within groups
        (:mod:`veil.auditing.groups`).
    largest
        How many of the largest values of a column are looked at, and how near a guess tells one.
    """

    def __init__(
        self,
        truth: Matrix,
        columns: Sequence[str],
        tolerance: float,
        categorical: npt.NDArray[np.bool_] | None = None,
        known: Sequence[int] = (),
        groups: Sequence[Codes | None] = (),
        largest: LargestRule = USUAL_LARGEST,
    ) -> None:
        self._rule = largest
        self.columns = tuple(columns)
        self.groups = tuple(groups) or (None,) * len(self.columns)
        widest = sorted((each for each in self.groups if each is not None), key=lambda each: int(each.max()))
        self._widest = widest[0] if widest else None
        self.tolerance = tolerance
        self.categorical = np.zeros(truth.shape[1], dtype=bool) if categorical is None else categorical
        varies = np.array([len(np.unique(c[~np.isnan(c)])) > 1 for c in truth.T])
        self.units = np.where(self.categorical, np.where(varies, CODE_UNIT, 0.0), measures.standard_units(truth))
        unscored = ~scored_columns(self.units)
        unscored[list(known)] = True
        self.truth = np.where(unscored, np.nan, truth) if unscored.any() else truth
        present = [c[~np.isnan(c)] for c in truth.T]
        self.centre = np.array([np.median(c) if c.size else 0.0 for c in present])

    def prepare(self) -> None:
        """Work out what every guess is held against, which takes longer than judging one."""
        _ = self._constants, self._constant_records

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
    def _constant_records(self) -> Mask:
        """Whose record the best constant record of others gets right."""
        columns = by_name(self.columns)
        truth, units = self.truth[:, columns], self.units[columns]
        fold, right = np.empty(len(truth), dtype=np.intp), np.zeros(len(truth), dtype=np.bool_)
        fold[row_order(truth)] = folds(len(truth))
        for f in np.unique(fold):
            own, others = fold == f, fold != f
            if others.any():
                constant = measures.best_constant_guess(truth[others], self.tolerance, units, "record")
                guess = np.broadcast_to(constant, truth[own].shape)
                right[own] = measures.breached(truth[own], guess, self.tolerance, "record", units=units)
        return right

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

    @cached_property
    def _largest(self) -> LargestValues:
        """The largest values of each column."""
        return LargestValues(self._numbers(self.truth), self._rule, self.units, self.centre, self.groups)

    def try_guess(
        self,
        guess: Guess,
        private_rows: Rows,
        given: Rows,
        features: Matrix | None = None,
        absent: Matrix | None = None,
    ) -> GuessScores:
        """Score a guess on a release of the private rows ``private_rows``, leaving out the release's rows ``given``.

        ``features`` are what the attacker knows of everybody in the private table, as numbers, N × p; ``absent`` is
        what the same attack guesses of the same people without their rows, where it says so itself.
        """
        scores = self._scored(self.matched(guess, private_rows), private_rows, given, features, absent)
        if not guess.up_to or "scale" in guess.up_to:
            return scores
        matched = [self.matched(null, private_rows) for null in turned(guess)]
        nulls = [self.rates(null, private_rows, given) for null in matched]
        largest = np.array([self._told(null, private_rows, given) for null in matched])
        value, record = (np.array([rates[i] for rates in nulls]) for i in (0, 1))
        columns = np.array([rates[2] for rates in nulls])
        return replace(
            scores,
            value_null=float(value.mean()),
            record_null=float(record.mean()),
            column_nulls=columns.mean(axis=0),
            largest_nulls=largest.mean(axis=0),
            value_luck=float(value.max()),
            record_luck=float(record.max()),
            column_lucks=columns.max(axis=0),
            largest_lucks=largest.max(axis=0),
        )

    def _cells(self, guess: Guess, private_rows: Rows, given: Rows) -> tuple[Rows, Rows]:
        """Which of the guesses are scored, in an order that their values decide, and their private rows."""
        scored = np.flatnonzero(~np.isin(guess.rows, given))
        rows, values = private_rows[guess.rows[scored]], guess.values[scored]
        columns = by_name(self.columns)
        order = row_order(np.column_stack([self.truth[rows][:, columns], values[:, columns]]))
        return scored[order], rows[order]

    def _hits(self, truth: Matrix, values: Matrix, units: Vector | None = None) -> Mask:
        units = self.units if units is None else units
        return measures.breached(truth, values, self.tolerance, "value", units=units)

    def _records(self, truth: Matrix, values: Matrix) -> Mask:
        return measures.breached(truth, values, self.tolerance, "record", units=self.units)

    def rates(self, guess: Guess, private_rows: Rows, given: Rows) -> tuple[float, float, npt.NDArray[np.float64]]:
        """What a guess itself gets right of the values, the records and each column."""
        use = ~np.isin(guess.rows, given)
        truth, values = self.truth[private_rows[guess.rows[use]]], guess.values[use]
        scored, hits = ~np.isnan(truth), self._hits(truth, values)
        records = self._records(truth, values)[scored.any(axis=1)]
        shares = column_shares(hits.sum(axis=0), scored.sum(axis=0))
        return float(hits[scored].mean()) if scored.any() else math.nan, float(records.mean()), shares

    def _told(self, guess: Guess, private_rows: Rows, given: Rows) -> Vector:
        """What a guess itself tells of the largest values of each column."""
        use = ~np.isin(guess.rows, given)
        rows = private_rows[guess.rows[use]]
        return self._largest.asked(self._numbers(self.truth[rows]), rows).rates(guess.values[use])

    def _scored(
        self, guess: Guess, private_rows: Rows, given: Rows, features: Matrix | None, absent: Matrix | None
    ) -> GuessScores:
        """A guess against the same attacker with each person absent, whom it falls back to where that is better."""
        use, rows = self._cells(guess, private_rows, given)
        truth, values = self._asked(guess, rows, private_rows, given), guess.values[use]
        scored, groups = ~np.isnan(truth), None if self._widest is None else self._widest[rows]
        fold = folds(len(truth)) if groups is None else group_folds(groups)
        known = None if features is None else features[rows]
        said = None if absent is None else np.where(np.isnan(absent).all(axis=0), self._constants, absent)[use]
        control, present = np.empty_like(values), np.empty_like(values)
        absent_hits, present_hits = np.empty(values.shape, dtype=np.bool_), np.empty(values.shape, dtype=np.bool_)
        asked = self._largest.asked(self._numbers(truth), rows)
        absent_told = np.empty(asked.most.shape, dtype=np.bool_)
        for at, own_fold in self._folds(rows):
            each = self._held(truth, values, known, said, asked, at, own_fold, entangled=guess.entangled)
            control[:, at], present[:, at], absent_hits[:, at], present_hits[:, at], absent_told[:, at] = each
        records = [self._records(truth, each) for each in (values, present)]
        records.append(self._best_of([self._records(truth, control), self._constant_records[rows]], fold))
        per_column = zip(present_hits.T, absent_hits.T, scored.T, self.groups, strict=True)
        return GuessScores(
            value=Contrast.of(present_hits, absent_hits, scored, groups),
            record=self._contrast(records[-1], records, np.asarray(scored.any(axis=1)), fold, groups),
            columns=tuple(
                Contrast.of(p, a, s) if own is None else Contrast.of_groups(p, a, s, own[rows])
                for p, a, s, own in per_column
            ),
            far_out=self._far_out(truth, control, values, fold, groups),
            largest=self._largest.contrasts(asked, asked.told(values), absent_told),
            firsts=self._largest.firsts(truth, values),
            nrmse=self._error(truth, values),
            n_scored=len(truth),
        )

    def _asked(self, guess: Guess, rows: Rows, private_rows: Rows, given: Rows) -> Matrix:
        """The private values that are asked for: not those that a known or withheld mate has told."""
        if self._widest is None:
            return self.truth[rows]
        told = private_rows[given]
        if not guess.of_people:
            told = np.union1d(told, np.setdiff1d(np.arange(len(self.truth)), private_rows))
        truth = self.truth[rows].copy()
        for j, codes in enumerate(self.groups):
            if codes is not None:
                truth[np.isin(codes[rows], codes[told]), j] = np.nan
        return truth

    def _folds(self, rows: Rows) -> list[tuple[Columns, Fold]]:
        """Columns, with the folds into which people are dealt for them: by whole groups where they are constant."""
        if self._widest is None:
            return [(slice(None), folds(len(rows)))]
        dealt: dict[int, tuple[list[int], Fold]] = {}
        for j, codes in enumerate(self.groups):
            if id(codes) not in dealt:
                dealt[id(codes)] = ([], folds(len(rows)) if codes is None else group_folds(codes[rows]))
            dealt[id(codes)][0].append(j)
        return list(dealt.values())

    def _held(
        self,
        truth: Matrix,
        values: Matrix,
        known: Matrix | None,
        said: Matrix | None,
        asked: Asked,
        at: Columns,
        fold: Fold,
        *,
        entangled: bool,
    ) -> tuple[Matrix, Matrix, Mask, Mask, Mask]:
        """Of some columns the absent attacker's guesses, the attacker's, and what each gets right.

        The last is what the absent attacker tells of the largest values.
        """
        everything, truth, values, units = values, truth[:, at], values[:, at], self.units[at]
        without = absent_guesses(truth, None, self.tolerance, units, fold)  # a constant, by what others are
        if not entangled:
            without += absent_guesses(values, known, self.tolerance, units, fold)
        if said is not None:
            without.append(said[:, at])
        hits, own_hits = [self._hits(truth, each, units) for each in without], self._hits(truth, values, units)
        choice = best_by_column(hits, fold)
        control, absent_hits = chosen(choice, without, fold), chosen(choice, hits, fold)
        better = best_by_column([own_hits, absent_hits], fold)
        present, present_hits = chosen(better, [values, control], fold), chosen(better, [own_hits, absent_hits], fold)
        return control, present, absent_hits, present_hits, asked.untold(without, everything, at)

    def _contrast(
        self, absent: Mask, present: Sequence[Mask], scored: Mask, fold: Fold, groups: Codes | None
    ) -> Contrast:
        """The best of several guesses of records, or of far-out values, against the absent one."""
        return Contrast.of(self._best_of(present, fold), absent, scored, groups)

    def _best_of(self, hits: Sequence[Mask], fold: Fold) -> Mask:
        """The hits of the guess that has most outside each fold."""
        tall = [each[:, None] if each.ndim == 1 else each for each in hits]
        best: Mask = chosen(best_by_column(tall, fold), tall, fold)
        return best.reshape(hits[0].shape)

    def _far_out(self, truth: Matrix, absent: Matrix, values: Matrix, fold: Fold, groups: Codes | None) -> Contrast:
        """The same for values far from the crowd, each with a tolerance of its own."""
        numbers = self._numbers(truth)
        distance, far = far_out(numbers, self.units, FAR_OUT, self.centre)
        hits = [
            within(np.abs(each - numbers), self.tolerance * distance, np.abs(each) + np.abs(numbers)) & far
            for each in (values, absent)
        ]
        return self._contrast(hits[-1], hits, far, fold, groups)

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

    def scores(
        self,
        guesses: Sequence[GuessScores],
        *,
        one_matrix: bool,
        goal: float,
        over: Over = Over.ABSENT,
        columns: Mapping[str, Mapping[Scored, float]] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """The guesses of one attack as scores per value, record, column, far-out value and largest values."""
        pool = partial(pooled, one_matrix=one_matrix, goal=goal, over=over)
        far_out = None
        if min(t.far_out.n for t in guesses) >= FEWEST_FAR_OUT:
            # Whoever says the best constant of the far-out values does not gain by an attack that gets fewer of them.
            far_out = pool([t.far_out for t in guesses], self.far_out_baseline, null=self.far_out_baseline)
        goals = {scored: {n: each[scored] for n, each in columns.items() if scored in each} for scored in OF_COLUMNS}
        of_column = self._column_scores(guesses, with_goals(pool, goals[Scored.COLUMN]))
        worst = self._worst(of_column)
        return {
            "value": pool(
                [t.value for t in guesses],
                self.value_baseline,
                null=_mean(guesses, "value_null"),
                luck=_mean(guesses, "value_luck"),
            ),
            "record": pool(
                [t.record for t in guesses],
                self.record_baseline,
                null=_mean(guesses, "record_null"),
                luck=_mean(guesses, "record_luck"),
            ),
            "worst_column": worst,
            "column": of_column[worst] if worst else nothing_scored(),
            "far_out": far_out,
            "n_far_out": min(t.far_out.n for t in guesses),
            "columns": of_column,
            "largest": self._largest.scores(
                guesses, self.columns, by_name(self.columns), with_goals(pool, goals[Scored.LARGEST])
            ),
        }

    def _column_scores(self, guesses: Sequence[GuessScores], pool: Callable[..., Score]) -> dict[str, Score]:
        """The score on each column that is scored; intervals allow for having looked at all of them."""
        nulls, lucks = (by_luck(guesses, name, len(self.columns)) for name in ("column_nulls", "column_lucks"))
        scored = [
            j for j in by_name(self.columns) if all(t.columns and t.columns[j].n >= SMALLEST_CELL for t in guesses)
        ]
        confidence = 1.0 - 0.05 / max(len(scored), 1)
        return {
            self.columns[j]: pool(
                self.columns[j],
                [t.columns[j] for t in guesses],
                float(self.column_baselines[j]),
                null=float(nulls[j]),
                luck=float(lucks[j]),
                confidence=confidence,
            )
            for j in scored
        }

    def _worst(self, columns: Mapping[str, Score]) -> str:
        """The column that is shown to be most exposed; of equally exposed ones the first by name."""
        return max(columns, key=lambda name: (columns[name].advantage.low, float(columns[name].advantage)), default="")

    def worst_records(self, guess: Guess, private_rows: Rows, given: Rows, limit: int = 10) -> list[tuple[int, float]]:
        """Rows of the private table that the guess comes nearest to, with their error in standard units."""
        guess = self.matched(guess, private_rows)
        use = ~np.isin(guess.rows, given)
        rows = private_rows[guess.rows[use]]
        return [(int(rows[i]), error) for i, error in nearest(self.truth[rows], guess.values[use], self._unit, limit)]

    def picture(self, guess: Guess, private_rows: Rows, given: Rows) -> Picture | None:
        """Original against guess, pooled over columns."""
        guess = self.matched(guess, private_rows)
        use = ~np.isin(guess.rows, given)
        truth = self.truth[private_rows[guess.rows[use]]]
        return binned((truth - self.centre) / self._unit, (guess.values[use] - self.centre) / self._unit)

    @property
    def _unit(self) -> npt.NDArray[np.float64]:
        return np.where((self.units > 0) & ~self.categorical, self.units, 1.0)


def _mean(guesses: Sequence[GuessScores], name: str) -> float:
    return float(np.mean([getattr(guess, name) for guess in guesses]))
