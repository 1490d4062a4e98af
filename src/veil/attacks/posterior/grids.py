"""The grid on which a column's posterior is worked out, with its marginal and its range (A28).

The joint prior is normal within a component or a kernel. A column may show more by itself: its marginal deconvolved
from the noise (the prior of A2), heaps that repeat in a sample, whole numbers, known ends. With p the marginal that all
these give and g the joint prior's own, ``p(x)/g(x)`` multiplies the joint posterior on the grid: a joint density with
the copula of the mixture and the margins of the columns. It is exact where columns are independent, where they are
normal, and where the joint prior has the right margins.

*Heaps.* Zeros of which a release alone shows that they heap have an atom (:mod:`veil.attacks.posterior.zero_heap`). Of
a sample's values that occur at least twice each keeps its share; the share of those that occur once is what the
continuous marginal gets (Good 1953: the probability of a value that was not seen before).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from veil.attacks.posterior.candidates import Candidates
from veil.attacks.posterior.cells import Codes, marginal
from veil.attacks.posterior.column_units import column_spread, interquartile_range
from veil.attacks.posterior.margins import beta_masses, likeliest
from veil.attacks.posterior.observations import Number
from veil.attacks.posterior.own_laws import Interval
from veil.attacks.posterior.zero_heap import with_zeros
from veil.data.blocks import Vector
from veil.measures.units import standard_unit
from veil.numerics.column_priors import deconvolve
from veil.numerics.priors import GridPrior

MOST_NOISE = 1.5
"""Noise, in steps of whole numbers, beyond which their distribution does not show through it."""
POINTS_PER_REACH = 3
COARSE, RESOLVED = 1.5, 0.3
"""Steps of the grid, and deviations of a normal posterior, by which a joint prior is blurred before a column's own
marginal takes its place: finer details of a component are chance where the marginal shows another."""
MOST_POINTS = 1_000
TAILS = 6.0
MOST_TILT = 1e6
"""How much more the column's marginal may say of a point than the joint prior does."""
LEAST_MARGIN = 1e-9
ANOTHER = 0.8
"""What share of the standard deviation another unit must be under, so that the column is judged by it."""


@dataclass(frozen=True, eq=False)
class ColumnGrid:
    """A grid in the working scale.

    ``place`` are its points as private values, ``widths`` those of its bins, ``shape`` the column's marginal, ``tilt``
    what multiplies the density and ``blur`` the least deviation of a candidate where it does; ``plain`` says that
    nothing but the joint prior is known of the column; ``inside`` is 1 within the column's ends and 0 beyond.
    """

    start: float
    step: float
    place: Vector
    widths: Vector
    shape: Vector
    tilt: Vector
    reach: float
    blur: float
    plain: bool
    inside: Vector

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last point, in the working scale."""
        return self.start, self.start + self.step * (len(self.place) - 1)

    def without_margin(self) -> ColumnGrid:
        """The grid for the joint prior alone, within the column's ends."""
        return replace(self, tilt=self.inside, blur=0.0)


class ColumnFacts(NamedTuple):
    """What is known of a column beside the joint prior.

    ``law`` names the noise for the column's own deconvolution, None for none; ``sample`` are private values of others,
    ``ends`` a known range and ``left`` the standard deviation that a normal prior leaves.
    """

    law: str | None
    sample: Vector | None
    ends: tuple[float, float] | None
    left: float


def column_grid(
    number: Number, candidates: Candidates, i: int, first: Codes, sigma: float, tolerance: float, facts: ColumnFacts
) -> ColumnGrid:
    """The grid of the candidates' ``i``-th number, whose noise has the standard deviation ``sigma``.

    Errors are counted in the column's standard deviation, or in what its quartiles say where the marginal that is found
    has long tails.
    """
    spread = column_spread(number, candidates, i, sigma)
    grid = _grid(number, candidates, i, first, sigma, spread, tolerance * spread, facts)
    unit = standard_unit(spread, interquartile_range(number, facts.sample, grid.place, grid.widths, grid.shape))
    if unit > ANOTHER * spread:
        return grid
    return _grid(number, candidates, i, first, sigma, spread, tolerance * unit, facts)


