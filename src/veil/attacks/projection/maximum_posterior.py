"""A14: known input–output pairs against a random projection (Liu 2007, §5.4.2).

*Model.* ``y = R z + e``, ``z = x / unit``: R k × d with independent entries of variance 1/k. Known: p records with
their rows. For ``z = U a + w``, U a basis of the known records' span and w outside it,

    y | pairs ~ N(A a, (‖w‖²/k) I),   A = R U known.

*paper*: the maximum a posteriori guess under a flat prior, which the paper seeks with Nelder–Mead from 100
starts, in closed form (errata L-t): ``â = A⁺ y`` and any w outside the span with ``‖w‖ = ‖y − A â‖``; one is drawn. It
exists for p < k; from p = k on the likelihood is unbounded at w = 0, which is taken. *simplex*: the paper's own search
(:mod:`veil.attacks.projection.simplex`), which ends as high and takes some thousand times as long.

*best*: the posterior mean under a prior of z, a mixture of normals: around a sample's records where one is
granted, else around draws from a normal whose mean and covariance come from the known records and from
what the projection keeps of the release, ``E tr Cov(y) = tr Cov(z)``. A sample's mean and the release's are
one more pair, known up to sampling. An R of few values (Achlioptas, sparse) is a whole-number
problem: one or two known records mostly fix its rows exactly (:mod:`veil.attacks.projection.lattice`). Where all
of R is known, with p ≥ d at the latest, the rest is A15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.arguments import whole
from veil.attacks.base import Guess, GuessingAttack, check_width, full_guess, granted, needed
from veil.attacks.knowledge import Knowledge, KnownPairs, KnownRanges, KnownSample
from veil.attacks.projection.disclosed_matrix import MOST_UNKNOWNS, solve_disclosed, whole_numbers
from veil.attacks.projection.lattice import LatticeSearch
from veil.attacks.projection.linear_bayes import MOST_CENTRES, Prior, mixture_mean, prior_moments, thinned
from veil.attacks.projection.sample_prior import best_prior
from veil.attacks.projection.simplex import most_likely
from veil.attacks.projection.whole_search import SearchDetails
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import Order, by_name
from veil.release.models import Model, ProjectionModel
from veil.release.release import Release

RANK: Final = 1e-9
SAMPLE_SIZE: Final = 4
"""Known records per column from which they serve as a sample."""
MOST_ROW_NODES: Final = 2_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectionDetails(SearchDetails):
    """Also the ``rank`` of the known span, and how many rows of R are known exactly (None for the paper's variants)."""

    rank: int
    exact_rows: int | None = None


class ProjectionMAPAttack(GuessingAttack):
    """A14. Guess records of a random projection from records whose rows are known.

    Parameters
    ----------
    variant : {"best", "paper", "simplex"}
        The posterior mean under a prior; the paper's maximum a posteriori guess in closed form; or the same by the
        paper's simplex search.
    starts : int, default 100
        Random starts of the simplex search for each record.
    random_state : int, default 0
        Seeds the direction of w in ``paper``, the starts of ``simplex`` and the draws of the prior in ``best``.

    Notes
    -----
    KnownRanges only serve the search for whole numbers once R is known. ``guess.details``: ``rank`` of the
    known span; ``exact_rows``, rows of R that are known exactly; with all of them, A15's ``unique``,
    ``ambiguous`` and ``expected_matches``.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> release, _ = veil.publish(x, veil.RandomProjection(2, random_state=0))
    >>> guess = veil.ProjectionMAPAttack().run(release, veil.KnownPairs(x[:3], range(3)))
    >>> guess.details.rank, guess.details.exact_rows
    (3, 2)
    """

    catalogue = "A14"
    words = "solves for what known records tell about the secret projection"
    requires = (KnownPairs,)
    uses = (KnownSample, KnownRanges)
    one_matrix = True
    variants = ("best", "paper", "simplex")

    def __init__(self, *, variant: str = "best", starts: int = 100, random_state: int = 0) -> None:
        super().__init__(variant=variant)
        self.starts = starts
        self.random_state = random_state

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Linear methods with a secret k × d matrix, of any k and d."""
        return isinstance(model, ProjectionModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        rng = np.random.default_rng(whole(self.random_state, "random_state"))
        whole(self.starts, "starts", least=1)
        pairs = needed(knowledge, KnownPairs)
        check_width(pairs.records, release, "KnownPairs.records")
        y, model = release.to_numpy(), release.only_part.model
        if not isinstance(model, ProjectionModel):
            raise NotApplicableError("the manifest does not describe a linear projection")
        if not len(pairs.rows) or pairs.rows.max() >= len(y):
            raise InputError(f"KnownPairs.rows must name 1 to {len(y)} rows of the release, which has {len(y)}")
        known_z, known_y = model.scaled(pairs.records), y[pairs.rows]
        if missing := int(np.isnan(known_y).any(axis=1).sum()):
            raise InputError(f"KnownPairs.rows names {missing} row(s) with missing values; leave those records out")
        rank, exact_rows, counts = known_span(known_z, known_y)[0].shape[1], None, SearchDetails()
        if self.variant == "paper":
            z = map_estimate(y, known_z, known_y, rng)
        elif self.variant == "simplex":
            z = simplex_estimate(y, known_z, known_y, self.starts, rng)
        else:
            known = granted(knowledge, KnownSample)
            if known is not None:
                check_width(known.sample, release, "KnownSample.sample")
            sample = None if known is None else model.scaled(known.sample)
            belief = known_rows(matrix_belief(known_z, known_y, model), known_z, known_y, model)
            draws = _Draws(np.argsort(by_name(release.only_part.names)), rng)
            prior, centres, belief = _prior(y, known_z, known_y, sample, belief, model, draws)
            exact_rows = int(belief.exact.sum())
            z = belief.posterior_mean(y, prior, centres, model.noise)
            cases = _cases(sample, known_z)
            if belief.exact.all() and cases is not None and len(cases) > 1:
                orders = by_name(release.only_part.names), by_name(release.only_part.released)
                z = best_prior(cases, belief.mean, model.noise, *orders).mean(y, belief.mean, model.noise)
            if belief.exact.all():
                solvable = np.linalg.matrix_rank(belief.mean) == len(prior[0])
                ranges = granted(knowledge, KnownRanges)
                records = pairs.records if known is None else np.vstack([pairs.records, known.sample])
                integers = None if solvable else whole_numbers(release.only_part.columns, model.unit, ranges, records)
                start = None if solvable else z
                z, counts = solve_disclosed(
                    y, belief.mean, prior, model.noise, integers, tolerance=belief.error, start=start
                )
        z[pairs.rows] = known_z
        return full_guess(release, model.private(z), ProjectionDetails(**counts, rank=rank, exact_rows=exact_rows))


@dataclass(frozen=True)
class MatrixBelief:
    """What is known of R: row i has a normal law of mean ``mean[i]`` and covariance ``spread[group[i]]`` (d × d).

    Group 0 is that of the rows known exactly; ``error`` bounds the rounding error of their products.
    """

    mean: Matrix
    spread: Matrix
    group: npt.NDArray[np.intp]
    error: float = 0.0

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """Rows without any doubt."""
        return np.asarray(self.group == 0)

    def posterior_mean(self, y: Matrix, prior: Prior, centres: Matrix, noise: Vector) -> Matrix:
        """E[z | y] under a mixture prior."""
        return mixture_mean(y, self.mean, prior, centres, noise, spread=self.spread, group=self.group)


def known_span(known_z: Matrix, known_y: Matrix) -> tuple[Matrix, Matrix]:
    """A basis U (d × r) of the known records' span and its image ``A = R U`` (k × r)."""
    left, size, right = np.linalg.svd(known_z, full_matrices=False)
    rank = int((size > RANK * size[0]).sum()) if size[0] > 0 else 0
    return right[:rank].T, known_y.T @ (left[:, :rank] / size[:rank])


def map_estimate(y: Matrix, known_z: Matrix, known_y: Matrix, rng: np.random.Generator) -> Matrix:
    """The paper's MAP guess in closed form (errata, "Closed-form MAP for A14"), one drawn w per record."""
    u, image = known_span(known_z, known_y)
    d, rank = u.shape
    inside = y @ np.linalg.pinv(image).T
    if rank == d or rank >= y.shape[1]:
        return np.asarray(inside @ u.T)
    direction = rng.standard_normal((len(y), d))
    direction -= direction @ u @ u.T
    length = np.linalg.norm(y - inside @ image.T, axis=1) / np.linalg.norm(direction, axis=1)
    return np.asarray(inside @ u.T + direction * length[:, None])


def simplex_estimate(y: Matrix, known_z: Matrix, known_y: Matrix, starts: int, rng: np.random.Generator) -> Matrix:
    """The paper's MAP guess by its own search; the closed form where the likelihood has no maximum."""
    u, _ = known_span(known_z, known_y)
    z, there = np.full((len(y), u.shape[0]), np.nan), np.flatnonzero(~np.isnan(y).any(axis=1))
    if u.shape[1] >= min(u.shape[0], y.shape[1]):
        return map_estimate(y, known_z, known_y, rng)

    def height(points: Matrix, record: npt.NDArray[np.intp]) -> Vector:
        return log_likelihood(points, y[there[record]], known_z, known_y)

    z[there] = most_likely(height, len(there), np.median(known_z, axis=0), starts, rng)
    return z


def log_likelihood(z: Matrix, y: Matrix, known_z: Matrix, known_y: Matrix) -> Vector:
    """Log-density of y given z and the pairs, up to a constant; noise-free, z outside the known span."""
    u, image = known_span(known_z, known_y)
    k = y.shape[1]
    inside = z @ u
    square = ((z - inside @ u.T) ** 2).sum(axis=1)
    miss = ((y - inside @ image.T) ** 2).sum(axis=1)
    return np.asarray(-k / 2 * np.log(square) - k * miss / (2 * square))


def matrix_belief(known_z: Matrix, known_y: Matrix, model: ProjectionModel) -> MatrixBelief:
    """R given the pairs: Bayesian regression, exact on the known span where there is no noise.

    The entries' variance is 1/k, or for a matrix that the owner chose, that of its image of the known span.
    """
    k, (p, d) = len(model.noise), known_z.shape
    if p > d:  # the same regression with d rows
        q, known_z = np.linalg.qr(known_z)
        known_y = q.T @ known_y
    left, size, right = np.linalg.svd(known_z)
    size = np.append(size, np.zeros(d - len(size)))
    spanned = size > RANK * size[0]
    turned = np.zeros((d, k))
    turned[: len(known_z)] = left.T @ known_y
    divisor = np.where(spanned, size, 1.0)[:, None]
    variance = 1.0 / k
    if model.kind == "given" and spanned.any():
        power = (turned**2 - model.noise**2) / divisor**2
        variance = max(float(power[spanned].mean()), 1e-12)
    mean = np.where(spanned[:, None], turned * divisor / (divisor**2 + model.noise**2 / variance), 0.0)
    levels, group = np.unique(model.noise**2, return_inverse=True)
    noisy = levels[:, None]
    doubt = np.where(spanned, variance * noisy / (noisy + variance * divisor.T**2), variance)
    spread = np.einsum("di,gd,dj->gij", right, np.vstack([np.zeros(d), doubt]), right)
    if doubt[0].any():
        return MatrixBelief(mean.T @ right, spread, group + 1)
    # No noise and d known directions; rounding is magnified by the records' condition.
    error = 16 * np.finfo(np.float64).eps * float(size[0] / size[-1]) * float(np.abs(known_y).max())
    return MatrixBelief(mean.T @ right, spread, np.where(group == 0, 0, group + 1), error)


def known_rows(belief: MatrixBelief, known_z: Matrix, known_y: Matrix, model: ProjectionModel) -> MatrixBelief:
    """Rows of a matrix of few values (0 and ±c, or ±c alone) that the noise-free pairs leave no choice for."""
    d = known_z.shape[1]
    sparsity = {"achlioptas1": 1.0, "achlioptas3": 3.0, "sparse": math.sqrt(d)}.get(model.kind)
    if sparsity is None or model.noise.any() or belief.exact.all() or d > MOST_UNKNOWNS:
        return belief
    system = known_z * math.sqrt(sparsity / len(model.noise))
    released = known_y.T
    if sparsity == 1.0:  # ±1 = 2b − 1 with b 0 or 1
        search = LatticeSearch(2 * system, np.zeros(d), np.ones(d))
        released = released + system.sum(axis=1)
    else:
        search = LatticeSearch(system, -np.ones(d), np.ones(d))
    if search.expected_nodes > MOST_ROW_NODES:
        return belief
    matches = search.solve(released, most_matches=2, most_nodes=MOST_ROW_NODES)
    unique = matches.unique
    values = matches.values[unique[matches.record]]
    signs = 2 * values - 1 if sparsity == 1.0 else values
    mean = belief.mean.copy()
    mean[unique] = signs * math.sqrt(sparsity / len(model.noise))
    return replace(belief, mean=mean, group=np.where(unique, 0, belief.group))


def _prior(
    y: Matrix,
    known_z: Matrix,
    known_y: Matrix,
    sample: Matrix | None,
    belief: MatrixBelief,
    model: ProjectionModel,
    draws: _Draws,
) -> tuple[Prior, Matrix, MatrixBelief]:
    """Mean and covariance of z, the components' centres, and R with the means of sample and release as a pair."""
    present = y[~np.isnan(y).any(axis=1)]
    sample = _cases(sample, known_z)
    moments = prior_moments(sample)
    if moments is not None and sample is not None:
        belief = _with_mean(belief, moments, len(sample), present, model.noise)
        return moments, thinned(sample), belief
    p, d = known_z.shape
    mean = known_z.mean(axis=0)
    # Variances of the matrix's entries, to turn the release's total variance into the records'.
    doubt = np.trace(belief.spread, axis1=1, axis2=2)[belief.group]
    entry = float((doubt + (belief.mean**2).sum(axis=1)).mean()) / d
    total = float(present.var(axis=0).sum() - (model.noise**2).sum()) if len(present) > 1 else 0.0
    level = max(total / (len(model.noise) * entry * d), 1e-6 * float((known_z**2).mean()), 1e-300)
    # What the known span leaves of the release shows how far records lie outside it.
    u, image = known_span(known_z, known_y)
    outside = level
    if u.shape[1] < min(d, y.shape[1]) and len(present) > 1:
        rest = present - present @ np.linalg.pinv(image).T @ image.T
        left = (rest.var(axis=0).sum() - (model.noise**2).sum()) / (y.shape[1] - u.shape[1])
        outside = min(level, max(float(left) / (entry * (d - u.shape[1])), 1e-6 * level))
    scatter = (known_z - mean).T @ (known_z - mean)
    covariance = (d * (outside * np.eye(d) + (level - outside) * u @ u.T) + scatter) / (d + p - 1)
    # The mean record is a target too: its y is the release's mean.
    if len(present) > 1:
        about = (mean, covariance / p)
        noise = model.noise / math.sqrt(len(present))
        mean = belief.posterior_mean(present.mean(axis=0)[None], about, draws.of(about), noise)[0]
    prior = (mean, covariance * (1 + 1 / p))
    return prior, draws.of(prior), belief


def _cases(sample: Matrix | None, known_z: Matrix) -> Matrix | None:
    """The sample, or the known records where these are enough of one."""
    return known_z if sample is None and len(known_z) >= SAMPLE_SIZE * known_z.shape[1] else sample


@dataclass(frozen=True)
class _Draws:
    """Draws of normal records, the same for a column wherever it stands: ``place`` is its place by name."""

    place: Order
    rng: np.random.Generator

    def of(self, prior: Prior) -> Matrix:
        power, axes = np.linalg.eigh(prior[1])
        # The symmetric root: it does not depend on the eigenvectors' signs.
        root = (axes * np.sqrt(np.clip(power, 0.0, None))) @ axes.T
        plain = self.rng.standard_normal((MOST_CENTRES, len(power)))
        return np.asarray(prior[0] + plain[:, self.place] @ root)


def _with_mean(belief: MatrixBelief, prior: Prior, n: int, y: Matrix, noise: Vector) -> MatrixBelief:
    """One Kalman step per row of R: the release's mean is R times the sample's mean, up to both samples' error."""
    if len(y) < 2:
        return belief
    mean, spread = belief.mean.copy(), belief.spread.copy()
    for g in np.unique(belief.group[~belief.exact]):
        rows = belief.group == g
        reach = spread[g] @ prior[0]
        moved = np.trace(spread[g] @ prior[1]) + np.mean((mean[rows] @ prior[1] * mean[rows]).sum(axis=1))
        doubt = moved * (1 / n + 1 / len(y)) + np.mean(noise[rows] ** 2) / len(y)
        gain = reach / max(float(prior[0] @ reach + doubt), 1e-300)
        mean[rows] += np.outer(y[:, rows].mean(axis=0) - mean[rows] @ prior[0], gain)
        spread[g] -= np.outer(gain, reach)
    return replace(belief, mean=mean, spread=spread)
