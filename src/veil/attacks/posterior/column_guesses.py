"""Guesses of every column under a prior of components or kernels (A28).

The weights of all candidates are worked out once for a record and serve all its columns: a number's density on the grid
of its column (:mod:`veil.attacks.posterior.grids`), a category's probabilities
(:func:`veil.attacks.posterior.discriminants.state_posterior`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from veil.attacks.posterior.candidates import CELLS, Candidates, Mask, Rows, leave_out, log_sum, patterns
from veil.attacks.posterior.cells import number_guesses
from veil.attacks.posterior.discriminants import state_posterior
from veil.attacks.posterior.grids import ColumnFacts, ColumnGrid, column_grid
from veil.attacks.posterior.margins import class_ends, own_tables
from veil.attacks.posterior.observations import Number, Observations, Variable
from veil.attacks.posterior.own_laws import FactorSum, Interval
from veil.attacks.posterior.sample import Sample
from veil.data.blocks import Matrix, Vector
from veil.numerics.laws import NORMAL

Ranges = tuple[Vector, Vector] | None


@dataclass(frozen=True, eq=False)
class ColumnPriors:
    """A joint prior, and the grid of each of its numbers that is guessed."""

    fit: Candidates
    grids: Mapping[int, ColumnGrid]

    @property
    def first(self) -> Rows:
        """Where the candidates of each group begin, and where the last ones end."""
        fit = self.fit
        return np.asarray(np.searchsorted(fit.group, np.arange(fit.n_groups + 1)), dtype=np.int64)

    def reaches(self, observations: Observations) -> dict[int, float]:
        """Half the width of a hit of every guessed number, by its place in the guess."""
        return {observations.numbers[self.fit.numbers[i]].place: grid.reach for i, grid in self.grids.items()}

    def without_margins(self) -> ColumnPriors:
        """The joint prior alone, within the ranges."""
        return ColumnPriors(self.fit, {i: grid.without_margin() for i, grid in self.grids.items()})

    def chosen(self, observations: Observations, plain: Set[int], others: Set[int]) -> ColumnPriors:
        """The same with the joint prior alone for some columns, by their places, and without the columns of others."""
        at = {i: observations.numbers[self.fit.numbers[i]].place for i in self.grids}
        grids = {i: grid.without_margin() if at[i] in plain else grid for i, grid in self.grids.items()}
        return ColumnPriors(self.fit, {i: grid for i, grid in grids.items() if at[i] not in others})


def column_priors(
    observations: Observations,
    fit: Candidates,
    single: Candidates,
    sample: Sample | None,
    ranges: Ranges,
    laws: Mapping[str, str],
    tolerance: float,
) -> ColumnPriors:
    """The grids of a release's columns; ``single`` is the prior of one component, ``laws`` those of the noises."""
    priors = ColumnPriors(fit, {})
    sigma = np.sqrt(np.diag(fit.noise)) * fit.unit
    plain = np.sqrt(single.filters(np.ones(len(single.unit), dtype=bool))[1][0]) * single.unit
    grids: dict[int, ColumnGrid] = {}
    for i, at in enumerate(fit.numbers):
        number = observations.numbers[at]
        if number.place < 0 or number.known is not None:
            continue
        law = None if isinstance(number.law, Interval | FactorSum) else laws.get(number.name, NORMAL.name)
        own = None if sample is None else sample.values[:, number.place]
        ends = None if ranges is None else (float(ranges[0][number.place]), float(ranges[1][number.place]))
        width, left = float(sigma[i]), float(plain[at])
        facts = ColumnFacts(law, own, ends, left)
        grids[i] = column_grid(number, fit, i, priors.first, width, tolerance, facts)
    return ColumnPriors(fit, grids)


