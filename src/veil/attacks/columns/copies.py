"""Which public columns of a release are copies of private ones, of which, and what the release is along them.

*Knowledge.* The release shows the direction of each copy (:mod:`veil.attacks.columns.single_index`). A sample that has
the public columns shows whose copy it is: the private column given which no other tells more of it (partial F test of
the rest of a monotone fit), by odds of 20 to 1 against every other. Without one, a copy in the private column's own
units (rounded values) is recognised by slope and origin, and one whose values are distributed like one column of a bare
sample by that. Names are not looked at. What nothing settles is a copy that is not named.

*What is no copy.* A public column whose direction is not sharp; of rotations, one along which the release does not have
the standard deviation that units promise, or that is not at a right angle to a sharper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import f as f_law
from scipy.stats import ks_2samp, rankdata

from veil.attacks.columns.public_numbers import FEWEST, PublicNumbers
from veil.attacks.columns.single_index import Index, single_index, whitening
from veil.data.blocks import Matrix, Vector
from veil.numerics.extremes import MOST

SHARP: Final = 0.1
"""Of a standard deviation: the error of a direction, over all others, that still tells values."""
_SHARE: Final = 0.5
"""Squared rank correlation from which a column that a sample does not show is taken for a copy."""
_RELATED: Final = 30.0
"""Records times the squared rank correlation of a public column that says something of the private ones."""
_LEVEL: Final = 1e-3
_ODDS: Final = np.log(20.0)
_LIKE: Final = 0.01
_UNLIKE: Final = 1e-5
_WIDTHS: Final = (0.9, 1.1)
_CONTRADICTS: Final = 4.0
_NEAR: Final = 0.02
_RIGHT_ANGLE: Final = 0.3
_SAME: Final = 0.98


@dataclass(frozen=True, eq=False)
class Copy:
    """A public column that is a copy of a private one.

    Attributes
    ----------
    public
        The public column.
    index
        The direction along which the release shows the private one.
    place
        Which private column it is; None where that is open.
    sign
        1 where the private column rises with the public one, −1 where it falls.
    by_units
        Whether it was recognised by its units.
    """

    public: PublicNumbers
    index: Index
    place: int | None = None
    sign: float = 1.0
    by_units: bool = False

    def along(self, y: Matrix) -> Vector:
        """The release along the index, with its origin, rising with the private column."""
        return np.asarray(self.sign * (y @ self.index.weights))


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies, the sharpest first, and public columns that say something without being copies."""

    copies: tuple[Copy, ...]
    others: tuple[PublicNumbers, ...]


def find_copies(
    y: Matrix, public: Sequence[PublicNumbers], sample: Matrix | None, unit: Vector, *, orthogonal: bool, origin: bool
) -> Copies:
    """The copies among public columns; ``sample`` are private records in transformed units, ``unit`` these units."""
    candidates, others = [], []
    for column in public:
        rows = column.rows
        index = single_index(y[rows], column.values[rows])
        copy, certain = Copy(column, index), False
        if column.sampled is not None and sample is not None:
            shown = whose_copy(sample, column.sampled)
            copy, certain = replace(copy, place=shown[0], sign=shown[1]), shown[0] is not None
        else:
            copy = _by_units(copy, y, unit, orthogonal=orthogonal, origin=origin)
            if copy.place is None and sample is not None and orthogonal and origin:
                copy = _by_shape(copy, y, sample)
        sharp = index.error * np.sqrt(y.shape[1] - 1) <= SHARP and (index.exact or certain or index.share >= _SHARE)
        known_not = column.sampled is not None and sample is not None and not certain and not index.exact
        odd = orthogonal and not certain and _odd_width(y, index, unit)
        if sharp and not known_not and not odd:
            candidates.append(copy)
        elif index.share * len(rows) > _RELATED:
            others.append(column)
    kept: list[Copy] = []
    for copy in sorted(candidates, key=lambda each: (each.index.error, each.public.name)):
        if not any(_rivals(y, copy, other, orthogonal=orthogonal) for other in kept):
            kept.append(copy)
    return Copies(tuple(kept), tuple(others))