def _grid(
    number: Number,
    candidates: Candidates,
    i: int,
    first: Codes,
    sigma: float,
    spread: float,
    reach: float,
    facts: ColumnFacts,
) -> ColumnGrid:
    """The grid for windows of half-width ``reach``; ``spread`` is the column's standard deviation."""
    law, sample, ends, left = facts
    scale, mean = candidates.unit[i], candidates.mean[i]
    centres = candidates.centres[:, i] * scale + mean
    deviations = np.sqrt(np.clip(candidates.spreads[:, i, i], 0.0, None)) * scale
    start, step, size = _extent(number, centres, deviations, candidates.group, reach, ends)
    points: Vector = start + step * np.arange(size, dtype=np.float64)
    place: Vector = np.exp(points) if number.logs else points.copy()
    widths: Vector = step * place if number.logs else np.full(size, step)
    # The joint prior may have points where the column's own marginal has bins: what is divided is taken as coarse.
    blur = max(COARSE * step, RESOLVED * left)
    own = marginal(candidates.weights, first, centres, np.hypot(deviations, blur), start, step, size)
    own = own / max(float(own.sum()), 1e-300)
    whole = number.whole and not number.logs and reach < 0.5
    shapes = [own]
    limits = _limits(number, ends)
    if ends is not None and not number.logs:
        # A normal curve that is cut has too small a spread; this one has the column's own.
        middle = float(candidates.weights @ centres)
        bounded = beta_masses(points, step, limits, middle, spread)
        shapes = [own if bounded is None else bounded]
    if law is not None:
        prior = deconvolve(number.z[~np.isnan(number.z)], law, sigma)
        if isinstance(prior, GridPrior) and prior.kind == "nonparametric":
            deconvolved = _on_grid(prior, start, step, size, whole=whole and sigma < MOST_NOISE)
            shapes.append(deconvolved / max(float(deconvolved.sum()), 1e-300))
    others = np.empty(0) if sample is None else number.working(sample)
    shape = likeliest(shapes, number, points, sigma, others)
    free = len(shapes) > 1 and shape is shapes[1]
    if sample is None and not number.logs and not isinstance(number.law, Interval):
        zeros = with_zeros(shape, number, points, sigma, spread)
        if zeros is not shape:
            shape = zeros
            place[int(np.abs(points).argmin())] = 0.0
    if whole:
        shape = _comb(shape, place, step)
    if sample is not None:
        values, counts = np.unique(sample, return_counts=True)
        heaps = counts > 1
        if heaps.any():
            shape = _with_heaps(shape, place, number, values[heaps], counts[heaps] / len(sample), start, step)
    plain = shape is own and number.law is None and limits == (-np.inf, np.inf) and not number.logs
    if shape is own:
        blur = 0.0
    shape = _within(shape, place, 1e-6 * widths, *limits, moved=free)
    tilt = np.minimum(shape / np.maximum(own, LEAST_MARGIN / size), MOST_TILT)
    inside = _within(np.ones(size), place, 1e-6 * widths, *limits, moved=False)
    return ColumnGrid(start, step, place, widths, shape, tilt, reach, blur, plain, inside)


def _within(shape: Vector, place: Vector, slack: Vector, low: float, high: float, *, moved: bool) -> Vector:
    """The marginal between two ends; what it has beyond is left out, or ``moved`` to the end as a blurred heap's."""
    inside = np.flatnonzero((place >= low - slack) & (place <= high + slack))
    if not len(inside) or len(inside) == len(place):
        return shape
    out = np.zeros_like(shape)
    first, last = inside[0], inside[-1]
    out[first : last + 1] = shape[first : last + 1]
    if moved:
        out[first] += shape[:first].sum()
        out[last] += shape[last + 1 :].sum()
    return out if out.any() else shape


