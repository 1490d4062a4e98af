"""Attacks on additive noise that keep some directions of the release and drop the rest (A3, A4, A5).

*Model.* ``y = x + r``, r of mean 0 and covariance Σr, independent of x. Where the columns of x are correlated, x lives
near a few directions while the noise fills all d. Projecting the centred release on those p directions removes the
share (d − p)/d of the noise and loses what x has in the others. With independent noise of variance σ² and the
eigenvalues λ of Σx the m.s.e. is ``σ²p/d + Σ_{i>p} λᵢ/d`` (Huang, Du and Chen 2005, Theorem 5.2), plus what
estimating the directions costs.

*Units.* All theory here wants noise of one size in every column. ``variant="best"`` therefore works in units of the
noise: A4 and A5 whiten it (``Σr^-½``), A3 divides each column by its noise's standard deviation and leaves the noise's
correlation aside, as the catalogue says. The answer then does not depend on the units of the columns.
``variant="paper"`` works in the columns' own units. With independent noise of one variance both are the same.

*Missing values.* A projection needs whole records, so it is learned and used for each pattern of missing values by
itself (:mod:`veil.attacks.noise.patterns`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from veil.arguments import number, whole
from veil.attacks.base import Details, Guess, full_guess
from veil.attacks.blockwise import BlockwiseAttack, LinearFilter, Reconstruction, linear_guess
from veil.attacks.knowledge import Knowledge
from veil.attacks.noise.additive import noise_covariance, normal_rest
from veil.attacks.noise.patterns import by_pattern
from veil.attacks.noise.shrinkage import whitening
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.release.models import AdditiveModel, Model
from veil.release.release import Release

GAP_SPREADS: Final = 6.0
"""A gap stands out when it exceeds this many λ̃/√N; equal eigenvalues show one in about 1 % of tables."""

RULES: Final = ("gap", "energy", "noise", "twice")


@dataclass(frozen=True)
class _Filter:
    """Directions to keep (d × p), the weight of each, and what was found on the way."""

    basis: Matrix
    eigenvalues: Vector
    weights: Vector | None = None
    gap_found: bool | None = None
    threshold: float | None = None
    singular_values: Vector | None = None


@dataclass(frozen=True, eq=False)
class SpectralDetails(Details):
    """How many directions were kept, and by what.

    ``threshold`` is A3's, ``gap_found`` A4's where it looks for one, ``singular_values`` A5's; in working units.
    """

    n_components: int
    eigenvalues: Vector
    threshold: float | None = None
    gap_found: bool | None = None
    singular_values: Vector | None = None


class _ProjectionAttack(BlockwiseAttack):
    """Projects the centred release on directions that a subclass chooses."""

    variants = ("best", "paper")

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    @abstractmethod
    def _choose(self, n: int, covariance: Matrix, noise: Matrix) -> _Filter:
        """The directions to keep, given the records' number, their covariance and the noise's, in working units."""

    def _units(self, noise: Matrix) -> tuple[Matrix, Matrix]:
        """Matrices to the working units and back."""
        root, inverse = whitening(noise)
        return inverse.T, root.T

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """The projection, from the release's moments; with missing values, nothing."""
        moments = release.moments()
        if moments.missing.any():
            return None
        noise = noise_covariance(release, knowledge)
        gain, details = self._projection(moments.n_rows, moments.covariance, noise)
        released = release.only_part.released
        guess = partial(linear_guess, released, LinearFilter(moments.mean, moments.mean, gain.T))
        return Reconstruction(columns=released, guess=guess, details=details)

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        noise = noise_covariance(release, knowledge)
        values, details = by_pattern(release.to_numpy(), noise, self._estimate, normal_rest)
        return full_guess(release, values, details)

    def _estimate(self, y: Matrix, noise: Matrix) -> tuple[Matrix, SpectralDetails]:
        """The projection of records without gaps, learned from them."""
        centred = y - y.mean(axis=0)
        gain, details = self._projection(len(y), centred.T @ centred / len(y), noise)
        return y.mean(axis=0) + centred @ gain, details

    def _projection(self, n: int, covariance: Matrix, noise: Matrix) -> tuple[Matrix, SpectralDetails]:
        """What records are multiplied by, from the right."""
        identity = np.eye(len(noise))
        into, back = (identity, identity) if self.variant == "paper" else self._units(noise)
        chosen = self._choose(n, into.T @ covariance @ into, into.T @ noise @ into)
        basis = chosen.basis if chosen.weights is None else chosen.basis * chosen.weights
        gain = (into @ basis) @ (chosen.basis.T @ back)
        details = SpectralDetails(
            chosen.basis.shape[1], chosen.eigenvalues, chosen.threshold, chosen.gap_found, chosen.singular_values
        )
        return gain, details


