"""A25: known records against a release made by nobody knows what (ours).

*Model.* Rows of the release are records; nothing else is known of the method. *Knowledge.* k records with their rows,
and perhaps a sample of the population. The attack learns the map from released to private columns,
``x_j = f(y) + a + bᵀφ(y) + e``, one private column at a time, by averaging over what could be (Bayesian linear
regression, every hypothesis in closed form and weighted by its evidence):

* the default ``f``: a constant (the release's mean of the column with the private column's name, or the sample's);
  that released column itself, or halfway to it; with a sample also that column moved to the sample's mean and spread,
  and the linear Bayes map ``Σx Σy⁻¹`` of additive noise, clipped to a contraction. A released column without a private
  name has no default but a constant.
* the features ``φ``: the column of the same name; all released columns in standard units; half of each; their principal
  components in equal measure; their normal scores, which heavy tails do not pull. All linear but the last, scaled to
  total variance 1 over *all* rows of the release, so that a coefficient of the learned size explains a share of x.
* the offset ``a``: near the default, somewhere around it, or anywhere.
* the share λ of variance that φ leaves unexplained, from 1 (y says nothing: guess the default) to 0 (exact). The sizes
  S of b and e together have a prior that is log-uniform up to a standard unit and falls as 1/S² beyond. With r = x − f
  in the n directions that the offset leaves and Q = rᵀK⁻¹r, K = (1 − λ) ΦΦᵀ + λI, S integrates out to
  ``E ∝ Γ(n/2) (πQ)^(−n/2) |K|^(−½) / (1 + Q/n)``, the last factor taken at the likeliest S² = Q/n.

Columns are judged together as well as apart: with even odds either one hypothesis holds for all or each column has its
own. Columns that vary together are no independent witnesses, so their common evidence counts as often as the known
records have effective dimensions. A third of the prior is on exact maps, a third on no relation beyond the default; an
exact map with the better half of the posterior is taken alone, so that it holds to the last digits.

*Reach.* More noise-free pairs of a linear map than unknowns (p + 2 for p released columns) always give every record to
rounding. With p + 1 any data fit exactly and only the size of the coefficients speaks: from 5 columns on all of 60
rotations and 56 to 60 of 60 general matrices were solved, at the price that 0 to 8 of 60 unrelated releases, and most
linear maps with some noise and without names, were taken for exact too. Additive noise is filtered within 20 % of the
linear Bayes error from 30 pairs and 10 % from 60, without knowing its law. Where nothing is to be learned the error is
within 6 % of that of the known records' mean. What is not linear (classes, signs, parities) is only approximated, and
a released column with a private name but quite another unit misleads until there are three pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from veil.attacks.base import Attack, Guess, check_width, full_guess, granted, needed
from veil.attacks.linear_bayes import prior_moments
from veil.blocks import Matrix
from veil.errors import InputError
from veil.knowledge import Knowledge, KnownPairs, KnownSample
from veil.measures import standard_units
from veil.models import ClassModel, Model, RecordProjectionModel, ResponseModel, UnknownModel
from veil.moments import Vector
from veil.release import Release

EXACT: Final = (1e-24, 1e-20, 1e-16, 1e-12)
NOISY: Final = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.07, 0.15, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 1.0)
SHARES: Final = np.array(EXACT + NOISY)
OFFSETS: Final = (0.01, 1.0)
"""Variance of the offset in units of the column's, where there is a default to be near to."""
ANYWHERE: Final = 0.005
"""Density of an offset that may be anywhere, per standard unit."""
LEAST_SIZE: Final = 1e-10
SIZES: Final = math.log(1e4 / LEAST_SIZE)
"""Sizes from 1e-10 to 1e4 standard units."""
RELATED: Final = 0.2
POSSIBLE: Final = 0.003
"""With just enough pairs: the odds of an exact map against none, and its probability, from which it is taken."""
UNLIKELY: Final = 0.05
LEAST_RANKED: Final = 1e-3
MOST_ROWS: Final = 4_000
NULL: Final = 1e-11
"""Principal components below this share of the largest deviation are rounding."""


