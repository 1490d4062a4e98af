"""The prior of few types: a sample's records themselves, behind the exact laws of all noises (A28).

*Model.* Where a table has few different records (codes, items of a list, settings of a machine), most people are like
somebody in a sample exactly. With records c of the sample, each counted as often as it occurs::

    p(x = x_c | y) ∝ n_c · Π_j f_j(y_j | x_cj) · Π_v P_v[r_v, s_cv]

with f_j the published law of column j: normal ones together by their covariance, uniform, Laplace and factors by their
densities, classes by their ends. A known number keeps to the records near its value, within the width under which the
release is most likely, and a known category mostly to its own. Nothing is smoothed, so a type that the sample lacks is
not guessed; kernels do that (:mod:`veil.attacks.posterior.sample`), and :mod:`veil.attacks.posterior.choice` says which
of the two tells a column better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numba
import numpy as np
from scipy.linalg import solve_triangular

from veil.attacks.noise.additive import with_grain
from veil.attacks.posterior.candidates import CELLS, LEAST, Rows, is_covariate, log_sum, patterns, plus_rows
from veil.attacks.posterior.column_guesses import place_states, placed
from veil.attacks.posterior.margins import factor_moments
from veil.attacks.posterior.observations import Codes, Observations, Variable
from veil.attacks.posterior.own_laws import REACH, FactorSum, Interval, OwnLaw
from veil.attacks.posterior.sample import Sample
from veil.attacks.posterior.windows import window
from veil.data.blocks import Matrix, Vector

IMPOSSIBLE = math.log(LEAST)
"""What a cell that its law rules out counts: records have errors."""
HALF_LOG = 0.5 * math.log(2.0 * math.pi)
WEIGHING_STEPS = 10
STRANGERS, STEPS, SETTLED = 0.2, 200, 1e-4
"""The share of people like nobody in the sample at first, and the steps in which it is learned, until it moves less."""
OTHERWISE = -0.4
"""Power of n: the probability that a known category says nothing of a record (Aitchison and Aitken 1976)."""
WITHIN = 0.98
"""Of the reach: how far values may be from the middle of a window, since a judge's unit may be a little smaller."""
NEAR, WIDTHS = 0.9, (1.0, 0.4, 0.15, 0.05, 0.015, 0.005)
"""Of n^(−1/5) and the spread: how near a record is to a known value (Silverman 1986), and parts of it to try."""


