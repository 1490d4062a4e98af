"""The prior from the release alone: a mixture over numbers and categories, fitted through all noises at once (A28).

*Model.* ``x ~ Σ_k w_k N(m_k, V_k) Π_v π_kv``: within a component numbers are normal and variables independent.
The number of components is the one that makes held-out records of the release most likely; among numbers alone, where
few held-out records tell less than all that were fitted, the one of most likelihood less its number of parameters
(Akaike 1974), and a single one is given up only for two standard errors of the held-out records' likelihood, or a large
gain of the criterion, so that normal data keep the normal filter. The chosen mixture is fitted once more, to the
held-out records too (:mod:`veil.attacks.posterior.components`).

A single component is the Bayes filter of A6, and with known columns that of A19: what is known exactly is regressed
out, and only what is left of the numbers is shrunk (:func:`veil.attacks.noise.shrinkage.pooled_filter`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from veil.attacks.noise.additive import available_covariance
from veil.attacks.noise.shrinkage import pooled_filter
from veil.attacks.posterior.candidates import Candidates, Mask, Rows, is_covariate, log_density
from veil.attacks.posterior.components import (
    EXACT_GRAIN,
    FINER,
    ITERATIONS,
    Components,
    FittedRecords,
    Spread,
    best_start,
    grained,
    of_rows,
    standards,
)
from veil.attacks.posterior.observations import Observations
from veil.attacks.posterior.own_laws import OwnLaw
from veil.attacks.posterior.refinement import refined
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import row_order

MOST_ROWS, MOST_REFITTED = 4_000, 10_000
"""Records that the number of components is chosen with, and that the chosen mixture is fitted to."""
HELD_OUT = 0.25
NUMBERS_OF_COMPONENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
PATIENCE = 2
"""Numbers of components tried without a gain before the search stops."""
FEWEST_JUDGES, MOST_GROUPINGS = 40, 4
LEAST_GAIN = 15.0
"""Of Akaike's criterion, from which on several numbers are no single normal: held-out records with a long tail may be
too few to say so."""
CLEARLY = 10.0
"""Of the criterion, by which one covariance for all components is to be better than one for each."""
FEWEST = 8
"""Records for each component and number."""


class Split(NamedTuple):
    """Records that a prior is fitted to, others that judge it, and those that the chosen one is fitted to."""

    fitted: Rows
    judges: Rows
    every: Rows


def split_rows(observations: Observations, refitted: int = MOST_REFITTED) -> Split:
    """Some records to fit and some to judge, by their values and not by their order.

    The chosen mixture is fitted to at most ``refitted`` records.
    """
    columns = {
        number.name: np.nan_to_num(number.z) for number in observations.numbers if not number.feature
    } | observations.codes
    order = row_order(np.column_stack([columns[name] for name in sorted(columns)]))
    some = order[:MOST_ROWS]
    n = max(int(len(some) * HELD_OUT), 1)
    return Split(some[n:], some[:n], order[:refitted])


def one_normal(observations: Observations, rows: Rows | None = None) -> Candidates:
    """The prior of one component, from all records or some."""
    z, variables = observations.z, list(observations.variables)
    if rows is not None:
        z, variables = z[rows], of_rows(observations, rows)
    mean, unit = standards(z)
    standard = (z - mean) / unit
    exact = np.array([number.known is not None for number in observations.numbers], dtype=bool)
    noise = grained(observations.noise / np.outer(unit, unit), exact, EXACT_GRAIN)
    spread = _joint_normal(standard, noise, exact)
    tables = tuple(variable.margin[None] for variable in variables)
    guessed = tuple(v for v, variable in enumerate(variables) if not is_covariate(variable))
    return Candidates(
        numbers=np.arange(z.shape[1]),
        variables=guessed,
        mean=mean,
        unit=unit,
        noise=noise,
        group=np.zeros(1, dtype=np.intp),
        weights=np.ones(1),
        centres=np.zeros((1, z.shape[1])),
        states=np.full((1, len(guessed)), -1, dtype=np.int64),
        shares=np.ones(1),
        spreads=spread[None],
        tables=tuple(tables[v] for v in guessed),
    )


def _joint_normal(z: Matrix, noise: Matrix, exact: Mask) -> Matrix:
    """The covariance of what is known exactly and of the numbers behind the noise."""
    n, q = z.shape
    spread = np.zeros((q, q))
    if not q:
        return spread
    a, y = np.nan_to_num(z[:, exact]), z[:, ~exact]
    spread[np.ix_(exact, exact)] = a.T @ a / n
    if exact.all():
        return spread
    weights = np.zeros((a.shape[1], y.shape[1]))
    if a.shape[1]:
        for j, column in enumerate(y.T):
            there = ~np.isnan(column)
            weights[:, j] = np.linalg.lstsq(a[there], column[there], rcond=1e-10)[0]
    rest = y - a @ weights
    left = max(n - a.shape[1], 1)
    covariance = available_covariance(rest, np.zeros(rest.shape[1])) * n / left
    prior, _ = pooled_filter(covariance, noise[np.ix_(~exact, ~exact)], left)
    across = spread[np.ix_(exact, exact)] @ weights
    spread[np.ix_(exact, ~exact)], spread[np.ix_(~exact, exact)] = across, across.T
    spread[np.ix_(~exact, ~exact)] = prior + weights.T @ across
    return spread


class Mixture(NamedTuple):
    """A prior of components.

    Attributes
    ----------
    judged
        As fitted without the judges, for comparisons by their likelihood.
    final
        As fitted to more records, the judges among them.
    held_out
        Mean log density of judges by number of components.
    """

    judged: Candidates
    final: Candidates
    held_out: dict[int, float]


@dataclass(frozen=True, eq=False)
class _Fold:
    """Records to fit, and judges."""

    observations: Observations
    usable: Mask
    fitted: Rows
    judges: Rows

    @cached_property
    def records(self) -> FittedRecords:
        """The complete ones of the records to fit."""
        return complete_records(self.observations, self.usable, self.fitted)

    @cached_property
    def alone(self) -> Candidates:
        """The prior of one component."""
        return one_normal(self.observations, self.fitted)

    @cached_property
    def plain(self) -> Vector:
        """Log density of the judges under one component."""
        return self.judged(self.alone)

    def score(self, start: Components) -> tuple[Components, Vector]:
        """What is climbed to from a start, and the log density of the judges under it."""
        fit = start.climbed(self.records)[0]
        return fit, self.judged(fit.candidates(self.records))

    def judged(self, fit: Candidates) -> Vector:
        given = np.array([number.known is not None for number in self.observations.numbers], dtype=bool)
        return log_density(fit, self.observations.z, self.observations.variables, self.judges, given[fit.numbers])


def complete_records(observations: Observations, usable: Mask, rows: Rows) -> FittedRecords:
    """Those of some records that have all usable numbers."""
    there = ~np.isnan(observations.z[np.ix_(rows, usable)]).any(axis=1)
    return FittedRecords.of(observations, rows[there], usable)


def best_mixture(observations: Observations, split: Split, single: Candidates) -> Mixture:
    """The mixture whose number of components held-out records support, fitted once more to the judges too.

    ``single`` is the prior of one component.
    """
    usable = np.array([not number.feature for number in observations.numbers], dtype=bool)
    fold = _Fold(observations, usable, split.fitted, split.judges)
    if len(split.judges) < FEWEST_JUDGES or len(observations.numbers) + len(observations.variables) < (
        1 if observations.numbers else 2
    ):
        return Mixture(single, single, {})
    scores = {1: float(fold.plain.mean())}
    fits = _fits(fold)
    for fit, score in fits:
        scores[fit.n_components] = max(float(score.mean()), scores.get(fit.n_components, -np.inf))
    if not fits:
        return Mixture(fold.alone, single, scores)
    chosen, best = max(fits, key=lambda fit: fit[1].mean())
    # One component has no link between variables and anything else: there it is given up for any gain.
    gain, laws = best - fold.plain, _of_laws(observations)
    surely = gain.mean() > laws + (0.0 if observations.variables else 2.0) * _error(gain)
    # Functions of what is known are for one component only: there the criterion would compare it without them.
    if not observations.variables and usable.all():
        chosen = max((fit for fit, _ in fits), key=lambda fit: fit.information(fold.records))
        surely = surely or _information_gain(chosen, fold.records) > LEAST_GAIN + laws * len(fold.records.z)
    if not surely:
        return Mixture(fold.alone, single, scores)
    if usable.any():
        other = refined(chosen, fold.records)
        score = fold.judged(other.candidates(fold.records))
        scores[other.n_components] = max(float(score.mean()), scores.get(other.n_components, -np.inf))
        if (not observations.variables and usable.all()) or score.mean() > best.mean():
            chosen = other
    every = complete_records(observations, usable, split.every)
    return Mixture(
        chosen.candidates(fold.records), _of_own_spreads(chosen, every).settled(every).candidates(every), scores
    )


def _of_own_spreads(fit: Components, records: FittedRecords) -> Components:
    """Components that differ in their covariances, unless one for all is clearly likelier.

    Several covariances lose little if there is one, and one loses much if there are several.
    """
    if fit.spread is not Spread.COMMON or not records.z.shape[1]:
        return fit
    one, own = (each.climbed(records, 2 * ITERATIONS, FINER)[0] for each in (fit, fit._replace(spread=Spread.OWN)))
    return own if one.information(records) - own.information(records) < CLEARLY else fit


def _fits(fold: _Fold) -> list[tuple[Components, Vector]]:
    """Mixtures of rising numbers of components with the judges' log densities, until more gain nothing."""
    records = fold.records
    fits = [fold.score(Components.of_labels(records, groups, int(groups.max()) + 1)) for groups in _groupings(records)]
    failures, reached, smaller = 0, -np.inf, None
    rng = np.random.default_rng(len(records.z))
    for k in NUMBERS_OF_COMPONENTS:
        if k * FEWEST * (1 + int(fold.usable.sum())) > len(records.z) or failures == PATIENCE:
            break
        fits.append(fold.score(best_start(records, k, smaller, rng)))
        smaller, score = fits[-1][0], float(fits[-1][1].mean())
        failures = 0 if score > reached else failures + 1
        reached = max(reached, score)
    return fits


