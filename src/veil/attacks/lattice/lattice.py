"""A26: the lattice behind a linear map of whole or decimal numbers.

*Model.* ``y = M D⁻¹x + t`` with M secret and D public. Where every column of x is on a grid with steps ``g_j`` (whole
numbers, decimals, yes and no), rows are whole-number combinations of the vectors ``(g_j/D_j) M e_j`` (with a
translation, differences of rows are). Relations between rows in whole numbers survive every linear map, and lattice
reduction finds them (:mod:`veil.numerics.lattices`).

*Rotations* (P6): these d vectors are orthogonal, so the release alone shows them. Their lengths times the public units
are the grains, which name the columns; what a column counts is mostly positive, which gives its sign
(:mod:`veil.attacks.lattice.naming`). Known records, ranges or a sample settle what is left.

*General maps and projections* (P7, P8) without noise: columns are known up to whole-number combinations of each other,
which few known records settle (:mod:`veil.attacks.lattice.mixed`).

A column of full precision mixed in makes the lattice dense, and so does dither of one grain
(:mod:`veil.perturbations.dither`); the attack says that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from veil.attacks.base import Ambiguity, Details, Guess, GuessingAttack, check_rows, check_width, full_guess, granted
from veil.attacks.knowledge import Knowledge, KnownPairs, KnownRanges, KnownSample
from veil.attacks.lattice.mixed import hidden_columns
from veil.attacks.lattice.naming import Evidence, named_columns
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.lattices import coordinates, generated_lattice, orthogonal_basis
from veil.release.models import Model, OrthogonalModel, ProjectionModel
from veil.release.models.linear import Dithered
from veil.release.release import Release

MOST_COLUMNS: Final = 60
"""The work grows with about the fifth power of the columns: 3 s for 40 of them."""


@dataclass(frozen=True, eq=False)
class LatticeDetails(Details):
    """What the lattice tells.

    Attributes
    ----------
    grains
        The step between neighbouring values of each private column.
    matrix
        The secret matrix, up to what is left open.
    distance
        How far the rows are from the lattice, in steps.
    origin_settled
        Whether the origin of every column is known, and not only differences.
    """

    grains: Vector
    matrix: Matrix
    distance: float
    origin_settled: bool


@dataclass(frozen=True, eq=False)
class MixedDetails(Details):
    """What the lattice tells of columns behind a general map: their grains, and which have no other candidate."""

    grains: Vector
    settled: npt.NDArray[np.bool_]


class LatticeAttack(GuessingAttack):
    """A26. Undo a linear map of whole or decimal numbers by lattice reduction.

    Notes
    -----
    Rotations need no knowledge; :class:`KnownPairs`, :class:`KnownRanges` and :class:`KnownSample` settle order, signs
    and origin where the release leaves them open. ``guess.details``: ``grains``, ``matrix``, ``distance``,
    ``origin_settled``. Of general maps and projections, three or four known records settle most columns:
    ``grains``, ``settled``.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).poisson([3, 20, 90, 400], size=(500, 4))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=0))
    >>> guess = veil.LatticeAttack().run(release)
    >>> bool(np.allclose(guess.values, x)), guess.details.grains.round(6).tolist()
    (True, [1.0, 1.0, 1.0, 1.0])
    """

    catalogue = "A26"
    words = "finds the grid of whole or decimal numbers behind the secret matrix by whole-number relations between rows"
    uses = (KnownPairs, KnownRanges, KnownSample)
    one_matrix = True

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Orthogonal transformations, and other linear maps without noise."""
        if isinstance(model, ProjectionModel):
            return not model.noise.any()
        return isinstance(model, OrthogonalModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        model, d = release.only_part.model, len(release.only_part.names)
        if d > MOST_COLUMNS:
            raise NotApplicableError(f"lattices of up to {MOST_COLUMNS} columns are reduced; the private table has {d}")
        y = release.to_numpy()
        pairs, sample = granted(knowledge, KnownPairs), granted(knowledge, KnownSample)
        if pairs is not None:
            check_width(pairs.records, release, "KnownPairs.records")
            check_rows(pairs.rows, len(y))
        if sample is not None:
            check_width(sample.sample, release, "KnownSample.sample")
        if isinstance(model, ProjectionModel):
            names, scaled = release.only_part.names, bool(np.any(model.unit != 1.0))
            mixed = hidden_columns(y, model.unit, names, pairs, scaled=scaled)
            if mixed is None:
                raise _no_lattice(model)
            ambiguity = "none" if mixed.settled.all() else "matrix"
            return full_guess(release, mixed.values, MixedDetails(mixed.grains, mixed.settled), ambiguity=ambiguity)
        if not isinstance(model, OrthogonalModel):
            raise NotApplicableError("the manifest does not describe a linear map")
        origin = y[np.argmin(np.linalg.norm(y - y.mean(axis=0), axis=1))] if model.translated else np.zeros(y.shape[1])
        directions = _orthogonal(y - origin)
        if directions is None:
            raise _no_lattice(model)
        whole = coordinates(y - origin, directions)
        lengths = np.linalg.norm(directions, axis=1)
        evidence = Evidence(
            names=release.only_part.names,
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
            distance=float(np.abs(whole - np.rint(whole)).max()),
            origin_settled=named.origin_settled,
        )
        return full_guess(release, named.values, details, ambiguity=Ambiguity(", ".join(open_parts) or "none"))


def _orthogonal(vectors: Matrix) -> Matrix | None:
    """The orthogonal vectors of which all others are whole-number combinations; None where there are none."""
    basis = generated_lattice(vectors)
    directions = None if basis is None else orthogonal_basis(basis)
    return directions if directions is not None and len(directions) == vectors.shape[1] else None


def _no_lattice(model: Dithered) -> NotApplicableError:
    if model.dither is not None:
        return NotApplicableError(
            f"the released rows generate no lattice: {len(model.dither.columns)} columns were dithered by one grain"
        )
    return NotApplicableError(
        "the released rows generate no lattice: some column is of full precision, constant or the sum of others"
    )
