"""P10: transform-domain perturbation.

*Model.* ``y = P F z`` with ``z = x / unit``: F is a public orthonormal transform of each record (cosine or Fourier, in
real form), P keeps k coefficients, the same for all records, and puts them in a secret order (Mukherjee, Chen and
Gangopadhyay 2006; Liu 2007, §2.1.1). Kept are the positions of the highest mean energy ``E (Fz)²``, so that distances
lose little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veil.arguments import choice, whole
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.numerics.moments import Moments
from veil.numerics.transforms import TRANSFORMS, orthonormal_transform
from veil.perturbations.base import Kept, Place
from veil.perturbations.linear import LinearPerturbation


class TransformDomain(LinearPerturbation):
    """P10. Release some Fourier or cosine coefficients of every record, in a secret order.

    Parameters
    ----------
    n_components : int, optional
        k, how many coefficients are kept; all by default.
    basis : {"dct", "dft"}, default "dct"
        The cosine or the Fourier transform, orthonormal and real.
    scaling : {"std", None}, default "std"
        Divide each attribute by its standard deviation, rounded to two digits, first; None keeps raw units.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Notes
    -----
    *Threat.* Released: ``y``, the units, and which transform. Secret: which coefficients are kept and their order. That
    is far less than a secret matrix: one known record with its row usually gives the whole order away (A9), and
    so does a sample of the population wherever coefficients differ in distribution (A11). There is no formal guarantee.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 6)).cumsum(axis=1)
    >>> y = veil.TransformDomain(3, scaling=None, random_state=0).fit_transform(x)
    >>> bool((y**2).sum() > 0.8 * (x**2).sum())
    True
    """

    catalogue = "P10"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        basis: str = "dct",
        scaling: str | None = "std",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.basis = basis
        self.scaling = scaling
        self.random_state = random_state

    @property
    def wants_covariance(self) -> bool:
        """The energy of each coefficient follows from the covariance."""
        return True

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        self._learn_units(moments, columns)
        choice(self.basis, "basis", TRANSFORMS)
        if self.n_components is not None and whole(self.n_components, "n_components", least=1) > len(columns):
            raise InputError(f"n_components must be at most the number of columns ({len(columns)})")
        self._check_digits(moments, columns)
        self._order(moments)

    def _n_released(self) -> int:
        return len(self.unit_) if self.n_components is None else int(self.n_components)

    def disclose(self) -> dict[str, Any]:
        """Units, the transform, and how many coefficients are kept."""
        return {"unit": self.unit_.tolist(), "basis": self.basis, "n_components": self._n_released()}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.unit_ = np.array(parameters["unit"], dtype=np.float64)

    def _order(self, moments: Moments | None = None) -> Matrix:
        """The kept coefficients in their secret order (1 × k); chosen once, then kept in the key."""

        def chosen(source: Generator) -> Matrix:
            assert moments is not None  # noqa: S101 - a key that made a release has the order
            mean = moments.mean / self.unit_
            power = moments.covariance / np.outer(self.unit_, self.unit_) + np.outer(mean, mean)
            transform = orthonormal_transform(self.basis, len(mean))
            energy = np.einsum("ij,jk,ik->i", transform, power, transform)
            strongest = np.argsort(-energy, kind="stable")[: self._n_released()]
            return strongest[source.permutation(len(strongest))][None, :].astype(np.float64)

        return self._secret_matrix("order", chosen)

    def _matrix(self) -> Matrix:
        transform = orthonormal_transform(self.basis, len(self.unit_))
        return np.ascontiguousarray(transform[self._order()[0].astype(np.intp)])

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Put the coefficients in place and transform back."""
        return np.asarray((self._matrix().T @ block) * self.unit_[:, None])

    def invertible(self, *, consistent: bool) -> bool:
        """When every coefficient was kept."""
        return self._n_released() == len(self.unit_)
