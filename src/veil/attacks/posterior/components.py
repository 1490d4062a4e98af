"""Mixtures over numbers and categories, fitted through all noises by expectation–maximisation (A28).

*Model.* ``x ~ Σ_k w_k N(m_k, V_k) Π_v π_kv``: within a component numbers are normal and variables independent. The
labels are the missing data: given them the numbers' likelihood is largest at the weighted mean and at the weighted
covariance less the noise's, clipped in the noise's own units (Bovy, Hogg and Roweis 2011), and the variables' by a step
of EM through their channel.

*Starts.* k-means++ seeds, and the mixture of fewer components with some cut in two; short runs say from which to climb.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from veil.attacks.noise.additive import with_grain
from veil.attacks.noise.mixture_fit import NoisyMixture, towards_identity
from veil.attacks.noise.shrinkage import whitening
from veil.attacks.posterior.candidates import Candidates, Mask, Rows, is_covariate
from veil.attacks.posterior.observations import Observations, Variable
from veil.attacks.posterior.own_laws import Interval
from veil.data.blocks import Matrix, Vector

ITERATIONS, SHORT = 150, 8
TOLERANCE, FINE_TOLERANCE = 2e-5, 3e-6
"""EM stops when a step adds less log-likelihood per record; reports without numbers climb slowly."""
FINER = 5.0
"""How many times less a step of the mixture that is used may gain than one of those that are compared."""
EXACT_GRAIN, MIXED_GRAIN = 1e-4, 0.05
"""Noise, in standard deviations, that stands in for none in known columns: of one normal, and of several."""
OWN_RECORDS = 1.0
PSEUDO = 1.0
"""Records that every component's distribution of a variable is drawn to the common one with."""


class FittedRecords(NamedTuple):
    """Complete records in standard units, as a mixture is fitted to them."""

    z: Matrix
    noise: Matrix
    floor: Matrix
    variables: tuple[Variable, ...]
    mean: Vector
    unit: Vector
    usable: Mask

    @classmethod
    def of(cls, observations: Observations, rows: Rows, usable: Mask) -> FittedRecords:
        """Some complete records, in the units of the whole release, by the numbers that are ``usable``."""
        z = observations.z[:, usable]
        mean, unit = standards(z)
        z = z[rows]
        chosen = [number for number, use in zip(observations.numbers, usable, strict=True) if use]
        exact = np.array([number.known is not None for number in chosen], dtype=bool)
        noise = grained(observations.noise[np.ix_(usable, usable)] / np.outer(unit, unit), exact, MIXED_GRAIN)
        # Middles of classes repeat: a component must not take the spread of values in a class for none.
        classes = np.array([isinstance(number.law, Interval) for number in chosen], dtype=bool)
        floor = np.diag(np.diag(noise) * classes)
        return cls((z - mean) / unit, noise, floor, tuple(of_rows(observations, rows)), mean, unit, usable)

    @property
    def tolerance(self) -> float:
        """When EM is to stop."""
        slow = not self.z.shape[1] and not all(is_covariate(variable) for variable in self.variables)
        return FINE_TOLERANCE if slow else TOLERANCE


def of_rows(observations: Observations, rows: Rows) -> list[Variable]:
    """What is reported of some records."""
    return [variable.with_reports(variable.reports[rows]) for variable in observations.variables]


def standards(z: Matrix) -> tuple[Vector, Vector]:
    """Mean and standard deviation of every column's present values."""
    present = ~np.isnan(z)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, z, 0.0).sum(axis=0) / count
    unit = np.sqrt((np.where(present, z - mean, 0.0) ** 2).sum(axis=0) / count)
    unit[~(unit > 0)] = 1.0
    return mean, unit


def grained(noise: Matrix, exact: Mask, grain: float) -> Matrix:
    """Noise that is nowhere zero."""
    if exact.any():
        noise = np.where(np.diag(exact), grain**2, noise)
    return with_grain(noise, np.ones(len(noise))) if len(noise) else noise


