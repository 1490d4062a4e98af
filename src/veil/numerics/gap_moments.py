"""Mean and covariance of a table with gaps, of which every value that is there went through noise.

*Model.* Records x are normal, and a value is missing depending on the values that are there, not on the missing one
(missing at random). The maximum of the likelihood of what is there solves, with δ = x − μ on a record's present values,
A the inverse of their covariance (0 elsewhere) and u = Aδ,

    mean of u = 0        mean of A(δδ′ − Σ)A = 0,

and EM finds it: μ ← μ + Σū, Σ ← Σ + Σ D Σ, D the second mean (Dempster, Laird and Rubin 1977; Little and Rubin 2020,
11.2).
Both are quadratic in x. Behind noise there is z with E(z|x) = x, and for δδ′ its unbiased estimate

    (z − μ)(z − μ)′ − R̂,        R̂ = Q∘zz′ + R₀ − diag(ℓ∘z),        E(R̂|x) = Cov(z|x).

These *corrected* equations (Stefanski 1989; Nakamura 1990) have, given x and its gaps, the same mean as those of the
private table itself. So they estimate what the private table would tell, also where gaps depend on *private* values:
then EM on the released values is wrong, for given released values more of the missing records have large x.

Means are right for any law whose conditional means are linear, covariances if the conditional spread is constant as
well; if nothing but chance decides what is missing (MCAR), both are right for every law.

Without gaps the solution is the mean of z and its covariance less the noise's, whatever the law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, Vector
from veil.numerics.gap_patterns import Mask, PatternSums

TOLERANCE = 1e-8
"""Standard deviations by which no estimate moves any more."""
MOST_STEPS = 1_000
_PLAIN_STEPS = 4
_LEAST = 1e-9
_CHUNK = 2**21
"""Numbers per pattern that are held at once."""


@dataclass(frozen=True)
class Correction:
    """What noise adds to products: R̂ = Q∘zz′ + R₀ − diag(ℓ∘z), the unbiased estimate of Cov(z|x)."""

    product: Matrix
    fixed: Matrix
    linear: Vector

    @classmethod
    def none(cls, d: int) -> Correction:
        """For a table without noise."""
        return cls(np.zeros((d, d)), np.zeros((d, d)), np.zeros(d))

    def of(self, weight: Vector, one: Matrix, two: Matrix) -> Matrix:
        """The sum of R̂ over records with these sums of 1, z and zz′."""
        noise = two * self.product + weight[:, None, None] * self.fixed
        if self.linear.any():
            diagonal = np.arange(len(self.linear))
            noise[:, diagonal, diagonal] -= self.linear * one
        return noise


@dataclass(frozen=True)
class GapMoments:
    """The solution: moments, and the positive covariance by which missing values were predicted.

    That is the covariance with no eigenvalue below ``least``, columns measured in their ``unit``.
    """

    mean: Vector
    covariance: Matrix
    working: Matrix
    unit: Vector
    least: float
    converged: bool


def inverses(present: Mask, covariance: Matrix) -> Matrix:
    """For each pattern the inverse of the covariance of what is there, 0 elsewhere."""
    there = present[:, :, None] & present[:, None, :]
    inverse = np.linalg.inv(np.where(there, covariance, np.eye(len(covariance))))
    return np.asarray(np.where(there, inverse, 0.0))


def solve(sums: PatternSums, correction: Correction) -> GapMoments:
    """EM from the means and covariances of all values that are there, sped up by Newton's steps where they help.

    EM alone takes hundreds of steps where columns nearly depend on each other. A step of Newton's is taken back if it
    leaves the equations further from being solved.
    """
    with one_blas_thread():
        mean, covariance, noise = _available(sums, correction)
        unit = np.sqrt(np.clip(np.diag(covariance) + noise, 0.0, None))
        unit[unit == 0.0] = 1.0
        least = _LEAST + _doubt(sums, noise / unit**2)
        fallback: tuple[Vector, Matrix, float] | None = None
        next_newton = patience = _PLAIN_STEPS
        for count in range(MOST_STEPS):
            working = _positive(covariance, unit, least)
            slope, spread = _equations(sums, correction, mean, working)
            moved, turned = working @ slope, working + working @ spread @ working - covariance
            change = float(max(np.abs(moved / unit).max(), np.abs(turned / np.outer(unit, unit)).max()))
            if fallback is not None and not change < fallback[2]:
                mean, covariance, _ = fallback
                patience *= 2
                fallback, next_newton = None, count + patience
                continue
            stepped = covariance + turned - np.outer(moved, moved)
            plain = mean + moved, (stepped + stepped.T) / 2
            if change < TOLERANCE:
                mean, covariance = plain
                break
            faster = None
            if count >= next_newton:
                at = GapMoments(mean, covariance, working, unit, least, converged=False)
                faster = _newton(sums, correction, at, moved, turned)
                next_newton = count + 1 if faster is not None else count + patience
            fallback = None if faster is None else (*plain, change)
            mean, covariance = plain if faster is None else faster
        working = _positive(covariance, unit, least)
        return GapMoments(mean, covariance, working, unit, least, bool(change < TOLERANCE))


def _newton(
    sums: PatternSums, correction: Correction, at: GapMoments, moved: Vector, turned: Matrix
) -> tuple[Vector, Matrix] | None:
    """Where Newton's method goes from here; None where that is far away or nowhere."""
    d, unit = len(at.unit), at.unit
    first, second = np.triu_indices(d)
    scale = np.concatenate([unit, unit[first] * unit[second]])
    derivative = jacobian(sums, correction, at) * scale / scale[:, None]
    try:
        step = -np.linalg.solve(derivative, np.concatenate([moved, turned[first, second]]) / scale)
    except np.linalg.LinAlgError:
        return None
    if not np.abs(step).max() < 1.0:
        return None
    step *= scale
    covariance = at.covariance.copy()
    covariance[first, second] += step[d:]
    covariance[second, first] = covariance[first, second]
    return at.mean + step[:d], covariance


