"""A17: ranges and lengths alone against a random projection (Liu 2007, §5.3).

*Model.* ``y = R z + e``, ``z = x / unit``: R k × d with independent entries of variance 1/k, or an orthogonal matrix.
Known: the range of each attribute, a uniform prior on a box. Directions tell nothing; the length does, by

    y | z ~ N(0, (‖z‖²/k) I + diag(noise²)),   or ‖y‖ = ‖z‖ for an orthogonal matrix.

*paper*: any point of the sphere ``‖ẑ‖ = ‖y‖``, the radius kept to what the box allows (with the right ends, errata
L-p); one is drawn. Most of that sphere lies outside the box. *best*: the posterior mean, E[z | ‖y‖] under
the box prior. Given ``‖z‖² = q`` a uniform z is uniform on the part of the sphere inside the box. Up to four attributes
its mean and area are found by quadrature: arcs in the plane, further attributes one after the other. Of more, the
attributes are nearly independent with densities ∝ exp(s z_j²) on their ranges, s chosen so that E‖z‖² = q (Gibbs
conditioning, with its first Edgeworth term); q itself has the saddlepoint density ``exp(K(s) − s q)/√(2π K″(s))``, K
the cumulant function of ‖z‖². Its means err by up to 3 % of the widest range, and by up to 8 % where one range is
several times as wide as all others.

All records of a release share one matrix, and together they tell far more than their lengths: the *matrix form* is in
:mod:`veil.attacks.projection.matrix_form`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from veil.arguments import choice, number, renamed, whole
from veil.attacks.base import Details, Guess, GuessingAttack, full_guess, needed
from veil.attacks.knowledge import Knowledge, KnownRanges
from veil.attacks.projection.matrix_form import MOST_COLUMNS, TurnedBox, drawn_matrix, turned_into_box
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.measures.sphere import breach_bound, norm_range
from veil.numerics.ordering import by_name
from veil.release.models import Model, OrthogonalModel, ProjectionModel
from veil.release.release import Release

FEW: Final = 4
TILTS: Final = 257
_NODES: Final = 48  # Gauss–Legendre nodes per range
_SLICES: Final = 8  # nodes between corners, per attribute beyond the second
_TILE: Final = 1 << 22


@dataclass(frozen=True, eq=False)
class SphereDetails(Details):
    """A bound of the ``breach_probability`` of each record, and how many lengths are ``feasible`` in the ranges.

    In matrix form: how many matrices were found to turn the release into the ranges (``n_matrices``), and by how much
    the best of them misses their ends (``misfit``).
    """

    breach_probability: Vector
    feasible: int
    n_matrices: int | None = None
    misfit: float | None = None


class HypersphereAttack(GuessingAttack):
    """A17. Guess records from their released lengths and the ranges of their attributes.

    Parameters
    ----------
    form : {"record", "matrix"}
        Guess every record by its own length; or all together by one matrix that turns the release into the ranges
        (L §5.3.4). Up to four columns whose ranges are the table's own are found exactly by the second.
    variant : {"best", "paper"}
        The mean of the box's records given the length, or a random point of the sphere; in matrix form, the matrix that
        fits the ranges, or a random one.
    tolerance : float, default 0.1
        Relative error that counts as a breach in the paper's sense.
    random_state : int, default 0
        Seeds the directions of ``paper``, and the starts of the matrix form.

    Notes
    -----
    ``guess.details``: ``breach_probability``, for every record the highest probability, over all records of the
    box, that a uniform point of its sphere errs by at most ``tolerance`` times the record's length, in the units
    that were transformed (errata L-q); ``feasible``, the number of records whose sphere meets the box.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).random((200, 3))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.HypersphereAttack().run(release, veil.KnownRanges(np.zeros(3), np.ones(3)))
    >>> guess.details.feasible, guess.details.breach_probability.shape
    (200, (200,))
    """

    catalogue = "A17"
    words = "places records where their lengths, or one matrix for all of them, and the columns' ranges allow"
    requires = (KnownRanges,)
    one_matrix = True
    variants = ("best", "paper")
    settings_to_try = ({"form": "matrix"},)

    @renamed("epsilon", "tolerance")
    def __init__(
        self, *, form: str = "record", variant: str = "best", tolerance: float = 0.1, random_state: int = 0
    ) -> None:
        super().__init__(variant=variant)
        self.form = form
        self.tolerance = tolerance
        self.random_state = random_state

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Random projections and orthogonal transformations about the origin, which keep lengths."""
        if isinstance(model, ProjectionModel):
            return model.kind != "given"
        return isinstance(model, OrthogonalModel) and not model.translated

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        number(
            self.tolerance, "tolerance", least=0, infinite=True, rule="a relative error of at least 0, for example 0.1"
        )
        whole(self.random_state, "random_state")
        choice(self.form, "form", ("record", "matrix"))
        y, model = release.to_numpy(), release.only_part.model
        if not isinstance(model, ProjectionModel | OrthogonalModel):
            raise NotApplicableError("the manifest does not describe a projection or an orthogonal transformation")
        d = len(release.only_part.names)
        lower, upper = (model.scaled(side) for side in needed(knowledge, KnownRanges).for_columns(d))
        noise = model.noise if isinstance(model, ProjectionModel) else np.zeros(y.shape[1])
        square = (y**2).sum(axis=1) - (noise**2).sum()
        lengths = norm_range(lower, upper)
        radius = np.sqrt(np.clip(square, lengths[0] ** 2, lengths[1] ** 2))
        z, turned = self._turned(release, model, lower, upper) if self.form == "matrix" else (None, None)
        if z is None:
            z = self._by_length(y, model, radius, (lower, upper))
        allowed = lengths if isinstance(model, ProjectionModel) else (radius, radius)
        bound = breach_bound(radius, self.tolerance, d, allowed)
        slack = 1e-9 * lengths[1] ** 2
        feasible = int(((square >= lengths[0] ** 2 - slack) & (square <= lengths[1] ** 2 + slack)).sum())
        found = (None, None) if turned is None else (turned.n_matrices, turned.misfit)
        return full_guess(release, model.private(z), SphereDetails(bound, feasible, *found))

    def _by_length(
        self, y: Matrix, model: ProjectionModel | OrthogonalModel, radius: Vector, ranges: tuple[Vector, Vector]
    ) -> Matrix:
        """Every record by its own length."""
        if self.variant == "paper":
            direction = np.random.default_rng(self.random_state).standard_normal((len(y), len(ranges[0])))
            return np.asarray(direction * (radius / np.linalg.norm(direction, axis=1))[:, None])
        box = box_by_length(*ranges)
        return projected_mean(y, model.noise, box) if isinstance(model, ProjectionModel) else box.at(radius**2)

    def _turned(
        self, release: Release, model: ProjectionModel | OrthogonalModel, lower: Vector, upper: Vector
    ) -> tuple[Matrix | None, TurnedBox | None]:
        """All records by one matrix, and what is known of it; no records if none turns them into the ranges."""
        released, private = by_name(release.only_part.released), by_name(release.only_part.names)
        y, seed, d = release.to_numpy()[:, released], self.random_state, len(private)
        low, high, back = lower[private], upper[private], np.argsort(private)
        if self.variant == "paper":
            return (y @ drawn_matrix(d, y.shape[1], seed).T)[:, back], None
        if not isinstance(model, OrthogonalModel):
            raise NotApplicableError(
                "the matrix form is for orthogonal matrices; a projection keeps lengths on average"
            )
        if d > MOST_COLUMNS:
            raise NotApplicableError(
                f"the ranges of {d} columns leave too many matrices: the matrix form is for at most {MOST_COLUMNS}"
            )
        grain = 0.0 if model.dither is None else float((model.dither.grain / model.unit).max())
        # An odd order of columns turns a rotation into a reflection.
        orders = np.linalg.det(np.eye(d)[released]) * np.linalg.det(np.eye(d)[private])
        sign = float(np.sign(orders)) if model.proper else 0.0
        turned = turned_into_box(y, low, high, grain=grain, sign=sign, seed=seed)
        return np.clip(y @ turned.matrix.T, low, high)[:, back] if turned.n_matrices else None, turned