class Spread(Enum):
    """How numbers vary within components: by a covariance of each, by one of all, or not at all."""

    OWN = "own"
    COMMON = "common"
    NONE = "none"

    def n_parameters(self, k: int, q: int) -> int:
        """Of the covariances of k components of q numbers."""
        return {Spread.OWN: k, Spread.COMMON: 1, Spread.NONE: 0}[self] * (q * (q + 1) // 2)


class Components(NamedTuple):
    """A mixture in the standard units of its records; ``spreads`` are without the noise."""

    weights: Vector
    means: Matrix
    spreads: Matrix
    tables: tuple[Matrix, ...]
    spread: Spread = Spread.OWN

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.weights)

    def information(self, records: FittedRecords) -> float:
        """The log-likelihood of the records less the number of parameters (Akaike 1974)."""
        q, k = records.z.shape[1], self.n_components
        of_tables = sum(table.shape[1] - 1 for table in self.tables)
        n_parameters: int = k * (1 + q + of_tables) + self.spread.n_parameters(k, q)
        return float(self.shares(records)[0].sum()) - n_parameters

    @classmethod
    def of_labels(cls, records: FittedRecords, label: Rows, k: int) -> Components:
        """Groups of records, with a little of all in each."""
        margins = [variable.margin for variable in records.variables]
        tables = tuple(np.tile(margin, (k, 1)) for margin in margins)
        empty = cls(np.full(k, 1.0 / k), np.zeros((k, 0)), np.zeros((k, 0, 0)), tables)
        return empty.maximised(records, 0.1 / k + 0.9 * np.equal.outer(np.arange(k), label))

    def shares(self, records: FittedRecords) -> tuple[Vector, Matrix]:
        """ln of every record's density, and its shares in the components (K × N)."""
        z, variables = records.z, records.variables
        if z.shape[1]:
            logs = NoisyMixture(self.weights, self.means, self.spreads + records.noise).log_shares(z)
        else:
            logs = np.tile(np.log(self.weights)[:, None], (1, len(z)))
        for variable, table in zip(variables, self.tables, strict=True):
            channel = np.log(np.maximum(table @ variable.channel.T, 1e-12))
            logs += np.where(variable.reports < 0, 0.0, channel[:, np.maximum(variable.reports, 0)])
        top = logs.max(axis=0)
        shares = np.exp(logs - top)
        total = shares.sum(axis=0)
        return top + np.log(total), shares / total

    def maximised(self, records: FittedRecords, shares: Matrix, *, drawn: bool = False) -> Components:
        """The most likely mixture given the shares; components without records go.

        With ``drawn`` covariances of their own are drawn to round ones, by as much as few records spread them.
        """
        held = shares.sum(axis=1) > 2.0
        z, shares, tables = records.z, shares[held], [table[held] for table in self.tables]
        size = shares.sum(axis=1)
        means = (shares @ z) / size[:, None]
        q = z.shape[1]
        scatters = np.empty((len(size), q, q))
        for k, share in enumerate(shares):
            centred = (z - means[k]) * np.sqrt(share)[:, None]
            scatters[k] = centred.T @ centred
        within, prior = scatters.sum(axis=0) / len(z), OWN_RECORDS * (q + 2.0)
        if self.spread is Spread.OWN:
            scatters = (scatters + prior * within) / (size + prior)[:, None, None]
        else:
            scatters = np.broadcast_to(within, scatters.shape)
        n_rows = size**2 / (shares**2).sum(axis=1) if drawn and self.spread is Spread.OWN else None
        hidden = records.noise + records.floor
        spreads = _clipped(scatters, hidden, n_rows) if q and self.spread is not Spread.NONE else 0.0 * scatters
        spreads = spreads + records.floor
        updated = []
        for variable, table in zip(records.variables, tables, strict=True):
            n_reports = len(variable.channel)
            codes = np.where(variable.reports < 0, n_reports, variable.reports)
            counts = np.array([np.bincount(codes, share, n_reports + 1)[:-1] for share in shares])
            step = table * ((counts / np.maximum(table @ variable.channel.T, 1e-12)) @ variable.channel)
            common = step.sum(axis=0) / max(float(step.sum()), 1e-300)
            step += PSEUDO * common
            updated.append(step / step.sum(axis=1, keepdims=True))
        return Components(size / size.sum(), means, spreads, tuple(updated), self.spread)

    def climbed(
        self, records: FittedRecords, iterations: int = ITERATIONS, finer: float = 1.0
    ) -> tuple[Components, float]:
        """EM until a step gains too little; the likeliest mixture that a step led to, and its mean log-likelihood.

        ``finer`` is how many times less than usual a step may gain.
        """
        best, highest, fit, before = self, -np.inf, self, -np.inf
        for step in range(iterations + 1):
            total, shares = fit.shares(records)
            now = float(total.mean())
            if step and now > highest:
                best, highest = fit, now
            if step and now - before < records.tolerance / finer:
                break
            before, fit = now, fit.maximised(records, shares)
        return best, highest

    def settled(self, records: FittedRecords) -> Components:
        """What is climbed to in small steps, with covariances that few records do not exaggerate."""
        fit = self.climbed(records, 2 * ITERATIONS, FINER)[0]
        return fit.maximised(records, fit.shares(records)[1], drawn=True)

    def grown(self, records: FittedRecords, k: int, rng: np.random.Generator) -> Components:
        """The same with components cut in two across their longest axis, until there are k."""
        total, shares = self.shares(records)
        label = shares.argmax(axis=0)
        for _ in range(k - len(self.weights)):
            # The component whose records are the least probable under it has the most to gain.
            loss = np.array(
                [-total[label == j].sum() if (label == j).sum() > 1 else -np.inf for j in range(len(shares))]
            )
            cut = int(loss.argmax())
            axis = np.linalg.eigh(np.cov(records.z[label == cut].T).reshape(records.z.shape[1], -1))[1][:, -1]
            along = records.z @ axis
            upper = along > np.quantile(along[label == cut], rng.uniform(0.3, 0.7))
            shares = np.vstack([shares, shares[cut] * upper])
            shares[cut] *= ~upper
            label = np.where((label == cut) & upper, len(shares) - 1, label)
        tables = tuple(np.vstack([t, np.tile(t.mean(axis=0), (k - len(t), 1))]) for t in self.tables)
        return self._replace(tables=tables).maximised(records, shares)

    def candidates(self, records: FittedRecords) -> Candidates:
        """The mixture as a prior."""
        k, variables = len(self.weights), records.variables
        return Candidates(
            numbers=np.flatnonzero(records.usable),
            variables=tuple(range(len(variables))),
            mean=records.mean,
            unit=records.unit,
            noise=records.noise,
            group=np.arange(k),
            weights=self.weights,
            centres=self.means,
            states=np.full((k, len(variables)), -1, dtype=np.int64),
            shares=np.ones(k),
            spreads=self.spreads,
            tables=self.tables,
        )


