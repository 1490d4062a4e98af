"""P10: transform-domain perturbation.

*Model.* ``y = P F z`` with ``z = x / unit``: F is a public orthonormal transform of each record (cosine or Fourier, in
real form), P keeps k coefficients, the same for all records, and puts them in a secret order (Mukherjee, Chen and
Gangopadhyay 2006; Liu 2007, §2.1.1). Kept are the positions of the highest mean energy ``E (Fz)²``, so that distances
lose little.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veil.arguments import choice, whole
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.numerics.moments import Moments
from veil.numerics.transforms import TRANSFORMS
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout
from veil.perturbations.linear import LinearPerturbation, check_digits
from veil.release.models import PermutedTransformModel


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

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 6)).cumsum(axis=1)
    >>> y = veil.TransformDomain(3, scaling=None, random_state=0).fit_transform(x)
    >>> bool((y**2).sum() > 0.8 * (x**2).sum())
    True
    """

    threat = (
        "Released: ``y``, the units, and which transform. Secret: which coefficients are kept and their order. That "
        "is far less than a secret matrix: one known record with its row, or one column that is known of everybody, "
        "usually gives the whole order away (A9), and so does a sample of the population wherever coefficients differ "
        "in distribution (A11). There is no formal guarantee."
    )
    catalogue = "P10"
    summary = "Release some Fourier or cosine coefficients of every record, in a secret order."
    model_: PermutedTransformModel

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
    def layout(self) -> Layout:
        """Every released cell is made of a whole record, without noise."""
        return replace(super().layout, covariance=True)

    def learn(self, facts: Facts) -> PermutedTransformModel:
        """Units; which coefficients are kept is a secret of the key."""
        unit, d = self._units(facts), len(facts.columns)
        choice(self.basis, "basis", TRANSFORMS)
        if self.n_components is not None and whole(self.n_components, "n_components", least=1) > d:
            raise InputError(f"n_components must be at most the number of columns ({d})")
        check_digits(facts, unit)
        k = d if self.n_components is None else int(self.n_components)
        model = PermutedTransformModel(unit, k, self.basis)
        facts.secrets.matrix("order", model.to_json(), lambda source: _strongest(model, facts.moments, source))
        return model

    def _matrix(self, secrets: Secrets) -> Matrix:
        order = secrets.matrix("order", self.model_.to_json())[0].astype(np.intp)
        return np.ascontiguousarray(self.model_.transform[order])

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Put the coefficients in place and transform back."""
        return np.asarray((self._matrix(draws.secrets).T @ block) * self.model_.unit[:, None])

    def invertible(self, *, consistent: bool) -> bool:
        """When every coefficient was kept."""
        return self.model_.n_components == len(self.model_.unit)


def _strongest(model: PermutedTransformModel, moments: Moments, source: Generator) -> Matrix:
    """The coefficients of most energy in a secret order (1 × k)."""
    mean = moments.mean / model.unit
    power = moments.covariance / np.outer(model.unit, model.unit) + np.outer(mean, mean)
    energy = np.einsum("ij,jk,ik->i", model.transform, power, model.transform)
    strongest = np.argsort(-energy, kind="stable")[: model.n_components]
    return strongest[source.permutation(len(strongest))][None, :].astype(np.float64)