@dataclass(frozen=True, eq=False)
class Records:
    """Different records, how often each occurs, and which of them every record of the sample is.

    ``weights`` are their shares in the release, as far as it shows them, and ``strangers`` the share of its people who
    are like none of them. ``near`` is the width around known numbers, as a multiple of the usual one.
    """

    sample: Sample
    counts: Vector
    of_sample: Rows
    weights: Vector
    strangers: float = 0.0
    near: float = 1.0

    @classmethod
    def of(cls, sample: Sample) -> Records:
        """The different records of a sample."""
        exact = np.nan_to_num(np.column_stack([sample.values, sample.numbers]), nan=np.inf)
        values = np.column_stack([exact, sample.states, sample.labels])
        _, first, own, counts = np.unique(values, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return cls(sample.of(first), counts.astype(np.float64), own.ravel(), counts / counts.sum())

    def weighed(self, observations: Observations, rows: Rows, plain: Vector) -> Records:
        """The same with their shares in the release, by some of its rows.

        ``plain`` is ln of the density of these rows under a prior that needs no sample, given what is known of them.
        Expectation–maximisation; the sample itself counts for the records' shares, but not for the share of strangers,
        so that a sample of other people is seen to be one. Strangers have the known values that the sample has. That
        density takes all noise for normal, and so does the records' here: else they would gain by the noise's shape.
        """
        known, near = self._nearest(observations, rows)
        others = plain + log_sum(known + np.log(self.weights))[0]
        likelihood = log_seen(observations, self.sample, rows, exact=False) + known
        strangers, before, weights = STRANGERS, math.inf, self.weights
        for _ in range(STEPS):
            shares = _shares(likelihood, weights, others, strangers)
            before, strangers = strangers, min(max(float(shares[:, -1].mean()), 1e-6), 1.0 - 1e-6)
            weights = self._counted(shares)
            if abs(strangers - before) < SETTLED:
                break
        likelihood, weights = log_seen(observations, self.sample, rows) + known, self.weights
        for _ in range(WEIGHING_STEPS):
            weights = self._counted(_shares(likelihood, weights, others, strangers))
        return replace(self, weights=weights, strangers=strangers, near=near)

    def _counted(self, shares: Matrix) -> Vector:
        """The records' shares in the sample and among some people together."""
        weights = self.counts + shares[:, :-1].sum(axis=0)
        return np.asarray(weights / weights.sum())

    def _nearest(self, observations: Observations, rows: Rows) -> tuple[Matrix, float]:
        """What is known of some rows, with the width under which what they show is most likely."""
        seen, logs = log_seen(observations, self.sample, rows), np.log(self.weights)
        best, likeliest, width = np.zeros_like(seen), -np.inf, self.near
        for near in WIDTHS:
            known = log_known(observations, self.sample, rows, near)
            likely = float((log_sum(seen + known + logs)[0] - log_sum(known + logs)[0]).mean())
            if likely > likeliest:
                best, likeliest, width = known, likely, near
            if not known.any():
                break
        return best, width


def _shares(likelihood: Matrix, weights: Vector, others: Vector, strangers: float) -> Matrix:
    """With which probability people are each of the records, and strangers."""
    joint = np.column_stack([likelihood + np.log((1.0 - strangers) * weights), others + np.log(strangers)])
    return log_sum(joint)[1]


def record_guesses(
    observations: Observations, records: Records, reaches: Mapping[int, float], aim: str, without: Rows | None = None
) -> tuple[Matrix, Matrix]:
    """Guess and probability of every cell whose column the sample has, NaN elsewhere.

    ``reaches`` are the half-widths of a hit by the place of a column, in private units. ``without`` is the record of
    which one does not count for each row.
    """
    values = np.full((observations.n_rows, len(observations.names)), np.nan)
    probability = np.full_like(values, np.nan)
    numbers = [n for n in observations.numbers if n.place in reaches and n.known is None]
    guessed = [v for v, variable in enumerate(observations.variables) if max(variable.places) >= 0]
    block = max(1, CELLS // len(records.counts))
    with np.errstate(divide="ignore"):
        fewer = np.log(np.maximum(records.counts - 1.0, 0.0)) - np.log(records.counts)
    for start in range(0, observations.n_rows, block):
        rows = np.arange(start, min(start + block, observations.n_rows))
        joint = log_seen(observations, records.sample, rows) + np.log(records.weights)
        joint += log_known(observations, records.sample, rows, records.near)
        if without is not None:
            joint[np.arange(len(rows)), without[rows]] += fewer[without[rows]]
        weights = log_sum(np.maximum(joint, -1e6))[1]
        for number in numbers:
            sizes = records.sample.values[:, number.place]
            sizes = np.abs(sizes) if number.logs else sizes
            place, at = np.unique(sizes, return_inverse=True)
            out = np.empty((len(rows), 3))
            _windows(weights, at.ravel(), place, WITHIN * reaches[number.place], out)
            column = out[:, 0] if aim == "hit" else out[:, 2]
            values[rows, number.place], probability[rows, number.place] = placed(number, column, out[:, 1], rows)
        for v in guessed:
            variable, states = observations.variables[v], records.sample.states[:, v]
            member = np.equal.outer(states, np.arange(variable.channel.shape[1])).astype(np.float64)
            place_states(variable, weights @ member, rows, values, probability)
    return values, probability


def log_seen(observations: Observations, sample: Sample, rows: Rows, *, exact: bool = True) -> Matrix:
    """ln of the density of what is released of some people for each record of a sample (n × m).

    If it is not to be ``exact``, all noise on numbers is taken for normal.
    """
    out = np.zeros((len(rows), len(sample.values)))
    seen = [i for i, number in enumerate(observations.numbers) if number.place >= 0 and number.known is None]
    normal = [i for i in seen if not exact or observations.numbers[i].law is None]
    _add_normal(out, observations, sample, rows, normal)
    for i in seen if exact else ():
        number = observations.numbers[i]
        z, u = np.ascontiguousarray(number.z[rows]), np.ascontiguousarray(sample.numbers[:, i])
        if isinstance(number.law, OwnLaw):
            deviations = np.linspace(-REACH, REACH, len(number.law.table))
            constant = HALF_LOG + math.log(number.law.reach / REACH)
            _add_table(out, z, u, number.law.table - 0.5 * deviations**2 - constant, number.law.reach)
        elif isinstance(number.law, FactorSum):
            _add_factor(out, z, u, *factor_moments(number.law), 1e-12 * number.variance)
        elif isinstance(number.law, Interval):
            _add_interval(out, z, number.law.lower[rows], number.law.upper[rows], u, math.log(number.law.width))
    for v, variable in enumerate(observations.variables):
        if not is_covariate(variable):
            _add_reports(out, variable, variable.reports[rows], sample.states[:, v], 0.0)
    return out


def log_known(observations: Observations, sample: Sample, rows: Rows, near: float) -> Matrix:
    """ln of how far what is known of some people goes with each record of a sample (n × m), up to a constant."""
    out = np.zeros((len(rows), len(sample.values)))
    for i, number in enumerate(observations.numbers):
        if number.known is not None and not number.feature and not np.isnan(sample.numbers[:, i]).all():
            _add_known(out, number.spread, number.z[rows], sample.numbers[:, i], near)
    for v, variable in enumerate(observations.variables):
        states = sample.states[:, v]
        if is_covariate(variable) and (states >= 0).any():
            _add_reports(out, variable, variable.reports[rows], states, len(states) ** OTHERWISE)
    for label, own in zip(observations.labels, sample.labels.T, strict=True):
        _add_label(out, label.codes[rows], own)
    return out


def _add_label(out: Matrix, codes: Codes, own: Codes) -> None:
    """Equal texts, which with some probability say nothing of the record; each text is one of as many as occur."""
    otherwise = len(own) ** OTHERWISE
    by_chance = otherwise / max(len(np.unique(own)), 1)
    equal = math.log(1.0 - otherwise + by_chance) - math.log(by_chance)
    out += np.where((codes[:, None] == own) & (own >= 0), equal, 0.0)


def _add_reports(out: Matrix, variable: Variable, reports: Codes, states: Codes, otherwise: float) -> None:
    """Reports of a variable, which with some probability say nothing of the record."""
    expected = (variable.channel @ variable.margin)[:, None]
    chance = np.where(states < 0, expected, variable.channel[:, states])
    chance = (1.0 - otherwise) * chance + otherwise * expected
    plus_rows(out, np.vstack([np.log(np.maximum(chance, LEAST)), np.zeros(len(states))]), reports)


def _add_normal(out: Matrix, observations: Observations, sample: Sample, rows: Rows, at: Sequence[int]) -> None:
    """Numbers behind normal noise, whose draws may go together."""
    at = [i for i in at if np.isfinite(observations.numbers[i].z).any()]
    if not at:
        return
    z, u = observations.z[rows][:, at], sample.numbers[:, at]
    # A zero has no logarithm; the column's signs rule it out.
    u = np.where(np.isnan(u), np.nan_to_num(np.nanmean(np.where(np.isfinite(u), u, np.nan), axis=0)), u)
    spread = np.maximum(np.nanvar(z, axis=0), 1e-300)
    noise = with_grain(observations.noise[np.ix_(at, at)], spread)
    for present, here in patterns(z):
        if not present.any():
            continue
        lower = np.linalg.cholesky(noise[np.ix_(present, present)])
        a = solve_triangular(lower, z[np.ix_(here, present)].T, lower=True, check_finite=False).T
        b = solve_triangular(lower, u[:, present].T, lower=True, check_finite=False).T
        middle = b.mean(axis=0)
        a, b = a - middle, b - middle
        out[here] -= 0.5 * ((a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * a @ b.T)
        out[here] -= np.log(np.diag(lower)).sum() + HALF_LOG * len(lower)


def _add_known(out: Matrix, spread: float, z: Vector, u: Vector, near: float) -> None:
    """A column that is known: the records near its value; ``spread`` is how widely everybody's lie."""
    there, unknown = np.flatnonzero(~np.isnan(z)), np.isnan(u)
    width = near * NEAR * spread * len(u) ** -0.2
    kernel = np.maximum(-0.5 * ((z[there, None] - u) / width) ** 2, IMPOSSIBLE)
    # Of whom it is unknown, it is as usual as of the others.
    usual = np.log(np.exp(kernel[:, ~unknown]).mean(axis=1))
    out[there] += np.where(unknown, usual[:, None], kernel)


@numba.njit(cache=True, nogil=True)
def _add_table(out: Matrix, z: Vector, u: Vector, table: Vector, reach: float) -> None:
    """A law by the logarithms of its density on a grid of errors."""
    last = len(table) - 1
    for i in range(len(z)):
        if math.isnan(z[i]):
            continue
        for c in range(len(u)):
            at = ((z[i] - u[c]) / reach + 1.0) * 0.5 * last
            if at >= 0.0 and at < last:
                k = int(at)
                log = table[k] + (at - k) * (table[k + 1] - table[k])
                out[i, c] += max(log, IMPOSSIBLE)
            elif not math.isnan(u[c]):
                out[i, c] += IMPOSSIBLE


@numba.njit(cache=True, nogil=True)
def _add_factor(
    out: Matrix, z: Vector, u: Vector, expected: float, deviation: float, noise: float, least: float
) -> None:
    """``y = x r + e``, in units of E r."""
    for c in range(len(u)):
        variance = (u[c] * deviation / expected) ** 2 + (noise / expected) ** 2
        if math.isnan(variance):
            continue
        variance = max(variance, least)
        half = 0.5 * math.log(variance) + HALF_LOG
        for i in range(len(z)):
            if not math.isnan(z[i]):
                out[i, c] -= 0.5 * (z[i] - u[c]) ** 2 / variance + half


@numba.njit(cache=True, nogil=True)
def _add_interval(out: Matrix, z: Vector, lower: Vector, upper: Vector, u: Vector, log_width: float) -> None:
    """A class rules out what lies beyond its ends."""
    for i in range(len(lower)):
        for c in range(len(u)):
            if not math.isnan(z[i]):
                out[i, c] += -log_width if lower[i] <= u[c] < upper[i] else IMPOSSIBLE


@numba.njit(cache=True, nogil=True)
def _windows(weights: Matrix, at: Rows, place: Vector, reach: float, out: Matrix) -> None:
    """Hit, its probability and the mean of a column whose values are those of the records."""
    mass, widths = np.empty(len(place)), np.zeros(len(place))
    for i in range(len(weights)):
        mass[:] = 0.0
        for c in range(len(at)):
            mass[at[c]] += weights[i, c]
        window(mass, 1.0, place, widths, reach, out[i])
