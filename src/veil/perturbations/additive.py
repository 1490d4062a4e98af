"""P1: independent additive noise.

*Model.* ``y = x + r`` with ``r`` of mean zero, independent of ``x``, over records and over
attributes; normal, uniform or Laplace (Huang, Du and Chen 2005, §4; Liu 2007, §2.1.1).

The released value is ``g·(round(x/g) + round(r/g))`` on a public power-of-two grid ``g`` of at
most a 2²⁰-th of the noise's standard deviation, so the last bits of ``y`` say nothing about ``x``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.blocks import Matrix
from veil.errors import InputError
from veil.moments import Moments
from veil.perturbations.base import Kept, Perturbation, Place, require_bool, rounded
from veil.quantiles import LAWS, add_noise, grid_for, subtract_noise
from veil.schema import listed


class AdditiveNoise(Perturbation):
    """P1. Add independent noise to every value.

    Parameters
    ----------
    scale : float or array of shape (d,), default 0.5
        Standard deviation of the noise, whatever its distribution: in units of each
        attribute's standard deviation when ``relative``, else in the attribute's own units.
    relative : bool, default True
        Whether ``scale`` is relative. Standard deviations are rounded to two digits first.
    distribution : {"normal", "uniform", "laplace"}, default "normal"
        The law of the noise. It is published, as is its scale.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    scale_ : array of shape (d,)
        Standard deviation of the noise of each attribute.
    grid_ : array of shape (d,)
        Spacing of the released values.

    Notes
    -----
    *Threat.* Released: ``y``, the law and its scale. Secret: the noise. The noise hides little
    where attributes correlate: the Bayes estimate (A6) filters it with nothing but the release.
    Known records help only through the population's distribution. Two releases of one table with
    unrelated noise can be averaged.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 3))
    >>> y = veil.AdditiveNoise(scale=0.5, random_state=0).fit_transform(x)
    >>> bool(abs((y - x).std() - 0.5) < 0.03)
    True
    """

    catalogue = "P1"
    element_wise = True
    addressed = True
    headline = ("scale",)
    scale_: npt.NDArray[np.float64]
    grid_: npt.NDArray[np.float64]

    def __init__(
        self,
        scale: Any = 0.5,
        *,
        relative: bool = True,
        distribution: str = "normal",
        random_state: Any = None,
    ) -> None:
        self.scale = scale
        self.relative = relative
        self.distribution = distribution
        self.random_state = random_state

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        require_bool(self.relative, "relative")
        if not isinstance(self.distribution, str) or self.distribution not in LAWS:
            raise InputError(f"distribution must be one of {', '.join(LAWS)}; got {self.distribution!r}")
        scale = _per_column(self.scale, columns)
        if self.relative:
            fresh = [(name, s) for name, s in zip(columns, moments.std, strict=True) if name not in kept]
            constant = [name for name, s in fresh if not s > 0]
            if constant:
                raise InputError(
                    f"column {listed(constant)}: all {moments.n_rows} values are equal, so noise relative to their "
                    "standard deviation would be zero; give the role public or drop, or use relative=False"
                )
            scale = scale * np.array([rounded(s) for s in moments.std])
        self.scale_ = np.array([kept[n]["scale"] if n in kept else s for n, s in zip(columns, scale, strict=True)])
        self.grid_ = np.array([grid_for(s) for s in self.scale_])
        self._check_reach(np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)), columns)

    def _check_reach(self, largest: npt.NDArray[np.float64], columns: Sequence[str]) -> None:
        """Refuse values beside which the noise would be lost: they would go out as they are."""
        for name, size, scale, grid in zip(columns, largest, self.scale_, self.grid_, strict=True):
            if size + 64 * scale >= grid * 2.0**53:
                raise InputError(
                    f"column {name!r}: its values are so much larger than the noise that float64 cannot hold their "
                    "sum exactly; subtract a constant from the column, divide it, or use a larger scale"
                )

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The law, scale and grid of one column's noise."""
        return {"distribution": self.distribution, "scale": float(self.scale_[j]), "grid": float(self.grid_[j])}

    def disclose(self) -> dict[str, Any]:
        """The law, its scale and the grid."""
        return {
            "distribution": self.distribution,
            "scale": self.scale_.tolist(),
            "grid": self.grid_.tolist(),
        }

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.distribution = parameters["distribution"]
        self.scale_ = np.array(parameters["scale"], dtype=np.float64)
        self.grid_ = np.array(parameters["grid"], dtype=np.float64)

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Add the noise."""
        sizes = np.abs(block)
        largest = np.where(np.isnan(sizes), 0.0, sizes).max(axis=1, initial=0.0)
        self._check_reach(largest, self._column_names())
        return self._shift(block, place, add_noise)

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Take the same noise off again."""
        return self._shift(block, place, subtract_noise)

    def _shift(self, block: Matrix, place: Place, kernel: Any) -> Matrix:
        out = np.empty_like(block)
        for j, row in enumerate(block):
            words = self._words(j, row, place)
            out[j] = kernel(row, words, self.distribution, self.scale_[j], self.grid_[j])
        return out

    def invertible(self, *, consistent: bool) -> bool:
        """With the key, unless the noise was addressed by the private values themselves."""
        return not consistent

    def _min_rows(self) -> int:
        return 2 if self.relative else 1


def _per_column(scale: Any, columns: Sequence[str]) -> npt.NDArray[np.float64]:
    try:
        values = np.broadcast_to(np.asarray(scale, dtype=np.float64), (len(columns),)).copy()
    except (TypeError, ValueError):
        raise InputError(
            f"scale must be one positive number or one per column ({len(columns)}); got shape {np.shape(scale)}"
        ) from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError("scale must be positive and finite; noise of scale 0 releases the table unchanged")
    return values