class SpectralFilterAttack(_ProjectionAttack):
    """A3 (SF). Keep the directions whose variance is more than pure noise could show.

    *Knowledge.* The noise's variance: published in the manifest, or granted as KnownNoise.

    Eigenvectors of Cov(Y) are kept where ``λ̃ > s²(1 + √(d/N))²``, the upper end of the spectrum of pure noise
    (Marchenko and Pastur 1967; Kargupta et al. 2003), with s² = tr Σr/d whatever the noise's correlation.
    Once the small eigenvalues of x pass that margin every direction is kept, and the error stays at that of the
    raw release.

    ``guess.details``: ``n_components``; ``eigenvalues`` of Cov(Y) and ``threshold``, in working units.
    """

    catalogue = "A3"
    words = "drops the directions of the release that vary no more than pure noise would"

    def _units(self, noise: Matrix) -> tuple[Matrix, Matrix]:
        unit = np.sqrt(np.diag(noise))
        return np.diag(1.0 / unit), np.diag(unit)

    def _choose(self, n: int, covariance: Matrix, noise: Matrix) -> _Filter:
        eigenvalues, vectors = sorted_eigenpairs(covariance)
        threshold = noise_level(noise) * (1.0 + np.sqrt(len(noise) / n)) ** 2
        return _Filter(vectors[:, eigenvalues > threshold], eigenvalues, threshold=float(threshold))