@dataclass(frozen=True)
class BoxByLength:
    """Uniform records of a box by squared length: a table over q = ‖z‖², ascending.

    ``log_density`` is q's own up to a constant, ``mean`` is E[z | q], one row per q.
    """

    square: Vector
    log_density: Vector
    mean: Matrix

    def at(self, square: Vector) -> Matrix:
        """E[z | ‖z‖² = square], interpolated; beyond the box's lengths its nearest or farthest corner."""
        return np.stack([np.interp(square, self.square, column) for column in self.mean.T], axis=1)


def box_by_length(lower: Vector, upper: Vector) -> BoxByLength:
    """The table of a box: exact where at most four attributes vary, by tilting otherwise."""
    exact = 1 <= int((upper > lower).sum()) <= FEW
    return sliced_box(lower, upper) if exact else tilted_box(lower, upper)


def sliced_box(lower: Vector, upper: Vector) -> BoxByLength:
    """The table of a box in which one to four attributes vary, by quadrature over the sphere inside it."""
    vary = upper > lower
    near, far = np.clip(0.0, lower, upper), np.where(np.abs(lower) > np.abs(upper), lower, upper)
    fixed = float((lower[~vary] ** 2).sum())
    sides = [_sides(low, high) for low, high in zip(lower[vary], upper[vary], strict=True)]
    ends = (near[vary] ** 2).sum(), (far[vary] ** 2).sum()
    # Edges and corners, where the mean may bend or jump, lie between two close points of the grid.
    bends = np.array([sum(corner) for corner in product(*({a**2 for s in side for a in s[:2]} for side in sides))])
    radii = np.linspace(np.sqrt(ends[0]), np.sqrt(ends[1]), TILTS)
    square = np.unique(np.concatenate([radii**2, bends * (1 - 1e-9), bends * (1 + 1e-9)]))
    square = square[(square > ends[0]) & (square < ends[1])]
    total = np.zeros((1 + len(sides), len(square)))
    for piece in product(*sides):
        low, high, sign = np.array(piece).T
        total += _sphere_moments(square, low, high) * np.concatenate([[1.0], sign])[:, None]
    there = total[0] > 0
    square, total = square[there], total[:, there]
    mean = np.tile(lower, (len(square), 1))
    mean[:, vary] = np.clip((total[1:] / total[0]).T, lower[vary], upper[vary])
    return BoxByLength(
        fixed + np.concatenate([[ends[0]], square, [ends[1]]]),
        np.concatenate([[-np.inf], np.log(total[0]), [-np.inf]]),
        np.vstack([near, mean, far]),
    )


