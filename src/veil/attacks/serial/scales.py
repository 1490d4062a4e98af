"""The scale in which the noise of a release is the same in every record, so that its series can be smoothed.

=========================  =============================================================================================
additive noise             u = x, as it is released
factors, log-normal noise  u = ln |x|; signs and zeros are released exactly
combined noise             u = E[g(x r + e) | x] with ``g(y) = (b/τ) asinh(y/b)``, ``b = τ E r/√Var r``
=========================  =============================================================================================

The last is the variance-stabilising transformation of ``Var(y | x) = x² Var r + τ²`` (Bartlett 1947): ``g′(y)`` is the
inverse of the deviation that y has around its mean. The mean of g(y) is not g of the mean, so what is smoothed is
mapped back through the table of u over x, found by quadrature over the published laws of r and e. For τ → 0 it is the
logarithm. Factors on a column with both signs take the same way with a small b in place of the noise: logarithms have
no order across 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import roots_hermitenorm, roots_legendre

from veil.attacks.base import granted
from veil.attacks.changed import logarithm
from veil.attacks.knowledge import Knowledge, KnownNoise
from veil.attacks.noise.additive import HIT_REACH, noise_covariance, with_grain
from veil.attacks.noise.logarithmic import exponential
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.measures.units import standard_units
from veil.numerics.factor_law import FactorLaw
from veil.release.models import AdditiveModel, LogNormalModel, Model, MultiplicativeModel
from veil.release.release import Release

POINTS, FACTORS, ERRORS = 512, 48, 16
"""Points of the table, and nodes of the quadrature over r and over e."""
NEAR_ZERO = 0.05
"""The share of values nearer to 0 than the b of a column of factors with both signs."""


@dataclass(frozen=True, eq=False)
class FactorScale:
    """u over x for one column of products: ascending tables of both, and the mean variance of what is seen of u."""

    seen: Vector
    u: Vector
    x: Vector
    variance: float

    @classmethod
    def of(cls, y: Vector, law: FactorLaw, noise: float) -> FactorScale:
        """The scale of a column ``y = x r + e``, e normal with the deviation ``noise``, perhaps 0."""
        mean, deviation = law.expectation, float(np.sqrt(law.variance))
        size = np.abs(y[(y != 0) & ~np.isnan(y)])
        b = noise * mean / deviation if noise > 0 else float(np.quantile(size, NEAR_ZERO))
        share = mean / deviation
        seen = np.where(y == 0, np.nan, share * np.arcsinh(y / b)) if noise == 0 else share * np.arcsinh(y / b)
        ends = np.nanmin(seen), np.nanmax(seen)
        x = b / mean * np.sinh(np.linspace(ends[0] - 4.0, ends[1] + 4.0, POINTS) / share)
        nodes, weights = roots_legendre(FACTORS)
        r, of_r = law.quantile((nodes + 1.0) / 2.0), weights / 2.0
        e, of_e = roots_hermitenorm(ERRORS)
        of_e = of_e / of_e.sum()
        values = share * np.arcsinh((x[:, None, None] * r[:, None] + noise * e) / b)
        u = np.einsum("xre,r,e->x", values, of_r, of_e)
        spread = np.einsum("xre,r,e->x", (values - u[:, None, None]) ** 2, of_r, of_e)
        here = np.interp(seen[~np.isnan(seen)], u, spread)
        return cls(seen, np.maximum.accumulate(u), x, float(here.mean()))

    def back(self, u: Vector) -> Vector:
        """The x that has a u."""
        return np.interp(u, self.u, self.x)


@dataclass(frozen=True, eq=False)
class WorkingScale:
    """A release in the scale of its noise: what is seen (N × d, NaN where nothing is) and the noise's covariance.

    ``released`` are the released values, ``shift`` the mean of the noise in logarithms, ``factors`` the columns whose
    scale is a table.
    """

    released: Matrix
    seen: Matrix
    noise: Matrix
    logs: bool = False
    shift: float = 0.0
    factors: tuple[FactorScale | None, ...] = ()

    def back(self, u: Matrix, errors: Vector, whole: npt.NDArray[np.bool_], aim: str) -> Matrix:
        """Guesses of x from estimates of u and their expected squared errors; missing where nothing was released."""
        values = u.copy()
        if self.logs:
            logs = u - self.shift
            values = exponential(self.released, logs, errors)
            if aim == "hit":
                units = standard_units(values)
                values = exponential(self.released, logs, errors, HIT_REACH * np.where(units > 0, units, 1.0))
        for j, scale in enumerate(self.factors):
            if scale is not None:
                values[:, j] = scale.back(u[:, j])
        if self.logs:
            sign = np.sign(self.released)
            values = np.where(sign == 0, 0.0, sign * np.maximum(sign * values, 0.0))
        if aim == "hit":
            near = whole & (HIT_REACH * standard_units(values) < 0.5)
            values[:, near] = np.rint(values[:, near])
        values[np.isnan(self.released)] = np.nan
        return values


def stable(model: Model) -> bool:
    """Whether the noise of numbers has such a scale."""
    return isinstance(model, AdditiveModel | MultiplicativeModel | LogNormalModel)


def working_scale(release: Release, knowledge: Sequence[Knowledge]) -> WorkingScale:
    """A release of numbers with noise in its scale."""
    model, y = release.only_part.model, release.to_numpy()
    if isinstance(model, AdditiveModel) or granted(knowledge, KnownNoise) is not None:
        return WorkingScale(y, y, noise_covariance(release, knowledge))
    if isinstance(model, LogNormalModel):
        logs = np.column_stack([logarithm(column) for column in y.T])
        return WorkingScale(y, logs, with_grain(model.covariance, np.nanvar(logs, axis=0)), logs=True)
    if not isinstance(model, MultiplicativeModel):
        raise NotApplicableError(f"a {release.method} release has no noise that is added or multiplied")
    if model.noise.any():
        scales = tuple(FactorScale.of(c, model.law, float(s)) for c, s in zip(y.T, model.noise, strict=True))
        noise = np.diag([scale.variance for scale in scales])
        return WorkingScale(y, np.column_stack([scale.seen for scale in scales]), noise, factors=scales)
    shift, variance = model.law.log_moments()
    mixed = [bool((c > 0).any() and (c < 0).any()) for c in y.T]
    factors = tuple(FactorScale.of(c, model.law, 0.0) if both else None for c, both in zip(y.T, mixed, strict=True))
    seen = [logarithm(c) if scale is None else scale.seen for c, scale in zip(y.T, factors, strict=True)]
    noise = np.diag([variance if scale is None else scale.variance for scale in factors])
    return WorkingScale(y, np.column_stack(seen), noise, True, shift, factors)
