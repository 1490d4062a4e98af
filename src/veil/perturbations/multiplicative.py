"""P3 and P22: multiplicative noise, alone and with additive noise.

*Model.* P3: ``y = x·r``, r normal truncated to an interval, independent over records and attributes
(Liu 2007, §3.1); with ``notch`` the variant of the U.S. Energy Information Administration. P22: ``y = x·r + e``
with e independent normal noise (Liu 2007, §3.3). Values are released on a public power-of-two grid.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from veil.arguments import number
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.keys.noise import grid_for
from veil.numerics.factor_law import factor_law
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Takes
from veil.perturbations.method import Learned, refuse_constant
from veil.release.models import MultiplicativeModel


class MultiplicativeNoise(Perturbation):
    """P3. Multiply every value by a random factor near 1.

    Parameters
    ----------
    std : float, default 0.15
        Standard deviation of the normal that the factor is cut from.
    mean : float, default 1.0
        Its mean.
    bounds : (float, float), default (0.4, 1.6)
        The factor stays between these.
    notch : float or None
        Keep the factor at least this far from 1; 0.01 is the EIA variant.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).lognormal(size=(1000, 2))
    >>> y = veil.MultiplicativeNoise(random_state=0).fit_transform(x)
    >>> bool(((y / x > 0.39) & (y / x < 1.61)).all())
    True
    """

    threat = (
        "Released: ``y`` and the law of the factor. Secret: the factors. Zeros and signs go out exactly, and so does "
        "a value's order of magnitude. In logarithms the noise is additive, and is filtered there (A8)."
    )
    catalogue = "P3"
    summary = "Multiply every value by a random factor near 1."
    layout = Layout(Takes.AMOUNTS, spread=True)
    headline: ClassVar[tuple[str, ...]] = ("std",)
    model_: MultiplicativeModel
    law_, grid_ = Learned("law"), Learned("grid")

    def __init__(
        self,
        std: float = 0.15,
        *,
        mean: float = 1.0,
        bounds: tuple[float, float] = (0.4, 1.6),
        notch: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.std = std
        self.mean = mean
        self.bounds = bounds
        self.notch = notch
        self.random_state = random_state

    def learn(self, facts: Facts) -> MultiplicativeModel:
        """The factor's law, and the grid of each column."""
        law = factor_law(self.mean, self.std, self.bounds, self.notch)
        refuse_constant(facts, "and their mean would tell them")
        grid = [
            facts.fixed[n]["grid"] if n in facts.fixed else grid_for(law.std * two_digits(s))
            for n, s in zip(facts.columns, facts.moments.std, strict=True)
        ]
        model = MultiplicativeModel(law, np.array(grid))
        self._check_reach(model, facts.reach, facts.columns)
        return model

    def _check_reach(self, model: MultiplicativeModel, largest: Vector, columns: Any) -> None:
        for name, size, grid in zip(columns, largest, model.grid, strict=True):
            if size * model.law.bounds[1] >= grid * 2.0**53:
                raise InputError(
                    f"column {name!r}: its values are so much larger than their spread that float64 cannot hold the "
                    "product; subtract a constant from the column or divide it"
                )

    def _factors(self, j: int, draws: Draws) -> Matrix:
        return self.model_.law.quantile(draws.uniform(j, "factor"))

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Multiply by the factors, on the grid."""
        sizes, grid = np.abs(block), self.model_.grid
        largest = np.where(np.isnan(sizes), 0.0, sizes).max(axis=1, initial=0.0)
        self._check_reach(self.model_, largest, self.column_names())
        out = np.empty_like(block)
        for j, row in enumerate(block):
            out[j] = grid[j] * np.rint(row * self._factors(j, draws) / grid[j])
        return out

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Divide by the same factors."""
        return np.array([row / self._factors(j, draws) for j, row in enumerate(block)])


class CombinedNoise(MultiplicativeNoise):
    """P22. Multiply every value by a random factor and add noise: ``y = x·r + e``.

    Parameters
    ----------
    std, mean, bounds, notch
        The factor's law, as for :class:`MultiplicativeNoise`.
    scale : float, default 0.2
        Standard deviation of the added normal noise, in units of each attribute's standard deviation.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.
    """

    threat = (
        "Released: ``y``, the law of the factor and the scale of the noise. Secret: both. The noise hides zeros and "
        "small values, which factors do not; the factors hide large values. Correlation filters both, and moments "
        "come back by the analyst's recovery (R3)."
    )
    catalogue = "P22"
    summary = "Multiply every value by a random factor and add noise: y = x·r + e."
    headline = ("std", "scale")
    scale_ = Learned("scale")

    def __init__(
        self,
        std: float = 0.15,
        *,
        mean: float = 1.0,
        bounds: tuple[float, float] = (0.4, 1.6),
        notch: float | None = None,
        scale: float = 0.2,
        random_state: Any = None,
    ) -> None:
        super().__init__(std, mean=mean, bounds=bounds, notch=notch, random_state=random_state)
        self.scale = scale

    def learn(self, facts: Facts) -> MultiplicativeModel:
        """The factor's law, the scale of the noise, and the finer of both grids."""
        number(self.scale, "scale", least=1e-9, most=1e9, rule="a positive number, relative to each column's spread")
        scale = np.array(
            [
                facts.fixed[n]["scale"] if n in facts.fixed else self.scale * two_digits(s)
                for n, s in zip(facts.columns, facts.moments.std, strict=True)
            ]
        )
        factors = super().learn(facts)
        grid = np.minimum(factors.grid, [grid_for(s) if s > 0 else np.inf for s in scale])
        return MultiplicativeModel(factors.law, grid, scale)

    def _noise(self, j: int, draws: Draws) -> Matrix:
        grid = self.model_.grid[j]
        return np.asarray(grid * np.rint(self.model_.noise[j] * draws.normal(j) / grid))

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Multiply and add, on the grid."""
        out = super().perturb(block, draws)
        for j in range(len(block)):
            out[j] += self._noise(j, draws)
        return out

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Subtract the noise and divide by the factors."""
        noise = np.array([self._noise(j, draws) for j in range(len(block))])
        return super().restore(block - noise, draws)