class RegressionAttack(Attack):
    """A25. Learn the map from released to private columns from records whose rows are known.

    Needs no description of the method. A sample of the population, where granted, tells the columns' mean and spread
    and, where released columns have the private columns' names, what the release should look like.

    Notes
    -----
    Missing released values count as the column's mean. ``guess.details``: ``explained`` per private column, the share
    of what the default leaves that the attack believes the release explains, and ``exact``, whether it takes the map
    for exact.
    """

    catalogue = "A25"
    words = "learns the way back from records whose rows are known, whatever the method was"
    requires = (KnownPairs,)
    uses = (KnownSample,)
    one_matrix = True
    blind = True

    def __init__(self, *, variant: str = "best") -> None:
        super().__init__(variant=variant)

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Everything whose rows are records of numbers, described or not (pseudonyms are not)."""
        others = RecordProjectionModel | ResponseModel | ClassModel
        return type(model) is not UnknownModel and not isinstance(model, others)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        pairs, sample = needed(knowledge, KnownPairs), granted(knowledge, KnownSample)
        check_width(pairs.records, release, "KnownPairs.records")
        if sample is not None:
            check_width(sample.sample, release, "KnownSample.sample")
        y = release.to_numpy()
        if not len(pairs.rows) or pairs.rows.max() >= len(y):
            raise InputError(
                f"KnownPairs.rows must be rows of the release, from 0 to {len(y) - 1}; "
                + ("none was given" if not len(pairs.rows) else f"{int((pairs.rows >= len(y)).sum())} are beyond")
            )
        released = list(release.step.released)
        own = [released.index(name) if name in released else None for name in release.step.names]
        found = learn_map(y, pairs.records, pairs.rows, own, None if sample is None else sample.sample)
        return full_guess(release, found.values, explained=found.explained, exact=found.exact)


@dataclass(frozen=True)
class LearnedMap:
    """Guesses of every record, and per private column the explained share and whether the map is taken for exact."""

    values: Matrix
    explained: Vector
    exact: npt.NDArray[np.bool_]


Cell = tuple[int, int]
"""A default and a design, by their numbers."""
Cells = dict[Cell, Vector]


class _Affine(NamedTuple):
    """``constant + u·slope`` of a released record in standard units."""

    constant: float
    slope: Vector


@dataclass(frozen=True)
class _Design:
    """Features ``base · turn`` of a record, decomposed at the known rows.

    ``basis`` spans the directions that an unknown offset leaves; ``offset`` is its variance, None for anywhere.
    """

    known: Matrix
    turn: Matrix
    ranked: bool
    offset: float | None
    basis: Matrix
    left: Matrix
    size: Vector
    right: Matrix

    @classmethod
    def of(cls, known: Matrix, turn: Matrix, offset: float | None, *, ranked: bool = False) -> _Design:
        features = known @ turn
        k = len(known)
        basis = np.eye(k)
        if offset is None:
            basis = np.linalg.qr(np.ones((k, 1)), mode="complete")[0][:, 1:]
        else:
            features = np.column_stack([np.full(k, math.sqrt(offset)), features])
        left, size, right = np.linalg.svd(basis.T @ features, full_matrices=False)
        return cls(known, turn, ranked, offset, basis, left, size, right.T)

    def weigh(self, residual: Vector) -> tuple[Vector, Matrix]:
        """Log evidence for each of `SHARES`, and the coefficients."""
        n = self.basis.shape[1]
        inside = self.basis.T @ residual
        scores = self.left.T @ inside
        outside = inside - self.left @ scores
        signal = (1.0 - SHARES)[:, None]
        spread = signal * self.size**2 + SHARES[:, None]
        misfit = (scores**2 / spread).sum(axis=1) + float(outside @ outside) / SHARES + n * LEAST_SIZE**2
        evidence = -(np.log(spread).sum(axis=1) + (n - len(self.size)) * np.log(SHARES)) / 2
        if n:
            evidence += math.lgamma(n / 2) - math.log(2 * SIZES) - n / 2 * np.log(math.pi * misfit)
            evidence -= np.log1p(misfit / n)  # the prior of sizes over 1, at the likeliest size
        if self.offset is None:
            evidence += math.log(ANYWHERE) - math.log(len(residual)) / 2
        if self.ranked:
            evidence[SHARES < LEAST_RANKED] = -np.inf
        return evidence, (signal * self.size * scores / spread) @ self.right.T

    def affine(self, coefficients: Vector, residual: Vector) -> _Affine:
        """What the features and the offset add to the default."""
        if self.offset is not None:
            return _Affine(float(coefficients[0]) * math.sqrt(self.offset), self.turn @ coefficients[1:])
        slope = self.turn @ coefficients
        return _Affine(float((residual - self.known @ slope).mean()), slope)


class _Hypothesis(NamedTuple):
    """A default, what is left of the known records, and what a design makes of it for each of `SHARES`."""

    default: _Affine
    scale: float
    design: _Design
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
        found: dict[Cell, _Hypothesis] = {}
        for a, default in enumerate(defaults):
            residual = (records[:, j] - default.constant - u[rows] @ default.slope) / scale
            for b, design in enumerate(designs):
                if place is not None or prior is not None or design.offset is None:
                    found[a, b] = _Hypothesis(default, scale, design, residual, *design.weigh(residual))
        hypotheses.append(found)
    posterior = _posterior([{c: h.evidence for c, h in found.items()} for found in hypotheses], records)
    exact = _taken_for_exact(posterior, saturated=len(rows) - 1 == rank)
    constant, slopes, explained = np.zeros(d), np.zeros((2, u.shape[1], d)), np.zeros(d)
    for j, (found, weights) in enumerate(zip(hypotheses, posterior, strict=True)):
        chosen = _exact_only(weights) if exact[j] else _likely_defaults(weights)
        for cell, weight in chosen.items():
            h, total = found[cell], float(weight.sum())
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


def _shared_designs(u: Matrix, ranks: Matrix, rows: npt.NDArray[np.intp]) -> tuple[list[_Design], int]:
    """All columns, their principal components, and their normal scores; and how many components there are."""
    n, p = u.shape
    some = np.union1d(np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp), rows)
    _, size, axes = np.linalg.svd(u[some] - u[some].mean(axis=0), full_matrices=False)
    kept = size > NULL * max(float(size[0]), 1e-300)
    rank = int(kept.sum())
    components = axes[kept].T * math.sqrt(len(some) / max(rank, 1)) / size[kept]
    equal = np.eye(p) / math.sqrt(max(int(u.any(axis=0).sum()), 1))
    spaces = [(u[rows], equal, False), (u[rows], components, False), (ranks[rows], equal, True)]
    return [_Design.of(x, turn, offset, ranked=r) for x, turn, r in spaces for offset in (*OFFSETS, None)], rank


def _own_designs(known: Matrix, place: int) -> list[_Design]:
    """The column of the same name, alone and as half of the variance beside all columns."""
    p = known.shape[1]
    alone = np.eye(p)[:, [place]]
    both = np.column_stack([alone, np.eye(p) / math.sqrt(p)]) * math.sqrt(0.5)
    return [_Design.of(known, turn, offset) for turn in (alone, both) for offset in (*OFFSETS, None)]


def _bayes_map(
    u: Matrix, unit: Vector, own: Sequence[int | None], prior: tuple[Vector, Matrix] | None
) -> list[_Affine]:
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
    return [_Affine(float(m - z.mean(axis=0) @ g), s) for m, g, s in zip(mean, gain, slopes, strict=True)]


def _defaults(
    j: int,
    place: int | None,
    centre: Vector,
    unit: Vector,
    known: Vector,
    prior: tuple[Vector, Matrix] | None,
    bayes: list[_Affine],
) -> tuple[list[_Affine], float]:
    """What x_j is by default, hypothesis by hypothesis, and the column's scale."""
    flat, spread = np.zeros(len(unit)), 0.0
    found = [_Affine(float(known.mean()), flat)] if place is None and prior is None else []
    if prior is not None:
        middle, spread = float(prior[0][j]), math.sqrt(float(prior[1][j, j]))
        found.append(_Affine(middle, flat))
    if place is not None:
        same = np.zeros(len(unit))
        same[place] = 1.0
        here, width = float(centre[place]), float(unit[place])
        found.append(_Affine(here, flat) if prior is None else _Affine(middle, spread * same))
        found += [_Affine(here, share * width * same) for share in (0.5, 1.0)]
        spread = spread or width
    return found + bayes[j : j + 1], spread or float(known.std()) or 1.0


