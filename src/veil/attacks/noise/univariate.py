"""The Bayes estimate of each value from its own column (A2).

*Model.* ``y = x + r`` per column, r of mean 0 with a published law and variance σ², independent of x (Huang, Du and
Chen 2005, §4.2). Correlations between columns are left aside; A3 to A6 use them. Of a column in classes (P17) the
noise is the class: :mod:`veil.attacks.noise.classes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from veil.arguments import choice
from veil.attacks.base import Details, check_width, granted
from veil.attacks.blockwise import BlockGuess, BlockwiseAttack, Reconstruction
from veil.attacks.knowledge import Knowledge, KnownNoise, KnownRanges, KnownSample
from veil.attacks.noise.additive import HIT_REACH, published_noise
from veil.attacks.noise.classes import ClassColumn, block_class_counts, class_guess
from veil.attacks.noise.coded_ends import coded_end_guess, coded_end_guesses
from veil.attacks.noise.whole_numbers import known_whole
from veil.data.blocks import Block, Vector
from veil.errors import NotApplicableError
from veil.numerics.column_priors import column_priors, deconvolve, reconstructed_priors
from veil.numerics.laws import LAWS, is_law
from veil.numerics.priors import Grid, GridPrior, NormalPrior, Prior
from veil.release.models import AdditiveModel, ClassModel, Model, TopCodedModel
from veil.release.release import Release

MOST_NOISE = 1.5
"""Noise, in steps of whole numbers, beyond which their distribution does not show through it."""


def noise_law(release: Release, knowledge: Sequence[Knowledge]) -> str:
    """The name of the noise's law, as granted, or as the manifest publishes it."""
    known, model = granted(knowledge, KnownNoise), release.only_part.model
    if known is not None:
        return known.distribution
    if not isinstance(model, AdditiveModel) or not is_law(model.distribution):
        raise NotApplicableError(f"the manifest names no noise law among {', '.join(LAWS)}; grant KnownNoise")
    return model.distribution


def column_prior(y: Vector, law: str, sigma: float) -> Prior:
    """The prior of one column, from its present values."""
    return deconvolve(y, law, sigma)


def release_priors(
    release: Release, law: str, sigmas: Vector, fit: Callable[..., list[Prior | None]] = column_priors
) -> list[Prior | None]:
    """The prior of every column of a release, by passes over it; None for a column without values."""
    released = release.only_part.released

    def counts(grids: Sequence[Grid | None]) -> list[npt.NDArray[np.int64]]:
        sizes = [0 if grid is None else grid.n_bins for grid in grids]
        count = partial(block_counts, released, tuple(grids))
        total = release.summed(count) if any(sizes) else np.zeros(0, dtype=np.int64)
        return np.split(total, np.cumsum(sizes)[:-1])

    return fit(release.moments(), law, sigmas.tolist(), counts)


def block_counts(columns: Sequence[str], grids: Sequence[Grid | None], block: Block) -> npt.NDArray[np.int64]:
    """Values of a block in the bins of each column's grid, one after the other."""
    asked = [(name, grid) for name, grid in zip(columns, grids, strict=True) if grid is not None]
    y = block.matrix([name for name, _ in asked])
    return np.concatenate([grid.count(column) for column, (_, grid) in zip(y, asked, strict=True)])


def column_guess(
    columns: Sequence[str],
    priors: Sequence[Prior | None],
    hits: Sequence[Vector | None],
    limits: tuple[Vector, Vector] | None,
    block: Block,
) -> BlockGuess:
    """Each value's posterior mean under its column's prior, or the hit of its bin; a missing value stays missing."""
    values = block.matrix(columns)
    for column, prior, hit in zip(values, priors, hits, strict=True):
        if isinstance(prior, GridPrior) and hit is not None:
            column[:] = prior.posterior_hit(column, hit)
        elif prior is not None:
            column[:] = prior.posterior_mean(column)
    return BlockGuess(values.T if limits is None else np.clip(values.T, *limits))


def _limits(release: Release, knowledge: Sequence[Knowledge]) -> tuple[Vector, Vector] | None:
    """Each column's least and greatest value, where they are known."""
    ranges = granted(knowledge, KnownRanges)
    return None if ranges is None else ranges.for_columns(len(release.only_part.names))


@dataclass(frozen=True, eq=False)
class UnivariateDetails(Details):
    """``expected_mse`` of each column by its estimated prior, and the ``prior``'s kind."""

    expected_mse: Vector
    prior: tuple[str, ...]


