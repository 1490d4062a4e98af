"""From observations and a prior to guesses: the course of A28."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from veil.attacks.base import Details, Guess
from veil.attacks.knowledge import Knowledge
from veil.attacks.noise.whole_numbers import known_whole
from veil.attacks.posterior.candidates import CELLS, Candidates, log_sum, patterns
from veil.attacks.posterior.cells import number_guesses
from veil.attacks.posterior.discriminants import best_links, posteriors, state_posterior
from veil.attacks.posterior.grids import ColumnGrid, column_grid
from veil.attacks.posterior.margins import class_ends, own_tables
from veil.attacks.posterior.mixture import Rows, best_mixture, one_normal, split_rows
from veil.attacks.posterior.observations import Number, Observations, Variable
from veil.attacks.posterior.own_laws import FactorSum, Interval
from veil.attacks.posterior.reading import observe
from veil.attacks.posterior.sample import Sample, best_kernel, read_sample, with_sample
from veil.data.blocks import Matrix, Vector
from veil.numerics.laws import NORMAL
from veil.release.models import AdditiveModel
from veil.release.release import Release

Ranges = tuple[Vector, Vector] | None


@dataclass(frozen=True, eq=False)
class PosteriorDetails(Details):
    """What the posterior says beside the guess.

    Attributes
    ----------
    probability
        The posterior probability of each guess (N × d): that the value lies within the tolerance of it, or that the
        category is right. 1 for what is known.
    components
        Components of the prior.
    share_of_sample
        ρ: how far candidates keep to the records of the sample; 0 where they do not, or there is none.
    held_out
        Mean log density of held-out records of the release, by number of components.
    """

    probability: Matrix
    components: int
    share_of_sample: float
    held_out: dict[int, float]


def guess_records(
    release: Release,
    knowledge: Sequence[Knowledge],
    *,
    records: Matrix | None,
    ranges: Ranges,
    prior: str,
    aim: str,
    tolerance: float,
) -> Guess:
    """Guess every cell of a release; see :class:`veil.attacks.posterior.joint_posterior.JointPosteriorAttack`."""
    observations = observe(release, knowledge)
    if records is not None:
        observations = observations.with_whole(known_whole(records))
    split = split_rows(observations)
    held_out: dict[int, float] = {}
    if prior == "sample" and records is not None:
        fit = one_normal(observations)
    else:
        fit, held_out = best_mixture(observations, split)
    components, rho, sample = fit.n_groups, 0.0, None
    links: dict[int, Candidates] = {}
    if records is not None and len(records):
        sample = read_sample(observations, records)
        if prior != "mixture":
            rho, score = best_kernel(observations, fit, sample, split.judges)
            if prior == "auto" and components > 1:
                single = one_normal(observations)
                other, value = best_kernel(observations, single, sample, split.judges)
                if value.mean() > score.mean():
                    fit, rho = single, other
            links = best_links(observations, fit, rho, sample)
            if rho > 0.0:
                fit, _ = with_sample(fit, sample, rho)
    values, probability = _guesses(observations, fit, sample, ranges, _laws(release), tolerance, aim)
    reports = [variable.reports for variable in observations.variables]
    for v, prior_of_states in links.items():
        for rows, _, posterior in posteriors(prior_of_states, [v], observations.z, reports, observations.variables):
            _place_states(observations.variables[v], posterior, rows, values, probability)
    for j, known in observations.given.items():
        values[:, j], probability[:, j] = known, 1.0
    details = PosteriorDetails(probability, components, rho, held_out)
    return Guess(values, observations.names, np.arange(observations.n_rows), details=details)


def _laws(release: Release) -> dict[str, str]:
    """The name of the noise's law of every column that has added noise."""
    parts = release.manifest.parts
    return {
        name: part.model.distribution for part in parts if isinstance(part.model, AdditiveModel) for name in part.names
    }