def jacobian(sums: PatternSums, correction: Correction, moments: GapMoments) -> Matrix:
    """The derivative of the mean of ψ by the mean and the covariance (its upper triangle, row by row).

    ψ is a record's contribution to one step of EM: Σu, and ΣA(δδ′ − R̂ − Σ)AΣ + Σ less the covariance. Let W be all
    weights, U the sum of a pattern's u and G that of A(δδ′ − R̂)A. From dA = −A E A follow, for a change E of Σ and m
    of μ, sums over patterns of −A E G − G E A + w A E A and of −U(Am)′ − (Am)U′. Without gaps the derivative is −1.

    E is the change of the working covariance. Where eigenvalues were lifted, that is only a part of the change of the
    covariance (:func:`_lifted_change`).
    """
    d, w, total = len(moments.mean), moments.working, sums.weight.sum()
    a_sum = np.zeros((d, d))
    a_a, a_g, a_u = np.zeros((d * d, d * d)), np.zeros((d * d, d * d)), np.zeros((d * d, d))
    bar = np.zeros((d, d))
    for part in _parts(sums):
        a, u, g = _pattern_equations(part, correction, moments.mean, w)
        flat = a.reshape(len(a), -1)
        weighted = flat * part.weight[:, None]
        a_sum += weighted.sum(axis=0).reshape(d, d)
        bar += g.sum(axis=0)
        a_a += weighted.T @ flat
        a_g += flat.T @ g.reshape(len(g), -1)
        a_u += flat.T @ u
    four = [k.reshape(d, d, d, d) / total for k in (a_a, a_g)]  # [i, k, l, j]
    by_spread = (four[0] - four[1]).transpose(0, 3, 1, 2) - four[1].transpose(2, 1, 3, 0)
    by_spread = np.einsum("ai,bj,ijkl->abkl", w, w, by_spread, optimize=True)
    middle = (bar - a_sum) / total
    by_spread += np.einsum("ak,lb->abkl", np.eye(d), middle @ w) + np.einsum("ak,lb->abkl", w @ middle, np.eye(d))
    three = a_u.reshape(d, d, d) / total  # A[i, k] U[j]
    by_mean = -three.transpose(0, 2, 1) - three.transpose(2, 0, 1)
    by_mean = np.einsum("ai,bj,ijk->abk", w, w, by_mean, optimize=True)
    first, second = np.triu_indices(d)
    twice = np.where(first == second, 0.5, 1.0)
    cross = -np.einsum("ai,ikl->akl", w, three)
    upper = np.hstack([-w @ a_sum / total, (cross[:, first, second] + cross[:, second, first]) * twice])
    lower = by_spread[first, second]
    folded = (lower[:, first, second] + lower[:, second, first]) * twice
    lift = _lifted_change(moments)
    if lift is not None:
        upper[:, d:] = upper[:, d:] @ lift
        folded = (folded + np.eye(len(first))) @ lift - np.eye(len(first))
    return np.vstack([upper, np.hstack([by_mean[first, second], folded])])


