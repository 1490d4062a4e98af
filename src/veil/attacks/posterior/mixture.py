"""The prior from the release alone: a mixture over numbers and categories, fitted through all noises at once (A28).

*Model.* ``x ~ Σ_k w_k N(m_k, V_k) Π_v π_kv``: within a component numbers are normal and variables independent.
Expectation–maximisation with the labels as missing data, as in :mod:`veil.attacks.noise.mixture_fit`: given the labels
the numbers' likelihood is largest at the weighted mean and at the weighted covariance less the noise's, clipped in the
noise's own units (Bovy, Hogg and Roweis 2011), and the variables' by a step of EM through their channel. The number of
components is the one that makes held-out records of the release most likely; among numbers alone a single one is given
up only for a gain of two standard errors, so that normal data keep the normal filter.

A single component is the Bayes filter of A6, and with known columns that of A19: what is known exactly is regressed
out, and only what is left of the numbers is shrunk (:func:`veil.attacks.noise.shrinkage.pooled_filter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.attacks.noise.additive import available_covariance, with_grain
from veil.attacks.noise.mixture_fit import NoisyMixture
from veil.attacks.noise.shrinkage import pooled_filter, whitening
from veil.attacks.posterior.candidates import Candidates, Mask, is_covariate, log_density
from veil.attacks.posterior.observations import Observations, Variable
from veil.attacks.posterior.own_laws import Interval, OwnLaw
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import row_order

MOST_ROWS = 4_000
HELD_OUT = 0.25
NUMBERS_OF_COMPONENTS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
PATIENCE = 2
"""Numbers of components tried without a gain before the search stops."""
ITERATIONS, TOLERANCE, MIXED_TOLERANCE, FINE_TOLERANCE = 150, 1e-4, 2e-5, 3e-6
"""EM stops when a step adds less log-likelihood per record; reports climb slowly, alone more so than with numbers."""
FEWEST_JUDGES, MOST_GROUPINGS = 40, 4
FEWEST = 8
"""Records for each component and number."""
EXACT_GRAIN, MIXED_GRAIN = 1e-4, 0.05
"""Noise, in standard deviations, that stands in for none in known columns: of one normal, and of several."""
OWN_RECORDS = 1.0
PSEUDO = 1.0
"""Records that every component's distribution of a variable is drawn to the common one with."""

Rows = npt.NDArray[np.intp]


class Split(NamedTuple):
    """Records that a prior is fitted to, and others that judge it."""

    fitted: Rows
    judges: Rows


def split_rows(observations: Observations) -> Split:
    """Some records to fit and some to judge, by their values and not by their order."""
    columns = {
        number.name: np.nan_to_num(number.z) for number in observations.numbers if not number.feature
    } | observations.codes
    order = row_order(np.column_stack([columns[name] for name in sorted(columns)]))[:MOST_ROWS]
    n = max(int(len(order) * HELD_OUT), 1)
    return Split(order[n:], order[:n])


def one_normal(observations: Observations, rows: Rows | None = None) -> Candidates:
    """The prior of one component, from all records or some."""
    z, variables = observations.z, list(observations.variables)
    if rows is not None:
        z, variables = z[rows], _of_rows(observations, rows)
    mean, unit = _standards(z)
    standard = (z - mean) / unit
    exact = np.array([number.known is not None for number in observations.numbers], dtype=bool)
    noise = _grained(observations.noise / np.outer(unit, unit), exact, EXACT_GRAIN)
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


def _of_rows(observations: Observations, rows: Rows) -> list[Variable]:
    """What is reported of some records."""
    return [replace(variable, reports=variable.reports[rows]) for variable in observations.variables]


def _standards(z: Matrix) -> tuple[Vector, Vector]:
    present = ~np.isnan(z)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, z, 0.0).sum(axis=0) / count
    unit = np.sqrt((np.where(present, z - mean, 0.0) ** 2).sum(axis=0) / count)
    unit[~(unit > 0)] = 1.0
    return mean, unit


def _grained(noise: Matrix, exact: Mask, grain: float) -> Matrix:
    """Noise that is nowhere zero."""
    if exact.any():
        noise = np.where(np.diag(exact), grain**2, noise)
    return with_grain(noise, np.ones(len(noise))) if len(noise) else noise


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


