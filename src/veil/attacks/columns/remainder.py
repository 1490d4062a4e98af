"""What known columns leave of a rotation: a smaller rotation, and what else is known to settle it.

*Model.* ``r = Q z + τ``: z the u private columns that are not known, in the units that were rotated, Q an unknown
orthogonal u × u matrix, τ = 0 unless there was a translation. Known may be some records, each column's range, a sample
of the population with the known columns, and that standard deviations round to the published units.

* As many records as columns give Q (orthogonal Procrustes). Of a rotation one fewer.
* A sample: the energy between the release's records and the sample's, known columns included, is least at Q
  (:mod:`veil.attacks.columns.sample`).
* Ranges: the turn at which every column reaches from end to end (:mod:`veil.attacks.columns.limits`).
* Whole or decimal numbers: the lattice of the rows (:mod:`veil.attacks.lattice`).
* Columns that heap: the axes along which many records agree (:mod:`veil.attacks.columns.heaps`).
* Otherwise the axes along which columns are least normal (:mod:`veil.attacks.columns.least_entropy`), and beyond five
  columns independent ones (:mod:`veil.attacks.separation`). Order and signs of these are chosen by what each would be
  as each column: its standard deviation, its share of negative values, known records, ranges.

With one unknown column nothing but its sign is open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.stats import ks_2samp

from veil.attacks.columns.heaps import heap_axes
from veil.attacks.columns.least_entropy import least_entropy_axes, own_frame
from veil.attacks.columns.limits import EXACT, turned_to_limits
from veil.attacks.columns.sample import record_energies, turned_to_sample
from veil.attacks.rotation.known_pairs import completed_rotation, known_bases
from veil.attacks.rotation.procrustes import polar
from veil.attacks.rotation.signs import t_ratio
from veil.attacks.separation.independence import separate, separate_orthogonal
from veil.data.blocks import Matrix, Vector
from veil.numerics.lattices import coordinates, generated_lattice, orthogonal_basis
from veil.numerics.ordering import by_name

MOST_SEARCHED: Final = 5
"""Columns whose axes are searched by angles."""
_CLEAR: Final = 0.5
"""By how much the next best order or sign must cost more."""
_FITS: Final = 3.0
"""What columns may cost that are taken for settled."""
_DOUBT: Final = 2.0
"""Standard errors by which a sample must prefer its own alignment."""
_GRID: Final = 1e-6


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """What is left once known columns are taken out, in the units that were rotated.

    Attributes
    ----------
    r
        N × u mixtures of the unknown columns.
    known
        N × k known columns.
    names
        The unknown columns' names.
    spreads
        u × 2: between which limits each column's standard deviation lies; None where nothing is known.
    origin
        Whether r has the unknown columns' origin.
    exact
        Whether Q is orthogonal, and not only about so: columns that are taken as uncorrelated may correlate.
    determinant
        That of Q where it is known to be a rotation or a reflection.
    rows, records
        Rows of known records, and their values in the unknown columns (p × u).
    limits
        u × 2: each unknown column's least and greatest value.
    sample
        Values of a sample in the known columns, and in the unknown ones.
    axes
        u × c directions along each of which r is one of the columns, it is not known which.
    """

    r: Matrix
    known: Matrix
    names: tuple[str, ...]
    spreads: Matrix | None = None
    origin: bool = True
    exact: bool = True
    determinant: int | None = None
    rows: npt.NDArray[np.intp] | None = None
    records: Matrix | None = None
    limits: Matrix | None = None
    sample: tuple[Matrix, Matrix] | None = None
    axes: Matrix | None = None


@dataclass(frozen=True, eq=False)
class Turned:
    """The unknown columns, and whether their order, signs and origins are settled."""

    values: Matrix
    how: str
    order: bool = True
    sign: bool = True
    origin: bool = True


def turned_back(rest: Remainder) -> Turned:
    """The unknown columns behind ``rest.r``."""
    exact = _from_records(rest)
    if exact is not None:
        return exact
    lattice = _lattice_axes(rest)
    if lattice is not None:
        return _named(rest, rest.r @ lattice, "lattice")
    turned = _searched(rest)
    if rest.limits is not None and rest.exact and rest.r.shape[1] > 1:
        turned = _to_limits(rest, rest.limits, turned)
    if rest.sample is not None and len(rest.sample[0]) > 1 and turned.how != "ranges" and rest.axes is None:
        return _from_sample(rest, *rest.sample, turned)
    return turned


def _searched(rest: Remainder) -> Turned:
    """Columns by their own laws alone: the least normal axes, or independent signals."""
    return _named(rest, *_signals(rest))


def _signals(rest: Remainder) -> tuple[Matrix, str]:
    """Columns in any order and sign, and what told them apart."""
    u = rest.r.shape[1]
    axes = rest.axes
    if axes is None and rest.exact:
        axes = heap_axes(rest.r)
    if axes is not None and axes.shape[1]:
        c = axes.shape[1]
        others = np.linalg.qr(np.hstack([axes, np.eye(u)]))[0][:, c:u]
        inner, how = np.empty((len(rest.r), 0)), "public copies"
        if u > c:
            inner, how = _signals(replace(rest, r=rest.r @ others, axes=None))
        how = "heaps" if rest.axes is None else how
        return np.hstack([rest.r @ axes, inner]), how
    if u > MOST_SEARCHED:
        own = rest.r @ own_frame(rest.r)
        separation = separate_orthogonal(own) if rest.exact else separate(own)
        missing = u - separation.signals.shape[1]  # of columns that are sums of others, or constant
        return np.pad(separation.signals, ((0, 0), (0, missing))), "independence"
    axes = np.eye(1)
    if u > 1:
        limits = None if rest.spreads is None else (float(rest.spreads[:, 0].min()), float(rest.spreads[:, 1].max()))
        axes = least_entropy_axes(rest.r, limits)
    return rest.r @ axes, "least entropy" if u > 1 else "sign"


def _to_limits(rest: Remainder, limits: Matrix, turned: Turned) -> Turned:
    """Columns turned until they reach from end to end; as they were where none do."""
    values, miss = turned_to_limits(turned.values, limits, origin=rest.origin)
    if miss > EXACT:
        return turned
    if not rest.origin:
        values = values + (limits.sum(axis=1) - values.min(axis=0) - values.max(axis=0)) / 2
    return Turned(values, "ranges")


def _from_records(rest: Remainder) -> Turned | None:
    """Columns by known records that span them; None where there are too few."""
    if rest.rows is None or rest.records is None or not rest.exact:
        return None
    z, r = rest.records, rest.r[rest.rows]
    centre_z, centre_r = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    if not rest.origin:
        centre_z, centre_r = z.mean(axis=0), r.mean(axis=0)
    inner, image = known_bases(z - centre_z, r - centre_r)
    if inner.shape[1] == z.shape[1] - 1 and rest.determinant is not None:
        inner, image = completed_rotation(inner, image)
        if rest.determinant < 0:
            image[:, -1] *= -1.0
    if inner.shape[1] < z.shape[1]:
        return None
    return Turned(centre_z + (rest.r - centre_r) @ image @ inner.T, "records")


def _lattice_axes(rest: Remainder) -> Matrix | None:
    """Orthogonal axes of the lattice that rows generate, as columns; None where there is none."""
    if rest.r.shape[1] == 1 or not rest.exact:
        return None
    vectors = rest.r if rest.origin else rest.r - rest.r[np.argmin(np.linalg.norm(rest.r, axis=1))]
    basis = generated_lattice(vectors)
    directions = None if basis is None else orthogonal_basis(basis)
    if directions is None or len(directions) != rest.r.shape[1]:
        return None
    steps = coordinates(vectors, directions)
    if np.abs(steps - np.rint(steps)).max() > _GRID * max(float(np.abs(steps).max()), 1.0):
        return None
    return np.asarray((directions / np.linalg.norm(directions, axis=1)[:, None]).T)


def _named(rest: Remainder, signals: Matrix, how: str) -> Turned:
    """Signals as the columns that they fit best, with the better sign.

    All that is known speaks of one column at a time, so the best order is an assignment.
    """
    u = signals.shape[1]
    both = np.array([[[_misfit(s * signals[:, i], rest, j) for s in (1, -1)] for j in range(u)] for i in range(u)])
    cost = both.min(axis=2)
    # Of equally good orders, larger signals go to names later in the alphabet: in whatever order columns come.
    rows, columns = np.argsort((signals**2).mean(axis=0), kind="stable"), by_name(rest.names)
    at, place = linear_sum_assignment(cost[np.ix_(rows, columns)])
    order = np.empty(u, dtype=np.intp)
    order[columns[place]] = rows[at]
    chosen = both[order, np.arange(u)]
    signs = np.where(chosen[:, 0] <= chosen[:, 1], 1.0, -1.0)
    margins = np.abs(chosen[:, 0] - chosen[:, 1])
    # That a column is positive is a guess. Records, ranges and samples are evidence, where axes fit them.
    evident = (rest.rows is not None or rest.limits is not None or rest.sample is not None) and cost[
        order, np.arange(u)
    ].max() < _FITS
    n_open = int((margins <= _CLEAR).sum()) if evident else u
    if rest.determinant is not None:  # one sign follows from the others: the least clear one
        axes = np.linalg.lstsq(rest.r - rest.r.mean(axis=0), signals - signals.mean(axis=0), rcond=None)[0]
        if np.linalg.det(axes[:, order] * signs) * rest.determinant < 0:
            signs[np.argmin(margins)] *= -1.0
        n_open -= 1
    values = signals[:, order] * signs
    origin = rest.origin
    if not origin:
        shift = [_origin(values[:, j], rest, j) for j in range(u)]
        values, origin = values + np.array([s or 0.0 for s in shift]), all(s is not None for s in shift)
    shown = evident or (rest.spreads is not None and rest.axes is None)
    return Turned(values, how, u == 1 or (_only(cost, order) and shown), n_open <= 0, origin)


def _misfit(values: Vector, rest: Remainder, j: int) -> float:
    """What speaks against values as the j-th unknown column."""
    spread = float(values.std()) or 1.0
    cost = 0.0
    if rest.spreads is not None:
        low, high = rest.spreads[j]
        cost += 100.0 * (max(low - spread, 0.0) + max(spread - high, 0.0))
    if rest.rows is not None and rest.records is not None and len(rest.rows):
        own = values[rest.rows] - rest.records[:, j]
        cost += 10.0 * float(np.sqrt(np.mean((own - (0.0 if rest.origin else own.mean())) ** 2))) / spread
    if rest.limits is not None:
        low, high = rest.limits[j]
        shift = 0.0 if rest.origin else (low + high - values.min() - values.max()) / 2
        cost += 10.0 * (abs(values.min() + shift - low) + abs(values.max() + shift - high)) / spread
    if rest.sample is not None and len(rest.sample[1]) > 1:
        own = rest.sample[1][:, j] - (0.0 if rest.origin else rest.sample[1][:, j].mean() - values.mean())
        cost += 20.0 * float(ks_2samp(values, own).statistic)
    if rest.origin and rest.limits is None:  # most columns of people count or measure something
        cost += float((values < 0).mean())
    return cost - 1e-3 * float(np.tanh(np.mean(((values - values.mean()) / spread) ** 3)))


def _origin(values: Vector, rest: Remainder, j: int) -> float | None:
    """What to add to values that are known up to a translation; None where nothing tells."""
    if rest.rows is not None and rest.records is not None and len(rest.rows):
        return float((rest.records[:, j] - values[rest.rows]).mean())
    if rest.limits is not None:
        return float((rest.limits[j].sum() - values.min() - values.max()) / 2)
    if rest.sample is not None and len(rest.sample[1]):
        return float(rest.sample[1][:, j].mean() - values.mean())
    return None


def _only(cost: Matrix, order: npt.NDArray[np.intp]) -> bool:
    """Whether every other order costs clearly more."""
    best = cost[order, np.arange(len(order))].sum()
    for j, i in enumerate(order):
        other = cost.copy()
        other[i, j] = 1e12
        if other[linear_sum_assignment(other)].sum() <= best + _CLEAR:
            return False
    return True


def _from_sample(rest: Remainder, known: Matrix, unknown: Matrix, alone: Turned) -> Turned:
    """Columns by a sample that has the known columns too; as their own laws say where the sample does not object."""
    design, here = np.column_stack([np.ones(len(known)), known]), np.column_stack([np.ones(len(rest.r)), rest.known])
    weights = np.linalg.lstsq(design, unknown, rcond=1e-9)[0] if len(known) > design.shape[1] + 2 else None
    centre = np.broadcast_to(unknown.mean(axis=0), rest.r.shape) if weights is None else here @ weights
    r, s, shift = rest.r, unknown, np.zeros(unknown.shape[1])
    if not rest.origin:  # the sample's means, at the release's means of the known columns
        r, s, shift = r - r.mean(axis=0), s - unknown.mean(axis=0), centre.mean(axis=0)
    proper = rest.determinant == 1
    turn, reliability = turned_to_sample(r, s, rest.known, known, proper=proper, white=not rest.exact)
    values = alone.values if rest.origin else alone.values - alone.values.mean(axis=0)
    own = polar(np.linalg.lstsq(r, values, rcond=None)[0])
    energies = [record_energies(r, s, rest.known, known, q) for q in (own, turn)]
    if t_ratio(energies[0] - energies[1]) < _DOUBT:
        return Turned(shift + r @ own, alone.how)
    return Turned(centre + (shift + r @ turn - centre) @ reliability, "sample")