def _odd_width(y: Matrix, index: Index, unit: Vector) -> bool:
    """Whether the release's standard deviation along a direction is not about 1, as units promise.

    Units leave values out that dominate a column's spread.
    """
    if not np.any(unit != 1.0):
        return False
    along = y @ (index.weights / np.linalg.norm(index.weights))
    inner = np.argsort(np.abs(along - np.median(along)), kind="stable")
    widths = [along[inner[: len(along) - left]].std() for left in range(2 * MOST + 1)]
    return not any(_WIDTHS[0] <= width <= _WIDTHS[1] for width in widths)


def _rivals(y: Matrix, copy: Copy, other: Copy, *, orthogonal: bool) -> bool:
    """Whether two copies cannot be of two private columns."""
    if copy.place is not None and copy.place == other.place:
        return True
    a, b = copy.index.weights, other.index.weights
    if orthogonal:
        return bool(abs(a @ b) > _RIGHT_ANGLE * np.linalg.norm(a) * np.linalg.norm(b))
    return bool(abs(np.corrcoef(y @ a, y @ b)[0, 1]) > _SAME)


def whose_copy(z: Matrix, p: Vector) -> tuple[int | None, float]:
    """The private column (of z, m × d) that p is a copy of, and the sign of the two; None where a sample does not say.

    >>> z = np.random.default_rng(0).normal(size=(300, 3))
    >>> whose_copy(z, np.digitize(-z[:, 1], [-1.0, 0.0, 1.0]).astype(float))
    (1, -1.0)
    """
    known = ~np.isnan(p)
    z, ranks = z[known], rankdata(p[known])
    m, d = z.shape
    if m < max(FEWEST, d + 5) or np.ptp(ranks) == 0:
        return None, 1.0
    total = float(((ranks - ranks.mean()) ** 2).sum())
    rests, signs = np.empty((d, m)), np.ones(d)
    for j in range(d):
        order = rankdata(z[:, j])
        signs[j] = 1.0 if (order - order.mean()) @ (ranks - ranks.mean()) >= 0 else -1.0
        rests[j] = ranks - _rising(signs[j] * z[:, j], ranks)
    squares = np.maximum((rests**2).sum(axis=1), 1e-6 * total)
    best = int(np.argmin(squares))
    rivals = np.delete(squares, best)
    unlike = total < squares[best] * np.exp(2 * _ODDS / m) * 1.2
    if unlike or (len(rivals) and m / 2 * np.log(rivals.min() / squares[best]) < _ODDS):
        return None, 1.0
    if squares[best] > 1e-3 * total and _told_more(rests[best], np.delete(z, best, axis=1)):
        return None, 1.0
    return best, float(signs[best])


def _rising(at: Vector, values: Vector) -> Vector:
    """The rising function of ``at`` nearest to values."""
    _, inverse, counts = np.unique(at, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, values) / counts
    return np.asarray(isotonic_regression(means, weights=counts).x[inverse])


def _told_more(rest: Vector, others: Matrix) -> bool:
    """Whether other columns tell of what a fit leaves (F test)."""
    m, k = others.shape
    if not k:
        return False
    centred = others - others.mean(axis=0)
    fit = centred @ np.linalg.lstsq(centred, rest, rcond=1e-9)[0]
    left = float(((rest - fit) ** 2).sum())
    ratio = (float((rest**2).sum()) - left) / k / max(left / (m - k - 1), 1e-300)
    return bool(f_law.sf(ratio, k, m - k - 1) < _LEVEL)


