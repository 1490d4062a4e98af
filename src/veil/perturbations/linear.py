"""P7: general linear transformation, and what all linear methods share.

*Model.* ``y = R z + e`` with ``z = x / unit``: R is one secret matrix for all records, e optional noise (PKDD 2006
tutorial). P6 (R orthogonal, no noise) and P8 (R with fewer rows than columns) are special cases.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.data.blas import one_blas_thread
from veil.data.blocks import TILE_ROWS, Matrix, tiles
from veil.errors import InputError, listed
from veil.keys.noise import add_noise, grid_for, subtract_noise
from veil.keys.randomness import row_words
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Kept, Perturbation, Place
from veil.secret import SecretParameter, revealed

LOST_DIGITS = 1e-6
"""Of a column's spread: the error that mixing in float64 may bring."""
MOST_PROBED = 256
BEST_CONDITION = 1e8
"""A matrix worse conditioned than this does not bring records back."""


@cache
def rows_round_alike(k: int, d: int) -> bool:
    """Whether this machine's linear algebra multiplies a tile of records to the same bits in rows as in columns.

    The order of its additions depends on shapes alone, so one tile of random numbers shows it.
    """
    if max(k, d) > MOST_PROBED:
        return False
    rng = np.random.default_rng(0)
    matrix, rows = rng.normal(size=(k, d)), rng.normal(size=(TILE_ROWS, d))
    with one_blas_thread():
        return bool(np.array_equal(rows @ matrix.T, (matrix @ np.ascontiguousarray(rows.T)).T))


