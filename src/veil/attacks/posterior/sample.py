"""The prior from a sample: its records themselves, each a kernel (A28).

*Model.* A record is like one of the sample's, up to a kernel that has the shape of the component k in which the record
lies: centre ``m_k + ρ (x_c − m_k)`` and covariance ``(1 − ρ²) V_k``. Whatever ρ, such candidates have the mean and
covariance that the release itself shows (the smoothed bootstrap with shrinkage; Silverman and Young 1987). ρ = 0 is the
release's own prior, A6's filter where it is normal, and ρ = 1 the sample's bare records; in between curved, clustered
and heaped tables show as far as the sample is dense enough. λ = 1 − ρ² does the same to states of variables. ρ is
the one under which held-out records of the *release* are most likely, so that a small or a strange sample does no harm.

Columns that are known of everybody belong to the sample's records too, where the attacker has them; those that he
does not follow the others by the component's own regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veil.attacks.posterior.candidates import Candidates, Rows, log_density, patterns
from veil.attacks.posterior.observations import Codes, Observations
from veil.data.blocks import Matrix, Vector

SHARES_OF_SAMPLE = (0.3, 0.5, 0.65, 0.78, 0.88, 0.94, 0.975, 0.99, 0.999)
"""ρ."""
PLAIN = 0.05
"""The share of people who are like nobody in the sample."""
JUDGING_CELLS = 1_000_000
MOST_PATTERNS = 6
"""Sets of numbers that records of a sample lack."""


class Sample(NamedTuple):
    """Records of the population: private values (m × d), their numbers in working scales, states and labels."""

    values: Matrix
    numbers: Matrix
    states: Codes
    labels: Codes

    def of(self, rows: Rows) -> Sample:
        """Some of the records."""
        return Sample(self.values[rows], self.numbers[rows], self.states[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class Kernels:
    """Candidates, and the record of the sample that each of them is; −1 for none."""

    candidates: Candidates
    record: Rows


def read_sample(observations: Observations, records: Matrix) -> Sample:
    """Records with the guessed columns as a sample; what is unknown of them is NaN and −1."""
    at = {name: j for j, name in enumerate(observations.names)}
    numbers = np.full((len(records), len(observations.numbers)), np.nan)
    for i, number in enumerate(observations.numbers):
        if number.place >= 0:
            numbers[:, i] = number.working(records[:, number.place])
        elif number.sampled is not None:
            numbers[:, i] = number.sampled
    states = np.full((len(records), len(observations.variables)), -1, dtype=np.int64)
    for v, variable in enumerate(observations.variables):
        if variable.encode is not None:
            states[:, v] = variable.encode(records[:, [at[name] for name in variable.names]])
        elif variable.sampled is not None:
            states[:, v] = variable.sampled
    labels = [label.sampled for label in observations.labels]
    return Sample(records, numbers, states, np.reshape(labels, (len(labels), len(records))).T.astype(np.int64))


def with_sample(prior: Candidates, sample: Sample, rho: float) -> Kernels:
    """The records of a sample as kernels of a prior's components; and the record of each candidate, −1 for none."""
    u = _few_patterns((sample.numbers[:, prior.numbers] - prior.mean) / prior.unit)
    states = sample.states[:, list(prior.variables)]
    label = _nearest(prior, u, states)
    spreads, components = [*prior.spreads], [*range(prior.n_groups)]
    centres, groups, records = [prior.centres], [prior.group], [np.full(len(prior.group), -1)]
    for k in range(prior.n_groups):
        members = np.flatnonzero(label == k)
        spread, middle = prior.spreads[k], prior.centres[k]
        for there, places in patterns(u[members]):
            own = members[places]
            carry = np.zeros((len(spread), int(there.sum())))
            carry[there] = np.eye(int(there.sum()))
            inner = spread[np.ix_(there, there)]
            if (~there).any():
                carry[~there] = spread[np.ix_(~there, there)] @ np.linalg.pinv(inner, rcond=1e-9, hermitian=True)
            centres.append(middle + rho * (u[np.ix_(own, there)] - middle[there]) @ carry.T)
            # A kernel is narrower than its component: the components themselves stay as groups of their own.
            groups.append(np.full(len(own), len(spreads), dtype=np.intp))
            spreads.append(spread - rho**2 * carry @ inner @ carry.T)
            components.append(k)
            records.append(own)
    plain = len(prior.group)
    group, record = np.concatenate(groups), np.concatenate(records)
    weights = np.concatenate([PLAIN * prior.weights, np.full(len(group) - plain, (1.0 - PLAIN) / len(u))])
    candidates = Candidates(
        numbers=prior.numbers,
        variables=prior.variables,
        mean=prior.mean,
        unit=prior.unit,
        noise=prior.noise,
        group=group,
        weights=weights,
        centres=np.vstack(centres),
        states=np.vstack([prior.states, states[record[plain:]]]),
        shares=np.concatenate([prior.shares, np.full(len(group) - plain, 1.0 - rho**2)]),
        spreads=np.array(spreads),
        tables=tuple(table[components] for table in prior.tables),
    )
    return Kernels(_without_empty(candidates), record)


def _few_patterns(u: Matrix) -> Matrix:
    """Records of which few different sets of numbers are unknown: of those with rare ones all that anybody lacks is."""
    gaps, pattern, counts = np.unique(np.isnan(u), axis=0, return_inverse=True, return_counts=True)
    if len(gaps) <= MOST_PATTERNS:
        return u
    rare = ~np.isin(pattern.ravel(), np.argsort(-counts, kind="stable")[: MOST_PATTERNS - 1])
    return np.where(rare[:, None] & np.isnan(u).any(axis=0), np.nan, u)


def _nearest(prior: Candidates, u: Matrix, states: Codes) -> Rows:
    """The component that each record most probably belongs to."""
    label = np.zeros(len(u), dtype=np.intp)
    if prior.n_groups == 1:
        return label
    channels = [np.eye(table.shape[1]) for table in prior.tables]
    exact = Candidates(**{**vars(prior), "noise": 0.05 * prior.noise + 1e-6 * np.eye(len(prior.noise))})
    tables = exact.report_tables(channels)
    for there, rows in patterns(u):
        label[rows] = exact.log_joint(u[rows], there, [*states[rows].T], tables).argmax(axis=1)
    return label


def _without_empty(candidates: Candidates) -> Candidates:
    """Groups that have candidates, numbered anew."""
    groups, number = np.unique(candidates.group, return_inverse=True)
    tables = tuple(table[groups] for table in candidates.tables)
    spreads = candidates.spreads[groups]
    return Candidates(**{**vars(candidates), "group": number.ravel(), "spreads": spreads, "tables": tables})


def best_kernel(
    observations: Observations,
    prior: Candidates,
    sample: Sample,
    judges: Rows,
    shares: Sequence[float] = SHARES_OF_SAMPLE,
) -> tuple[float, Vector]:
    """ρ under which held-out records of the release are most likely, and their log density with it."""
    given = np.array([observations.numbers[i].known is not None for i in prior.numbers], dtype=bool)
    judges = judges[: max(JUDGING_CELLS // (len(sample.values) + 1), 50)]
    best, score = 0.0, log_density(prior, observations.z, observations.variables, judges, given)
    for rho in shares:
        now = log_density(
            with_sample(prior, sample, rho).candidates, observations.z, observations.variables, judges, given
        )
        if now.mean() > score.mean():
            best, score = rho, now
        elif best > 0.0 and rho > best + 0.2:
            break
    return best, score
