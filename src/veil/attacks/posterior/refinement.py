"""Components that are split, merged and made alike while that pays (A28).

EM climbs to the next hilltop: with many groups of records some components cover two groups, and others share one. From
there components are merged that have the same records, and cut in two where their numbers vary most (Ueda et al. 2000),
and a common covariance, or none, is tried in place of one for each, which many small groups cannot show behind noise.
A change stays if it raises the log-likelihood less the number of parameters (Akaike 1974).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veil.attacks.posterior.components import SHORT, Components, FittedRecords, Spread
from veil.data.blocks import Matrix

MOST_CHANGES = 40
PAIRS, CUTS = 2, 3
"""Pairs that are tried to be merged, and components to be cut, at a time."""
LEAST_GAIN = 0.5
"""Of the criterion, by which a change must raise it."""


def refined(fit: Components, records: FittedRecords) -> Components:
    """A mixture from which no split, merger or other kind of spread leads further up."""
    best, value = _other_spread(fit, fit.information(records), records)
    for _ in range(MOST_CHANGES):
        tried = [_climbed(start, records) for start in _changes(best, records)]
        change, reached = max(tried, key=lambda run: run[1], default=(best, -np.inf))
        if reached <= value + LEAST_GAIN:
            change, reached = _other_spread(best, value, records)
        if reached <= value + LEAST_GAIN:
            break
        best, value = change, reached
    return best.climbed(records)[0]


def _other_spread(fit: Components, value: float, records: FittedRecords) -> tuple[Components, float]:
    """The mixture with the kind of spread that raises the criterion most; itself where none does."""
    others = [_climbed(fit._replace(spread=spread), records) for spread in Spread if spread is not fit.spread]
    return max([(fit, value), *others], key=lambda run: run[1])


def _climbed(start: Components, records: FittedRecords) -> tuple[Components, float]:
    """A few steps of EM, and the criterion."""
    fit = start.climbed(records, SHORT)[0]
    return fit, fit.information(records)


def _changes(fit: Components, records: FittedRecords) -> Iterator[Components]:
    """Mixtures with one component less, one more, and one that has moved to where it is needed more."""
    shares = fit.shares(records)[1]
    size = shares.sum(axis=1)
    together = np.triu(shares @ shares.T / np.sqrt(np.outer(size, size)), 1)
    pairs = [np.unravel_index(at, together.shape) for at in np.argsort(-together, axis=None)[:PAIRS]]
    scaled = records.z / np.sqrt(np.diag(records.noise))
    centres = (shares @ scaled) / size[:, None]
    square = (shares @ scaled**2) / size[:, None] - centres**2
    wide = np.argsort(-size * np.log(np.maximum(square, 1e-12)).sum(axis=1))[:CUTS]
    merged = [_merged(shares, int(a), int(b)) for a, b in pairs] if len(size) > 2 else []
    cut = [each for k in wide if (each := _cut(shares, int(k), scaled)) is not None]
    moved = [_merged(each, int(a), int(b)) for each in cut for a, b in pairs[:1] if len(size) > 2]
    for changed in [*merged, *cut, *moved]:
        tables = tuple(np.tile(table.mean(axis=0), (len(changed), 1)) for table in fit.tables)
        yield fit._replace(tables=tables).maximised(records, changed)


def _merged(shares: Matrix, a: int, b: int) -> Matrix:
    """The shares with those of two components as one."""
    together = shares.copy()
    together[a] += together[b]
    return np.delete(together, b, axis=0)


def _cut(shares: Matrix, k: int, points: Matrix) -> Matrix | None:
    """The shares with those of a component as two, on either side of its longest axis; None if it holds too few."""
    own = shares[k] / shares[k].sum()
    if shares[k].sum() < 2.0 * points.shape[1] + 2.0:
        return None
    centred = points - own @ points
    along = centred @ np.linalg.eigh((centred * own[:, None]).T @ centred)[1][:, -1]
    upper = along > 0.0
    return np.vstack([shares[:k], shares[k] * upper, shares[k + 1 :], shares[k] * ~upper])