def _by_units(copy: Copy, y: Matrix, unit: Vector, *, orthogonal: bool, origin: bool) -> Copy:
    """A copy named where its slope and origin are those of one private column in its own units."""
    if not copy.public.measured:
        return copy
    rows, weights = copy.public.rows, copy.index.weights
    p, v = copy.public.values[rows], y[rows] @ weights
    width = 1.0 / float(np.linalg.norm(weights)) if orthogonal else 1.0
    slope = float(((p - p.mean()) @ (v - v.mean())) / max(float(((v - v.mean()) ** 2).sum()), 1e-300)) / width
    step = float(np.diff(np.unique(p)).max())
    fits = []
    for j, own in enumerate(unit):
        factor = own * width if orthogonal else slope
        near = _WIDTHS[0] <= slope / own <= _WIDTHS[1]
        if near and not (origin and abs(p.mean() - factor * v.mean()) > step):
            fits.append(j)
    if orthogonal:  # units are the very ones, so that the slope may tell near ones apart
        fits = [j for j in fits if abs(slope / unit[j] - 1.0) <= _NEAR] or fits
    return replace(copy, place=fits[0], by_units=True) if len(fits) == 1 else copy


def _by_shape(copy: Copy, y: Matrix, sample: Matrix) -> Copy:
    """A copy named where the release along it is distributed like one column of a sample, and no other."""
    v = y @ (copy.index.weights / np.linalg.norm(copy.index.weights))
    options = [(j, sign) for j in range(sample.shape[1]) for sign in (1.0, -1.0)]
    likeness = np.array([ks_2samp(v, sign * sample[:, j]).pvalue for j, sign in options])
    best = int(np.argmax(likeness))
    if likeness[best] < _LIKE or np.delete(likeness, best).max() > _UNLIKE:
        return copy
    return replace(copy, place=options[best][0], sign=options[best][1])


def calibrated(
    copy: Copy, y: Matrix, sample: Vector, *, scale: float, rounding: float = 0.0, origin: bool = True
) -> tuple[float, float]:
    """The factor and the shift that take the release along a copy to its column, by a sample of that column.

    ``scale`` is the factor that units say, ``rounding`` its relative standard error (infinite where they say nothing);
    the sample weighs as its own error tells, or alone where it contradicts. An error of the direction turns the other
    columns' means, which may be far from 0, into a shift, even where the release has the private columns' origin: it is
    measured by the sample as far as that is surer.
    """
    known = ~np.isnan(copy.public.sampled) if copy.public.sampled is not None else np.zeros(len(sample), dtype=np.bool_)
    z, at = sample[known], _matched(copy, y, np.asarray(copy.public.sampled)[known])
    factor = scale
    if rounding > 0:
        squares = max(float(((at - at.mean()) ** 2).sum()), 1e-300)
        slope = float((z - z.mean()) @ (at - at.mean())) / squares
        errors = np.std(z - slope * at) / np.sqrt(squares), rounding * scale
        contradicts = abs(slope - scale) > _CONTRADICTS * np.hypot(*errors)
        weight = 1.0 if not np.isfinite(rounding) or contradicts else errors[1] ** 2 / (errors[0] ** 2 + errors[1] ** 2)
        factor = float(weight * slope + (1.0 - weight) * scale)
    off, shift = z - factor * at, 1.0
    if origin:
        mean = y.mean(axis=0)
        others = max(float(((mean @ whitening(y)) ** 2).sum()) - float(mean @ copy.index.weights) ** 2, 0.0)
        doubt = (2.0 * factor * copy.index.error) ** 2 * others
        shift = doubt / max(doubt + float(np.var(off)) / len(off), 1e-300)
    return factor, shift * float(off.mean())


def _matched(copy: Copy, y: Matrix, sampled: Vector) -> Vector:
    """What the release is along a copy, on average, at the public values of a sample's people."""
    rows = copy.public.rows
    p, v = copy.public.values[rows], y[rows] @ copy.index.weights
    levels, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, v) / counts
    return np.asarray(copy.sign * np.interp(sampled, levels, isotonic_regression(means, weights=counts).x))