def _taken_for_exact(posterior: list[Cells], *, saturated: bool) -> npt.NDArray[np.bool_]:
    """Which columns' maps are taken for exact.

    With just enough pairs for any linear map (``saturated``) nothing tells noise from none but the size of what is
    learned, and it can only be judged whether the pairs speak for a map rather than for no relation.
    """
    per_share = np.array([np.sum(list(weights.values()), axis=0) for weights in posterior])
    solved, nothing = per_share[:, : len(EXACT)].sum(axis=1), per_share[:, SHARES >= 0.5].sum(axis=1)
    exact = solved >= 0.5
    if saturated:
        exact |= float(solved.mean()) >= max(RELATED * float(nothing.mean()), POSSIBLE)
    return np.asarray(exact)


def _posterior(log_evidence: list[Cells], records: Matrix) -> list[Cells]:
    """Weights of each column's hypotheses: one for all columns, or each its own, with even odds."""
    shares = np.log(np.r_[np.full(len(EXACT), 1 / len(EXACT)), np.full(len(NOISY) - 1, 1 / (len(NOISY) - 1)), 1.0] / 3)
    cells = sorted(set().union(*log_evidence))
    nothing = np.full(len(SHARES), -np.inf)
    table = np.array([[column.get(cell, nothing) for cell in cells] for column in log_evidence])
    prior = np.broadcast_to(shares, table.shape[1:]) - math.log(len(cells))
    witnesses = _effective_dimension(records)
    with np.errstate(invalid="ignore"):
        apart, each = _normalized(table + prior)
        together, common = _normalized(table.sum(axis=0)[None] * (witnesses / len(table)) + prior)
    one = 1.0 / (1.0 + math.exp(min(each.sum() * witnesses / len(table) - common[0], 700.0)))
    weights = one * together + (1.0 - one) * apart
    return [{cell: w for cell, w in zip(cells, column, strict=True) if w.any()} for column in weights]