class UnivariateBayesAttack(BlockwiseAttack):
    """A2 (UDR). ``x̂ = E[x | y]``, column by column, under a prior that the release itself gives.

    *Knowledge.* The law and variance of the noise: published in the manifest, or granted as KnownNoise.

    ``variant="best"``: the prior is the nonparametric maximum-likelihood one on a grid of σ/8, or a normal one where
    that foretells held-out noisy values better or the column has fewer than 50;
    :func:`veil.numerics.column_priors.column_priors` has the rules. With normal noise a normal prior gives the linear
    filter. On two modes at ±2 of standard deviation .3, under normal noise of σ = 1, the error falls from 1 (raw) and
    .80 (linear) to .37.

    ``variant="paper"``: ``∫ x f_X(x) f_R(y − x) dx / f_Y(y)`` as H §4.2 has it, f_X reconstructed from the release by
    Agrawal and Srikant's iteration with their stopping rule
    (:func:`veil.numerics.deconvolution.reconstructed_weights`) and ``f_Y = f_X * f_R``. It starts flat and stops early:
    on the two modes the error is .38, and on 2,000 normal values .1 % above the linear filter's.

    ``variant="normal"``: the closed form if prior and noise are normal, whatever they are: ``μ + v/(v + σ²)·(y − μ)``
    with v = (Var y − σ²)₊. Its m.s.e. is vσ²/(v + σ²) for any law, and nothing linear in y alone does better.

    ``aim="hit"`` guesses, instead of the mean, the point within a tenth of the column's standard deviation of which the
    value most probably lies: worse in squared error, better where only near guesses count, above all on values that
    repeat. Columns of whole numbers then have a prior on them, where the noise is not too large for that. A KnownSample
    is counted into the prior.

    Of values in classes (P17) the guess is the mean, or the hit, of the column's distribution within the class: smooth
    from the counts, with the values of a KnownSample as points. KnownRanges bound every guess.

    Missing values stay missing.

    ``guess.details``: ``expected_mse`` per column, by the estimated prior; ``prior``, its kind per column ("normal",
    "nonparametric", "reconstructed", "exact" where there is no noise, "classes", "none" where there is no value).

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).choice([-1.0, 1.0], size=(1000, 1))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=0))
    >>> guess = veil.UnivariateBayesAttack().run(release)
    >>> errors = [np.mean((each - x) ** 2) for each in (release.to_numpy(), guess.values)]
    >>> bool(errors[1] < errors[0] / 2)
    True
    """

    catalogue = "A2"
    settings_to_try = ({"aim": "hit"},)
    words = "moves every value towards those that are common in its column"
    uses = (KnownNoise, KnownSample, KnownRanges)
    variants = ("best", "paper", "normal")

    def __init__(self, *, variant: str = "best", aim: str = "mean") -> None:
        super().__init__(variant=variant)
        self.aim = aim

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise, in classes, or with coded ends."""
        return isinstance(model, AdditiveModel | ClassModel | TopCodedModel)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction:
        """The columns' priors, from moments and counts."""
        choice(self.aim, "aim", ("mean", "hit"))
        if isinstance(release.only_part.model, ClassModel):
            return self._of_classes(release, release.only_part.model, knowledge)
        if isinstance(release.only_part.model, TopCodedModel):
            return self._of_coded_ends(release, release.only_part.model, knowledge)
        sigmas = np.sqrt(np.diag(published_noise(release, knowledge)))
        known = granted(knowledge, KnownSample)
        if known is not None:
            check_width(known.sample, release, "KnownSample.sample")
        if self.variant == "normal":
            return _linear(release, sigmas)
        if self.variant == "paper":
            return _reconstructed(release, noise_law(release, knowledge), sigmas)
        priors = release_priors(release, noise_law(release, knowledge), sigmas)
        spread = np.sqrt(np.clip(release.moments().variance - sigmas**2, 0.0, None))
        whole = _whole(release, known) & (sigmas < MOST_NOISE)
        hits: list[Vector | None] = []
        for j, prior in enumerate(priors):
            hits.append(None)
            if not isinstance(prior, GridPrior):
                continue
            if self.aim == "hit" and whole[j]:
                prior = prior.on_whole_numbers()
            if known is not None:
                prior = prior.sharpened(known.sample[:, j])
            if self.aim == "hit":
                centres = prior.hits(HIT_REACH * float(spread[j]))
                hits[j] = np.rint(centres) if whole[j] else centres
            priors[j] = prior
        errors = np.array([np.nan if prior is None else prior.expected_variance for prior in priors])
        kinds = tuple("none" if prior is None else prior.kind for prior in priors)
        released = release.only_part.released
        guess = partial(column_guess, released, tuple(priors), tuple(hits), _limits(release, knowledge))
        return Reconstruction(columns=released, guess=guess, details=UnivariateDetails(errors, kinds))

    def _of_classes(self, release: Release, model: ClassModel, knowledge: Sequence[Knowledge]) -> Reconstruction:
        """A guess for every class of every column."""
        part, d = release.only_part, len(release.only_part.names)
        sample, limits = granted(knowledge, KnownSample), _limits(release, knowledge)
        known = np.empty((0, d)) if sample is None else sample.sample
        check_width(known, release, "KnownSample.sample")
        sizes, whole = [len(texts) for texts in model.names], _whole(release, sample)
        counts = release.summed(partial(block_class_counts, part.released, model.names))
        guesses, errors = [], np.zeros(d)
        for j, own in enumerate(np.split(counts, np.cumsum(sizes)[:-1])):
            column = ClassColumn(
                edges=model.edges[j],
                counts=own,
                whole=bool(whole[j]),
                limits=None if limits is None else (float(limits[0][j]), float(limits[1][j])),
                known=known[np.isfinite(known[:, j]), j],
            )
            posteriors, reach = column.posteriors(), HIT_REACH * column.unit()
            hit = self.aim == "hit" and self.variant == "best"
            guesses.append(np.array([each.hit(reach) if hit else each.mean for each in posteriors]))
            errors[j] = float(own @ [each.variance for each in posteriors]) / max(int(own.sum()), 1)
        guess = partial(class_guess, part.released, model.names, tuple(guesses))
        return Reconstruction(columns=part.released, guess=guess, details=UnivariateDetails(errors, ("classes",) * d))

    def _of_coded_ends(self, release: Release, model: TopCodedModel, knowledge: Sequence[Knowledge]) -> Reconstruction:
        """Values within the limits as they are; for those beyond, one guess for each end of each column."""
        part, sample = release.only_part, granted(knowledge, KnownSample)
        known = np.empty((0, len(part.names))) if sample is None else sample.sample
        check_width(known, release, "KnownSample.sample")
        reach = HIT_REACH * np.sqrt(release.moments().variance)
        hit = self.aim == "hit" and self.variant == "best"
        guesses = coded_end_guesses(model, known, reach if hit else None)
        errors, kinds = np.zeros(len(part.names)), ("coded ends",) * len(part.names)
        guess = partial(coded_end_guess, part.released, model, guesses)
        return Reconstruction(columns=part.released, guess=guess, details=UnivariateDetails(errors, kinds))


