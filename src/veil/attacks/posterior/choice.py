"""Which prior tells a column best: kernels with the column's own marginal, kernels alone, or bare records (A28).

Held-out records of the release say which joint density is likely, but behind strong noise hardly which one tells a
single column: a table of few types looks smooth there, and a marginal that was deconvolved is blunter than the types.
So every rival guesses the sample's own records behind simulated noise (:mod:`veil.attacks.posterior.simulated`), each
record without its own kernel; marginals, discriminants and heaps were learned with it, which favours the first. The
hits, or the squared errors, decide column by column; another than the first is taken only for a clear gain. A column
that other rows of the release predict keeps the first, unless they predict it for the sample's records too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from veil.attacks.posterior.candidates import Rows
from veil.attacks.posterior.observations import Observations
from veil.attacks.posterior.relatives import of_others
from veil.attacks.posterior.sample import Sample
from veil.attacks.posterior.simulated import simulated, true_states
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import by_name, row_order

Guesser = Callable[[Observations, Rows | None], tuple[Matrix, Matrix]]
"""From observations, and the record of the sample that does not count for each, to guesses and probabilities."""
SIMULATED = 1_500
"""Records behind simulated noise; the same ones several times where the sample has fewer."""
MOST_COPIES = 10
FEWEST_RECORDS = 24
CLEARLY = 1.0
"""Standard errors, over people, by which another prior must be better."""


def best_guessers(
    observations: Observations,
    sample: Sample,
    guessers: Mapping[str, Guesser],
    reaches: Mapping[int, float],
    aim: str,
    weights: Vector,
) -> dict[int, str]:
    """The best of several priors for each column of the guess, by its place; the first where nothing is clear.

    ``reaches`` are the half-widths of a hit of numbers; other columns are categories. ``weights`` say how much each
    record of the sample counts.
    """
    first, m = next(iter(guessers)), len(sample.values)
    chosen = dict.fromkeys(range(len(observations.names)), first)
    if m < FEWEST_RECORDS:
        return chosen
    # Draws follow the order of names and values: the same columns and records in another order get the same ones.
    order = row_order(sample.values[:, by_name(observations.names)])
    copies = min(max(SIMULATED // m, 1), MOST_COPIES)
    rows = np.tile(order[:SIMULATED], copies)
    seen = simulated(observations, sample, rows, np.random.default_rng(m))
    truth = sample.values[rows].copy()
    for v, variable in enumerate(observations.variables):
        if variable.encode is not None and min(variable.places) >= 0:
            truth[:, list(variable.places)] = true_states(variable, sample.states[rows, v])
    losses = {name: _losses(guesser(seen, rows)[0], truth, reaches, aim) for name, guesser in guessers.items()}
    n = len(rows) // copies
    weight = weights[rows[:n]] / weights[rows[:n]].sum()
    for j, column in enumerate(observations.names):
        if j in observations.given or any(
            _lacks_others(observations, name) for name in _told_with(observations, column)
        ):
            continue
        own = losses[first][:, j].reshape(-1, n)
        best = 0.0
        for name, loss in losses.items():
            gain = (own - loss[:, j].reshape(-1, n)).mean(axis=0)
            there = ~np.isnan(gain)
            share = weight[there] / max(float(weight[there].sum()), 1e-300)
            mean = float(share @ gain[there])
            error = float(np.sqrt(share**2 @ (gain[there] - mean) ** 2))
            if mean > best and mean > CLEARLY * error:
                best, chosen[j] = mean, name
    return chosen


def _told_with(observations: Observations, column: str) -> tuple[str, ...]:
    """The columns that are one variable with a column."""
    return next((each.names for each in observations.variables if column in each.names), (column,))


def _lacks_others(observations: Observations, column: str) -> bool:
    """Whether other rows predict a column of the release, but not of the sample."""
    numbers = [number.sampled for number in observations.numbers if number.name == of_others(column)]
    variables = [each.sampled for each in observations.variables if each.names == (of_others(column),)]
    return any(sampled is None or not np.isfinite(sampled).any() for sampled in [*numbers, *variables])


def _losses(guess: Matrix, truth: Matrix, reaches: Mapping[int, float], aim: str) -> Matrix:
    """1 for a miss and 0 for a hit, or the squared error of a number; NaN where nothing is seen."""
    error = np.abs(guess - truth)
    out = np.where(np.isnan(truth), np.nan, 1.0 * ~(error <= 1e-9))
    for j, reach in reaches.items():
        out[:, j] = ~(error[:, j] <= reach * (1.0 + 1e-9)) if aim == "hit" else np.square(error[:, j])
        out[np.isnan(truth[:, j]), j] = np.nan
    return out
