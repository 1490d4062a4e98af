"""A9: known input–output pairs against an orthogonal transformation (Liu 2007, §4.4).

*Model.* ``y = M z + t``, M orthogonal. Known: k records z with their y. Every record inside the
known records' span follows exactly; outside it only the length of the rest is known.

*paper*: one M̂ drawn uniformly from the matrices consistent with the pairs,
``M̂ = V_k U_kᵀ + V_⊥ P U_⊥ᵀ`` with P Haar (errata L-c: the paper's step needs the unknown M).
*best*: the posterior mean, which is the projection on the known span; its error outside the span is
√2 times smaller. With rank d both are the exact answer.

Columns that were normalized by secret widths (P5) are scaled first by the widths that the known records show
(:mod:`veil.attacks.rotation.normalized`). Of a transform with coefficients in a secret order (P10) the known records
show the order. Of a binary projection (P9) they show the secret subsets (:mod:`veil.attacks.rotation.parity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.attacks.base import Details, Guess, GuessingAttack, check_rows, check_width, full_guess, needed
from veil.attacks.knowledge import Knowledge, KnownPairs
from veil.attacks.rotation.normalized import paired_columns, widths_from_pairs
from veil.attacks.rotation.parity import solve_parities
from veil.attacks.rotation.permuted import OrderDetails, from_coefficients, order_from_pairs
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.measures import breach_probability
from veil.release.models import (
    BinaryProjectionModel,
    Model,
    NormalizedRotationModel,
    OrthogonalModel,
    PermutedTransformModel,
)
from veil.release.models.linear import Dithered
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class PairsDetails(Details):
    """What known pairs tell of a rotation.

    Attributes
    ----------
    rank
        Of the span in which the matrix is known.
    breach_probability, target
        For each record, and the record outside the pairs with the highest; None without one.
    misfit
        By which share the known records miss their rows.
    """

    rank: int
    breach_probability: Vector
    target: int | None
    misfit: float


@dataclass(frozen=True, eq=False)
class ParityDetails(Details):
    """Which attributes follow exactly from the parities, and how many released bits were understood."""

    determined: npt.NDArray[np.bool_]
    understood: int


class KnownPairsAttack(GuessingAttack):
    """A9. Undo an orthogonal transformation from records whose rows are known.

    Parameters
    ----------
    variant : {"best", "paper"}
        The posterior mean, or one draw from the consistent matrices.
    epsilon : float, default 0.1
        Relative error that counts as a breach in the paper's sense, for the target's choice.
    random_state : None or int
        Seeds the draw of ``paper``.

    Notes
    -----
    ``guess.details``: ``rank`` of the span in which the matrix is known (a rotation known on d − 1 axes
    is known on all), ``breach_probability``: for every record, the probability that a matrix drawn
    uniformly from the consistent ones errs by at most ``epsilon`` times the record's length, in the
    units that were rotated (exact cap formula, errata L-a), and ``target``, the row where it is highest
    among the rows that were not known; ``misfit``, by how much the known records' inner products differ from
    their rows' (0 unless records or rows are wrong).

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:3], range(3)))
    >>> guess.details.rank, bool(np.abs(guess.values - x).max() < 1e-4)
    (3, True)
    """

    catalogue = "A9"
    words = "solves for the secret matrix with records whose rows are known"
    requires = (KnownPairs,)
    one_matrix = True
    variants = ("best", "paper")

    def __init__(self, *, variant: str = "best", epsilon: float = 0.1, random_state: int | None = None) -> None:
        super().__init__(variant=variant)
        self.epsilon = epsilon
        self.random_state = random_state

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Orthogonal transformations, rotations of normalized columns, transforms in a secret order, parities."""
        known = OrthogonalModel | NormalizedRotationModel | PermutedTransformModel | BinaryProjectionModel
        return isinstance(model, known)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        number(self.epsilon, "epsilon", least=0, infinite=True, rule="a relative error of at least 0, for example 0.1")
        if self.random_state is not None:
            whole(self.random_state, "random_state")
        pairs = needed(knowledge, KnownPairs)
        check_width(pairs.records, release, "KnownPairs.records")
        y, model = release.to_numpy(), release.only_part.model
        check_rows(pairs.rows, len(y))
        if isinstance(model, PermutedTransformModel):
            return _permuted(release, model, y, pairs)
        if isinstance(model, BinaryProjectionModel):
            parities = solve_parities(pairs.records, y[pairs.rows], y, model.p)
            return full_guess(release, parities.values, ParityDetails(parities.determined, parities.understood))
        determined = True
        if isinstance(model, NormalizedRotationModel):
            unit, determined = widths_from_pairs(pairs.records, y[pairs.rows])
            translated, proper = True, True
        elif isinstance(model, OrthogonalModel):
            unit, translated, proper = model.unit, model.translated, model.proper
        else:
            raise NotApplicableError("the manifest does not describe an orthogonal transformation")
        known_z, known_y = pairs.records / unit, y[pairs.rows]
        paired = np.full(y.shape, np.nan)
        if isinstance(model, NormalizedRotationModel):
            paired = paired_columns(pairs.records, known_y, y)
        origin_z, origin_y = np.zeros(y.shape[1]), np.zeros(y.shape[1])
        if translated:  # differences to the known records' mean are free of the translation
            origin_z, origin_y = known_z.mean(axis=0), known_y.mean(axis=0)
            known_z, known_y = known_z - origin_z, known_y - origin_y
        misfit = _misfit(known_z, known_y)
        error = dither_length(model)
        u, v = known_bases(known_z, known_y, tolerance=rank_tolerance(known_z, error), weighted=error > 0)
        if proper and u.shape[1] == len(u) - 1:
            u, v = completed_rotation(u, v)
        centred = y - origin_y
        inside = centred @ v
        z = inside @ u.T
        rest = np.linalg.norm(centred - inside @ v.T, axis=1)
        if self.variant == "paper":
            z = z + self._consistent_rest(centred - inside @ v.T, u, v)
        probability = self._breach_probability(z + origin_z, rest, y.shape[1] - u.shape[1])
        probability[pairs.rows] = 1.0
        candidates = np.delete(np.arange(len(y)), pairs.rows)
        target = int(candidates[np.argmax(probability[candidates])]) if len(candidates) else None
        finite = np.isfinite(paired).all(axis=0)
        if finite.all():
            misfit = 0.0  # the records fit their rows exactly, whatever the estimated widths say
        return full_guess(
            release,
            np.where(finite, paired, (z + origin_z) * unit),
            PairsDetails(rank=u.shape[1], breach_probability=probability, target=target, misfit=misfit),
            ambiguity="none" if determined or finite.all() else "scale",
        )

    def _consistent_rest(self, rest: Matrix, u: Matrix, v: Matrix) -> Matrix:
        """Where one uniformly drawn consistent matrix puts the part outside the known span."""
        d, r = u.shape
        if r == d:
            return np.zeros_like(rest)
        q, triangle = np.linalg.qr(np.random.default_rng(self.random_state).standard_normal((d - r, d - r)))
        q = q * np.sign(np.diag(triangle))
        return np.asarray(rest @ _complement(v) @ q @ _complement(u).T)

    def _breach_probability(self, z: Matrix, rest: Matrix, dimension: int) -> Matrix:
        norm = (
            np.linalg.norm(np.column_stack([z, rest]), axis=1) if self.variant == "best" else np.linalg.norm(z, axis=1)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(rest > 1e-9 * norm, norm * self.epsilon / (2 * rest), np.inf)
        return np.array(breach_probability(ratio, dimension), dtype=np.float64)


def _permuted(release: Release, model: PermutedTransformModel, y: Matrix, pairs: KnownPairs) -> Guess:
    """The secret order of the coefficients from the known records, then every record."""
    known_z = model.scaled(pairs.records)
    order, unsettled, misfit = order_from_pairs(model, known_z, y[pairs.rows])
    # Few records say little about how coefficients vary together: dropped ones get their mean.
    z = from_coefficients(model, y, order, known_z.mean(axis=0), np.eye(known_z.shape[1]))
    ambiguity = "order" if unsettled else "none"
    details = OrderDetails(order, unsettled=unsettled, misfit=misfit)
    return full_guess(release, model.private(z), details, ambiguity=ambiguity)


def _misfit(known_z: Matrix, known_y: Matrix) -> float:
    """How far inner products of the known records differ from those of their rows, relative to their size."""
    inner, released = known_z @ known_z.T, known_y @ known_y.T
    size = float(np.abs(inner).max(initial=0.0))
    return float(np.abs(inner - released).max(initial=0.0) / size) if size > 0 else 0.0


def dither_length(model: Model) -> float:
    """By how much dither may have changed a scaled record's length; 0 without it."""
    if not isinstance(model, Dithered) or model.dither is None:
        return 0.0
    return float(np.linalg.norm(model.dither.width / model.unit) / 2)


def rank_tolerance(known_z: Matrix, length: float) -> float:
    """Of the longest direction of known records: in a shorter one dither of this length says more than they do.

    The deviation of dither in one of d directions is ``length/√(3d)``.
    """
    size = float(np.linalg.norm(known_z, 2)) if len(known_z) else 0.0
    return max(1e-9, length / np.sqrt(3 * known_z.shape[1]) / size) if size > 0 else 1e-9


def known_bases(
    known_z: Matrix, known_y: Matrix, *, tolerance: float = 1e-9, weighted: bool = False
) -> tuple[Matrix, Matrix]:
    """Orthonormal bases U of the known records' span and V = M U of its image (d × r each).

    Taken from the SVD of the known records, so the error grows with their condition number
    and not with its square. ``weighted``: rows have errors, and directions count by their length (Procrustes).
    """
    d = known_z.shape[1]
    if not len(known_z):
        return np.zeros((d, 0)), np.zeros((d, 0))
    left, size, right = np.linalg.svd(known_z, full_matrices=False)
    rank = int((size > tolerance * size[0]).sum()) if size[0] > 0 else 0
    u = right[:rank].T
    image = known_y.T @ (left[:, :rank] * size[:rank] if weighted else left[:, :rank] / size[:rank])
    a, _, b = np.linalg.svd(image, full_matrices=False)
    return u, a @ b


def completed_rotation(u: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """The last axis of a rotation known on d − 1 of them: its determinant is +1."""
    full_u, full_v = np.column_stack([u, _complement(u)]), np.column_stack([v, _complement(v)])
    full_v[:, -1] *= np.sign(np.linalg.det(full_v) * np.linalg.det(full_u))
    return full_u, full_v


def _complement(basis: Matrix) -> Matrix:
    """An orthonormal basis of the orthogonal complement."""
    d, r = basis.shape
    if r == 0:
        return np.eye(d)
    return np.linalg.qr(basis, mode="complete")[0][:, r:]
