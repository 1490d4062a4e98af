"""P6: orthogonal transformation.

*Model.* ``y = M·D⁻¹x + t`` with ``M`` Haar-uniform on the orthogonal group, ``D`` the rounded
standard deviations (or the identity) and ``t`` an optional secret translation (Liu 2007, §4.1).
Distances and inner products of the scaled records are kept exactly.

``M`` is the Q of a Gaussian matrix's QR with the columns multiplied by the signs of R's
diagonal; without that correction Q is not uniform (its determinant is always (−1)^(d−1)).
"""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from veil.arguments import flag
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.numerics.rounding import two_digits
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout
from veil.perturbations.linear import LinearPerturbation, check_digits, record_size
from veil.release.models import OrthogonalModel


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
        of the (scaled) attributes. The spread is public, like the scale of noise; the translation
        itself is drawn from the key and never disclosed.
    dither : {"auto", False}, default "auto"
        Move columns of whole or decimal numbers off their grid by keyed noise of one grain first; the key takes it
        off again. False does not, and keeps distances to the last digit.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    unit_ : array of shape (d,)
        What each attribute was divided by.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = veil.OrthogonalTransform(scaling=None, random_state=0).fit_transform(x)
    >>> bool(np.allclose(np.linalg.norm(y, axis=1), np.linalg.norm(x, axis=1)))
    True
    """

    threat = (
        "Released: ``y``, ``D`` and the spread of the translation. Secret: ``M`` and ``t``. d known records with "
        "their rows give every other record exactly, and fewer give their span (A9); a column that is known of "
        "everybody gives its row of M, and of two columns the other one (A9); a sample of the population gives M up to "
        "the precision of its eigenvectors (A11). Where every column holds whole or decimal numbers and none is "
        "dithered, the release alone gives every record (A26). Dither leaves a density that is constant within a "
        "grain: two columns are turned back from 2,000 records where a grain is 0.3 deviations, and from some 20,000 "
        "where it is 0.1; columns of few values (1 to 5) from 20,000 records by ICA. Two releases of one table under "
        "different keys differ by their dither, whose axes are M's: use one key. There is no formal guarantee."
    )
    catalogue = "P6"
    summary = "Rotate (or reflect) all records by one secret matrix."
    model_: OrthogonalModel

    def __init__(
        self,
        *,
        scaling: str | None = "std",
        proper: bool = False,
        translation: float = 0.0,
        dither: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.scaling = scaling
        self.proper = proper
        self.translation = translation
        self.dither = dither
        self.random_state = random_state

    @property
    def layout(self) -> Layout:
        """Every released cell is made of a whole record; a translation is in units of the spread."""
        moved = not isinstance(self.translation, int | float) or self.translation != 0
        return replace(super().layout, spread=super().layout.spread or moved)

    def learn(self, facts: Facts) -> OrthogonalModel:
        """Units, and the spread of the translation."""
        flag(self.proper, "proper")
        unit, translation = self._units(facts), self.translation
        if isinstance(translation, bool) or not isinstance(translation, Real) or not 0 <= translation < math.inf:
            raise InputError("translation must be a finite number of at least 0, in multiples of the spread")
        spread = two_digits(float(np.sqrt(np.mean((facts.spread / unit) ** 2)))) if translation else 0.0
        shift = float(translation) * spread
        check_digits(facts, unit, 8.0 * shift)
        dither = self._dither(facts, unit, size=record_size(facts, unit) + 8.0 * shift)
        return OrthogonalModel(unit, bool(self.proper), shift, dither=dither)

    def _matrix(self, secrets: Secrets) -> Matrix:
        d, proper = len(self.model_.unit), self.model_.proper
        about = self.model_.undithered.to_json()
        return secrets.matrix("matrix", about, lambda source: haar_orthogonal(source, d, proper=proper))

    def _shift(self, secrets: Secrets) -> Matrix:
        """The translation, as a column."""
        spread, d = self.model_.translation, len(self.model_.unit)
        about = self.model_.undithered.to_json()
        return secrets.matrix("translation", about, lambda source: spread * source.normal(d, 1))

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Dither, scale, rotate, translate."""
        out = super().perturb(block, draws)
        if self.model_.translated:
            out += self._shift(draws.secrets)
        return out

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Translate, rotate and scale back."""
        turned = block - self._shift(draws.secrets) if self.model_.translated else block
        return self._private(self._matrix(draws.secrets).T @ turned)
