"""P1 and P2: additive noise, independent or correlated over attributes.

*Model.* ``y = x + r`` with ``r`` of mean zero, independent of ``x`` and over records; P1: independent over
attributes, normal, uniform or Laplace (Huang, Du and Chen 2005, §4; Liu 2007, §2.1.1). P2: normal with a
covariance Σr similar to the data's, or stated (Huang §8; :mod:`veil.perturbations.correlated`).

The released value is ``g·(round(x/g) + round(r/g))`` on a public power-of-two grid ``g`` of at
most a 2²⁰-th of the noise's standard deviation, so the last bits of ``y`` say nothing about ``x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veil.arguments import flag, number, per_column
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, listed
from veil.keys.noise import add_noise, grid_for, subtract_noise
from veil.numerics.laws import check_law
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.correlated import (
    dissimilarity,
    explicit_factor,
    grouped_factor,
    present_covariance,
    shift_on_grid,
    similar_factor,
)
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise
from veil.perturbations.method import Learned, refuse_constant
from veil.release.models import AdditiveModel


class AdditiveNoise(Perturbation):
    """P1, P2. Add noise to every value, independent or correlated over attributes.

    Parameters
    ----------
    scale : float or array of shape (d,), default 0.5
        Standard deviation of the noise, whatever its distribution: in units of each
        attribute's standard deviation when ``relative``, else in the attribute's own units.
    relative : bool, default True
        Whether ``scale`` is relative. Standard deviations are rounded to two digits first, and published like that.
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
    grid_ : array of shape (d,)
        Spacing of the released values.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 3))
    >>> y = veil.AdditiveNoise(scale=0.5, random_state=0).fit_transform(x)
    >>> bool(abs((y - x).std() - 0.5) < 0.03)
    True
    """

    threat = (
        "Released: ``y``, the law and its scale or covariance. Secret: the noise. Independent noise hides little "
        "where attributes correlate: the Bayes estimate (A6) filters it with nothing but the release. Noise that "
        "mimics the data's correlations resists that, and tells these correlations to two digits. Noise relative to "
        "the standard deviations tells these to two digits, too. Known records help "
        "only through the population's distribution. Two releases of one table with unrelated noise can be averaged."
    )
    catalogue = "P1"
    summary = "Add noise to every value, independent or correlated over attributes."
    headline = ("scale",)
    model_: AdditiveModel
    scale_, grid_, factor_ = Learned("scale"), Learned("grid"), Learned("factor")

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
    def layout(self) -> Layout:
        """Correlated noise belongs to whole records; similar noise is made of the data's covariance."""
        noise = Noise.RECORD if self.correlated else Noise.CELL
        relative = not isinstance(self.relative, bool) or self.relative
        return Layout(noise=noise, covariance=self.similarity is not None, spread=relative, apart=True)

    @property
    def correlated(self) -> bool:
        """Whether this is P2."""
        return self.similarity is not None or self.covariance is not None

    def catalogue_id(self) -> str:
        """P1, or P2 for correlated noise."""
        return "P2" if self.correlated else "P1"

    def describe(self) -> str:
        """The method and its settings; a covariance has the scale in it."""
        text = super().describe()
        return text if self.covariance is None else text.replace(f", scale {self.scale}", "")

    def learn(self, facts: Facts) -> AdditiveModel:
        """The scale of each column's noise, or the factor that they share."""
        self._check_settings()
        factor = self._factor(facts)
        # Scales that an earlier release has fixed are relative to that table, and tell nothing of this one.
        relative = self.relative and self.covariance is None and not facts.fixed
        unit = self._units(facts) if relative else None
        if factor is None:
            scale = self._scale(facts)
            model = AdditiveModel(self.distribution, scale, np.array([grid_for(s) for s in scale]), unit=unit)
        else:
            grid = np.array([grid_for(s) for s in np.sqrt((factor**2).sum(axis=1))])
            similarity = None if self.similarity is None else float(self.similarity)
            model = AdditiveModel.correlated(factor, grid, unit=unit, similarity=similarity)
            measured = dissimilarity(facts.moments, factor)
            if measured is not None:
                facts.remark(
                    f"Correlation dissimilarity of noise and data: {measured['rms']:g} (root mean square), "
                    f"{measured['paper']:g} (as Huang et al. print it); 0 hides best."
                )
        _check_reach(model, facts.reach, facts.columns)
        return model

    def _check_settings(self) -> None:
        flag(self.relative, "relative")
        check_law(self.distribution)
        if self.similarity is not None:
            number(self.similarity, "similarity", least=-1, most=1, rule="a number from -1 to 1, or None")
        if self.similarity is not None and self.covariance is not None:
            raise InputError("similarity and covariance both say how the noise correlates; give one of them")
        if self.correlated and self.distribution != "normal":
            raise InputError("distribution must be normal when the noise is correlated (similarity or covariance)")

    def _scale(self, facts: Facts) -> Vector:
        scale = per_column(self.scale, "scale", len(facts.columns), above=0.0) * self._units(facts)
        return np.array(
            [facts.fixed[n]["scale"] if n in facts.fixed else s for n, s in zip(facts.columns, scale, strict=True)]
        )

    def _factor(self, facts: Facts) -> Matrix | None:
        """The factor of correlated noise; None for independent noise."""
        if self.covariance is not None:
            return explicit_factor(self.covariance, len(facts.columns))
        if self.similarity is None:
            return None
        scale, unit = per_column(self.scale, "scale", len(facts.columns), above=0.0), self._units(facts)
        factor = similar_factor(present_covariance(facts.moments), unit, scale, float(self.similarity))
        bare = [name for name, row in zip(facts.columns, factor, strict=True) if not row.any()]
        if bare:
            raise InputError(
                f"column {listed(bare)}: noise similar to the data has no power there and would release it "
                "unchanged (is it constant?); give the role public or drop, or a similarity nearer to 0"
            )
        return factor

    def _units(self, facts: Facts) -> Vector:
        """What ``scale`` is measured in: rounded standard deviations, or 1."""
        if not self.relative:
            return np.ones(len(facts.columns))
        why = "so noise relative to their standard deviation would be zero"
        refuse_constant(facts, why, "give the role public or drop, or use relative=False")
        return np.array([two_digits(s) for s in facts.moments.std])

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Add the noise."""
        model = self.model_
        largest = np.fmax(np.fmax.reduce(block, axis=1, initial=0.0), -np.fmin.reduce(block, axis=1, initial=0.0))
        _check_reach(model, largest, self.column_names())
        if model.factor is not None:
            return self._shift_together(block, draws, model.factor, 1.0)
        out = draws.room(len(block))
        for j, row in enumerate(block):
            add_noise(row, draws.words(j), model.distribution, model.scale[j], model.grid[j], out[j])
        return out

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Take the same noise off again."""
        model = self.model_
        if model.factor is not None:
            return self._shift_together(block, draws, model.factor, -1.0)
        return np.array(
            [
                subtract_noise(row, draws.words(j), model.distribution, model.scale[j], model.grid[j])
                for j, row in enumerate(block)
            ]
        )

    def _shift_together(self, block: Matrix, draws: Draws, factor: Matrix, sign: float) -> Matrix:
        """Add or take off correlated noise: independent draws mixed by the factor, on the grid."""
        normal = np.array([draws.normal(j) for j in range(len(block))])
        return shift_on_grid(block, normal, grouped_factor(factor, draws.grouped), self.model_.grid, sign)


def _check_reach(model: AdditiveModel, largest: Vector, columns: Sequence[str]) -> None:
    """Refuse values beside which the noise would be lost: they would go out as they are."""
    for name, size, scale, grid in zip(columns, largest, model.scale, model.grid, strict=True):
        if size + 64 * scale >= grid * 2.0**53:
            raise InputError(
                f"column {name!r}: its values are so much larger than the noise that float64 cannot hold their "
                "sum exactly; subtract a constant from the column, divide it, or use a larger scale"
            )
