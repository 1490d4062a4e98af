"""The Bayes estimate under a mixture of normals, fitted through the noise.

*Model.* ``y = x + r``, r normal with known covariance Σr, x a mixture ``Σ_k w_k N(m_k, V_k)``; then y is the
mixture of ``N(m_k, V_k + Σr)`` and ``E[x|y] = Σ_k q_k(y) (m_k + V_k (V_k + Σr)⁻¹ (y − m_k))``.

*Knowledge.* Σr.

*Reference.* Extreme deconvolution (Bovy, Hogg and Roweis 2011); named as future work by Huang, Du and Chen
(2005, §9). Bovy's algorithm treats labels and x as missing. Here all records have the same noise, so x need
not be: given the labels, the likelihood is largest at the weighted mean and at
``V_k = Σr^½ Q diag((λ − 1)₊) Qᵀ Σr^½``, the clipped eigenvalues of the whitened weighted covariance. That
climbs faster, and as ``V_k + Σr ≥ Σr`` no component can collapse on a record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veil.arguments import whole
from veil.attacks.base import Details
from veil.attacks.noise.mixture_fit import NoisyMixture, choose_mixture
from veil.attacks.noise.shrinkage import pooled_eigenvalues, pooled_prior, whitening
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import size_order
from veil.numerics.windows import most_probable_window

MOST_DIMENSIONS = 50
LEAST_GAIN = 0.01
"""Directions that the normal filter would keep less of than this have nothing to fit a mixture to."""
GRAIN = 1e-4
"""Noise, in standard deviations, that stands in for none in columns that were released as they are."""


@dataclass(frozen=True)
class MixturePrior:
    """A mixture of normals for x, with the noise through which it is seen.

    Attributes
    ----------
    weights, means, covariances
        K weights, K × d means and K × d × d covariances of x.
    noise
        d × d covariance of the noise; may be singular where every ``V_k + Σr`` is not.
    """

    weights: Vector
    means: Matrix
    covariances: Matrix
    noise: Matrix

    def log_density(self, y: Matrix) -> Vector:
        """Log density of noisy records."""
        return self._released().log_density(y)

    def posterior_mean(self, y: Matrix, *, rows: int = 8192) -> Matrix:
        """``E[x|y]`` of every record, in blocks of rows."""
        released = self._released()
        gains = [np.linalg.solve(v + self.noise, v) for v in self.covariances]
        values = np.zeros_like(y)
        for start in range(0, len(y), rows):
            part = y[start : start + rows]
            shares = released.shares(part)
            for share, mean, gain in zip(shares, self.means, gains, strict=True):
                values[start : start + rows] += share[:, None] * (mean + (part - mean) @ gain)
        return values

    def posterior_hit(
        self, y: Matrix, axes: Matrix, offset: Matrix, variance: Vector, reach: Vector, *, rows: int = 8192
    ) -> Matrix:
        """For columns ``axes x + rest``, the points within ``reach`` of which they most probably lie given y.

        ``axes`` is c × d; the rest is normal and independent of x given y, with means ``offset`` (N × c) and variances
        ``variance`` (c).
        """
        released = self._released()
        gains = [np.linalg.solve(v + self.noise, v) for v in self.covariances]
        left = [
            np.einsum("cd,de,ce->c", axes, v - v @ gain, axes) for v, gain in zip(self.covariances, gains, strict=True)
        ]
        deviations = np.sqrt(np.clip(np.array(left), 0.0, None) + variance)  # K × c
        values = np.empty_like(offset)
        for start in range(0, len(y), rows):
            part = slice(start, start + rows)
            shares = released.shares(y[part])
            centres = [
                (mean + (y[part] - mean) @ gain) @ axes.T + offset[part]
                for mean, gain in zip(self.means, gains, strict=True)
            ]
            for j in range(len(axes)):
                means = np.array([centre[:, j] for centre in centres])
                values[part, j] = most_probable_window(shares, means, deviations[:, j], float(reach[j]))
        return values

    def _released(self) -> NoisyMixture:
        return NoisyMixture(self.weights, self.means, self.covariances + self.noise)


@dataclass(frozen=True, eq=False)
class MixtureDetails(Details):
    """The fitted mixture.

    Attributes
    ----------
    components, weights
        How many there are, and the share of each.
    dimensions
        Of the subspace that the mixture lives in.
    held_out
        Mean log density on held-out records, per number of components tried.
    """

    components: int
    weights: Vector
    dimensions: int
    held_out: dict[int, float]


def mixture_estimate(
    y: Matrix,
    noise: Matrix,
    *,
    max_components: int = 8,
    seed: int = 0,
    distribution: str = "normal",
    reach: float | None = None,
) -> tuple[Matrix, MixtureDetails]:
    """Bayes estimate of every record under a mixture prior that is fitted to the release itself.

    The mixture lives in the leading subspace of the whitened release, at most 50 dimensions; the normal
    filter treats the rest. The number of components has the largest likelihood on held-out records, less
    what a smaller number reaches within one standard error (a single normal: within two). With one
    component the estimate *is* the normal filter with pooled eigenvalues.

    Parameters
    ----------
    y
        N × d released values without missing ones.
    noise
        d × d covariance of the noise; a column may have none, and is then returned as it is.
    max_components
        Largest number of components to try.
    seed
        Of the held-out split and the starts. The same seed gives the same estimate.
    distribution
        The law of the noise. Only "normal" is accepted: the mixture would take the shape of Laplace or uniform
        noise for the data's, and lose to the normal filter.
    reach
        Guess the points within so many standard deviations of which values most probably lie, and not the means, which
        of a mixture may be where no value is. None for the means.

    Returns
    -------
    N × d guesses, and the fitted mixture.
    """
    y, noise = np.asarray(y, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    max_components = whole(max_components, "max_components", least=1)
    if y.ndim != 2 or noise.shape != (y.shape[1], y.shape[1]):
        raise InputError(f"noise must be d × d for N × d records; got {noise.shape} for {y.shape}")
    if distribution != "normal":
        raise NotApplicableError(f"the mixture prior takes normal noise; got {distribution!r}: use the normal prior")
    if not np.isfinite(y).all():
        lacking = int((~np.isfinite(y)).any(axis=1).sum())
        raise NotApplicableError(
            f"the mixture prior needs complete records; {lacking} of {len(y)} lack a value: use the normal prior"
        )
    if len(y) < 2:
        raise NotApplicableError(f"a mixture cannot be fitted to {len(y)} record(s); at least 2 are needed")
    exact = np.diag(noise) == 0
    grain = np.where(exact, (GRAIN * y.std(axis=0)) ** 2, 0.0)
    grain[exact & (grain == 0)] = 1.0  # a constant column
    noise = noise + np.diag(grain)

    root, inverse = whitening(noise)
    mean = y.mean(axis=0)
    whitened = (y - mean) @ inverse.T
    eigenvalues, q = np.linalg.eigh(whitened.T @ whitened / len(y))
    order = np.argsort(eigenvalues)[::-1]
    eigenvalues, q = np.clip(eigenvalues[order], 0.0, None), q[:, order]
    gain = 1.0 - 1.0 / pooled_eigenvalues(eigenvalues, len(y))
    lead = min(int((gain > LEAST_GAIN).sum()), MOST_DIMENSIONS)
    component = whitened @ q

    leading = component[size_order(component), :lead]
    choice = choose_mixture(leading, max_components=max_components, seed=seed)
    details = MixtureDetails(len(choice.weights), choice.weights, lead, choice.held_out)
    if len(choice.weights) == 1:
        prior = pooled_prior((y - mean).T @ (y - mean) / len(y), noise, len(y))
        values = mean + (y - mean) @ np.linalg.solve(prior + noise, prior)
    else:
        # choose_mixture describes the released components, whose noise is the identity.
        unit = np.eye(lead)
        fitted = MixturePrior(choice.weights, choice.means, choice.covariances - unit, unit)
        estimate = component * gain
        estimate[:, :lead] = fitted.posterior_mean(component[:, :lead])
        back = root @ q
        values = mean + estimate @ back.T
        if reach is not None:
            rest = mean + estimate[:, lead:] @ back[:, lead:].T
            own = np.sqrt(np.clip(y.var(axis=0) - np.diag(noise), 1e-6 * y.var(axis=0), None))
            spread = (back[:, lead:] ** 2) @ np.clip(gain[lead:], 0.0, None)
            values = fitted.posterior_hit(component[:, :lead], back[:, :lead], rest, spread, reach * own)
    values[:, exact] = y[:, exact]
    return values, details
