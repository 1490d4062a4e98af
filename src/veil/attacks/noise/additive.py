"""Attacks on additive noise that need nothing but the published noise law.

*Model.* ``y = x + r``, r of mean 0 and covariance Σr, independent of x (Huang, Du and Chen 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.arguments import choice
from veil.attacks.base import Details, Guess, full_guess, granted
from veil.attacks.blockwise import BlockGuess, BlockwiseAttack, LinearFilter, Reconstruction, linear_guess
from veil.attacks.knowledge import Knowledge, KnownNoise
from veil.attacks.noise.mixture import mixture_estimate
from veil.attacks.noise.patterns import by_pattern
from veil.attacks.noise.shrinkage import pooled_filter, whitening
from veil.data.blocks import Block, Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.release.models import (
    AdditiveModel,
    ClassModel,
    ForeignModel,
    LogNormalModel,
    Model,
    MultiplicativeModel,
    RecodedColumn,
    RecodedModel,
    TopCodedModel,
)
from veil.release.release import Release

HIT_REACH = 0.1
"""How near a hit is, in standard deviations of the column."""
GRAIN = 1e-5
"""Noise, in noise or column deviations, that stands in for none: where there is none, the release is the truth."""


def noise_covariance(release: Release, knowledge: Sequence[Knowledge]) -> Matrix:
    """Σr as granted or published, with a grain of noise in the directions that have none, so that it has an inverse."""
    return with_grain(published_noise(release, knowledge), release.moments().variance)


def with_grain(noise: Matrix, spread: Vector) -> Matrix:
    """Noise that is nowhere zero: a singular Σr leaves some direction of the release bare, and that is to be used.

    ``spread`` are the columns' variances, the measure for columns that have no noise at all.
    """
    own = np.diag(noise).copy()
    bare = ~(own > 0)
    own[bare] = np.where(spread[bare] > 0, GRAIN**2 * spread[bare], 1.0)
    unit = np.sqrt(own)
    power, basis = np.linalg.eigh(noise / np.outer(unit, unit) + np.diag(bare.astype(np.float64)))
    if power[0] >= GRAIN**2:
        return np.where(np.diag(bare), np.diag(own), noise)
    return np.asarray((basis * np.clip(power, GRAIN**2, None)) @ basis.T * np.outer(unit, unit))


def published_noise(release: Release, knowledge: Sequence[Knowledge]) -> Matrix:
    """Σr as granted, or as the manifest publishes it."""
    known = granted(knowledge, KnownNoise)
    d = len(release.only_part.names)
    if known is not None:
        if known.covariance.shape != (d, d):
            raise InputError(f"KnownNoise has {len(known.covariance)} columns; the release has {d} perturbed ones")
        return known.covariance
    model = release.only_part.model
    if not isinstance(model, AdditiveModel):
        raise NotApplicableError("the manifest does not say the noise's covariance; grant KnownNoise")
    return model.covariance


class NoiseDistributionAttack(BlockwiseAttack):
    """A1 (NDR). Take the release at face value: ``x̂ = y``; m.s.e. = Var(r) (H §4.1).

    Of multiplicative noise the mean factor is divided out: ``x̂ = y / E r``. Of classes (P17) the middle is taken. Of a
    release that nobody described, the columns with the private ones' names.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=0))
    >>> guess = veil.NoiseDistributionAttack().run(release)
    >>> bool(np.array_equal(guess.values, release.to_numpy())), round(float(np.mean((guess.values - x) ** 2)), 1)
    (True, 0.2)
    """

    catalogue = "A1"
    words = "takes the released values at face value"

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release whose columns are the private ones with noise on them."""
        if isinstance(model, RecodedModel):
            return any(column.categories is None for column in model.columns)
        named = AdditiveModel | MultiplicativeModel | LogNormalModel | ClassModel | TopCodedModel | ForeignModel
        return isinstance(model, named)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction:
        """Nothing: the manifest says it all."""
        model, released = release.only_part.model, release.only_part.released
        if isinstance(model, ClassModel):
            return Reconstruction(columns=released, guess=partial(class_middles, released, model.edges, model.names))
        if isinstance(model, RecodedModel):
            return Reconstruction(columns=released, guess=partial(recoded_face_value, released, model.columns))
        if isinstance(model, ForeignModel):
            return _same_names(release)
        factor = model.law.raw_moments()[0] if isinstance(model, MultiplicativeModel) else 1.0
        return Reconstruction(columns=released, guess=partial(face_value, released, released, factor))


def face_value(columns: Sequence[str], names: Sequence[str], factor: float, block: Block) -> BlockGuess:
    """The named released columns over a factor; NaN for a name that is not among those read."""
    values = np.full((len(names), block.n_rows), np.nan)
    values[[name in columns for name in names]] = block.matrix(columns) / factor
    return BlockGuess(values.T)