def _sides(low: float, high: float) -> list[tuple[float, float, float]]:
    """A range as ranges of the absolute value with their signs."""
    both = [(max(low, 0.0), high, 1.0), (max(-high, 0.0), -low, -1.0)]
    return [side for side in both if side[1] > side[0]]


def _sphere_moments(square: Vector, low: Vector, high: Vector) -> Matrix:
    """Density of ‖z‖² times the volume of a box with no value below 0, and that times each mean, one per row."""
    if len(low) == 1:
        length = np.sqrt(square)
        density = np.where((length >= low[0]) & (length <= high[0]), 0.5 / np.maximum(length, 1e-150), 0.0)
        return np.stack([density, density * length])
    if len(low) == 2:
        radius = np.maximum(np.sqrt(square), 1e-150)
        first = np.maximum(np.arccos(np.minimum(high[0] / radius, 1)), np.arcsin(np.minimum(low[1] / radius, 1)))
        last = np.minimum(np.arccos(np.minimum(low[0] / radius, 1)), np.arcsin(np.minimum(high[1] / radius, 1)))
        last = np.maximum(first, last)
        across, up = np.sin(last) - np.sin(first), np.cos(first) - np.cos(last)
        return np.stack([last - first, radius * across, radius * up]) / 2
    nodes, weights = np.polynomial.legendre.leggauss(_SLICES)
    # The cubic crowds the nodes at both ends, where slices open like a root.
    place, weights = (2 + 3 * nodes - nodes**3) / 4, weights * 0.75 * (1 - nodes**2)
    # What is left for the other attributes bends where its sphere passes one of their corners.
    corners = np.unique([sum(c) for c in product(*zip(low[:-1] ** 2, high[:-1] ** 2, strict=True))])
    edges = np.sort(np.clip(np.sqrt(np.maximum(square[:, None] - corners, 0)), low[-1], high[-1]), axis=1)
    width = np.diff(edges, axis=1)[:, :, None]
    value = (edges[:, :-1, None] + width * place).reshape(len(square), -1)
    left = np.maximum(square[:, None] - value**2, 0)
    inner = _sphere_moments(left.ravel(), low[:-1], high[:-1]).reshape(len(low), *value.shape)
    weighed = inner * (width * weights).reshape(value.shape)
    return np.vstack([weighed.sum(axis=2), (weighed[0] * value).sum(axis=1)])


