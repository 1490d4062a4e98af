"""P3 and P22: multiplicative noise, alone and with additive noise.

*Model.* P3: ``y = x·r``, r normal truncated to an interval, independent over records and attributes
(Liu 2007, §3.1); with ``notch`` the variant of the U.S. Energy Information Administration. P22: ``y = x·r + e``
with e independent normal noise (Liu 2007, §3.3). Values are released on a public power-of-two grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.data.blocks import Matrix
from veil.errors import InputError, listed
from veil.keys.noise import grid_for, open_uniform, standard_normal
from veil.numerics.factor_law import FactorLaw, factor_law
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Kept, Perturbation, Place


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

    Notes
    -----
    *Threat.* Released: ``y`` and the law of the factor. Secret: the factors. Zeros and signs go out exactly, and
    so does a value's order of magnitude. In logarithms the noise is additive, and is filtered there (A8).

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).lognormal(size=(1000, 2))
    >>> y = veil.MultiplicativeNoise(random_state=0).fit_transform(x)
    >>> bool(((y / x > 0.39) & (y / x < 1.61)).all())
    True
    """

    catalogue = "P3"
    element_wise = True
    addressed = True
    headline: ClassVar[tuple[str, ...]] = ("std",)
    law_: FactorLaw
    grid_: npt.NDArray[np.float64]

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

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        self.law_ = factor_law(self.mean, self.std, self.bounds, self.notch)
        constant = [n for n, s in zip(columns, moments.std, strict=True) if not s > 0 and n not in kept]
        if constant:
            raise InputError(
                f"column {listed(constant)}: all {moments.n_rows} values are equal, and their mean would tell them; "
                "give the role public or drop"
            )
        spread = [
            kept[n]["grid"] if n in kept else grid_for(self.law_.std * two_digits(s))
            for n, s in zip(columns, moments.std, strict=True)
        ]
        self.grid_ = np.array(spread)
        self._check_reach(np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)), columns)

    def _check_reach(self, largest: npt.NDArray[np.float64], columns: Sequence[str]) -> None:
        for name, size, grid in zip(columns, largest, self.grid_, strict=True):
            if size * self.law_.bounds[1] >= grid * 2.0**53:
                raise InputError(
                    f"column {name!r}: its values are so much larger than their spread that float64 cannot hold the "
                    "product; subtract a constant from the column or divide it"
                )

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The factor's law and the grid of one column."""
        return {"factor": self.law_.disclose(), "grid": float(self.grid_[j])}

    def disclose(self) -> dict[str, Any]:
        """The factor's law and the grid."""
        return {"factor": self.law_.disclose(), "grid": self.grid_.tolist()}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.law_ = FactorLaw.from_json(parameters["factor"])
        self.grid_ = np.array(parameters["grid"], dtype=np.float64)

    def _factors(self, j: int, row: Matrix, place: Place) -> Matrix:
        return self.law_.quantile(open_uniform(self._words(j, row, place, "factor")))

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Multiply by the factors, on the grid."""
        sizes = np.abs(block)
        self._check_reach(np.where(np.isnan(sizes), 0.0, sizes).max(axis=1, initial=0.0), self._column_names())
        out = np.empty_like(block)
        for j, row in enumerate(block):
            out[j] = self.grid_[j] * np.rint(row * self._factors(j, row, place) / self.grid_[j])
        return out

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Divide by the same factors."""
        return np.array([row / self._factors(j, row, place) for j, row in enumerate(block)])

    def invertible(self, *, consistent: bool) -> bool:
        """With the key, unless the noise was addressed by the private values themselves."""
        return not consistent

    def _min_rows(self) -> int:
        return 2


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

    Notes
    -----
    *Threat.* Released: ``y``, the law of the factor and the scale of the noise. Secret: both. The noise hides zeros
    and small values, which factors do not; the factors hide large values. Correlation filters both, and
    moments come back by the analyst's recovery (R3).
    """

    catalogue = "P22"
    headline = ("std", "scale")
    scale_: npt.NDArray[np.float64]

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

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        number(self.scale, "scale", least=1e-9, most=1e9, rule="a positive number, relative to each column's spread")
        self.scale_ = np.array(
            [
                kept[n]["scale"] if n in kept else self.scale * two_digits(s)
                for n, s in zip(columns, moments.std, strict=True)
            ]
        )
        super()._learn(moments, columns, kept)
        self.grid_ = np.minimum(self.grid_, [grid_for(s) if s > 0 else np.inf for s in self.scale_])

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The factor's law, the noise's scale and the grid of one column."""
        return {**super().column_parameters(j), "scale": float(self.scale_[j])}

    def disclose(self) -> dict[str, Any]:
        """The factor's law, the noise's scale and the grid."""
        return {**super().disclose(), "scale": self.scale_.tolist()}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        super()._adopt(parameters)
        self.scale_ = np.array(parameters["scale"], dtype=np.float64)

    def _noise(self, j: int, row: Matrix, place: Place) -> Matrix:
        steps = self.scale_[j] * standard_normal(self._words(j, row, place, "noise")) / self.grid_[j]
        return np.asarray(self.grid_[j] * np.rint(steps))

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Multiply and add, on the grid."""
        out = super().perturb_block(block, place)
        for j, row in enumerate(block):
            out[j] += self._noise(j, row, place)
        return out

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Subtract the noise and divide by the factors."""
        noise = np.array([self._noise(j, row, place) for j, row in enumerate(block)])
        return super().restore_block(block - noise, place)
