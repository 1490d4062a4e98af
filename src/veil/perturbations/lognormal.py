"""P4: multiplicative noise of scheme II, correlated noise on the logarithms.

*Model.* ``u = ln x``, ``e ~ N(0, c·Cov(u))`` with 0 < c < 1, ``y = exp(u + e)`` (Liu 2007, §3.2; Pandya). Positive
data only. Cov(u) may be singular, so the noise is drawn through its eigenvectors (a Cholesky factor would
fail), lifted a little where it is (:mod:`veil.perturbations.correlated` says why); the factor is rounded to two
digits before use, and published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import number
from veil.data.blocks import Matrix
from veil.errors import InputError, listed
from veil.keys.noise import grid_for, standard_normal
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Kept, Perturbation, Place, parameter_digest
from veil.perturbations.correlated import lifted_eigenpairs, present_covariance, shift_on_grid
from veil.perturbations.scan import Counts, Scan, Summary


class LogScan(Scan):
    """The first pass over logarithms; counts what has none."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str) -> None:
        super().__init__(columns, secret=secret, covariance=True, allow_missing=True, method=method)

    def _refused(self, block: Matrix) -> Counts:
        return np.asarray((block <= 0).sum(axis=1))

    def _measured(self, block: Matrix) -> Matrix:
        return np.asarray(np.log(block))

    def _check_refused(self, total: Summary) -> None:
        if total.refused.any():
            counts = [f"{n!r} ({c})" for n, c in zip(self._columns, total.refused, strict=True) if c]
            raise InputError(
                f"LogNormalNoise takes logarithms and refuses values that are not positive: {', '.join(counts[:8])}; "
                "shift the columns, give them another role, or use MultiplicativeNoise"
            )


class LogNormalNoise(Perturbation):
    """P4. Add noise to the logarithms, with the correlations that the logarithms have.

    Parameters
    ----------
    c : float in (0, 1), default 0.1
        Noise covariance as a share of the logarithms' covariance.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    factor_ : array of shape (d, d)
        L with noise covariance L Lᵀ on the logarithms.

    Notes
    -----
    *Threat.* Released: ``y``, c and the noise's covariance, and with it the logarithms' covariance to two digits.
    Secret: the noise. It has the data's own correlations, so they help nobody to filter it: the best error in
    logarithms is c/(1+c) of each variance (A8).

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).lognormal(size=(1000, 2))
    >>> y = veil.LogNormalNoise(c=0.1, random_state=0).fit_transform(x)
    >>> bool(abs(np.log(y / x).var() - 0.1) < 0.02)
    True
    """

    catalogue = "P4"
    element_wise = True
    addressed = True
    headline = ("c",)
    factor_: Matrix
    grid_: npt.NDArray[np.float64]

    def __init__(self, c: float = 0.1, *, random_state: Any = None) -> None:
        self.c = c
        self.random_state = random_state

    @property
    def keeps_cells(self) -> bool:
        """Its noise belongs to whole records."""
        return False

    @property
    def wants_covariance(self) -> bool:
        """The noise has the covariance of the logarithms."""
        return True

    def new_scan(self, columns: Sequence[str], secret: bytes) -> Scan:
        """A pass over the logarithms."""
        return LogScan(columns, secret=secret, method=type(self).__name__)

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        number(self.c, "c", least=1e-9, most=1 - 1e-9, rule="above 0 and below 1, for example 0.1")
        constant = [n for n, s in zip(columns, moments.std, strict=True) if not s > 0]
        if constant:
            raise InputError(
                f"column {listed(constant)}: all {moments.n_rows} values are equal, so its logarithm has no spread to "
                "make noise of; give the role public or drop"
            )
        unit = np.array([two_digits(s) for s in moments.std])
        eigenvalues, q = lifted_eigenpairs(present_covariance(moments) / np.outer(unit, unit))
        shape = np.vectorize(two_digits)(q * np.sqrt(eigenvalues))
        self.factor_ = np.sqrt(float(self.c)) * unit[:, None] * shape
        # In logarithms the noise's scale is the same for small and large values; the grid suits the smallest.
        self.grid_ = np.array([grid_for(s) for s in np.sqrt((self.factor_**2).sum(axis=1))])
        self._digest = parameter_digest(self.disclose())

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The whole factor: columns share noise."""
        return {"factor": self._digest}

    def disclose(self) -> dict[str, Any]:
        """The share c, the noise's factor on the logarithms, and the grid of the released logarithms."""
        return {"c": float(self.c), "factor": self.factor_.tolist(), "grid": self.grid_.tolist()}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.factor_ = np.array(parameters["factor"], dtype=np.float64)
        self.grid_ = np.array(parameters["grid"], dtype=np.float64)
        self._digest = parameter_digest(parameters)

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Add the noise to the logarithms, on their grid."""
        if (block <= 0).any():
            raise InputError(f"LogNormalNoise refuses {int((block <= 0).sum())} values that are not positive")
        return np.exp(self._shifted(np.log(block), place, 1.0))

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Take the noise off the logarithms again."""
        return np.exp(self._shifted(np.log(block), place, -1.0))

    def _shifted(self, logs: Matrix, place: Place, sign: float) -> Matrix:
        draws = np.array([standard_normal(self._words(j, row, place)) for j, row in enumerate(logs)])
        return shift_on_grid(logs, draws, self.factor_, self.grid_, sign)

    def invertible(self, *, consistent: bool) -> bool:
        """With the key."""
        return not consistent

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _min_rows(self) -> int:
        return 2