class LinearPerturbation(Perturbation):
    """Base of methods that multiply every record by one secret matrix, in public units.

    A subclass has the parameter ``scaling`` and writes :meth:`_matrix`.
    """

    makes_anew = True
    scaling: str | None
    unit_: npt.NDArray[np.float64]

    @abstractmethod
    def _matrix(self) -> Matrix:
        """The secret k × d matrix that acts on scaled records."""

    def secret_matrix(self) -> Matrix | None:
        """The k × d matrix."""
        return self._matrix()

    def _learn_units(self, moments: Moments, columns: Sequence[str], *, fewest: int = 2) -> None:
        if self.scaling is not None and not (isinstance(self.scaling, str) and self.scaling == "std"):
            raise InputError(f"scaling must be 'std' or None; got {self.scaling!r}")
        if len(columns) < fewest:
            raise InputError(
                f"{type(self).__name__} hides columns among each other and needs at least 2; with n_features=1 it "
                "would release a multiple of the column itself"
            )
        self.unit_ = np.ones(len(columns))
        if self.scaling == "std":
            self.unit_ = np.array([two_digits(s) if s > 0 else 1.0 for s in moments.std])

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Multiply the scaled records by the matrix."""
        matrix = self._matrix() / self.unit_
        out = np.empty((len(matrix), block.shape[1]))
        for tile in tiles(block.shape[1]):
            np.matmul(matrix, block[:, tile], out=out[:, tile])
        return out

    @property
    def _only_multiplies(self) -> bool:
        """Whether a release is the product with the matrix and nothing else."""
        return True

    def perturb_rows(self, rows: Matrix, place: Place, out: Matrix) -> None:
        """The same product without turning records into columns, which costs as much as the product."""
        if not self._only_multiplies:
            super().perturb_rows(rows, place, out)
            return
        matrix = self._matrix() / self.unit_
        for tile in tiles(len(rows)):
            part = rows[tile]
            if len(part) == TILE_ROWS and rows_round_alike(*matrix.shape):
                np.matmul(part, matrix.T, out=out[tile])
            else:
                out[tile] = (matrix @ np.ascontiguousarray(part.T)).T

    def _min_rows(self) -> int:
        return 2 if isinstance(self.scaling, str) else 1

    def _check_digits(self, moments: Moments, columns: Sequence[str], shift: float = 0.0) -> None:
        """Refuse columns whose digits would drown in the mixture: their values would not come back."""
        farthest = np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)) / self.unit_
        size = float(np.sqrt((farthest**2).sum())) + shift
        spread = moments.std / self.unit_
        lost = [n for n, s in zip(columns, spread, strict=True) if s > 0 and size * 2.0**-52 > LOST_DIGITS * s]
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
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    unit_ : array of shape (d,)
        What each attribute was divided by.
    noise_ : array of shape (k,)
        Standard deviation of the noise on each released column.

    Notes
    -----
    *Threat.* Released: ``y``, the units and the noise's deviations. Secret: ``R`` and ``e``. Without noise, d known
    records with their rows give R and every other record exactly, and fewer narrow it down (A14); a sample of
    the population gives R where columns are independent or far from normal (A13, A21). Distances are not kept.
    There is no formal guarantee.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> release, key = veil.publish(x, veil.LinearTransform(noise_scale=0.1))
    >>> bool(np.allclose(veil.restore(release, key), x, atol=1e-4))
    True
    """

    catalogue = "P7"
    addressed = True
    matrix = SecretParameter()
    noise_: npt.NDArray[np.float64]
    _given: str | None

    def __init__(
        self,
        matrix: Any = None,
        *,
        scaling: str | None = "std",
        noise_scale: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.matrix = matrix
        self.scaling = scaling
        self.noise_scale = noise_scale
        self.random_state = random_state

    @property
    def keeps_cells(self) -> bool:
        """Its noise belongs to mixtures of cells."""
        return False

    @property
    def wants_covariance(self) -> bool:
        """The noise is measured in units of the released columns."""
        return True

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        self._learn_units(moments, columns)
        share = number(
            self.noise_scale, "noise_scale", least=0.0, most=1e6, rule="a number of at least 0, for example 0.1"
        )
        self._check_digits(moments, columns)
        given = revealed(self.matrix)
        self._given = None
        if given is not None:
            checked = _checked(given, len(columns))
            if not share and (np.count_nonzero(checked, axis=1) == 1).any():
                raise InputError(
                    "matrix must mix columns in every row; one has a single entry and would release a column as a "
                    "multiple of itself (with noise_scale that is allowed)"
                )
            self._given = self._name_of(checked.tolist())
        spread = moments.covariance / np.outer(self.unit_, self.unit_)
        matrix = self._matrix()
        farthest = np.maximum(np.abs(moments.minimum), np.abs(moments.maximum)) / self.unit_
        with np.errstate(over="ignore", invalid="ignore"):
            own = np.sqrt(np.clip(np.einsum("ij,jk,ik->i", matrix, spread, matrix), 0.0, None))
            reach = np.abs(matrix) @ farthest
        if not (np.isfinite(own).all() and np.isfinite(reach).all()):
            raise InputError("matrix is so large that products with the table overflow; divide it by a constant")
        if share and not (own > 0).all():
            raise InputError(
                f"noise_scale: {int((own == 0).sum())} released column(s) do not vary, so noise relative to them would "
                "be zero; leave out constant columns"
            )
        self.noise_ = np.array([two_digits(share * s) for s in own])
        lost = [s for s, size in zip(self.noise_, reach, strict=True) if s and size + 64 * s >= grid_for(s) * 2.0**53]
        if lost:
            raise InputError(
                f"noise_scale: {len(lost)} released column(s) are so much larger than the noise that float64 cannot "
                "hold their sum exactly; subtract constants from the columns, or use more noise"
            )

    def _matrix(self) -> Matrix:
        d = len(self.unit_)
        given = revealed(self.matrix)
        said = [self.unit_.tolist(), self._given]
        return self._secret_matrix(
            "matrix",
            lambda source: source.normal(d, d) / math.sqrt(d) if given is None else _checked(given, d),
            said,
        )

    def _n_released(self) -> int:
        return len(self._matrix())

    def disclose(self) -> dict[str, Any]:
        """Units, the noise's deviations, and whether the owner chose the matrix (under a keyed name)."""
        return {"unit": self.unit_.tolist(), "noise": self.noise_.tolist(), "given": self._given}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.unit_ = np.array(parameters["unit"], dtype=np.float64)
        self.noise_ = np.array(parameters["noise"], dtype=np.float64)
        self._given = parameters["given"]

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Multiply, and add the noise on its grid."""
        return self._noisy(super().perturb_block(block, place), place, add_noise)

    @property
    def _only_multiplies(self) -> bool:
        return not self.noise_.any()

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Take the noise off and solve."""
        values = self._noisy(block, place, subtract_noise)
        return np.asarray(np.linalg.lstsq(self._matrix(), values, rcond=None)[0] * self.unit_[:, None])

    def _noisy(self, values: Matrix, place: Place, kernel: Callable[..., Matrix]) -> Matrix:
        if not self.noise_.any():
            return values
        out = np.empty_like(values)
        for j, (row, scale) in enumerate(zip(values, self.noise_, strict=True)):
            address = [self.method_name(), j, self._column_names(), self.disclose(), place.fingerprint]
            words = row_words(self._key().derive("rows", address), place.start, len(row))
            out[j] = kernel(row, words, "normal", scale, grid_for(scale))
        return out

    def invertible(self, *, consistent: bool) -> bool:
        """With the key, where the matrix has an inverse."""
        matrix = self._matrix()
        return len(matrix) >= matrix.shape[1] and float(np.linalg.cond(matrix)) < BEST_CONDITION

    def _min_rows(self) -> int:
        noisy = not isinstance(self.noise_scale, int | float) or self.noise_scale != 0
        return 2 if isinstance(self.scaling, str) or noisy else 1

    def describe(self) -> str:
        """The method and its settings; the matrix is secret."""
        said = super().describe()
        return said if revealed(self.matrix) is None else f"{said}, given matrix"


def _checked(matrix: Any, d: int) -> Matrix:
    try:
        found = np.array(matrix)
        found = found.astype(np.float64) if found.dtype.kind in "iuf" else np.empty(0)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2 or found.shape[1] != d or not len(found) or not np.isfinite(found).all():
        raise InputError(f"matrix must be finite with one column per attribute ({d}); got shape {found.shape}")
    if not found.any(axis=1).all():
        raise InputError("matrix has a row of zeros, which would release a column of zeros; leave it out")
    return found