def _normalized(log_weights: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], Vector]:
    """Weights that sum to 1 over all but the first axis, and the log of their sums before."""
    flat = log_weights.reshape(len(log_weights), -1)
    top = flat.max(axis=1)
    if not np.isfinite(top).all():  # no hypothesis that all columns could share
        return np.zeros_like(log_weights), np.full(len(flat), -np.inf)
    weights = np.exp(flat - top[:, None])
    total = weights.sum(axis=1)
    return (weights / total[:, None]).reshape(log_weights.shape), top + np.log(total)


def _effective_dimension(records: Matrix) -> float:
    """In how many independent ways the known records vary: (Σλ)²/Σλ² of their correlations."""
    spread = records.std(axis=0)
    z = (records - records.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    power = np.linalg.svd(z, compute_uv=False) ** 2 if z.size else np.zeros(1)
    return max(float(power.sum() ** 2 / max((power**2).sum(), 1e-300)), 1.0)


def _likely_defaults(weights: Cells) -> Cells:
    """Without defaults of little weight: one in other units would be wrong by more than its weight makes up for."""
    per_default: dict[tuple[int, bool], float] = {}
    for cell, weight in weights.items():
        per_default[_default(cell)] = per_default.get(_default(cell), 0.0) + float(weight.sum())
    kept = sum(total for total in per_default.values() if total >= UNLIKELY)
    return {cell: w / kept for cell, w in weights.items() if per_default[_default(cell)] >= UNLIKELY}


def _default(cell: Cell) -> tuple[int, bool]:
    """Which default a hypothesis has, and whether near it or anywhere; designs come with each offset in turn."""
    return cell[0], cell[1] % (len(OFFSETS) + 1) == len(OFFSETS)


def _exact_only(weights: Cells) -> Cells:
    """The exact hypotheses with the least share that has a tenth of the best one's weight."""
    per_share = np.sum([w[: len(EXACT)] for w in weights.values()], axis=0)
    least = int(np.argmax(per_share >= 0.1 * per_share.max()))
    return {cell: np.where(np.arange(len(SHARES)) == least, w, 0.0) / per_share[least] for cell, w in weights.items()}
