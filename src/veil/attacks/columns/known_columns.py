"""A9 with columns instead of records: private columns that are known of everybody, against a secret matrix.

*Model.* ``y = M z (+ t)``, ``z = x / unit`` (P6), or ``y = R z + e`` (P7, P8). *Known*: k of the d columns of x, for
every row of the release.

*Rotations.* ``z_j = m_j · (y − t)``: the regression of a known column on the release is its row of Mᵀ, exactly. What is
orthogonal to these rows holds the other columns, turned by an unknown orthogonal matrix of d − k dimensions, for which
:mod:`veil.attacks.columns.remainder` uses whatever else is known. One unknown column is open up to its sign only.

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

from veil.attacks.base import (
    Ambiguity,
    Details,
    Guess,
    GuessingAttack,
    check_rows,
    check_width,
    full_guess,
    granted,
    needed,
)
from veil.attacks.columns.remainder import Remainder, Turned, turned_back
from veil.attacks.knowledge import Knowledge, KnownAttributes, KnownPairs, KnownRanges, KnownSample
from veil.attacks.projection.linear_bayes import conditional_mean
from veil.attacks.rotation.permuted import from_coefficients
from veil.data.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import by_name, row_order
from veil.release.models import Model, OrthogonalModel, PermutedTransformModel, ProjectionModel
from veil.release.release import Release

_RANK: Final = 1e-9
_ROUNDED: Final = 0.05
"""By how much, at most, two digits of a number miss it."""


@dataclass(frozen=True, eq=False)
class KnownColumnsDetails(Details):
    """What known columns tell of the secret matrix.

    Attributes
    ----------
    known
        Names of the known columns that were used.
    how
        What settled the rest: "records", "lattice", "ranges", "sample", "independence", "least entropy", "sign",
        "order" (of coefficients) or "draws" (of the matrix).
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
        columns = _Columns(release, needed(knowledge, KnownAttributes), knowledge)
        model = columns.model
        if not len(columns.open):
            return columns.guess(Turned(np.empty((len(columns.y), 0)), "known"), 0.0)
        if isinstance(model, OrthogonalModel):
            return _rotation(columns, model)
        if isinstance(model, PermutedTransformModel):
            return _coefficients(columns, model)
        if isinstance(model, ProjectionModel):
            return _map(columns, model)
        raise NotApplicableError("the manifest does not describe a linear map of the columns")


