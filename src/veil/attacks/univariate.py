"""The Bayes estimate of each value from its own column (A2).

*Model.* ``y = x + r`` per column, r of mean 0 with a published law and variance σ², independent of x (Huang, Du and
Chen 2005, §4.2). Correlations between columns are left aside; A3 to A6 use them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.attacks.additive import published_noise
from veil.attacks.base import Attack, Guess, check_width, full_guess, granted
from veil.deconvolution import GridPrior, NormalPrior, Prior, deconvolve
from veil.errors import InputError, NotApplicableError
from veil.knowledge import Knowledge, KnownNoise, KnownSample
from veil.models import AdditiveModel, Model
from veil.moments import Vector
from veil.release import Release

LAWS = ("normal", "uniform", "laplace")
MOST_NOISE = 1.5
"""Noise, in steps of whole numbers, beyond which their distribution does not show through it."""
HIT_REACH = 0.1
"""How near a hit is, in standard deviations of the column."""


def noise_law(release: Release, knowledge: Sequence[Knowledge]) -> str:
    """The name of the noise's law, as granted, or as the manifest publishes it."""
    known, model = granted(knowledge, KnownNoise), release.step.model
    if known is not None:
        return known.distribution
    if not isinstance(model, AdditiveModel) or model.distribution not in LAWS:
        raise NotApplicableError(f"the manifest names no noise law among {', '.join(LAWS)}; grant KnownNoise")
    return model.distribution


def column_prior(y: Vector, law: str, sigma: float) -> Prior:
    """The prior of one column, from its present values."""
    if not sigma > 0:
        return NormalPrior(float(y.mean()), float(y.var()), 0.0, "exact")
    return deconvolve(y, law, sigma)


class UnivariateBayesAttack(Attack):
    """A2 (UDR). ``x̂ = E[x | y]``, column by column, under a prior that the release itself gives.

    *Knowledge.* The law and variance of the noise: published in the manifest, or granted as KnownNoise.

    ``variant="best"``: the prior is the nonparametric maximum-likelihood one on a grid of σ/8, or a normal one where
    that foretells held-out noisy values better or the column has fewer than 50; :func:`veil.deconvolution.deconvolve`
    has the rules. With normal noise a normal prior gives the linear filter. On two modes at ±2 of standard deviation
    .3, under normal noise of σ = 1, the error falls from 1 (raw) and .80 (linear) to .37.

    ``variant="paper"``: prior and noise normal, whatever they are: ``μ + v/(v + σ²)·(y − μ)`` with v = (Var y − σ²)₊
    (H §4.2). Its m.s.e. is vσ²/(v + σ²) for any law, and nothing linear in y alone does better.

    ``aim="hit"`` guesses, instead of the mean, the point within a tenth of the column's standard deviation of which the
    value most probably lies: worse in squared error, better where only near guesses count, above all on values that
    repeat. Columns of whole numbers then have a prior on them, where the noise is not too large for that. A KnownSample
    is counted into the prior.

    Missing values stay missing.

    ``guess.details``: ``expected_mse`` per column, by the estimated prior; ``prior``, its kind per column ("normal",
    "nonparametric", "exact" where there is no noise, "none" where there is no value).
    """

    catalogue = "A2"
    words = "moves every value towards those that are common in its column"
    uses = (KnownNoise, KnownSample)
    variants = ("best", "paper")

    def __init__(self, *, variant: str = "best", aim: str = "mean") -> None:
        super().__init__(variant=variant)
        self.aim = aim

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        if self.aim not in ("mean", "hit"):
            raise InputError(f"aim must be 'mean' or 'hit'; got {self.aim!r}")
        sigmas = np.sqrt(np.diag(published_noise(release, knowledge)))
        known = granted(knowledge, KnownSample)
        if known is not None:
            check_width(known.sample, release, "KnownSample.sample")
        if self.variant == "paper":
            return self._filter(release, sigmas)
        law = noise_law(release, knowledge)
        y = release.to_numpy()
        values, errors, kinds = np.full_like(y, np.nan), np.full(y.shape[1], np.nan), []
        for j, sigma in enumerate(sigmas):
            present = ~np.isnan(y[:, j])
            if not present.any():
                kinds.append("none")
                continue
            prior = column_prior(y[present, j], law, float(sigma))
            whole = release.step.columns[j]["dtype"].startswith(("int", "uint")) and sigma < MOST_NOISE
            if self.aim == "hit" and whole and isinstance(prior, GridPrior):
                prior = prior.on_whole_numbers()
            if known is not None and isinstance(prior, GridPrior):
                prior = prior.sharpened(known.sample[:, j])
            if self.aim == "hit":
                spread = max(float(y[present, j].var()) - float(sigma) ** 2, 0.0) ** 0.5
                values[present, j] = prior.posterior_hit(y[present, j], HIT_REACH * spread)
            else:
                values[present, j] = prior.posterior_mean(y[present, j])
            errors[j] = prior.expected_variance
            kinds.append(prior.kind)
        return full_guess(release, values, expected_mse=errors, prior=tuple(kinds))

    def _filter(self, release: Release, sigmas: Vector) -> Guess:
        moments = release.moments()
        noise = sigmas**2
        spread = np.clip(moments.variance - noise, 0.0, None)
        gain = np.divide(spread, spread + noise, out=np.zeros_like(spread), where=spread > 0)
        values = moments.mean + gain * (release.to_numpy() - moments.mean)
        kinds = tuple("normal" if n else "none" for n in moments.count)
        return full_guess(release, values, expected_mse=gain * noise, prior=kinds)