def best_mixture(observations: Observations, split: Split) -> tuple[Candidates, dict[int, float]]:
    """The mixture whose number of components held-out records support; and their mean log density by number."""
    given = np.array([number.known is not None for number in observations.numbers], dtype=bool)
    usable = np.array([not number.feature for number in observations.numbers], dtype=bool)
    complete = split.fitted[~np.isnan(observations.z[np.ix_(split.fitted, usable)]).any(axis=1)]
    variables = _of_rows(observations, complete)

    def judged(fit: Candidates) -> Vector:
        return log_density(fit, observations.z, observations.variables, split.judges, given[fit.numbers])

    plain = judged(one_normal(observations, split.fitted))
    scores, best, chosen = {1: float(plain.mean())}, plain, one_normal(observations)
    if len(split.judges) < FEWEST_JUDGES or len(observations.numbers) + len(observations.variables) < (
        1 if observations.numbers else 2
    ):
        return chosen, scores
    for groups in _groupings(observations, complete):
        fit = fit_components(observations, complete, variables, usable, int(groups.max()) + 1, groups)
        score = judged(fit)
        scores[fit.n_groups] = max(float(score.mean()), scores.get(fit.n_groups, -np.inf))
        if score.mean() > best.mean():
            best, chosen = score, fit
    failures, reached = 0, -np.inf
    for k in NUMBERS_OF_COMPONENTS:
        if k * FEWEST * (1 + int(usable.sum())) > len(complete) or failures == PATIENCE:
            break
        fit = fit_components(observations, complete, variables, usable, k)
        score = judged(fit)
        scores[k] = max(float(score.mean()), scores.get(k, -np.inf))
        failures = 0 if score.mean() > reached else failures + 1
        reached = max(reached, float(score.mean()))
        if score.mean() > best.mean():
            best, chosen = score, fit
    # One component has no link between variables and anything else: there it is given up for any gain.
    errors, gain = 0.0 if chosen.variables else 2.0, best - plain
    least = _of_laws(observations) + errors * gain.std(ddof=1) / np.sqrt(len(gain))
    if best is not plain and gain.mean() <= least:
        chosen = one_normal(observations)
    return chosen, scores


def _of_laws(observations: Observations) -> float:
    """The log-likelihood per record that several components may gain by fitting the shape of noise that is not normal.

    With the share s of a column's variance that is noise, what is seen has s² of the noise's excess kurtosis, and
    differs from a normal law by nearly s⁴ of what the noise does; half as much again is allowed for.
    """
    _, unit = _standards(observations.z)
    shares = np.diag(observations.noise) / unit**2
    laws = [number.law.divergence if isinstance(number.law, OwnLaw) else 0.0 for number in observations.numbers]
    return 1.5 * float(np.array(laws) @ np.minimum(shares, 1.0) ** 4) if laws else 0.0


def _groupings(observations: Observations, rows: Rows) -> list[Rows]:
    """Records by the states of each known variable, as a start: those of one group may be alike."""
    groupings: list[Rows] = []
    for variable in observations.variables:
        codes = variable.reports[rows]
        if is_covariate(variable) and len(groupings) < MOST_GROUPINGS and (codes >= 0).all():
            states, label = np.unique(codes, return_inverse=True)
            if 1 < len(states) <= NUMBERS_OF_COMPONENTS[-1]:
                groupings.append(label.ravel().astype(np.intp))
    return groupings


def fit_components(
    observations: Observations,
    rows: Rows,
    variables: Sequence[Variable],
    usable: Mask,
    k: int,
    label: Rows | None = None,
) -> Candidates:
    """A mixture of k components, fitted to some complete records and their ``variables``; ``label`` is a start."""
    z = observations.z[np.ix_(rows, usable)]
    mean, unit = _standards(z)
    z = (z - mean) / unit
    exact = np.array([n.known is not None for n in observations.numbers if not n.feature], dtype=bool)
    noise = _grained(observations.noise[np.ix_(usable, usable)] / np.outer(unit, unit), exact, MIXED_GRAIN)
    rng = np.random.default_rng(len(rows))
    # Middles of classes repeat: a component must not take the spread of values in a class for none.
    classes = np.array([isinstance(n.law, Interval) for n in observations.numbers if not n.feature], dtype=bool)
    floor = np.diag(np.diag(noise) * classes)
    if label is None:
        label = _seeded(_features(z, variables), k, rng)
    fit = _Fit.start(z, noise, floor, variables, label, k)
    before = -np.inf
    slow = FINE_TOLERANCE if not z.shape[1] else MIXED_TOLERANCE
    tolerance = TOLERANCE if all(is_covariate(variable) for variable in variables) else slow
    for _ in range(ITERATIONS):
        total, shares = fit.expect(z, variables)
        now = float(total.mean())
        if now - before < tolerance:
            break
        before, fit = now, fit.maximise(z, noise, floor, variables, shares)
    return Candidates(
        numbers=np.flatnonzero(usable),
        variables=tuple(range(len(variables))),
        mean=mean,
        unit=unit,
        noise=noise,
        group=np.arange(len(fit.weights)),
        weights=fit.weights,
        centres=fit.means,
        states=np.full((len(fit.weights), len(variables)), -1, dtype=np.int64),
        shares=np.ones(len(fit.weights)),
        spreads=fit.spreads,
        tables=fit.tables,
    )


