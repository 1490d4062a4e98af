"""A map from released to private columns, learned from known records by averaging over what it could be (A25).

*Model.* ``x_j = f(y) + a + bᵀφ(y) + e`` for each private column j: Bayesian linear regression, every hypothesis in
closed form and weighted by its evidence (:mod:`veil.attacks.regression.evidence`). *Knowledge.* k records with their
rows, and perhaps a sample of the population.

* the default ``f``: a constant (the release's mean of the column with the private column's name, or the sample's);
  that released column itself, or halfway to it; with a sample also that column moved to the sample's mean and spread,
  and the linear Bayes map ``Σx Σy⁻¹`` of additive noise, clipped to a contraction. A released column without a private
  name has no default but a constant.
* the features ``φ``: the column of the same name; all released columns in standard units; half of each; their principal
  components in equal measure; their normal scores, which heavy tails do not pull. All linear but the last, scaled to
  total variance 1 over *all* rows of the release, so that a coefficient of the learned size explains a share of x.
* the offset ``a``: near the default, somewhere around it, or anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from veil.attacks.projection.linear_bayes import prior_moments
from veil.attacks.regression.evidence import (
    OFFSETS,
    SHARES,
    Affine,
    Cell,
    Design,
    exact_only,
    likely_defaults,
    posterior_weights,
    taken_for_exact,
)
from veil.data.blocks import Matrix, Vector
from veil.measures import standard_units
from veil.numerics.ordering import size_order

MOST_ROWS: Final = 4_000
NULL: Final = 1e-11
"""Principal components below this share of the largest deviation are rounding."""


@dataclass(frozen=True)
class LearnedMap:
    """Guesses of every record, and per private column the explained share and whether the map is taken for exact."""

    values: Matrix
    explained: Vector
    exact: npt.NDArray[np.bool_]


class _Hypothesis(NamedTuple):
    """A default, what is left of the known records, and what a design makes of it for each of `SHARES`."""

    default: Affine
    scale: float
    design: Design
    residual: Vector
    evidence: Vector
    coefficients: Matrix


def learn_map(
    released: Matrix,
    records: Matrix,
    rows: npt.NDArray[np.intp],
    own: Sequence[int | None],
    sample: Matrix | None = None,
) -> LearnedMap:
    """Guess the private records behind all rows of a release from k of them.

    Parameters
    ----------
    released
        N × p released values; NaN where missing.
    records, rows
        k × d private records and their rows.
    own
        For each private column, the released column with its name.
    sample
        n × d records of the same population.
    """
    d = records.shape[1]
    centre, unit, u = _standard(released)
    ranks = _normal_scores(u)
    shared, rank = _shared_designs(u, ranks, rows)
    prior = prior_moments(sample)
    bayes = _bayes_map(u, unit, own, prior)
    hypotheses = []
    for j in range(d):
        defaults, scale = _defaults(j, own[j], centre, unit, records[:, j], prior, bayes)
        place = own[j]
        designs = shared if place is None else [*shared, *_own_designs(u[rows], place)]
        cells: dict[Cell, _Hypothesis] = {}
        for a, default in enumerate(defaults):
            residual = (records[:, j] - default.constant - u[rows] @ default.slope) / scale
            for b, design in enumerate(designs):
                if place is not None or prior is not None or design.offset is None:
                    cells[a, b] = _Hypothesis(default, scale, design, residual, *design.weigh(residual))
        hypotheses.append(cells)
    posterior = posterior_weights([{c: h.evidence for c, h in cells.items()} for cells in hypotheses], records)
    exact = taken_for_exact(posterior, saturated=len(rows) - 1 == rank)
    constant, slopes, explained = np.zeros(d), np.zeros((2, u.shape[1], d)), np.zeros(d)
    for j, (cells, weights) in enumerate(zip(hypotheses, posterior, strict=True)):
        chosen = exact_only(weights) if exact[j] else likely_defaults(weights)
        for cell, weight in chosen.items():
            h, total = cells[cell], float(weight.sum())
            change = h.design.affine(weight @ h.coefficients, total * h.residual)
            constant[j] += total * h.default.constant + h.scale * change.constant
            slopes[0, :, j] += total * h.default.slope
            slopes[int(h.design.ranked), :, j] += h.scale * change.slope
            explained[j] += float(weight @ (1.0 - SHARES))
    values = constant + u @ slopes[0] + ranks @ slopes[1]
    values[rows] = records
    return LearnedMap(values, explained, exact)


def _standard(released: Matrix) -> tuple[Vector, Vector, Matrix]:
    """Centre and unit of the released columns, and the columns in them; constant and missing values are 0."""
    y = np.where(np.isfinite(released), released, np.nan)
    centre, unit = np.zeros(y.shape[1]), np.zeros(y.shape[1])
    used = ~np.isnan(y).all(axis=0)
    if used.any():
        centre[used], unit[used] = np.nanmean(y[:, used], axis=0), standard_units(y[:, used])
    u = np.where(np.isnan(y) | (unit == 0), 0.0, (y - centre) / np.where(unit > 0, unit, 1.0))
    return centre, unit, u


def _normal_scores(u: Matrix) -> Matrix:
    """Normal quantiles of the columns' ranks; 0 where a column is constant."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri(rankdata(u, axis=0) / (len(u) + 1)))