def _whole(release: Release, sample: KnownSample | None) -> npt.NDArray[np.bool_]:
    """Which columns hold whole numbers, by their type or by a sample of them."""
    typed = np.array([column.is_integer for column in release.only_part.columns])
    return typed if sample is None else typed | known_whole(sample.sample)


def _reconstructed(release: Release, law: str, sigmas: Vector) -> Reconstruction:
    """The posterior mean under each column's reconstructed density."""
    priors = release_priors(release, law, sigmas, reconstructed_priors)
    errors = np.array([np.nan if prior is None else prior.expected_variance for prior in priors])
    kinds = tuple("none" if prior is None else prior.kind for prior in priors)
    released = release.only_part.released
    guess = partial(column_guess, released, tuple(priors), (None,) * len(priors), None)
    return Reconstruction(columns=released, guess=guess, details=UnivariateDetails(errors, kinds))


def _linear(release: Release, sigmas: Vector) -> Reconstruction:
    """The filter of a normal prior and normal noise, in every column."""
    moments, noise = release.moments(), sigmas**2
    spread = np.clip(moments.variance - noise, 0.0, None)
    priors = tuple(
        NormalPrior(*each) for each in zip(moments.mean.tolist(), spread.tolist(), noise.tolist(), strict=True)
    )
    errors = np.array([prior.expected_variance for prior in priors])
    details = UnivariateDetails(errors, tuple("normal" if n else "none" for n in moments.count))
    released = release.only_part.released
    guess = partial(column_guess, released, priors, (None,) * len(priors), None)
    return Reconstruction(columns=released, guess=guess, details=details)