def best_start(records: FittedRecords, k: int, smaller: Components | None, rng: np.random.Generator) -> Components:
    """k components to climb from: the likeliest of several starts after a few steps."""
    points = _features(records.z, records.variables)
    starts = [Components.of_labels(records, _seeded(points, k, rng), k)]
    if records.z.shape[1]:
        # The same numbers in units of their noise: columns that show most of themselves weigh most.
        scaled = records.z / np.sqrt(np.diag(records.noise))
        starts.append(Components.of_labels(records, _seeded(scaled, k, rng), k))
        if smaller is not None and len(smaller.weights) < k:
            starts.append(smaller.grown(records, k, rng))
    if len(starts) == 1:
        return starts[0]
    return max((start.climbed(records, SHORT) for start in starts), key=lambda run: run[1])[0]


def _clipped(scatters: Matrix, noise: Matrix, n_rows: Vector | None = None) -> Matrix:
    """What of each covariance is not the noise's; with the records behind each, eigenvalues are drawn to their mean."""
    root, inverse = whitening(noise)
    eigenvalues, q = np.linalg.eigh(inverse @ scatters @ inverse.T)
    if n_rows is not None:
        rows = zip(np.clip(eigenvalues, 0.0, None), n_rows, strict=True)
        eigenvalues = np.array([towards_identity(values, max(int(n), 1)) for values, n in rows])
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
