"""A26: the lattice behind a rotation of whole or decimal numbers.

*Model.* ``y = M D⁻¹x + t`` with M orthogonal and secret, D public. Where every column of x is on a grid with steps
``g_j`` (whole numbers, decimals, yes and no), rows (differences of rows, with a translation) are whole-number combinations
of the d orthogonal vectors ``(g_j/D_j) M e_j``. Lattice reduction finds these vectors from the release alone
(:mod:`veil.numerics.lattices`): exact relations between rows survive every rotation. Their lengths times the public units
are the grains, which name the columns; what a column counts is mostly positive, which gives its sign
(:mod:`veil.attacks.lattice.naming`). Known records, ranges or a sample settle what is left.

A column of full precision mixed in makes the lattice dense; the attack says that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.attacks.base import Ambiguity, Details, Guess, GuessingAttack, check_width, full_guess, granted
from veil.attacks.knowledge import Knowledge, KnownPairs, KnownRanges, KnownSample
from veil.attacks.lattice.naming import Evidence, named_columns
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.lattices import coordinates, generated_lattice, orthogonal_basis
from veil.release.models import Model, OrthogonalModel
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class LatticeDetails(Details):
    """What the lattice tells.

    Attributes
    ----------
    grains
        The step between neighbouring values of each private column.
    matrix
        The secret matrix, up to what is left open.
    misfit
        How far the rows are from the lattice, in steps.
    origin_settled
        Whether the origin of every column is known, and not only differences.
    """

    grains: Vector
    matrix: Matrix
    misfit: float
    origin_settled: bool


class LatticeAttack(GuessingAttack):
    """A26. Undo a rotation of whole or decimal numbers by lattice reduction.

    Notes
    -----
    It needs no knowledge; :class:`KnownPairs`, :class:`KnownRanges` and :class:`KnownSample` settle order, signs and
    origin where the release leaves them open. ``guess.details``: ``grains``, ``matrix``, ``misfit``,
    ``origin_settled``.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).poisson([3, 20, 90, 400], size=(500, 4))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.LatticeAttack().run(release)
    >>> bool(np.allclose(guess.values, x)), guess.details.grains.round(6).tolist()
    (True, [1.0, 1.0, 1.0, 1.0])
    """

    catalogue = "A26"
    words = "finds the grid of whole or decimal numbers behind the rotation, from the released rows alone"
    uses = (KnownPairs, KnownRanges, KnownSample)
    one_matrix = True

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Orthogonal transformations."""
        return isinstance(model, OrthogonalModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        model, y = release.only_part.model, release.to_numpy()
        if not isinstance(model, OrthogonalModel):
            raise NotApplicableError("the manifest does not describe an orthogonal transformation")
        pairs, sample = granted(knowledge, KnownPairs), granted(knowledge, KnownSample)
        if pairs is not None:
            check_width(pairs.records, release, "KnownPairs.records")
        if sample is not None:
            check_width(sample.sample, release, "KnownSample.sample")
        origin = y[np.argmin(np.linalg.norm(y - y.mean(axis=0), axis=1))] if model.translated else np.zeros(y.shape[1])
        directions = _orthogonal(y - origin)
        whole = coordinates(y - origin, directions)
        lengths = np.linalg.norm(directions, axis=1)
        evidence = Evidence(
            unit=model.unit,
            scaled=bool(np.any(model.unit != 1.0)),
            translated=model.translated,
            pairs=pairs,
            ranges=granted(knowledge, KnownRanges),
            sample=sample,
        )
        named = named_columns(np.rint(whole), lengths, evidence)
        open_parts = (() if named.order_settled else ("order",)) + (() if named.sign_settled else ("sign",))
        details = LatticeDetails(
            grains=named.grains,
            matrix=(directions / lengths[:, None])[named.order].T,
            misfit=float(np.abs(whole - np.rint(whole)).max()),
            origin_settled=named.origin_settled,
        )
        return full_guess(release, named.values, details, ambiguity=Ambiguity(", ".join(open_parts) or "none"))


def _orthogonal(vectors: Matrix) -> Matrix:
    """The orthogonal vectors of which all others are whole-number combinations."""
    basis = generated_lattice(vectors)
    directions = None if basis is None else orthogonal_basis(basis)
    if directions is None or len(directions) != vectors.shape[1]:
        raise NotApplicableError(
            "the released rows generate no lattice: some column is of full precision, constant or the sum of others"
        )
    return directions