def tilted_box(lower: Vector, upper: Vector) -> BoxByLength:
    """The table of a box, nearly, by exponential tilting of z²; its ends are the nearest and the farthest point."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    z = (lower + upper)[:, None] / 2 + (upper - lower)[:, None] / 2 * nodes
    square = z**2
    far = np.where(np.abs(lower) > np.abs(upper), lower, upper)
    size = float((far**2).mean())
    if size == 0.0:  # the box is the origin
        return BoxByLength(np.zeros(1), np.zeros(1), np.zeros((1, len(lower))))
    # Steps near 0 are small against the spread of ‖z‖², whatever the dimension.
    step = 0.5 / np.sqrt(len(lower))
    tilts = step * np.sinh(np.linspace(-1.0, 1.0, TILTS) * np.arcsinh(200.0 / step)) / size
    q, log_density = np.empty(TILTS), np.empty(TILTS)
    mean = np.empty((TILTS, len(lower)))
    for i, s in enumerate(tilts):
        exponent = s * square
        top = exponent.max(axis=1, keepdims=True)
        weight = weights / 2 * np.exp(exponent - top)
        total = weight.sum(axis=1, keepdims=True)
        weight /= total
        first = (weight * square).sum(axis=1)
        away = square - first[:, None]
        spread = float((weight * away**2).sum())
        here = (weight * z).sum(axis=1)
        if spread > 1e-12 * first.sum() ** 2:  # the first Edgeworth term of conditioning on the sum
            skew = float((weight * away**3).sum())
            joint = (weight * away * z).sum(axis=1)
            curved = (weight * away**2 * (z - here[:, None])).sum(axis=1)
            here = here + (joint * skew / spread - curved) / (2 * spread)
        q[i], mean[i] = first.sum(), np.clip(here, lower, upper)
        log_density[i] = (np.log(total) + top).sum() - s * q[i] - np.log(max(spread, 1e-300)) / 2
    near = np.clip(0.0, lower, upper)
    ends = ((near**2).sum(), (far**2).sum())
    return BoxByLength(
        np.maximum.accumulate(np.concatenate([[ends[0]], np.clip(q, *ends), [ends[1]]])),
        np.concatenate([[-np.inf], log_density, [-np.inf]]),
        np.vstack([near, mean, far]),
    )


def projected_mean(y: Matrix, noise: Vector, box: BoxByLength) -> Matrix:
    """E[z | y] for a projection: the table's rows, weighted by prior and likelihood of their length."""
    k = y.shape[1]
    width = np.gradient(box.square) if len(box.square) > 1 else np.ones(1)
    variance = np.maximum(box.square[:, None] / k + noise**2, 1e-300)
    with np.errstate(divide="ignore"):
        constant = box.log_density + np.log(width) - np.log(variance).sum(axis=1) / 2
    if not np.isfinite(constant).any():  # all records of the box have one length
        return np.broadcast_to(box.mean[-1], (len(y), box.mean.shape[1])).copy()
    guess = np.empty((len(y), box.mean.shape[1]))
    rows = max(1, _TILE // len(box.square))
    for start in range(0, len(y), rows):
        part = y[start : start + rows]
        weight = constant - (part**2) @ (1.0 / variance).T / 2
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        guess[start : start + rows] = weight @ box.mean / weight.sum(axis=1, keepdims=True)
    return guess
