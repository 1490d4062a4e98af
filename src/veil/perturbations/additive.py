"""P1 and P2: additive noise, independent or correlated over attributes.

*Model.* ``y = x + r`` with ``r`` of mean zero, independent of ``x`` and over records; P1: independent over
attributes, normal, uniform or Laplace (Huang, Du and Chen 2005, §4; Liu 2007, §2.1.1). P2: normal with a
covariance Σr similar to the data's, or stated (Huang §8; :mod:`veil.perturbations.correlated`).

The released value is ``g·(round(x/g) + round(r/g))`` on a public power-of-two grid ``g`` of at
most a 2²⁰-th of the noise's standard deviation, so the last bits of ``y`` say nothing about ``x``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import flag, number, per_column
from veil.data.blocks import Matrix
from veil.errors import InputError, listed
from veil.keys.noise import add_noise, add_noise_to_rows, grid_for, standard_normal, subtract_noise
from veil.measures import correlation_dissimilarity
from veil.numerics.laws import check_law
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Kept, Perturbation, Place, parameter_digest
from veil.perturbations.correlated import explicit_factor, present_covariance, shift_on_grid, similar_factor


class AdditiveNoise(Perturbation):
    """P1, P2. Add noise to every value, independent or correlated over attributes.

    Parameters
    ----------
    scale : float or array of shape (d,), default 0.5
        Standard deviation of the noise, whatever its distribution: in units of each
        attribute's standard deviation when ``relative``, else in the attribute's own units.
    relative : bool, default True
        Whether ``scale`` is relative. Standard deviations are rounded to two digits first.
    distribution : {"normal", "uniform", "laplace"}, default "normal"
        The law of the noise. It is published, as is its scale.
    similarity : float in [-1, 1] or None, default None
        Correlate the noise (P2): 1 mimics the data's correlations, 0 is independent, −1 the opposite, at
        the same total power. Normal noise only.
    covariance : array of shape (d, d) or None
        The noise covariance itself, in the attributes' own units, instead of scale and similarity (P2).
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    scale_ : array of shape (d,)
        Standard deviation of the noise of each attribute.
    factor_ : array of shape (d, d) or None
        L with noise covariance L Lᵀ, for P2.
    dissimilarity_ : dict or None
        Correlation dissimilarity (M9) of data and noise, ``paper`` and ``rms`` form, for P2. Not published.
    grid_ : array of shape (d,)
        Spacing of the released values.

    Notes
    -----
    *Threat.* Released: ``y``, the law and its scale or covariance. Secret: the noise. Independent noise
    hides little where attributes correlate: the Bayes estimate (A6) filters it with nothing but the release.
    Noise that mimics the data's correlations resists that, and tells these correlations to two digits.
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
    makes_anew = True
    headline = ("scale",)
    scale_: npt.NDArray[np.float64]
    grid_: npt.NDArray[np.float64]
    factor_: Matrix | None
    dissimilarity_: dict[str, float] | None

    def __init__(
        self,
        scale: Any = 0.5,
        *,
        relative: bool = True,
        distribution: str = "normal",
        similarity: float | None = None,
        covariance: Any = None,
        random_state: Any = None,
    ) -> None:
        self.scale = scale
        self.relative = relative
        self.distribution = distribution
        self.similarity = similarity
        self.covariance = covariance
        self.random_state = random_state

    @property
    def wants_covariance(self) -> bool:
        """Similar noise is made from the data's covariance."""
        return self.similarity is not None

    @property
    def keeps_cells(self) -> bool:
        """Correlated noise belongs to whole records."""
        return not self.correlated

    @property
    def correlated(self) -> bool:
        """Whether this is P2."""
        return self.similarity is not None or self.covariance is not None

    def catalogue_id(self) -> str:
        """P1, or P2 for correlated noise."""
        return "P2" if self.correlated else "P1"

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        self._check_settings()
        self.factor_, self.dissimilarity_ = None, None
        if self.covariance is not None:
            self.factor_ = explicit_factor(self.covariance, len(columns))
        else:
            scale, unit = per_column(self.scale, "scale", len(columns), above=0.0), self._units(moments, columns, kept)
            if self.similarity is not None:
                covariance = present_covariance(moments)
                self.factor_ = similar_factor(covariance, unit, scale, float(self.similarity))
                bare = [name for name, row in zip(columns, self.factor_, strict=True) if not row.any()]
                if bare:
                    raise InputError(
                        f"column {listed(bare)}: noise similar to the data has no power there and would release it "
                        "unchanged (is it constant?); give the role public or drop, or a similarity nearer to 0"
                    )
            else:
                scale = scale * unit
                fixed = [kept[n]["scale"] if n in kept else s for n, s in zip(columns, scale, strict=True)]
                self.scale_ = np.array(fixed)
        if self.factor_ is not None:
            self.scale_ = np.sqrt((self.factor_**2).sum(axis=1))
            self.dissimilarity_ = _dissimilarity(moments, self.factor_)
        self.grid_ = np.array([grid_for(s) for s in self.scale_])
        self._digest = parameter_digest(self.disclose())
        self._check_reach(np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)), columns)

    def _check_settings(self) -> None:
        flag(self.relative, "relative")
        check_law(self.distribution)
        if self.similarity is not None:
            number(self.similarity, "similarity", least=-1, most=1, rule="a number from -1 to 1, or None")
        if self.similarity is not None and self.covariance is not None:
            raise InputError("similarity and covariance both say how the noise correlates; give one of them")
        if self.correlated and self.distribution != "normal":
            raise InputError("distribution must be normal when the noise is correlated (similarity or covariance)")

    def _units(self, moments: Moments, columns: Sequence[str], kept: Kept) -> npt.NDArray[np.float64]:
        """What ``scale`` is measured in: rounded standard deviations, or 1."""
        if not self.relative:
            return np.ones(len(columns))
        fresh = [(name, s) for name, s in zip(columns, moments.std, strict=True) if name not in kept]
        constant = [name for name, s in fresh if not s > 0]
        if constant:
            raise InputError(
                f"column {listed(constant)}: all {moments.n_rows} values are equal, so noise relative to their "
                "standard deviation would be zero; give the role public or drop, or use relative=False"
            )
        return np.array([two_digits(s) for s in moments.std])

    def _check_reach(self, largest: npt.NDArray[np.float64], columns: Sequence[str]) -> None:
        """Refuse values beside which the noise would be lost: they would go out as they are."""
        for name, size, scale, grid in zip(columns, largest, self.scale_, self.grid_, strict=True):
            if size + 64 * scale >= grid * 2.0**53:
                raise InputError(
                    f"column {name!r}: its values are so much larger than the noise that float64 cannot hold their "
                    "sum exactly; subtract a constant from the column, divide it, or use a larger scale"
                )

    def remarks(self) -> list[str]:
        """How far the noise's correlations are from the data's (M9)."""
        if self.dissimilarity_ is None:
            return []
        found = self.dissimilarity_
        return [
            f"Correlation dissimilarity of noise and data: {found['rms']:g} (root mean square), {found['paper']:g} (as "
            "Huang et al. print it); 0 hides best."
        ]

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The law, scale and grid of one column's noise; the whole factor where columns share noise."""
        if self.factor_ is not None:
            return {"factor": self._digest}
        return {"distribution": self.distribution, "scale": float(self.scale_[j]), "grid": float(self.grid_[j])}

    def disclose(self) -> dict[str, Any]:
        """The law, its scale or factor, and the grid."""
        said = {"distribution": self.distribution, "scale": self.scale_.tolist(), "grid": self.grid_.tolist()}
        return said if self.factor_ is None else {**said, "factor": self.factor_.tolist()}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.distribution = parameters["distribution"]
        self.scale_ = np.array(parameters["scale"], dtype=np.float64)
        self.grid_ = np.array(parameters["grid"], dtype=np.float64)
        factor = parameters.get("factor")
        self.factor_ = None if factor is None else np.array(factor, dtype=np.float64)
        self.dissimilarity_ = None
        self._digest = parameter_digest(parameters)

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Add the noise."""
        largest = np.fmax(np.fmax.reduce(block, axis=1, initial=0.0), -np.fmin.reduce(block, axis=1, initial=0.0))
        self._check_reach(largest, self._column_names())
        if self.factor_ is not None:
            return self._shift_together(block, place, 1.0)
        made = np.empty_like(block)
        for j, row in enumerate(block):
            words = self._words(j, row, place)
            add_noise(row, words, self.distribution, self.scale_[j], self.grid_[j], made[j])
        return made

    def perturb_rows(self, rows: Matrix, place: Place, out: Matrix) -> None:
        """Add the noise without turning records into columns."""
        if self.factor_ is not None or place.ids is not None:
            super().perturb_rows(rows, place, out)
            return
        words = np.empty(rows.shape[::-1], dtype=np.uint64)
        for j in range(rows.shape[1]):
            words[j] = self._words(j, rows[:, j], place)
        largest = add_noise_to_rows(rows, words, self.distribution, self.scale_, self.grid_, out)
        self._check_reach(largest, self._column_names())

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Take the same noise off again."""
        if self.factor_ is not None:
            return self._shift_together(block, place, -1.0)
        out = np.empty_like(block)
        for j, row in enumerate(block):
            words = self._words(j, row, place)
            out[j] = subtract_noise(row, words, self.distribution, self.scale_[j], self.grid_[j])
        return out

    def _shift_together(self, block: Matrix, place: Place, sign: float) -> Matrix:
        """Add or take off correlated noise: independent draws mixed by the factor, on the grid."""
        assert self.factor_ is not None  # noqa: S101 - for the type checker
        draws = np.array([standard_normal(self._words(j, row, place)) for j, row in enumerate(block)])
        return shift_on_grid(block, draws, self.factor_, self.grid_, sign)

    def invertible(self, *, consistent: bool) -> bool:
        """With the key, unless the noise was addressed by the private values themselves."""
        return not consistent

    def _min_rows(self) -> int:
        return 2 if self.relative else 1


def _dissimilarity(moments: Moments, factor: Matrix) -> dict[str, float] | None:
    """M9 of the data's and the noise's correlations, rounded."""
    if moments.comoment is None or len(factor) < 2 or not (moments.std > 0).all():
        return None
    unit, noise = np.sqrt(np.diag(moments.covariance)), factor @ factor.T
    if not (unit > 0).all():
        return None
    data = moments.covariance / np.outer(unit, unit)
    shape = noise / np.sqrt(np.outer(np.diag(noise), np.diag(noise)))
    return {
        "paper": two_digits(float(correlation_dissimilarity(data, shape, "paper"))),
        "rms": two_digits(float(correlation_dissimilarity(data, shape, "rms"))),
    }