def _limits(number: Number, ends: tuple[float, float] | None) -> tuple[float, float]:
    low, high = number.bounds
    if ends is None:
        return low, high
    if number.logs:
        low, high = (max(ends[0], 0.0), max(abs(ends[0]), abs(ends[1])))
        return (low if ends[0] > 0 else 0.0), high
    return max(low, ends[0]), min(high, ends[1])


def _extent(
    number: Number, centres: Vector, deviations: Vector, group: Codes, reach: float, ends: tuple[float, float] | None
) -> tuple[float, float, int]:
    """Start, step and size of a grid that covers the candidates and nearly all that was seen."""
    z = number.z[~np.isnan(number.z)]
    wide = TAILS * deviations[group]
    low, high = float((centres - wide).min()), float((centres + wide).max())
    if isinstance(number.law, Interval):
        low, high = low - number.law.width, high + number.law.width
    if len(z):
        inner = np.quantile(z, (0.001, 0.999))
        low, high = min(low, float(inner[0])), max(high, float(inner[1]))
        if not isinstance(number.law, Interval):
            low, high = max(low, float(z.min())), min(high, float(z.max()))
    limits = _limits(number, ends)
    if not number.logs:
        low, high = max(low, limits[0]), min(high, limits[1])
        step = reach / POINTS_PER_REACH
    else:
        low = max(low, float(np.log(limits[0]))) if limits[0] > 0 else low
        high = min(high, float(np.log(limits[1]))) if limits[1] > 0 else high
        typical = float(np.exp(np.quantile(z, 0.9))) if len(z) else 1.0
        step = min(reach / (POINTS_PER_REACH * typical), 0.05)
    if not high > low:
        low, high = min(low, high) - step, max(low, high) + step
    step = max(step, (high - low) / MOST_POINTS)
    size = int(np.ceil((high - low) / step)) + 3
    return low - step, step, size


def _on_grid(prior: GridPrior, start: float, step: float, size: int, *, whole: bool) -> Vector:
    """The masses of a column's own prior on another grid."""
    if whole:
        prior = prior.on_whole_numbers()
        at = np.clip(np.rint((np.rint(prior.centres) - start) / step), 0, size - 1).astype(np.intp)
        return np.asarray(np.bincount(at, prior.weights, size), dtype=np.float64)
    edges = prior.grid.start + prior.grid.width * np.arange(len(prior.weights) + 1)
    cumulative = np.r_[0.0, np.cumsum(prior.weights)] / prior.weights.sum()
    bounds = start + step * (np.arange(size + 1) - 0.5)
    return np.asarray(np.diff(np.interp(bounds, edges, cumulative)))


def _comb(shape: Vector, place: Vector, step: float) -> Vector:
    """All mass moved to the whole numbers, whose points then stand for them exactly."""
    numbers = np.rint(place)
    bins = np.rint((numbers - place[0]) / step).astype(np.intp)
    inside = (bins >= 0) & (bins < len(place))
    out = np.asarray(np.bincount(bins[inside], shape[inside], len(place)), dtype=np.float64)
    place[bins[inside]] = numbers[inside]
    return out


def _with_heaps(
    shape: Vector, place: Vector, number: Number, values: Vector, shares: Vector, start: float, step: float
) -> Vector:
    """The marginal with heaps at some values, which the points next to them then stand for."""
    u = number.working(values)
    there = ~np.isnan(u)
    bins = np.rint((u[there] - start) / step)
    inside = (bins >= 0) & (bins < len(place))
    at, share = bins[inside].astype(np.intp), shares[there][inside]
    heaps = np.bincount(at, share, len(place))
    alone = np.bincount(at, minlength=len(place))[at] == 1
    size = np.abs(values[there][inside])
    place[at[alone]] = (size if number.logs else values[there][inside])[alone]
    return np.asarray(heaps + (1.0 - heaps.sum()) * shape / max(float(shape.sum()), 1e-300))