class _Fit(NamedTuple):
    """A mixture on the way: ``totals`` are the covariances with the noise."""

    weights: Vector
    means: Matrix
    spreads: Matrix
    totals: Matrix
    tables: tuple[Matrix, ...]

    @classmethod
    def start(cls, z: Matrix, noise: Matrix, floor: Matrix, variables: Sequence[Variable], label: Rows, k: int) -> _Fit:
        shares = 0.1 / k + 0.9 * np.equal.outer(np.arange(k), label)
        margins = [variable.margin for variable in variables]
        tables = tuple(np.tile(margin, (k, 1)) for margin in margins)
        empty = cls(np.full(k, 1.0 / k), np.zeros((k, z.shape[1])), np.zeros((k, 0, 0)), np.zeros((k, 0, 0)), tables)
        return empty.maximise(z, noise, floor, variables, shares)

    def expect(self, z: Matrix, variables: Sequence[Variable]) -> tuple[Vector, Matrix]:
        """ln of every record's density, and its shares in the components (K × N)."""
        if z.shape[1]:
            logs = NoisyMixture(self.weights, self.means, self.totals).log_shares(z)
        else:
            logs = np.tile(np.log(self.weights)[:, None], (1, len(z)))
        for variable, table in zip(variables, self.tables, strict=True):
            channel = np.log(np.maximum(table @ variable.channel.T, 1e-12))
            logs += np.where(variable.reports < 0, 0.0, channel[:, np.maximum(variable.reports, 0)])
        top = logs.max(axis=0)
        shares = np.exp(logs - top)
        total = shares.sum(axis=0)
        return top + np.log(total), shares / total

    def maximise(self, z: Matrix, noise: Matrix, floor: Matrix, variables: Sequence[Variable], shares: Matrix) -> _Fit:
        """The most likely mixture given the shares; components without records go."""
        held = shares.sum(axis=1) > 2.0
        shares, tables = shares[held], [table[held] for table in self.tables]
        size = shares.sum(axis=1)
        means = (shares @ z) / size[:, None]
        q = z.shape[1]
        scatters = np.empty((len(size), q, q))
        for k, share in enumerate(shares):
            centred = (z - means[k]) * np.sqrt(share)[:, None]
            scatters[k] = centred.T @ centred
        within, prior = scatters.sum(axis=0) / len(z), OWN_RECORDS * (q + 2.0)
        scatters = (scatters + prior * within) / (size + prior)[:, None, None]
        spreads = _clipped(scatters, noise) + floor if q else scatters
        updated = []
        for variable, table in zip(variables, tables, strict=True):
            n_reports = len(variable.channel)
            codes = np.where(variable.reports < 0, n_reports, variable.reports)
            counts = np.array([np.bincount(codes, share, n_reports + 1)[:-1] for share in shares])
            step = table * ((counts / np.maximum(table @ variable.channel.T, 1e-12)) @ variable.channel)
            common = step.sum(axis=0) / max(float(step.sum()), 1e-300)
            step += PSEUDO * common
            updated.append(step / step.sum(axis=1, keepdims=True))
        return _Fit(size / size.sum(), means, spreads, spreads + noise, tuple(updated))


def _clipped(scatters: Matrix, noise: Matrix) -> Matrix:
    """What of each covariance is not the noise's."""
    root, inverse = whitening(noise)
    eigenvalues, q = np.linalg.eigh(inverse @ scatters @ inverse.T)
    half = (root @ q) * np.sqrt(np.clip(eigenvalues - 1.0, 0.0, None))[:, None, :]
    return np.asarray(half @ half.swapaxes(1, 2))


def _features(z: Matrix, variables: Sequence[Variable]) -> Matrix:
    """Numbers and reports as points in one space, for a start."""
    columns = [z]
    for variable in variables:
        n = len(variable.channel)
        if n <= 64:
            columns.append(np.equal.outer(variable.reports, np.arange(n)) * 1.0)
    return np.hstack(columns)


def _seeded(points: Matrix, k: int, rng: np.random.Generator) -> Rows:
    """k-means++: each next centre is a record drawn by its squared distance from the centres so far."""
    label = np.zeros(len(points), dtype=np.intp)
    nearest = ((points - points[rng.integers(len(points))]) ** 2).sum(axis=1)
    for j in range(1, k):
        if not nearest.sum() > 0:
            return np.asarray(rng.integers(k, size=len(points)), dtype=np.intp)
        distance = ((points - points[rng.choice(len(points), p=nearest / nearest.sum())]) ** 2).sum(axis=1)
        label[distance < nearest] = j
        nearest = np.minimum(nearest, distance)
    return label
