"""Attacks on additive noise that need nothing but the published noise law.

*Model.* ``y = x + r``, r of mean 0 and covariance Σr, independent of x (Huang, Du and Chen 2005).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.attacks.base import Attack, Guess, full_guess, granted
from veil.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.knowledge import Knowledge, KnownNoise
from veil.moments import Vector
from veil.release import Release, Step


def noise_covariance(release: Release, knowledge: Sequence[Knowledge]) -> Matrix:
    """Σr as granted, or as the manifest publishes it."""
    known = granted(knowledge, KnownNoise)
    d = len(release.step.names)
    if known is not None:
        if known.covariance.shape != (d, d):
            raise InputError(f"KnownNoise has {len(known.covariance)} columns; the release has {d} perturbed ones")
        return known.covariance
    scale = release.step.parameters.get("scale")
    if scale is None:
        raise NotApplicableError("the manifest does not say the noise's scale; grant KnownNoise")
    return np.diag(np.asarray(scale, dtype=np.float64) ** 2)


class NoiseDistributionAttack(Attack):
    """A1 (NDR). Take the release at face value: ``x̂ = y``; m.s.e. = Var(r) (H §4.1)."""

    catalogue = "A1"
    words = "takes the released values at face value"

    @classmethod
    def applies_to(cls, step: Step) -> bool:
        """Any release whose columns are the private ones plus noise."""
        return step.method == "additive-noise"

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        return full_guess(release, release.to_numpy())


class BayesEstimateAttack(Attack):
    """A6 (BE-DR). The Bayes estimate under a normal prior, from the release alone.

    *Knowledge.* Σr: published in the manifest, or granted as KnownNoise. Mean and covariance of
    x are estimated from the release.

    With Σx = Σy − Σr the estimate is ``μ + Σx Σy⁻¹ (y − μ)`` (H §6). Σy − Σr may be indefinite, so
    the filter is applied in the eigenbasis of the noise-whitened release:
    ``Σr^½ Q diag((1 − 1/λ)₊) Qᵀ Σr^−½``, which clips the estimated prior at zero and inverts
    nothing singular. For normal data its m.s.e. is the mean of λᵢσ²/(λᵢ + σ²).

    A record with missing values is estimated from its present ones.
    """

    catalogue = "A6"
    words = "filters the noise out with the correlations that the release itself shows"

    @classmethod
    def applies_to(cls, step: Step) -> bool:
        """Any release with additive noise."""
        return step.method == "additive-noise"

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        noise = noise_covariance(release, knowledge)
        moments = release.moments()
        if moments.n_complete < 2:
            raise NotApplicableError("the release has fewer than two complete records, so no covariance")
        y = release.to_numpy()
        values = np.full_like(y, np.nan)
        present = ~np.isnan(y)
        patterns, member = np.unique(present, axis=0, return_inverse=True)
        expected = np.full(y.shape[1], np.nan)
        for i, columns in enumerate(patterns):
            if not columns.any():
                continue
            rows = np.flatnonzero(member.ravel() == i)
            part = np.ix_(columns, columns)
            gain = bayes_gain(moments.covariance[part], noise[part])
            values[np.ix_(rows, columns)] = _filtered(y[np.ix_(rows, columns)], moments.mean[columns], gain)
            if columns.all():
                expected = np.diag(gain @ noise)
        return full_guess(release, values, expected_mse=expected)


def bayes_gain(covariance: Matrix, noise: Matrix) -> Matrix:
    """The matrix ``Σx Σy⁻¹`` with Σx = (Σy − Σr)₊ taken in the noise-whitened eigenbasis."""
    power, basis = np.linalg.eigh(noise)
    if power[0] <= power[-1] * 1e-12:
        raise NotApplicableError("the noise covariance is singular; some direction of the release has no noise")
    root = basis * np.sqrt(power)
    inverse = (basis / np.sqrt(power)).T
    eigenvalues, q = np.linalg.eigh(inverse @ covariance @ inverse.T)
    kept = np.clip(1.0 - 1.0 / np.maximum(eigenvalues, 1.0), 0.0, None)
    return np.asarray((root @ q) * kept @ (q.T @ inverse))


def _filtered(y: Matrix, mean: Vector, gain: Matrix) -> Matrix:
    return np.asarray(mean + (y - mean) @ gain.T)
