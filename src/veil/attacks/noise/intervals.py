"""Interval disclosure (A7): not a value but a range that holds it with a given confidence.

*Model.* ``y = x + r``, r of mean 0 with a published law and covariance, independent of x. What an interval gives away
is measured by :func:`veil.measures.disclosure.complete_disclosure_share` (M10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.attacks.base import Details, Guess, GuessingAttack, full_guess
from veil.attacks.knowledge import Knowledge
from veil.attacks.noise.additive import available_covariance, filter_incomplete, noise_covariance, published_noise
from veil.attacks.noise.shrinkage import pooled_filter
from veil.attacks.noise.univariate import column_prior, noise_law
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.priors import Prior
from veil.release.models import AdditiveModel, Model
from veil.release.release import Release

Ends = tuple[Matrix, Matrix]


@dataclass(frozen=True, eq=False)
class IntervalDetails(Details):
    """The ends of each value's interval (N × d), and each column's ``source``."""

    lower: Matrix
    upper: Matrix
    source: tuple[str, ...]


class IntervalAttack(GuessingAttack):
    """A7 (IQR). A range for every value that holds it with the given confidence.

    *Knowledge.* The law and covariance of the noise: published in the manifest, or granted as KnownNoise.

    ``variant="best"``: the range of x given its record y. Per column the narrower of two posteriors (by expected
    variance): the normal one of A6, which uses the other columns, and the column's own of A2, which uses the shape
    of its distribution and the noise's law. Intervals of the second are rounded outwards to its grid of σ/8.

    ``variant="paper"``: one range per attribute for all records, ``[q_(1−c)/2, q_(1+c)/2]`` of the distribution of x as
    reconstructed from the noisy column (PKDD 2006 tutorial).

    Parameters
    ----------
    confidence
        The probability that a value lies in its range; over records and, with ``joint``, over the whole record.
    joint
        Ranges that hold all d values of a record at once: the sides of the ellipsoid
        ``(x − m)ᵀS⁻¹(x − m) ≤ χ²_d(c)``, that is ``m_j ± √(χ²_d(c)·S_jj)``, with m and S of the normal posterior
        ("best") or of the reconstructed normal distribution ("paper"). The box holds more than the ellipsoid.

    ``guess.values`` are the middles. ``guess.details``: ``lower`` and ``upper`` (N × d, NaN where y is missing) and
    ``source`` per column ("record", "column" or "distribution").
    """

    catalogue = "A7"
    words = "states for every value a range that should hold it with the chosen confidence"
    variants = ("best", "paper")

    def __init__(self, confidence: float = 0.95, *, joint: bool = False, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.confidence = confidence
        self.joint = joint

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        share = number(
            self.confidence, "confidence", least=0.0, most=1.0, rule="a share between 0 and 1, both excluded"
        )
        if not 0.0 < share < 1.0:
            raise InputError(f"confidence must be a share between 0 and 1, both excluded; got {share:g}")
        noise = noise_covariance(release, knowledge)
        y = release.to_numpy()
        columns = noise.shape[0]
        radius = ellipsoid_radius(share, columns) if self.joint else NormalDist().inv_cdf((1 + share) / 2)
        if self.joint or self.variant == "best":
            mean, prior, errors = _normal_distribution(release, y, noise)
        if self.joint and self.variant == "paper":
            half = radius * np.sqrt(np.diag(prior))
            lower, upper = (np.broadcast_to(ends, y.shape).copy() for ends in (mean - half, mean + half))
            source = ["distribution"] * columns
        elif self.variant == "paper":
            own = published_noise(release, knowledge)
            lower, upper = self._reconstructed(y, noise_law(release, knowledge), own, share)
            source = ["distribution"] * columns
        else:
            centre, variance = posterior(y, mean, prior, noise)
            # Few records' eigenvectors have fitted some of the noise: the posterior alone would be too sure.
            variance = variance * np.maximum(np.diag(errors) / _left(prior, noise), 1.0)
            lower, upper = centre - radius * np.sqrt(variance), centre + radius * np.sqrt(variance)
            source = ["record"] * columns
            if not self.joint:
                own = published_noise(release, knowledge)
                for j, ends in self._sharper(y, noise_law(release, knowledge), own, variance, share):
                    lower[:, j], upper[:, j] = ends
                    source[j] = "column"
        lower[np.isnan(y)] = upper[np.isnan(y)] = np.nan
        return full_guess(release, (lower + upper) / 2, IntervalDetails(lower, upper, tuple(source)))

    def _reconstructed(self, y: Matrix, law: str, noise: Matrix, share: float) -> Ends:
        """One range per column, for all records alike."""
        lower, upper = np.full_like(y, np.nan), np.full_like(y, np.nan)
        for j, present, prior in _column_priors(y, law, noise):
            lower[present, j], upper[present, j] = prior.interval(share)
        return lower, upper

    def _sharper(
        self, y: Matrix, law: str, noise: Matrix, variance: Matrix, share: float
    ) -> list[tuple[int, tuple[Vector, Vector]]]:
        """The columns whose own distribution says more than the rest of the record does."""
        intervals = []
        for j, present, prior in _column_priors(y, law, noise):
            if prior.expected_variance < float(variance[present, j].mean()):
                lower, upper = np.full(len(y), np.nan), np.full(len(y), np.nan)
                lower[present], upper[present] = prior.posterior_interval(y[present, j], share)
                intervals.append((j, (lower, upper)))
        return intervals


def ellipsoid_radius(confidence: float, columns: int) -> float:
    """√χ²_d(c): how many standard deviations the ellipsoid that holds a normal record reaches along each axis.

    >>> round(ellipsoid_radius(0.95, 1), 4), round(ellipsoid_radius(0.95, 3), 4)
    (1.96, 2.7955)
    """
    from scipy.special import chdtri

    return float(np.sqrt(chdtri(columns, 1.0 - confidence)))


def posterior(y: Matrix, mean: Vector, prior: Matrix, noise: Matrix) -> tuple[Matrix, Matrix]:
    """Mean and variance of each value under a normal prior, given the present values of its record."""
    total = prior + noise
    present = ~np.isnan(y)
    variance = np.empty_like(y)
    if present.all():
        gain = np.linalg.solve(total, prior).T
        variance[:] = np.diag(gain @ noise)
        return mean + (y - mean) @ gain.T, variance
    patterns, index = np.unique(present, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        known = np.linalg.solve(total[np.ix_(pattern, pattern)], prior[pattern])
        variance[index.ravel() == i] = np.clip(np.diag(prior) - np.einsum("ij,ij->j", prior[pattern], known), 0.0, None)
    return filter_incomplete(y, mean, prior, noise), variance


def _normal_distribution(release: Release, y: Matrix, noise: Matrix) -> tuple[Vector, Matrix, Matrix]:
    """Mean and covariance of x as A6 estimates them, and the covariance of A6's errors."""
    moments = release.moments()
    covariance = available_covariance(y, moments.mean) if moments.missing.any() else moments.covariance
    return moments.mean, *pooled_filter(covariance, noise, moments.n_rows)


def _left(prior: Matrix, noise: Matrix) -> Vector:
    """What the Bayes filter leaves of each column, if the prior were the truth."""
    left = np.diag(noise @ np.linalg.solve(prior + noise, prior))
    return np.asarray(np.maximum(left, 1e-12 * np.diag(noise)))


def _column_priors(y: Matrix, law: str, noise: Matrix) -> Iterator[tuple[int, npt.NDArray[np.bool_], Prior]]:
    """Each column with any value: its number, where it has values, and its own prior."""
    for j, sigma in enumerate(np.sqrt(np.diag(noise))):
        present = ~np.isnan(y[:, j])
        if present.any():
            yield j, present, column_prior(y[present, j], law, float(sigma))
