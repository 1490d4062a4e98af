"""A sample's own records behind simulated noise: what a prior tells of people whose values are known (A28).

The laws of all noises are published, so records of the sample can be perturbed as the release was. A prior then guesses
values that the attacker has, each without the kernel that is the record itself (Stone 1974), and the prior that
guesses a column best is the one to use.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veil.attacks.posterior.candidates import Rows
from veil.attacks.posterior.margins import factor_moments
from veil.attacks.posterior.observations import Codes, Number, Observations, Variable
from veil.attacks.posterior.own_laws import REACH, FactorSum, Interval, OwnLaw
from veil.attacks.posterior.sample import Sample
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import by_name


def simulated(observations: Observations, sample: Sample, rows: Rows, rng: np.random.Generator) -> Observations:
    """What would be seen of some records of a sample; of columns that the sample lacks nothing is."""
    normal = np.zeros((len(rows), len(observations.numbers)))
    order = by_name([number.name for number in observations.numbers])
    if len(order):
        values, vectors = np.linalg.eigh(observations.noise[np.ix_(order, order)])
        normal[:, order] = rng.normal(size=normal.shape) @ (vectors * np.sqrt(np.clip(values, 0.0, None))).T
    drawn = {i: _seen(observations.numbers[i], sample.numbers[rows, i], normal[:, i], rng) for i in order}
    numbers = []
    for i, number in enumerate(observations.numbers):
        if number.place < 0:
            exact = sample.numbers[rows, i]
            numbers.append(replace(number, z=exact, known=exact))
            continue
        own = sample.values[rows, number.place]
        seen = replace(drawn[i], sign=np.sign(own) if number.logs else None)
        numbers.append(seen if number.known is None else replace(seen, z=number.working(own), known=own))
    reports = [np.empty(0, dtype=np.int64)] * len(observations.variables)
    for v in by_name(["\0".join(sorted(variable.names)) for variable in observations.variables]):
        reports[v] = _reports(observations.variables[v], sample.states[rows, v], rng)
    variables = [each.with_reports(codes) for each, codes in zip(observations.variables, reports, strict=True)]
    given = {j: sample.values[rows, j] for j in observations.given}
    labels = [replace(label, codes=label.sampled[rows]) for label in observations.labels]
    return replace(
        observations,
        n_rows=len(rows),
        numbers=tuple(numbers),
        variables=tuple(variables),
        given=given,
        codes={},
        labels=tuple(labels),
    )


def _seen(number: Number, u: Vector, normal: Vector, rng: np.random.Generator) -> Number:
    """A number behind noise of its own law; ``normal`` are draws of the normal one that stands in for it."""
    law = number.law
    if isinstance(law, OwnLaw):
        return replace(number, z=u + _errors(law, len(u), rng))
    if isinstance(law, FactorSum):
        expected, deviation, noise = factor_moments(law)
        spread = np.hypot(u * deviation, noise) / expected
        return replace(number, z=u + spread * rng.normal(size=len(u)))
    if isinstance(law, Interval):
        there = ~np.isnan(number.z)
        classes = np.unique(np.column_stack([law.lower, law.upper, number.z])[there], axis=0)
        at = np.clip(np.searchsorted(classes[:, 1], u, side="right"), 0, len(classes) - 1)
        lower, upper, middle = classes[at].T
        return replace(number, z=np.where(np.isnan(u), np.nan, middle), law=Interval(lower, upper, law.width))
    return replace(number, z=u + normal)


def _errors(law: OwnLaw, n: int, rng: np.random.Generator) -> Vector:
    """Draws from a law by the table of its logarithms, each spread evenly over its bin."""
    deviations = np.linspace(-REACH, REACH, len(law.table))
    shares = np.exp(np.maximum(law.table - 0.5 * deviations**2, -700.0))
    bins = np.searchsorted(np.cumsum(shares) / shares.sum(), rng.random(n))
    width = deviations[1] - deviations[0]
    at = deviations[np.minimum(bins, len(shares) - 1)] + width * (rng.random(n) - 0.5)
    return np.asarray(at * law.reach / REACH)


def _reports(variable: Variable, states: Codes, rng: np.random.Generator) -> Codes:
    """What some states are reported as."""
    n = len(variable.channel)
    # Draws go through the reports in the order of names, whatever that of the columns is.
    own = variable.states[:, by_name(variable.names)] if n == len(variable.states) else np.arange(n)[:, None]
    order = np.lexsort(own.T[::-1])
    steps = np.cumsum(variable.channel[order], axis=0)[:, np.maximum(states, 0)]
    drawn = (rng.random(len(states)) * steps[-1] > steps).sum(axis=0)
    return np.where(states < 0, -1, order[np.minimum(drawn, n - 1)]).astype(np.int64)


def true_states(variable: Variable, states: Codes) -> Matrix:
    """The category of every column of a variable, by the states of some records; NaN for no state."""
    return np.where(states[:, None] < 0, np.nan, variable.states[np.maximum(states, 0)])