class _Columns:
    """The release, which columns are known and which are not, and what else is known, in transformed units."""

    def __init__(self, release: Release, attributes: KnownAttributes, knowledge: Sequence[Knowledge]) -> None:
        self.release, self.model, self.names = release, release.only_part.model, release.only_part.names
        self.y, self.unit = release.to_numpy(), np.asarray(getattr(self.model, "unit", np.ones(len(self.names))))
        if len(attributes.values) != len(self.y):
            raise InputError(f"KnownAttributes has {len(attributes.values)} records; the release has {len(self.y)}")
        self.at = np.array([j for j, name in enumerate(self.names) if name in attributes.columns], dtype=np.intp)
        if not len(self.at):
            raise NotApplicableError("none of the known attributes is a private column of this release")
        if len(self.y) <= len(self.names) + 1:
            raise NotApplicableError(f"{len(self.y)} records do not show the matrix of {len(self.names)} columns")
        self.open = np.setdiff1d(np.arange(len(self.names)), self.at)
        place = [attributes.columns.index(self.names[j]) for j in self.at]
        self.exact = attributes.values[:, place]
        self.known = self.exact / self.unit[self.at]
        pairs, sample = granted(knowledge, KnownPairs), granted(knowledge, KnownSample)
        ranges = granted(knowledge, KnownRanges)
        self.rows, self.records, self.sample, self.limits = None, None, None, None
        if pairs is not None and len(pairs.rows):
            check_width(pairs.records, release, "KnownPairs.records")
            check_rows(pairs.rows, len(self.y))
            self.rows, self.records = pairs.rows, pairs.records / self.unit
        if sample is not None and len(sample.sample) > 1:
            check_width(sample.sample, release, "KnownSample.sample")
            self.sample = sample.sample / self.unit
        if ranges is not None:
            self.limits = np.column_stack(ranges.for_columns(len(self.names))) / self.unit[:, None]

    def remainder(self, r: Matrix, *, origin: bool, determinant: int | None) -> Remainder:
        """The unknown columns' share of the release, with what is known of them."""
        sample = None if self.sample is None else (self.sample[:, self.at], self.sample[:, self.open])
        return Remainder(
            r=r,
            known=self.known,
            names=tuple(self.names[j] for j in self.open),
            spreads=self.spreads(r),
            origin=origin,
            determinant=determinant,
            rows=self.rows,
            records=None if self.records is None else self.records[:, self.open],
            limits=None if self.limits is None else self.limits[self.open],
            sample=sample,
        )

    def spreads(self, r: Matrix) -> Matrix | None:
        """Limits of the unknown columns' standard deviations in their units, which are two digits of them.

        Units of 1 may be none. A rotation keeps the sum of variances, which shows whether they are.
        """
        limits = np.tile([1.0 - _ROUNDED, 1.0 + _ROUNDED], (len(self.open), 1))
        total, (least, most) = r.var(axis=0).sum(), (limits**2).sum(axis=0)
        return limits if np.any(self.unit != 1.0) or least <= total <= most else None

    def guess(self, turned: Turned, misfit: float, *, scale: bool = True) -> Guess:
        """The known columns as known, the others as they were turned back."""
        up_to = (() if turned.order else ("order",)) + (() if turned.sign else ("sign",))
        if not (scale and turned.origin):
            up_to = ("order", "sign", "scale")
        values = np.empty((len(self.y), len(self.names)))
        values[:, self.at], values[:, self.open] = self.known, turned.values
        units = None
        if "order" in up_to and "scale" not in up_to and np.ptp(self.unit) > 0:
            units = self.unit
        else:
            values = values * self.unit
            values[:, self.at] = self.exact
        details = KnownColumnsDetails(tuple(self.names[j] for j in self.at), turned.how, misfit)
        ambiguity = Ambiguity(", ".join(up_to) or "none")
        return full_guess(self.release, values, details, ambiguity=ambiguity, up_to=up_to, units=units)


def _rotation(columns: _Columns, model: OrthogonalModel) -> Guess:
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
    return columns.guess(turned_back(rest), misfit)


def polar_rows(matrix: Matrix) -> Matrix:
    """The matrix with orthonormal columns that is nearest to a d × k one."""
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(u @ vt)


def _map(columns: _Columns, model: ProjectionModel) -> Guess:
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
        return columns.guess(turned_back(remainder), misfit, scale=bool(np.any(columns.unit != 1.0)))
    s_known, s_open = columns.sample[:, columns.at], columns.sample[:, columns.open]
    s_design = np.column_stack([np.ones(len(s_known)), s_known])
    weights = np.linalg.lstsq(s_design, s_open, rcond=_RANK)[0]
    residual = s_open - s_design @ weights
    sizes, turn = np.linalg.eigh(np.atleast_2d(np.cov(residual.T, ddof=0)))
    root = (turn * np.sqrt(np.maximum(sizes, _RANK * sizes[-1]))) @ turn.T
    names, sample = tuple(columns.names[j] for j in columns.open), (s_known, residual @ np.linalg.inv(root))
    aligned = turned_back(Remainder(r=white - white.mean(axis=0), known=known, names=names, exact=False, sample=sample))
    return columns.guess(Turned(design @ weights + aligned.values @ root, "sample"), misfit)


def _drawn(columns: _Columns, model: ProjectionModel) -> Guess:
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
    return columns.guess(Turned(np.mean(means, axis=0)[:, columns.open], "draws"), 0.0)


def _coefficients(columns: _Columns, model: PermutedTransformModel) -> Guess:
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
    guess = columns.guess(Turned(z[:, columns.open], "order"), _share(z[:, columns.at] - columns.known, columns.known))
    if settled:
        return guess
    return full_guess(columns.release, guess.values, guess.details, ambiguity=Ambiguity.ORDER)


def _weights(y: Matrix, known: Matrix) -> Matrix:
    """Weights of the released columns in the regression of the known ones."""
    return np.asarray(np.linalg.lstsq(y - y.mean(axis=0), known - known.mean(axis=0), rcond=_RANK)[0])


def _share(error: Matrix, of: Matrix) -> float:
    """The size of an error relative to what it is an error of."""
    return float(np.sqrt((error**2).sum() / max(float((of**2).sum()), 1e-300)))
