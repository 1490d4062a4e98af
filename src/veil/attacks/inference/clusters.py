"""What cluster centres say about people (A23): the posterior over clusters, and what their centres have.

*Model.* A mixture of K clusters with the published sizes as weights (equal ones where they are not published). Within
a cluster columns are independent: a number is normal around the centre with the published spread, a category has the
published shares. Given what is known of a person, ``P(k | known) ∝ n_k ∏_j f_kj(x_j)``, over the columns that are
known; the hidden number is the mixture of normals around the centres, the hidden category has the mean of the shares.

*Spreads that are not published* are taken to be common to all clusters, and estimated for each known column from the
known values of all people, by expectation–maximisation with the centres and weights fixed. Of a hidden column nothing
tells them: the guess is then the centre of the most probable cluster.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.attacks.inference.known_values import KnownPeople
from veil.attacks.inference.told import Code, Told
from veil.attacks.results import Centres, Condition
from veil.data.blocks import Matrix, Vector
from veil.numerics.windows import most_probable_window, window_mass

STEPS = 25
"""Steps of expectation–maximisation for spreads that are not published."""
LEAST_SPREAD = 1e-6
"""Of the range of the centres: the least spread, for clusters of one."""
LEAST_SHARE = 1e-3
"""What a category has in a cluster that is said to lack it, where the cluster's size is not published."""


class Clusters:
    """Centres, and the posterior over their clusters of each person."""

    def __init__(self, centres: Centres, people: KnownPeople, hidden: set[str]) -> None:
        self._centres, self._people = centres, people
        k = len(centres.rows)
        weights = np.full(k, 1.0 / k) if centres.sizes is None else centres.sizes / centres.sizes.sum()
        known = centres.columns - hidden & people.columns.keys()
        numbers = [j for j, f in enumerate(centres.features) if f.category is None and f.column in known]
        numbers = [j for j in numbers if people.columns[centres.features[j].column].numbers is not None]
        self.used = {centres.features[j].column for j in numbers}
        likelihood: Matrix = np.log(weights) + np.zeros((people.n, 1))
        for column in sorted({f.column for f in centres.features if f.category is not None and f.column in known}):
            likelihood = likelihood + self._of_category(column)
            self.used.add(column)
        values = np.column_stack([np.zeros((people.n, 0)), *(self._numbers(j) for j in numbers)])
        self.posterior = _posterior(likelihood, values, centres.rows[:, numbers], self._spreads(numbers))

    def _numbers(self, j: int) -> Vector:
        numbers = self._people.columns[self._centres.features[j].column].numbers
        return np.full(self._people.n, np.nan) if numbers is None else numbers

    def _spreads(self, numbers: list[int]) -> Matrix | None:
        if self._centres.spreads is None:
            return None
        least = LEAST_SPREAD * np.maximum(np.ptp(self._centres.rows[:, numbers], axis=0), 1e-300)
        return np.asarray(np.maximum(self._centres.spreads[:, numbers], least))

    def _of_category(self, column: str) -> Matrix:
        """The logarithm of the share of each person's category in each cluster; 0 where it is not known."""
        centres, known = self._centres, self._people.columns[column].known
        least = np.full(len(centres.rows), LEAST_SHARE) if centres.sizes is None else 0.5 / (centres.sizes + 1.0)
        at = [j for j, f in enumerate(centres.features) if f.column == column and f.category is not None]
        rest = 1.0 - centres.rows[:, at].sum(axis=1)
        shares = np.broadcast_to(np.maximum(rest, least), (self._people.n, len(centres.rows))).copy()
        for j in at:
            own, _ = self._people.holds(Condition(column, centres.features[j].category))
            shares[own] = np.maximum(centres.rows[:, j], least)
        return np.where(known[:, None], np.log(shares), 0.0)

    def tell(self, column: str, code: Code, tolerance: float, *, aim_at_mean: bool) -> Told:
        """Guesses of a hidden column."""
        at = [j for j, f in enumerate(self._centres.features) if f.column == column]
        features = [self._centres.features[j] for j in at]
        if features[0].category is None:
            return self._of_number(at[0], tolerance, aim_at_mean=aim_at_mean)
        codes = np.array([code(f.category) if f.category is not None else np.nan for f in features])
        shares = np.where(np.isnan(codes), 0.0, self.posterior @ self._centres.rows[:, at])
        best, top = shares.argmax(axis=1), shares.max(axis=1)
        return Told(np.where(top > 0, codes[best], np.nan), np.minimum(top, 1.0))

    def _of_number(self, j: int, tolerance: float, *, aim_at_mean: bool) -> Told:
        rows, weights = self._centres.rows[:, j], self.posterior
        spreads = self._centres.spreads[:, j] if self._centres.spreads is not None else None
        means = np.broadcast_to(rows[:, None], (len(rows), self._people.n))
        overall = _weights(self._centres)
        total = float(np.sqrt(overall @ ((rows - overall @ rows) ** 2 + (0.0 if spreads is None else spreads**2))))
        reach = max(tolerance * total, 1e-300)
        if spreads is None:
            guess = weights @ rows if aim_at_mean else rows[weights.argmax(axis=1)]
            return Told(guess, np.zeros(self._people.n))
        widths = np.maximum(spreads, 1e-9 * reach)
        guess = weights @ rows if aim_at_mean else most_probable_window(weights.T, means, widths, reach)
        return Told(guess, window_mass(guess[None], weights.T, means, widths, reach)[0])


def _weights(centres: Centres) -> Vector:
    k = len(centres.rows)
    return np.full(k, 1.0 / k) if centres.sizes is None else np.asarray(centres.sizes / centres.sizes.sum())


def _posterior(base: Matrix, values: Matrix, rows: Matrix, spreads: Matrix | None) -> Matrix:
    """P(k | known) of each person, n × K; spreads that are not given are estimated, one for each column."""
    if spreads is not None or not values.shape[1]:
        return _softmax(base + _normal(values, rows, spreads if spreads is not None else np.ones(rows.shape)))
    least = LEAST_SPREAD * np.maximum(np.ptp(rows, axis=0), 1e-300)
    there = ~np.isnan(values)
    spread = np.maximum(np.ptp(rows, axis=0) / max(len(rows), 2), least)
    for _ in range(STEPS):
        posterior = _softmax(base + _normal(values, rows, np.broadcast_to(spread, rows.shape)))
        squares = np.stack([_squares(values[:, j], rows[:, j], posterior) for j in range(values.shape[1])])
        spread = np.maximum(np.sqrt(squares / np.maximum(there.sum(axis=0), 1)), least)
    return _softmax(base + _normal(values, rows, np.broadcast_to(spread, rows.shape)))


def _squares(values: Vector, rows: Vector, posterior: Matrix) -> np.float64:
    """The sum of squared distances from the centres, each as probable as its cluster."""
    away = np.nan_to_num(values[:, None] - rows)
    return np.float64(np.sum(posterior * away**2))


def _normal(values: Matrix, rows: Matrix, spreads: npt.NDArray[np.float64]) -> Matrix:
    """The logarithm of the normal density of each person in each cluster; missing values say nothing."""
    logs = np.zeros((len(values), len(rows)))
    for j in range(values.shape[1]):
        z = (values[:, j, None] - rows[:, j]) / spreads[:, j]
        logs += np.nan_to_num(-0.5 * z**2 - np.log(spreads[:, j]), nan=0.0, neginf=-1e300)
    return logs


def _softmax(logs: Matrix) -> Matrix:
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