def _shared_designs(u: Matrix, ranks: Matrix, rows: npt.NDArray[np.intp]) -> tuple[list[Design], int]:
    """All columns, their principal components, and their normal scores; and how many components there are."""
    n, p = u.shape
    some = np.arange(n) if n <= MOST_ROWS else np.union1d(size_order(u)[:MOST_ROWS], rows)
    _, size, axes = np.linalg.svd(u[some] - u[some].mean(axis=0), full_matrices=False)
    varying = size > NULL * max(float(size[0]), 1e-300)
    rank = int(varying.sum())
    components = axes[varying].T * math.sqrt(len(some) / max(rank, 1)) / size[varying]
    equal = np.eye(p) / math.sqrt(max(int(u.any(axis=0).sum()), 1))
    spaces = [(u[rows], equal, False), (u[rows], components, False), (ranks[rows], equal, True)]
    return [Design.of(x, turn, offset, ranked=r) for x, turn, r in spaces for offset in (*OFFSETS, None)], rank


def _own_designs(known: Matrix, place: int) -> list[Design]:
    """The column of the same name, alone and as half of the variance beside all columns."""
    p = known.shape[1]
    alone = np.eye(p)[:, [place]]
    both = np.column_stack([alone, np.eye(p) / math.sqrt(p)]) * math.sqrt(0.5)
    return [Design.of(known, turn, offset) for turn in (alone, both) for offset in (*OFFSETS, None)]


def _bayes_map(u: Matrix, unit: Vector, own: Sequence[int | None], prior: tuple[Vector, Matrix] | None) -> list[Affine]:
    """The linear Bayes map of additive noise, where all columns have their names and a sample tells Σx."""
    places = [place for place in own if place is not None]
    if prior is None or len(places) < len(own) or len(u) < 2:
        return []
    mean, covariance = prior
    scale = np.where(unit[places] > 0, unit[places], 1.0)
    z = u[:, places]
    power, axes = np.linalg.eigh(np.cov(z.T, ddof=0).reshape(len(places), -1))
    root = np.sqrt(np.maximum(power, 1e-12 * max(float(power[-1]), 1e-300)))
    white = axes / root
    gains, turn = np.linalg.eigh(white.T @ (covariance / np.outer(scale, scale)) @ white)
    gain = (axes * root) @ turn @ np.diag(np.clip(gains, 0.0, 1.0)) @ turn.T @ white.T * scale[:, None]
    slopes = np.zeros((len(own), u.shape[1]))
    slopes[:, places] = gain
    return [Affine(float(m - z.mean(axis=0) @ g), s) for m, g, s in zip(mean, gain, slopes, strict=True)]


def _defaults(
    j: int,
    place: int | None,
    centre: Vector,
    unit: Vector,
    known: Vector,
    prior: tuple[Vector, Matrix] | None,
    bayes: list[Affine],
) -> tuple[list[Affine], float]:
    """What x_j is by default, hypothesis by hypothesis, and the column's scale."""
    flat, spread = np.zeros(len(unit)), 0.0
    defaults = [Affine(float(known.mean()), flat)] if place is None and prior is None else []
    if prior is not None:
        middle, spread = float(prior[0][j]), math.sqrt(float(prior[1][j, j]))
        defaults.append(Affine(middle, flat))
    if place is not None:
        same = np.zeros(len(unit))
        same[place] = 1.0
        here, width = float(centre[place]), float(unit[place])
        defaults.append(Affine(here, flat) if prior is None else Affine(middle, spread * same))
        defaults += [Affine(here, share * width * same) for share in (0.5, 1.0)]
        spread = spread or width
    return defaults + bayes[j : j + 1], spread or float(known.std()) or 1.0
