"""A9 with columns instead of records: private columns that are known of everybody, against a secret matrix.

*Model.* ``y = M z (+ t)``, ``z = x / unit`` (P6), or ``y = R z + e`` (P7, P8). *Known*: k of the d columns of x, for
every row of the release.

*Rotations.* ``z_j = m_j · (y − t)``: the regression of a known column on the release is its row of Mᵀ, exactly. What is
orthogonal to these rows holds the other columns, turned by an unknown orthogonal matrix of d − k dimensions, for which
:mod:`veil.attacks.columns.remainder` uses that columns heap, and whatever else is known. One unknown column is open up
to its sign only.

*General maps and projections.* The residual of y given the known columns is ``R_U (z_U − B z_K)`` with unknown R_U and
B. A sample shows B and the covariance of the residual, and leaves a rotation again. Without one, the unknown columns
are taken as independent of the known ones (B = 0) and uncorrelated. Where the release has fewer columns than are
unknown, a sample gives draws of R (A21), and each record is guessed given its known columns too.

*Coefficients in a secret order* (P10): the regression of a known column on the release gives its coefficients in the
public transform, which name the released columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from veil.attacks.base import Ambiguity, Details, Guess, GuessingAttack, full_guess, needed
from veil.attacks.columns.remainder import Remainder, Turned, turned_back
from veil.attacks.columns.situation import Columns
from veil.attacks.knowledge import Knowledge, KnownAttributes, KnownPairs, KnownRanges, KnownSample
from veil.attacks.projection.linear_bayes import conditional_mean
from veil.attacks.rotation.permuted import from_coefficients
from veil.data.blocks import Matrix
from veil.errors import NotApplicableError
from veil.numerics.ordering import by_name, row_order
from veil.release.models import Model, OrthogonalModel, PermutedTransformModel, ProjectionModel
from veil.release.release import Release

_RANK: Final = 1e-9


@dataclass(frozen=True, eq=False)
class KnownColumnsDetails(Details):
    """What known columns tell of the secret matrix.

    Attributes
    ----------
    known
        Names of the known columns that were used.
    how
        What settled the rest: "records", "lattice", "ranges", "sample", "heaps", "independence", "least entropy",
        "sign", "order" (of coefficients) or "draws" (of the matrix).
    misfit
        By which share the known columns miss the release: more than rounding where they are not exact.
    """

    known: tuple[str, ...]
    how: str
    misfit: float


class KnownColumnsAttack(GuessingAttack):
    """A9. Undo a secret matrix with columns that are known of everybody.

    *Knowledge.* KnownAttributes that are private columns of the release, in the order of its rows. KnownPairs,
    KnownRanges and KnownSample are used together with them.

    Notes
    -----
    ``guess.ambiguity`` and ``guess.up_to`` say what of the other columns is arbitrary (order, sign, scale); columns
    whose order is open are in the transformed units, as in A12. ``guess.details``: ``known``, ``how`` and ``misfit``.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).gamma(2.0, size=(500, 2)) @ [[3.0, 1.0], [0.0, 1.0]]
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.KnownColumnsAttack().run(release, veil.KnownAttributes(("x0",), x[:, :1]))
    >>> bool(np.allclose(guess.values, x)), guess.details.how
    (True, 'sign')
    """

    catalogue = "A9"
    words = "solves for the secret matrix with columns that are known of everybody"
    requires = (KnownAttributes,)
    uses = (KnownPairs, KnownSample, KnownRanges)
    one_matrix = True

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Secret matrices that act on records in public units, and transforms in a secret order."""
        return isinstance(model, OrthogonalModel | ProjectionModel | PermutedTransformModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        columns = Columns(release, needed(knowledge, KnownAttributes), knowledge)
        if len(columns.open) and isinstance(columns.model, PermutedTransformModel):
            return _coefficients(columns, columns.model)
        undone = undo(columns)
        return columns.guess(undone.turned, _details(columns, undone.turned, undone.misfit), scale=undone.scale)


@dataclass(frozen=True, eq=False)
class Undone:
    """The columns that were open, by what share the known ones miss the release, and whether scales are known."""

    turned: Turned
    misfit: float = 0.0
    scale: bool = True


def undo(columns: Columns) -> Undone:
    """The open columns behind a secret matrix, by the known ones and all else that is known."""
    model = columns.model
    if not len(columns.open):
        return Undone(Turned(np.empty((len(columns.y), 0)), "known"))
    if isinstance(model, OrthogonalModel):
        return _rotation(columns, model)
    if isinstance(model, ProjectionModel):
        return _map(columns, model)
    raise NotApplicableError("the manifest does not describe a linear map of the columns")


def _details(columns: Columns, turned: Turned, misfit: float) -> KnownColumnsDetails:
    return KnownColumnsDetails(tuple(columns.names[j] for j in columns.at), turned.how, misfit)


def _rotation(columns: Columns, model: OrthogonalModel) -> Undone:
    """The known columns' rows of Mᵀ by regression, and what is orthogonal to them."""
    y, known = columns.y, columns.known
    if model.translated:
        y, known = y - y.mean(axis=0), known - known.mean(axis=0)
    rows = np.linalg.lstsq(y, known, rcond=_RANK)[0]
    misfit = _share(known - y @ rows, known)
    basis = np.linalg.qr(np.column_stack([polar_rows(rows), np.eye(len(rows))]))[0][:, : len(rows)]
    axes, others = polar_rows(rows), basis[:, rows.shape[1] :]
    determinant = None
    if model.proper:
        places = np.argsort(np.concatenate([columns.at, columns.open]))
        determinant = int(np.sign(np.linalg.det(np.column_stack([axes, others])[:, places])))
    rest = columns.remainder(y @ others, origin=not model.translated, determinant=determinant)
    if columns.axes is not None:
        rest = replace(rest, axes=polar_rows(others.T @ columns.axes))
    return Undone(turned_back(rest), misfit)


def polar_rows(matrix: Matrix) -> Matrix:
    """The matrix with orthonormal columns that is nearest to a d × k one."""
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(u @ vt)


def _map(columns: Columns, model: ProjectionModel) -> Undone:
    """A general map: the residual given the known columns, whitened."""
    y, known, u = columns.y, columns.known, len(columns.open)
    design = np.column_stack([np.ones(len(y)), known])
    slopes = np.linalg.lstsq(design, y, rcond=_RANK)[0][1:]
    rest = y - known @ slopes
    covariance = np.atleast_2d(np.cov(rest.T, ddof=0))
    size, axes = np.linalg.eigh(covariance)
    size, axes = size[::-1], axes[:, ::-1]
    rank = int((size > _RANK * max(float(size[0]), 1e-300)).sum())
    if rank < u:
        return _drawn(columns, model)
    white = rest @ (axes[:, :u] / np.sqrt(size[:u]))
    misfit = _share(known - known.mean(axis=0) - (y - y.mean(axis=0)) @ _weights(y, known), known)
    if columns.sample is None or len(columns.sample) < len(columns.names) + 3:
        remainder = replace(columns.remainder(white, origin=True, determinant=None), exact=False, sample=None)
        return Undone(turned_back(remainder), misfit, scale=bool(np.any(columns.unit != 1.0)))
    s_known, s_open = columns.sample[:, columns.at], columns.sample[:, columns.open]
    s_design = np.column_stack([np.ones(len(s_known)), s_known])
    weights = np.linalg.lstsq(s_design, s_open, rcond=_RANK)[0]
    residual = s_open - s_design @ weights
    sizes, turn = np.linalg.eigh(np.atleast_2d(np.cov(residual.T, ddof=0)))
    root = (turn * np.sqrt(np.maximum(sizes, _RANK * sizes[-1]))) @ turn.T
    names, sample = tuple(columns.names[j] for j in columns.open), (s_known, residual @ np.linalg.inv(root))
    aligned = turned_back(Remainder(r=white - white.mean(axis=0), known=known, names=names, exact=False, sample=sample))
    return Undone(Turned(design @ weights + aligned.values @ root, "sample"), misfit)


def _drawn(columns: Columns, model: ProjectionModel) -> Undone:
    """A projection to fewer columns than are unknown: draws of R by a sample, and records given all that is known."""
    sample = columns.sample
    if sample is None or len(sample) < len(columns.names) + 3:
        raise NotApplicableError(
            f"{columns.y.shape[1]} released columns hide {len(columns.open)} unknown ones; a sample of at least "
            f"{len(columns.names) + 3} records would tell more"
        )
    from veil.attacks.projection.alignment import align_projection  # numba compiles it on first use

    y, part = columns.y, columns.release.only_part
    # Chains of draws amplify rounding: columns by name and rows by value give the same bits in any order.
    released, private = by_name(part.released), by_name(part.names)
    noise, pairs = np.asarray(model.noise, dtype=np.float64), None
    if columns.rows is not None and columns.records is not None:
        pairs = columns.records[:, private], y[columns.rows][:, released]
    alignment = align_projection(
        y[:, released][row_order(y[:, released])],
        np.ascontiguousarray(sample[:, private]),
        entry_variance=1.0 / model.n_components,
        noise=noise[released],
        pairs=pairs,
    )
    matrices = alignment.matrices[:, np.argsort(released)][:, :, np.argsort(private)]
    prior = sample.mean(axis=0), np.cov(sample.T)
    observed, noise = np.hstack([y, columns.known]), np.append(noise, np.zeros(len(columns.at)))
    units = np.eye(len(columns.names))[columns.at]
    means = [conditional_mean(observed, np.vstack([each, units]), prior, noise) for each in matrices]
    return Undone(Turned(np.mean(means, axis=0)[:, columns.open], "draws"))


def _coefficients(columns: Columns, model: PermutedTransformModel) -> Guess:
    """The order of the coefficients by the known columns' weights on them."""
    weights = _weights(columns.y, columns.known)
    own = model.transform[:, columns.at]
    cost = ((weights[:, None, :] - own[None, :, :]) ** 2).sum(axis=2)
    order = linear_sum_assignment(cost)[1]
    rivals = cost.copy()
    rivals[np.arange(len(order)), order] = np.inf
    settled = bool((rivals.min(axis=1) - cost[np.arange(len(order)), order] > 1e-6).all()) if len(own) > 1 else True
    prior = np.zeros(len(columns.names)), np.eye(len(columns.names))
    if columns.sample is not None and len(columns.sample) > 2:
        prior = columns.sample.mean(axis=0), np.cov(columns.sample.T, ddof=0)
    z = from_coefficients(model, columns.y, order, *prior)
    turned, misfit = Turned(z[:, columns.open], "order"), _share(z[:, columns.at] - columns.known, columns.known)
    guess = columns.guess(turned, _details(columns, turned, misfit))
    if settled:
        return guess
    return full_guess(columns.release, guess.values, guess.details, ambiguity=Ambiguity.ORDER)


def _weights(y: Matrix, known: Matrix) -> Matrix:
    """Weights of the released columns in the regression of the known ones."""
    return np.asarray(np.linalg.lstsq(y - y.mean(axis=0), known - known.mean(axis=0), rcond=_RANK)[0])


def _share(error: Matrix, of: Matrix) -> float:
    """The size of an error relative to what it is an error of."""
    return float(np.sqrt((error**2).sum() / max(float((of**2).sum()), 1e-300)))
