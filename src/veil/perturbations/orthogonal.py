"""P6: orthogonal transformation.

*Model.* ``y = M·D⁻¹x + t`` with ``M`` Haar-uniform on the orthogonal group, ``D`` the rounded
standard deviations (or the identity) and ``t`` an optional secret translation (Liu 2007, §4.1).
Distances and inner products of the scaled records are kept exactly.

``M`` is the Q of a Gaussian matrix's QR with the columns multiplied by the signs of R's
diagonal; without that correction Q is not uniform (its determinant is always (−1)^(d−1)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from veil.arguments import flag
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Kept, Place
from veil.perturbations.linear import LinearPerturbation


def haar_orthogonal(generator: Generator, d: int, *, proper: bool = False) -> Matrix:
    """A uniformly distributed orthogonal d × d matrix; ``proper`` keeps to rotations (det +1)."""
    q, r = np.linalg.qr(generator.normal(d, d))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    if proper and np.linalg.det(q) < 0:
        q[:, 0] = -q[:, 0]
    return np.ascontiguousarray(q)


class OrthogonalTransform(LinearPerturbation):
    """P6. Rotate (or reflect) all records by one secret matrix.

    Parameters
    ----------
    scaling : {"std", None}, default "std"
        Divide each attribute by its standard deviation, rounded to two digits, first; None
        keeps the papers' raw units.
    proper : bool, default False
        Only rotations, no reflections.
    translation : float, default 0.0
        Spread of a secret translation, in multiples of the root-mean-square standard deviation
        of the (scaled) attributes.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    unit_ : array of shape (d,)
        What each attribute was divided by.

    Notes
    -----
    *Threat.* Released: ``y``, ``D`` and whether there is a translation. Secret: ``M`` and ``t``.
    d known records with their rows give every other record exactly, and fewer give their span (A9);
    a sample of the population gives M up to the precision of its eigenvectors (A11). There is no
    formal guarantee.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = veil.OrthogonalTransform(scaling=None, random_state=0).fit_transform(x)
    >>> bool(np.allclose(np.linalg.norm(y, axis=1), np.linalg.norm(x, axis=1)))
    True
    """

    catalogue = "P6"
    spread_: float

    def __init__(
        self,
        *,
        scaling: str | None = "std",
        proper: bool = False,
        translation: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.scaling = scaling
        self.proper = proper
        self.translation = translation
        self.random_state = random_state

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        flag(self.proper, "proper")
        self._learn_units(moments, columns)
        translation = self.translation
        if isinstance(translation, bool) or not isinstance(translation, Real) or not 0 <= translation < math.inf:
            raise InputError("translation must be a finite number of at least 0, in multiples of the spread")
        spread = float(np.sqrt(np.mean((moments.std / self.unit_) ** 2)))
        self.spread_ = two_digits(spread) if self.translation else 0.0
        self._check_digits(moments, columns, 8.0 * float(translation) * self.spread_)

    def disclose(self) -> dict[str, Any]:
        """Units, whether reflections were possible, and the law of the translation."""
        return {
            "unit": self.unit_.tolist(),
            "proper": bool(self.proper),
            "translation": float(self.translation) * self.spread_,
        }

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.unit_ = np.array(parameters["unit"], dtype=np.float64)
        self.proper = parameters["proper"]
        self.spread_ = parameters["translation"] / self.translation if self.translation else 0.0

    def _matrix(self) -> Matrix:
        d = len(self.unit_)
        return self._secret_matrix("matrix", lambda source: haar_orthogonal(source, d, proper=self.proper))

    def _shift(self) -> Matrix:
        """The translation, as a column."""
        spread, d = self.translation * self.spread_, len(self.unit_)
        return self._secret_matrix("translation", lambda source: spread * source.normal(d, 1))

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Scale, rotate, translate."""
        out = super().perturb_block(block, place)
        if self.spread_:
            out += self._shift()
        return out

    def perturb_rows(self, rows: Matrix, place: Place, out: Matrix) -> None:
        """Scale, rotate, translate."""
        super().perturb_rows(rows, place, out)
        if self.spread_:
            out += self._shift().T

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Translate, rotate and scale back."""
        turned = block - self._shift() if self.spread_ else block
        return np.asarray((self._matrix().T @ turned) * self.unit_[:, None])

    def invertible(self, *, consistent: bool) -> bool:
        """Always, with the key."""
        return True

    def _min_rows(self) -> int:
        moved = not isinstance(self.translation, int | float) or self.translation != 0
        return 2 if isinstance(self.scaling, str) or moved else 1