def _lifted_change(moments: GapMoments) -> Matrix | None:
    """The derivative of the working covariance by the covariance, upper triangles; None where they are the same.

    Of f(S) = Σf(λᵢ)vᵢvᵢ′ the derivative along E is V(K∘V′EV)V′ with Kᵢⱼ = (f(λᵢ) − f(λⱼ))/(λᵢ − λⱼ), and f′ where they
    are equal (Daleckii and Krein 1965).
    """
    square = np.outer(moments.unit, moments.unit)
    values, vectors = np.linalg.eigh(moments.covariance / square)
    if values[0] >= moments.least:
        return None
    lifted = np.maximum(values, moments.least)
    apart = values[:, None] - values
    near = np.abs(apart) < _LEAST
    slope = np.where(near, values > moments.least, (lifted[:, None] - lifted) / np.where(near, 1.0, apart))
    first, second = np.triu_indices(len(values))
    turned = vectors[first][:, :, None] * vectors[second][:, None, :]
    turned = turned + turned.transpose(0, 2, 1) * (first != second)[:, None, None]
    changes = vectors @ (slope * turned) @ vectors.T / square[first, second][:, None, None] * square
    return np.asarray(changes[:, first, second].T)


def _parts(sums: PatternSums) -> list[PatternSums]:
    """A few patterns at a time, so that many do not fill the memory."""
    size = max(_CHUNK // max(sums.present.shape[1] ** 2, 1), 1)
    cuts = [slice(start, start + size) for start in range(0, len(sums.present), size)]
    return [
        PatternSums(sums.n_rows, sums.present[c], sums.count[c], sums.weight[c], sums.one[c], sums.two[c]) for c in cuts
    ]


def _pattern_equations(
    sums: PatternSums, correction: Correction, mean: Vector, working: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """A of each pattern, and the sums of u and of A(δδ′ − R̂)A over its records."""
    a = inverses(sums.present, working)
    shifted = sums.one - sums.weight[:, None] * mean
    products = sums.two - sums.one[:, :, None] * mean - mean[:, None] * shifted[:, None, :]
    products -= correction.of(sums.weight, sums.one, sums.two)
    return a, np.einsum("pij,pj->pi", a, shifted), a @ products @ a


def _equations(sums: PatternSums, correction: Correction, mean: Vector, working: Matrix) -> tuple[Vector, Matrix]:
    """The means over records of u and of A(δδ′ − R̂ − Σ)A."""
    d, total = len(mean), sums.weight.sum()
    slope, spread = np.zeros(d), np.zeros((d, d))
    for part in _parts(sums):
        a, u, g = _pattern_equations(part, correction, mean, working)
        slope += u.sum(axis=0)
        spread += g.sum(axis=0) - np.einsum("p,pij->ij", part.weight, a)
    return slope / total, spread / total


def _available(sums: PatternSums, correction: Correction) -> tuple[Vector, Matrix, Vector]:
    """Means, covariances over the records that have both values, and mean variances of the noise."""
    there = sums.present.astype(np.float64)
    both = (there * sums.weight[:, None]).T @ there
    own = np.diag(both)
    noise = np.zeros_like(both)
    for part in _parts(sums):
        outside = part.present[:, :, None] & part.present[:, None, :]
        noise += np.where(outside, correction.of(part.weight, part.one, part.two), 0.0).sum(axis=0)
    mean = sums.one.sum(axis=0) / own
    # Sums of one column over the records that have the other as well.
    one = sums.one.T @ there
    products = sums.two.sum(axis=0) - one * mean - (one * mean).T + both * np.outer(mean, mean)
    covariance = np.divide(products - noise, both, out=np.zeros_like(both), where=both > 0.0)
    return mean, covariance, np.clip(np.diag(noise) / own, 0.0, None)


def _doubt(sums: PatternSums, shares: Vector) -> float:
    """The least eigenvalue, in released variances, that strong noise lets the records tell from 0."""
    return float(shares.max() * np.sqrt(len(shares) / sums.n_used))


def _positive(covariance: Matrix, unit: Vector, least: float) -> Matrix:
    """The covariance with no eigenvalue below the least, columns in their units: what noise hides predicts nothing."""
    scaled = covariance / np.outer(unit, unit)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] >= least:
        return covariance
    lifted = (vectors * np.maximum(values, least)) @ vectors.T
    return np.asarray(lifted * np.outer(unit, unit))