def _same_names(release: Release) -> Reconstruction:
    """Released columns that have a private column's name."""
    released, names = release.only_part.released, release.only_part.names
    shared = tuple(name for name in names if name in released)
    if not shared:
        raise NotApplicableError("no released column has a private column's name, so none can be taken at face value")
    types = {field.name: field.type for field in release.table.schema}
    if any(pa.types.is_string(types[name]) or pa.types.is_dictionary(types[name]) for name in released):
        raise NotApplicableError(f"a {release.method} release holds texts, not numbers; use release.data")
    return Reconstruction(columns=shared, guess=partial(face_value, shared, names, 1.0))


def recoded_face_value(columns: Sequence[str], rules: Sequence[RecodedColumn], block: Block) -> BlockGuess:
    """Numbers that are left as they are, and the middles of classes; NaN for categories."""
    values = np.full((block.n_rows, len(columns)), np.nan)
    for j, (name, rule) in enumerate(zip(columns, rules, strict=True)):
        if rule.edges is not None and rule.labels is not None:
            values[:, j] = class_middles([name], [rule.edges], [rule.labels], block).values[:, 0]
        elif rule.categories is None:
            values[:, j] = block.matrix([name])[0]
    return BlockGuess(values)


def class_middles(
    columns: Sequence[str], edges: Sequence[Vector], classes: Sequence[Sequence[str]], block: Block
) -> BlockGuess:
    """The middle of each value's class; of an open one, its edge moved by half the next class's width."""
    middles = []
    for name, own, texts in zip(columns, edges, classes, strict=True):
        half = float(np.diff(own).mean()) / 2 if len(own) > 1 else 0.0
        centre = np.r_[own[0] - half, (own[1:] + own[:-1]) / 2, own[-1] + half]
        released = block.column(name)
        code = pc.index_in(released, value_set=pa.array(list(texts), type=released.type)).fill_null(-1).to_numpy()
        middles.append(np.where(code < 0, np.nan, centre[np.maximum(code, 0)]))
    return BlockGuess(np.column_stack(middles))


@dataclass(frozen=True, eq=False)
class EstimateDetails(Details):
    """``expected_mse``: the expected squared error of each column, by the estimated prior."""

    expected_mse: Vector