def _information_gain(fit: Components, records: FittedRecords) -> float:
    """What several components gain over one, by Akaike's criterion on the records that they were fitted to."""
    one = Components.of_labels(records, np.zeros(len(records.z), dtype=np.intp), 1)
    return fit.information(records) - one.climbed(records)[0].information(records)


def _error(gain: Vector) -> float:
    return float(gain.std(ddof=1) / np.sqrt(len(gain)))


def _of_laws(observations: Observations) -> float:
    """The log-likelihood per record that several components may gain by fitting the shape of noise that is not normal.

    With the share s of a column's variance that is noise, what is seen has s² of the noise's excess kurtosis, and
    differs from a normal law by nearly s⁴ of what the noise does; half as much again is allowed for.
    """
    _, unit = standards(observations.z)
    shares = np.diag(observations.noise) / unit**2
    laws = [number.law.divergence if isinstance(number.law, OwnLaw) else 0.0 for number in observations.numbers]
    return 1.5 * float(np.array(laws) @ np.minimum(shares, 1.0) ** 4) if laws else 0.0


def _groupings(records: FittedRecords) -> list[Rows]:
    """Records by the states of each known variable, as a start: those of one group may be alike."""
    groupings: list[Rows] = []
    for variable in records.variables:
        codes = variable.reports
        if is_covariate(variable) and len(groupings) < MOST_GROUPINGS and len(codes) and (codes >= 0).all():
            states, label = np.unique(codes, return_inverse=True)
            if 1 < len(states) <= min(NUMBERS_OF_COMPONENTS[-1], len(codes) // FEWEST):
                groupings.append(label.ravel().astype(np.intp))
    return groupings
