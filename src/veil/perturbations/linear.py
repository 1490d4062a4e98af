"""P7: general linear transformation, and what all linear methods share.

*Model.* ``y = R z + e`` with ``z = x / unit``: R is one secret matrix for all records, e optional noise (PKDD 2006
tutorial). P6 (R orthogonal, no noise) and P8 (R with fewer rows than columns) are special cases.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from veil.arguments import number
from veil.data.blocks import Matrix, Vector, tiles
from veil.errors import InputError, listed
from veil.keys.noise import add_noise, grid_for, subtract_noise
from veil.numerics.extremes import Spread
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.dither import dithered, learned_dither, remark_dither, wants_dither
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise
from veil.perturbations.method import Learned
from veil.release.models import LinearTransformModel, Scaled
from veil.release.models.dither import Dither
from veil.release.models.linear import Dithered
from veil.secret import SecretParameter, revealed

LOST_DIGITS = 1e-6
"""Of a column's spread: the error that mixing in float64 may bring."""
BEST_CONDITION = 1e8
"""A matrix worse conditioned than this does not bring records back."""
LOST_ON_THE_WAY = 2.0**-48
"""Of the largest scaled record: what a product with a matrix and its inverse may be off, for a condition of 1."""


class LinearPerturbation(Perturbation):
    """Base of methods that multiply every record by one secret matrix, in public units.

    A subclass has the parameter ``scaling``, and ``dither`` where columns on a grid are moved off it, and writes
    :meth:`_matrix`.
    """

    scaling: str | None
    dither: Any = False
    model_: Scaled
    unit_ = Learned("unit")

    @property
    def layout(self) -> Layout:
        """Every released cell is made of a whole record, without noise."""
        return Layout(
            made_of=MadeOf.RECORD,
            noise=Noise.NONE,
            spread=isinstance(self.scaling, str),
            grids=self.dither is not False,
            extremes=True,
        )

    @abstractmethod
    def _matrix(self, secrets: Secrets) -> Matrix:
        """The secret k × d matrix that acts on scaled records."""

    def secret_matrix(self) -> Matrix:
        """The k × d matrix."""
        return self._matrix(self.secrets())

    def _units(self, facts: Facts, *, fewest: int = 2) -> Vector:
        """What each column is divided by."""
        if self.scaling is not None and not (isinstance(self.scaling, str) and self.scaling == "std"):
            raise InputError(f"scaling must be 'std' or None; got {self.scaling!r}")
        if len(facts.columns) < fewest:
            raise InputError(
                f"{type(self).__name__} hides columns among each other and needs at least 2; with n_features=1 it "
                "would release a multiple of the column itself"
            )
        if self.scaling is None:
            return np.ones(len(facts.columns))
        for name, spread in zip(facts.columns, facts.scan.spreads or (None,) * len(facts.columns), strict=True):
            if spread is not None:
                facts.remark(_dominated(name, spread))
        return np.array([two_digits(s) if s > 0 else 1.0 for s in facts.spread])

    def _dither(
        self, facts: Facts, unit: Vector, *, size: float, more: float = 0.0, covered: Vector | None = None
    ) -> Dither | None:
        """The dither of columns on a grid.

        ``size``: of a scaled record on its way there and back, ``more`` than rounding lost on the way; ``covered``:
        grains that other noise hides, if it hides all.
        """
        if not wants_dither(self.dither):
            return None
        dither = learned_dither(facts, unit, LOST_ON_THE_WAY * size + more)
        if dither is None or (covered is not None and bool((dither.grain <= covered).all())):
            return None
        remark_dither(facts, dither)
        return dither

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Multiply the scaled records by the matrix, once columns on a grid are dithered."""
        matrix = self._matrix(draws.secrets) / self.model_.unit
        out = draws.room(len(matrix))
        for tile in tiles(block.shape[1]):
            np.matmul(matrix, self._dithered(block[:, tile], draws), out=out[:, tile])
        return out

    def _dithered(self, block: Matrix, draws: Draws) -> Matrix:
        dither = self.model_.dither if isinstance(self.model_, Dithered) else None
        return dithered(block, dither, draws.secrets.columns, draws)

    def _private(self, scaled: Matrix) -> Matrix:
        """Scaled values that came back, in private units and on their grid."""
        values = np.asarray(scaled * self.model_.unit[:, None])
        dither = self.model_.dither if isinstance(self.model_, Dithered) else None
        return values if dither is None else dither.restored(values)


def _dominated(name: str, spread: Spread) -> str:
    values = "one value makes" if spread.left_out == 1 else f"{spread.left_out} values make"
    return (
        f"{name!r}: {values} up much of the variance (one {100 * spread.share:.0f} %), so the column is scaled by the "
        "spread of the others, and the published scale does not tell of it; the length of its row still does: cap such "
        "values or leave their records out."
    )


def record_size(facts: Facts, unit: Vector) -> float:
    """How long a scaled record can be."""
    return float(np.sqrt(((facts.reach / unit) ** 2).sum()))


def check_digits(facts: Facts, unit: Vector, shift: float = 0.0) -> None:
    """Refuse columns whose digits would drown in the mixture: their values would not come back."""
    size = record_size(facts, unit) + shift
    spread = facts.moments.std / unit
    lost = [n for n, s in zip(facts.columns, spread, strict=True) if s > 0 and size * 2.0**-52 > LOST_DIGITS * s]
    if lost:
        raise InputError(
            f"column {listed(lost)}: beside the largest values of the table (and the translation) float64 cannot "
            "hold its digits once columns are mixed; use scaling='std', subtract constants, or rescale columns"
        )


class LinearTransform(LinearPerturbation):
    """P7. Multiply every record by one secret matrix, and add noise if wanted.

    Parameters
    ----------
    matrix : k × d array, optional
        The secret matrix, applied to scaled records. By default d × d with independent normal entries of
        variance 1/d, so that lengths are kept on average.
    scaling : {"std", None}, default "std"
        Divide each attribute by its standard deviation, rounded to two digits, first; None keeps raw units.
    noise_scale : float, default 0
        Standard deviation of independent normal noise on each released column, in units of that column's own.
    dither : {"auto", False}, default "auto"
        Move columns of whole or decimal numbers off their grid by keyed noise of one grain before mixing (not where
        ``noise_scale`` is more than that); the key takes it off again. False does not.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    unit_ : array of shape (d,)
        What each attribute was divided by.
    noise_ : array of shape (k,)
        Standard deviation of the noise on each released column.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> release, key = veil.publish(x, veil.LinearTransform(noise_scale=0.1))
    >>> bool(np.allclose(veil.restore(release, key), x, atol=1e-4))
    True
    """

    threat = (
        "Released: ``y``, the units and the noise's deviations. Secret: ``R`` and ``e``. Without noise, d known "
        "records with their rows give R and every other record exactly, and fewer narrow it down (A14); columns "
        "that are known of everybody leave independent others little to hide in (A9); a sample of the population gives "
        "R where columns are independent or far from normal (A13, A21). Whole numbers without noise and dither come "
        "back from about three known records, whatever d is (A26). Distances are not kept. There is no formal "
        "guarantee."
    )
    catalogue = "P7"
    summary = "Multiply every record by one secret matrix, and add noise if wanted."
    matrix = SecretParameter()
    model_: LinearTransformModel
    noise_ = Learned("noise")

    def __init__(
        self,
        matrix: Any = None,
        *,
        scaling: str | None = "std",
        noise_scale: float = 0.0,
        dither: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.matrix = matrix
        self.scaling = scaling
        self.noise_scale = noise_scale
        self.dither = dither
        self.random_state = random_state

    @property
    def layout(self) -> Layout:
        """Every released cell is made of a whole record and noise of its own."""
        noisy = not isinstance(self.noise_scale, int | float) or self.noise_scale != 0
        return replace(super().layout, noise=Noise.RECORD, covariance=True, spread=super().layout.spread or noisy)

    def learn(self, facts: Facts) -> LinearTransformModel:
        """Units, and the noise of each released column in units of its own spread."""
        unit = self._units(facts)
        share = number(
            self.noise_scale, "noise_scale", least=0.0, most=1e6, rule="a number of at least 0, for example 0.1"
        )
        check_digits(facts, unit)
        name = None
        if revealed(self.matrix) is not None:
            given = _checked(revealed(self.matrix), len(unit))
            if not share and (np.count_nonzero(given, axis=1) == 1).any():
                raise InputError(
                    "matrix must mix columns in every row; one has a single entry and would release a column as a "
                    "multiple of itself (with noise_scale that is allowed)"
                )
            name = facts.secrets.name_of(given.tolist())
        matrix = self._drawn(facts.secrets, unit, name)
        noise = _noise(facts, unit, matrix, share)
        inverse = np.linalg.norm(np.linalg.pinv(matrix), 2) if len(matrix) >= len(unit) else 0.0
        size = record_size(facts, unit) * float(np.linalg.norm(matrix, 2) * inverse)
        lost = float(inverse * math.sqrt(len(noise)) * noise.max()) * 2.0**-20  # noise comes off to within its grid
        images = np.linalg.norm(matrix, axis=0) / unit
        dither = self._dither(facts, unit, size=size, more=lost, covered=float(noise.min()) / images)
        return LinearTransformModel.of(unit, noise, name, dither=dither)

    def _drawn(self, secrets: Secrets, unit: Vector, name: str | None) -> Matrix:
        d, given = len(unit), revealed(self.matrix)
        return secrets.matrix(
            "matrix",
            [unit.tolist(), name],
            lambda source: source.normal(d, d) / math.sqrt(d) if given is None else _checked(given, d),
        )

    def _matrix(self, secrets: Secrets) -> Matrix:
        return self._drawn(secrets, self.model_.unit, self.model_.given)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Multiply, and add the noise on its grid."""
        return self._noisy(super().perturb(block, draws), draws, add_noise)

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Take the noise off and solve."""
        values = self._noisy(block, draws, subtract_noise)
        return self._private(np.asarray(np.linalg.lstsq(self._matrix(draws.secrets), values, rcond=None)[0]))

    def _noisy(self, values: Matrix, draws: Draws, kernel: Callable[..., Matrix]) -> Matrix:
        if not self.model_.noise.any():
            return values
        out = np.empty_like(values)
        for j, (row, scale) in enumerate(zip(values, self.model_.noise, strict=True)):
            out[j] = kernel(row, draws.words(j), "normal", scale, grid_for(scale))
        return out

    def invertible(self, *, consistent: bool) -> bool:
        """With the key, where the matrix has an inverse."""
        matrix = self.secret_matrix()
        return len(matrix) >= matrix.shape[1] and float(np.linalg.cond(matrix)) < BEST_CONDITION

    def describe(self) -> str:
        """The method and its settings; the matrix is secret."""
        text = super().describe()
        return text if revealed(self.matrix) is None else f"{text}, given matrix"


def _noise(facts: Facts, unit: Vector, matrix: Matrix, share: float) -> Vector:
    """Deviations of the noise on each released column, once they are neither zero nor lost in float64."""
    spread = facts.moments.covariance / np.outer(unit, unit)
    if (facts.spread != facts.moments.std).any():
        without = facts.spread / np.where(facts.moments.std > 0, facts.moments.std, 1.0)
        spread = spread * np.outer(without, without)
    with np.errstate(over="ignore", invalid="ignore"):
        own = np.sqrt(np.clip(np.einsum("ij,jk,ik->i", matrix, spread, matrix), 0.0, None))
        reach = np.abs(matrix) @ (facts.reach / unit)
    if not (np.isfinite(own).all() and np.isfinite(reach).all()):
        raise InputError("matrix is so large that products with the table overflow; divide it by a constant")
    if share and not (own > 0).all():
        raise InputError(
            f"noise_scale: {int((own == 0).sum())} released column(s) do not vary, so noise relative to them would "
            "be zero; leave out constant columns"
        )
    noise = np.array([two_digits(share * s) for s in own])
    lost = [s for s, size in zip(noise, reach, strict=True) if s and size + 64 * s >= grid_for(s) * 2.0**53]
    if lost:
        raise InputError(
            f"noise_scale: {len(lost)} released column(s) are so much larger than the noise that float64 cannot "
            "hold their sum exactly; subtract constants from the columns, or use more noise"
        )
    return noise


def _checked(matrix: Any, d: int) -> Matrix:
    try:
        array = np.array(matrix)
        array = array.astype(np.float64) if array.dtype.kind in "iuf" else np.empty(0)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] != d or not len(array) or not np.isfinite(array).all():
        raise InputError(f"matrix must be finite with one column per attribute ({d}); got shape {array.shape}")
    if not array.any(axis=1).all():
        raise InputError("matrix has a row of zeros, which would release a column of zeros; leave it out")
    return array