class BayesEstimateAttack(BlockwiseAttack):
    """A6 (BE-DR). The Bayes estimate under a normal prior, from the release alone.

    *Knowledge.* Σr: published in the manifest, or granted as KnownNoise. Mean and covariance of
    x are estimated from the release.

    With Σx = Σy − Σr the estimate is ``μ + Σx Σy⁻¹ (y − μ)`` (H §6). Σy − Σr may be indefinite, so
    the prior is clipped in the eigenbasis of the noise-whitened release,
    ``Σx = Σr^½ Q diag((λ − 1)₊) Qᵀ Σr^½``, and nothing singular is inverted. For normal data the
    m.s.e. is the mean of λᵢσ²/(λᵢ + σ²).

    ``best`` replaces the estimated prior by one that allows for the sample's size
    (:func:`veil.attacks.noise.shrinkage.pooled_prior`): at small N the plain one loses to PCA. ``paper`` is the plain
    one. ``prior="mixture"`` fits a Gaussian mixture through the noise (:mod:`veil.attacks.noise.mixture`): far better
    on clustered, bimodal or skewed data, for normal noise.

    ``aim="hit"`` guesses, instead of the mean, the point within a tenth of the column's standard deviation of which the
    value most probably lies (:mod:`veil.numerics.windows`). Under a normal prior that is the mean itself, and ``aim``
    changes nothing; under a mixture the mean may lie between clusters, where nobody is.

    A record with missing values is estimated from its present ones; the covariance then comes from
    all pairs of present values. A mixture is fitted for each pattern of missing values that is frequent enough
    (:mod:`veil.attacks.noise.patterns`).

    Where the noise has no power in some direction the release shows that direction bare, and so does the guess.

    ``guess.details``: ``expected_mse`` per column, by the estimated prior; for ``best`` it counts the noise that
    few records' eigenvectors have fitted. Of a mixture, :class:`veil.attacks.noise.mixture.MixtureDetails`.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 1)) * np.ones(8)
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    >>> guess = veil.BayesEstimateAttack().run(release)
    >>> [round(float(np.mean((each - x) ** 2)), 1) for each in (release.to_numpy(), guess.values)]
    [1.0, 0.1]
    """

    catalogue = "A6"
    settings_to_try = ({"prior": "mixture", "aim": "hit"},)
    words = "filters the noise out with the correlations that the release itself shows"
    uses = (KnownNoise,)
    variants = ("best", "paper")

    def __init__(self, *, prior: str = "normal", aim: str = "mean", variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.prior = prior
        self.aim = aim

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """The prior and its filter, from the release's moments; a mixture needs all records."""
        choice(self.prior, "prior", ("normal", "mixture"))
        choice(self.aim, "aim", ("mean", "hit"))
        if self.prior == "mixture":
            return None
        noise = noise_covariance(release, knowledge)
        moments, released = release.moments(), release.only_part.released
        complete = not moments.missing.any()
        covariance = moments.covariance if complete else release_covariance(release)
        if self.variant == "paper":
            prior = clipped_prior(covariance, noise)
            expected = np.diag(noise @ np.linalg.solve(prior + noise, prior)).copy()
        else:
            prior, errors = pooled_filter(covariance, noise, moments.n_rows)
            expected = np.diag(errors).copy()
        details = EstimateDetails(expected)
        if not complete:
            guess = partial(incomplete_guess, released, moments.mean, prior, noise)
            return Reconstruction(columns=released, guess=guess, details=details)
        gain = np.asarray(np.linalg.solve(prior + noise, prior).T, dtype=np.float64)
        guess = partial(linear_guess, released, LinearFilter(moments.mean, moments.mean, gain))
        return Reconstruction(columns=released, guess=guess, details=details)

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        noise = noise_covariance(release, knowledge)
        known, model = granted(knowledge, KnownNoise), release.only_part.model
        law = known.distribution if known is not None else getattr(model, "distribution", "normal")
        reach = HIT_REACH if self.aim == "hit" else None
        estimate = partial(mixture_estimate, distribution=law, reach=reach)
        values, details = by_pattern(release.to_numpy(), noise, estimate, normal_rest)
        return full_guess(release, values, details)


def normal_rest(y: Matrix, everybody: Matrix, noise: Matrix) -> Matrix:
    """The Bayes estimate of records with gaps under one normal prior, which everybody's rows give."""
    mean = np.nanmean(everybody, axis=0)
    prior = pooled_filter(available_covariance(everybody, mean), noise, len(everybody))[0]
    return filter_incomplete(y, mean, prior, noise)


def incomplete_guess(columns: Sequence[str], mean: Vector, prior: Matrix, noise: Matrix, block: Block) -> BlockGuess:
    """The Bayes estimate of each record of a block given its present values."""
    return BlockGuess(filter_incomplete(np.ascontiguousarray(block.matrix(columns).T), mean, prior, noise))


def clipped_prior(covariance: Matrix, noise: Matrix) -> Matrix:
    """The part of Σy − Σr that is positive in the noise-whitened eigenbasis."""
    root, inverse = whitening(noise)
    eigenvalues, q = np.linalg.eigh(inverse @ covariance @ inverse.T)
    half = (root @ q) * np.sqrt(np.clip(eigenvalues - 1.0, 0.0, None))
    return np.asarray(half @ half.T)


def block_pair_sums(columns: Sequence[str], mean: Vector, block: Block) -> Matrix:
    """Sums over all pairs of present values of a block: products of deviations from the mean, and their number."""
    return pair_sums(block.matrix(columns).T, mean)


def pair_sums(y: Matrix, mean: Vector) -> Matrix:
    """Products of deviations and numbers of pairs (2 × d × d) of present values."""
    present = ~np.isnan(y)
    centred = np.where(present, y - mean, 0.0)
    observed = present.astype(np.float64)
    return np.stack([centred.T @ centred, observed.T @ observed])


def release_covariance(release: Release) -> Matrix:
    """Covariance of a release over all pairs of present values, in one pass."""
    return pair_covariance(release.summed(partial(block_pair_sums, release.only_part.released, release.moments().mean)))


def available_covariance(y: Matrix, mean: Vector) -> Matrix:
    """Covariance over all pairs of present values, made positive semi-definite."""
    return pair_covariance(pair_sums(y, mean))


def pair_covariance(sums: Matrix) -> Matrix:
    """The positive semi-definite covariance that sums over pairs of present values give."""
    products, pairs = sums
    raw = np.divide(products, pairs, out=np.zeros_like(pairs), where=pairs > 0)
    unit = np.sqrt(np.clip(np.diag(raw), 0.0, None))
    unit[unit == 0] = 1.0
    eigenvalues, q = np.linalg.eigh(raw / np.outer(unit, unit))
    return np.asarray((q * np.clip(eigenvalues, 0.0, None)) @ q.T * np.outer(unit, unit))


def filter_incomplete(y: Matrix, mean: Vector, prior: Matrix, noise: Matrix, *, rows: int = 1024) -> Matrix:
    """The Bayes estimate of each record given its present values; missing values stay missing."""
    total, d = prior + noise, y.shape[1]
    values = np.full_like(y, np.nan)
    for start in range(0, len(y), rows):
        part = y[start : start + rows]
        present = ~np.isnan(part)
        # Absent values become independent dummies: identity rows in each record's own system.
        systems = np.where(present[:, :, None] & present[:, None, :], total, np.eye(d))
        residual = np.where(present, part - mean, 0.0)
        weights = np.linalg.solve(systems, residual[:, :, None])[:, :, 0]
        guess = mean + np.where(present, weights, 0.0) @ prior
        values[start : start + rows] = np.where(present, guess, np.nan)
    return values