def column_guesses(
    observations: Observations, priors: ColumnPriors, aim: str, without: Rows | None = None
) -> tuple[Matrix, Matrix]:
    """Guess and probability of every cell; ``without`` is the candidate that does not count for each record."""
    fit, first = priors.fit, priors.first
    values = np.full((observations.n_rows, len(observations.names)), np.nan)
    probability = np.full_like(values, np.nan)
    sigma = np.sqrt(np.diag(fit.noise)) * fit.unit
    z = fit.standard(observations.z)
    chosen = [observations.variables[v] for v in fit.variables]
    channels = [variable.channel for variable in chosen]
    tables = fit.report_tables(channels)
    guessed = [v for v, variable in enumerate(chosen) if max(variable.places) >= 0]
    for present, rows in patterns(z):
        filters = {i: _column_filter(fit, i, grid.blur / fit.unit[i], present) for i, grid in priors.grids.items()}
        for part in np.array_split(rows, max(1, len(rows) * len(fit.weights) // CELLS)):
            reports = [variable.reports[part] for variable in chosen]
            joint = fit.log_joint(z[part], present, reports, tables)
            if without is not None:
                leave_out(joint, without[part])
            weights = log_sum(joint)[1]
            of_groups, seen = np.add.reduceat(weights, first[:-1], axis=1), z[part][:, present]
            for i, grid in priors.grids.items():
                number = observations.numbers[fit.numbers[i]]
                gains, rest, left = filters[i]
                shifts, centres = seen @ gains.T * fit.unit[i], rest * fit.unit[i] + fit.mean[i]
                mean = np.einsum("nk,nk->n", of_groups, shifts) + weights @ centres
                out = _cells(
                    number, grid, weights, first, shifts, centres, left * fit.unit[i], mean, float(sigma[i]), part
                )
                column = out[:, 0] if aim == "hit" else out[:, 2]
                values[part, number.place], probability[part, number.place] = placed(number, column, out[:, 1], part)
            for v in guessed:
                posterior = state_posterior(fit, v, channels[v], tables[v], reports[v], weights)
                place_states(chosen[v], posterior, part, values, probability)
    return values, probability


def _column_filter(fit: Candidates, i: int, blur: float, present: Mask) -> tuple[Matrix, Vector, Vector]:
    """The filter of the i-th number, whose prior is blurred first, in standard units.

    The gain of each group (K × present), of each candidate what does not depend on what is seen (m), and the standard
    deviation that is left in each group (K).
    """
    gains, left = np.empty((fit.n_groups, int(present.sum()))), np.empty(fit.n_groups)
    rest = fit.centres[:, i].copy()
    for k, spread in enumerate(fit.spreads):
        own = spread[i].copy()
        own[i] += blur**2
        total = (spread + fit.noise)[np.ix_(present, present)]
        if present[i]:
            at = int(present[:i].sum())
            total[at, at] += blur**2
        gains[k] = np.linalg.solve(total, own[present])
        left[k] = max(own[i] - float(gains[k] @ own[present]), 0.0)
        group = fit.group == k
        rest[group] -= fit.centres[np.ix_(group, present)] @ gains[k]
    return gains, rest, np.sqrt(left)


def _cells(
    number: Number,
    grid: ColumnGrid,
    weights: Matrix,
    first: Rows,
    shifts: Matrix,
    centres: Vector,
    deviations: Vector,
    mean: Vector,
    sigma: float,
    rows: Rows,
) -> Matrix:
    """Hit, probability and mean of one column's cells; off the grid ``mean``, the plain one of the posterior."""
    out = np.empty((len(rows), 3))
    if grid.plain and weights.shape[1] == 1:  # a normal posterior: no grid is needed
        out[:, 0] = out[:, 2] = shifts[:, 0] + centres[0]
        out[:, 1] = erf(grid.reach / max(float(deviations[0]), 1e-9 * grid.reach) / np.sqrt(2.0))
        return out
    own, own_reach, factor = own_tables(number)
    ends = class_ends(number, rows)
    observed = np.ascontiguousarray(number.z[rows])
    number_guesses(
        np.ascontiguousarray(weights),
        first,
        np.ascontiguousarray(shifts),
        np.ascontiguousarray(centres),
        np.ascontiguousarray(deviations),
        grid.start,
        grid.step,
        grid.place,
        grid.shape,
        grid.tilt,
        own,
        own_reach,
        factor,
        ends,
        observed,
        sigma,
        grid.reach,
        grid.widths,
        out,
    )
    low, high = grid.ends
    off = np.isnan(out[:, 0]) | (mean < low) | (mean > high)
    if off.any():
        # Beyond the grid: outliers of a long tail, of which the plain mean says what there is to say.
        plain = mean[off]
        if len(ends):
            inner = np.clip(plain, ends[off, 0], ends[off, 1])
            plain = np.where(np.isfinite(inner), inner, plain)
        allowed = grid.place[grid.tilt > 0.0]
        plain = np.exp(plain) if number.logs else plain
        bounded = grid.tilt.min() == 0.0
        out[off, 0] = out[off, 2] = np.clip(plain, allowed.min(), allowed.max()) if bounded and len(allowed) else plain
        out[off, 1] = 0.0
    return out


def placed(number: Number, column: Vector, share: Vector, rows: Rows) -> tuple[Vector, Vector]:
    """Guesses with their signs; zeros that a factor leaves as they are; missing where nothing was released."""
    missing = np.isnan(number.z[rows]) & (not number.hidden)
    values, probability = np.where(missing, np.nan, column), np.where(missing, np.nan, share)
    if number.logs and number.sign is not None:
        signs = number.sign[rows]
        values = np.where(signs == 0.0, 0.0, values * signs)
        probability = np.where(signs == 0.0, 1.0, probability)
    return values, probability


def place_states(variable: Variable, posterior: Matrix, rows: Rows, values: Matrix, probability: Matrix) -> None:
    """Guesses and their probabilities, from those of a variable's states."""
    there = (variable.reports[rows] >= 0) | variable.hidden
    for column, place in enumerate(variable.places):
        if place < 0:
            continue
        n = int(variable.states[:, column].max()) + 1
        fold = np.equal.outer(variable.states[:, column], np.arange(n)).astype(np.float64)
        each = posterior @ fold
        values[rows, place] = np.where(there, each.argmax(axis=1), np.nan)
        probability[rows, place] = np.where(there, each.max(axis=1), np.nan)