def _guesses(
    observations: Observations,
    fit: Candidates,
    sample: Sample | None,
    ranges: Ranges,
    laws: dict[str, str],
    tolerance: float,
    aim: str,
) -> tuple[Matrix, Matrix]:
    """Guess and probability of every cell."""
    values = np.full((observations.n_rows, len(observations.names)), np.nan)
    probability = np.full_like(values, np.nan)
    first = np.r_[np.searchsorted(fit.group, np.arange(fit.n_groups)), len(fit.group)].astype(np.int64)
    sigma = np.sqrt(np.diag(fit.noise)) * fit.unit
    single = one_normal(observations)
    plain = np.sqrt(single.filters(np.ones(len(single.unit), dtype=bool))[1][0]) * single.unit
    grids: dict[int, ColumnGrid] = {}
    for i, at in enumerate(fit.numbers):
        number = observations.numbers[at]
        if number.place < 0 or number.known is not None:
            continue
        law = None if isinstance(number.law, Interval | FactorSum) else laws.get(number.name, NORMAL.name)
        own = None if sample is None else sample.values[:, number.place]
        ends = None if ranges is None else (float(ranges[0][number.place]), float(ranges[1][number.place]))
        width = float(sigma[i])
        grids[i] = column_grid(
            number, fit, i, first, width, tolerance, law=law, sample=own, ends=ends, left=float(plain[at])
        )
    z = fit.standard(observations.z)
    chosen = [observations.variables[v] for v in fit.variables]
    guessed = [v for v, variable in enumerate(chosen) if max(variable.places) >= 0]
    for present, rows in patterns(z):
        gains, variances = fit.filters(present)
        deviations = np.sqrt(variances) * fit.unit
        rest = fit.centres.copy()
        for k, gain in enumerate(gains):
            group = slice(first[k], first[k + 1])
            rest[group] -= fit.centres[group][:, present] @ gain.T
        for part in np.array_split(rows, max(1, len(rows) * len(fit.weights) // CELLS)):
            reports = [variable.reports[part] for variable in chosen]
            channels = [variable.channel for variable in chosen]
            weights = log_sum(fit.log_joint(z[part], present, reports, channels))[1]
            for i, grid in grids.items():
                number = observations.numbers[fit.numbers[i]]
                shifts = z[part][:, present] @ gains[:, i].T * fit.unit[i]
                centres = rest[:, i] * fit.unit[i] + fit.mean[i]
                spread = np.hypot(deviations[:, i], grid.blur)
                out = _cells(number, grid, weights, first, shifts, centres, spread, float(sigma[i]), part)
                column = out[:, 0] if aim == "hit" else out[:, 2]
                values[part, number.place], probability[part, number.place] = _placed(number, column, out[:, 1], part)
            for v in guessed:
                _categories(fit, v, chosen[v], weights, part, values, probability)
    return values, probability


def _cells(
    number: Number,
    grid: ColumnGrid,
    weights: Matrix,
    first: Rows,
    shifts: Matrix,
    centres: Vector,
    deviations: Vector,
    sigma: float,
    rows: Rows,
) -> Matrix:
    """Hit, probability and mean of one column's cells; the plain posterior mean off the grid."""
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
    group = np.repeat(np.arange(len(first) - 1), np.diff(first))
    mean = np.einsum("nm,nm->n", weights, shifts[:, group]) + weights @ centres
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


def _placed(number: Number, column: Vector, share: Vector, rows: Rows) -> tuple[Vector, Vector]:
    """Guesses with their signs; zeros that a factor leaves as they are; missing where nothing was released."""
    missing = np.isnan(number.z[rows])
    values, probability = np.where(missing, np.nan, column), np.where(missing, np.nan, share)
    if number.logs and number.sign is not None:
        signs = number.sign[rows]
        values = np.where(signs == 0.0, 0.0, values * signs)
        probability = np.where(signs == 0.0, 1.0, probability)
    return values, probability


def _categories(
    fit: Candidates,
    v: int,
    variable: Variable,
    weights: Matrix,
    rows: Rows,
    values: Matrix,
    probability: Matrix,
) -> None:
    """The most probable category of every column of a variable."""
    posterior = state_posterior(fit, v, variable.channel, variable.reports[rows], weights)
    _place_states(variable, posterior, rows, values, probability)


def _place_states(variable: Variable, posterior: Matrix, rows: Rows, values: Matrix, probability: Matrix) -> None:
    """Guesses and their probabilities, from those of a variable's states."""
    there = variable.reports[rows] >= 0
    for column, place in enumerate(variable.places):
        if place < 0:
            continue
        n = int(variable.states[:, column].max()) + 1
        fold = np.equal.outer(variable.states[:, column], np.arange(n)).astype(np.float64)
        each = posterior @ fold
        values[rows, place] = np.where(there, each.argmax(axis=1), np.nan)
        probability[rows, place] = np.where(there, each.max(axis=1), np.nan)