class PCAAttack(_ProjectionAttack):
    """A4 (PCA-DR). Keep the principal directions of the private table, found through the noise.

    *Knowledge.* Σr: published in the manifest, or granted as KnownNoise.

    Parameters
    ----------
    select
        How many directions to keep.

        - ``"gap"`` (H's choice): up to the largest ratio λ_p/λ_{p+1} of the eigenvalues of Σy − Σr, those below
          the spread of pure noise lifted to it. Only gaps beyond the sampling spread count,
          λ_p − λ_{p+1} > 6 λ̃_p/√N. Without one the directions cannot be told apart: p = d, the guess is
          the release and ``details["gap_found"]`` is False.
        - a whole number: that many.
        - ``("energy", share)``, or ``"energy"`` for a share of 0.95: the fewest with that share of Σx's variance.
        - ``"noise"`` and ``"twice"``: those with λ̃ ≥ λ_noise, or λ̃ ≥ 2λ_noise, of Cov(Y), λ_noise = tr Σr/d (PKDD 2006
          tutorial, strategies 1 and 2). A direction pays for its noise when λ ≥ σ², that is λ̃ ≥ 2σ²: "twice" is
          near the best p.

    ``guess.details``: ``n_components``; ``eigenvalues`` (of Σy − Σr for gap, energy and a number, of Cov(Y) for
    noise and twice), in working units.
    """

    catalogue = "A4"
    words = "keeps only the few directions in which the columns vary together"

    def __init__(self, select: str | int | tuple[str, float] = "gap", *, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.select = select

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """The projection, from the release's moments; with missing values, nothing."""
        rule, amount = _rule(self.select)
        d = len(release.only_part.names)
        if rule == "fixed" and amount > d:
            raise InputError(f"select must be at most the number of columns ({d}); got {int(amount)}")
        return super().learn(release, knowledge)

    def _choose(self, n: int, covariance: Matrix, noise: Matrix) -> _Filter:
        rule, amount = _rule(self.select)
        if rule in ("noise", "twice"):
            eigenvalues, vectors = sorted_eigenpairs(covariance)
            least = noise_level(noise) * (1.0 if rule == "noise" else 2.0)
            return _Filter(vectors[:, eigenvalues >= least], eigenvalues)
        eigenvalues, vectors = sorted_eigenpairs(covariance - noise)
        d = len(eigenvalues)
        if rule == "gap":
            p = widest_gap(eigenvalues, np.diag(vectors.T @ covariance @ vectors), noise_level(noise), n)
            return _Filter(vectors[:, : p or d], eigenvalues, gap_found=p is not None)
        if rule == "energy":
            energy = np.cumsum(np.clip(eigenvalues, 0.0, None))
            p = int(np.searchsorted(energy, amount * energy[-1] * (1 - 1e-12))) + 1 if energy[-1] > 0 else 0
        else:
            p = int(amount)
        return _Filter(vectors[:, :p], eigenvalues)


class SVDAttack(_ProjectionAttack):
    """A5 (SVD-DR). Rebuild the centred release from its strongest singular vectors.

    *Knowledge.* The noise's singular value ``s_noise = σ√N``: from the published variance, or KnownNoise.

    Kept are those with ``s ≥ √2·s_noise``: the same answer as ``PCAAttack("twice")``, since s² = Nλ̃.
    ``shrink=True`` keeps all above ``(1 + √(d/N))·s_noise`` and shrinks each to its best value for that noise
    (Gavish and Donoho 2017, Frobenius loss), which no paper here has.

    ``guess.details``: ``n_components``; ``eigenvalues`` s²/N and ``singular_values``, in working units.
    """

    catalogue = "A5"
    words = "rebuilds the table from its few strongest patterns and drops the rest as noise"

    def __init__(self, *, shrink: bool = False, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.shrink = shrink

    def _choose(self, n: int, covariance: Matrix, noise: Matrix) -> _Filter:
        eigenvalues, vectors = sorted_eigenpairs(covariance)
        d = len(noise)
        rank = min(n, d)
        vectors, singular = vectors[:, :rank], np.sqrt(n * np.clip(eigenvalues[:rank], 0.0, None))
        level = np.sqrt(noise_level(noise) * n)
        if not self.shrink:
            return _Filter(vectors[:, singular >= np.sqrt(2.0) * level], singular**2 / n, singular_values=singular)
        ratio, size = d / n, singular / level
        signal = size > 1.0 + np.sqrt(ratio)
        power = size[signal] ** 2
        weights = np.sqrt((power - ratio - 1.0) ** 2 - 4.0 * ratio) / power
        return _Filter(vectors[:, signal], singular**2 / n, weights, singular_values=singular)


def widest_gap(eigenvalues: Vector, total: Vector, level: float, n: int) -> int | None:
    """The p of the largest ratio λ_p/λ_{p+1} that stands out of the sampling spread; None without one.

    ``total`` are the same directions' variances in the release, ``level`` the noise's variance.

    >>> widest_gap(np.array([9.0, 8.9, 1.0, 0.9]), np.array([10.0, 9.9, 2.0, 1.9]), 1.0, 10_000)
    2
    >>> widest_gap(np.array([9.0, 8.9]), np.array([10.0, 9.9]), 1.0, 1_000) is None
    True
    """
    floor = level * ((1.0 + np.sqrt(len(eigenvalues) / n)) ** 2 - 1.0)
    lifted = np.maximum(eigenvalues, floor)
    clear = (lifted[:-1] - lifted[1:]) * np.sqrt(n) > GAP_SPREADS * total[:-1]
    if not clear.any():
        return None
    return int(np.argmax(np.where(clear, lifted[:-1] / lifted[1:], 0.0))) + 1


def sorted_eigenpairs(matrix: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues of a symmetric matrix, largest first, and their vectors as columns."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return eigenvalues[::-1].copy(), vectors[:, ::-1].copy()


def noise_level(noise: Matrix) -> float:
    """The noise's mean variance per direction, tr Σr/d."""
    return float(np.trace(noise) / len(noise))


def _rule(select: Any) -> tuple[str, float]:
    """A selection rule and its amount."""
    if isinstance(select, str) and select in RULES:
        return select, 0.95
    if isinstance(select, tuple | list) and len(select) == 2 and select[0] == "energy":
        return "energy", number(select[1], "select", least=0.0, most=1.0, rule="a share between 0 and 1")
    if isinstance(select, str | tuple | list):
        raise InputError(f"select must be one of {', '.join(RULES)}, ('energy', share) or a whole number")
    return "fixed", whole(select, "select", least=1)
