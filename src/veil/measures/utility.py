"""Geometry kept by a release: distances, inner products and covariances.

The original and the release must have the same records in the same order; they need not
have the same columns (a projection has fewer). Distances are taken in the units given:
where one column would swamp the others, standardise both tables first. Records with a
missing value in either table are left out.

A table of N records has N(N − 1)/2 pairs. When that is at most ``n_pairs`` all are used
and the measure is exact; else pairs are drawn with replacement by ``random_state``, and the
95 % interval is that of the drawing: it is about this table, not about a population.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, as_table, choice, renamed, whole
from veil.errors import InputError
from veil.measures.intervals import ratio_interval
from veil.measures.measure import Measure

Indices = npt.NDArray[np.int64]


@renamed("seed", "random_state")
def distance_distortion(
    original: npt.ArrayLike, released: npt.ArrayLike, n_pairs: int = 20_000, random_state: int = 0
) -> Measure:
    """Mean of |d_y/d_x − 1| over pairs of records, d the Euclidean distance.

    0 for an orthogonal transformation of the records. Pairs at original distance 0 have no
    ratio and are left out; NaN when no pair is left.

    >>> float(distance_distortion([[0.0], [1.0], [3.0]], [[0.0], [2.0], [6.0]]))
    1.0
    """
    x, y, _ = complete_records(original, released)
    left, right, drawn = _pairs(len(x), n_pairs, random_state)
    before = np.sqrt(((x[left] - x[right]) ** 2).sum(axis=1))
    after = np.sqrt(((y[left] - y[right]) ** 2).sum(axis=1))
    apart = before > 0.0
    return _mean_over_pairs(np.abs(after[apart] / before[apart] - 1.0), drawn)


@renamed("seed", "random_state")
def inner_product_distortion(
    original: npt.ArrayLike, released: npt.ArrayLike, n_pairs: int = 20_000, random_state: int = 0
) -> Measure:
    """Mean of |⟨y_i, y_j⟩ − ⟨x_i, x_j⟩| / (‖x_i‖‖x_j‖) over pairs of different records.

    The denominator bounds the original inner product, so the measure does not blow up where
    records are nearly orthogonal. Pairs with a record of length 0 are left out.

    >>> float(inner_product_distortion([[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [1.0, 2.0]]))
    0.5
    """
    x, y, _ = complete_records(original, released)
    left, right, drawn = _pairs(len(x), n_pairs, random_state)
    lengths = np.sqrt((x * x).sum(axis=1))
    scale = lengths[left] * lengths[right]
    change = np.abs((y[left] * y[right]).sum(axis=1) - (x[left] * x[right]).sum(axis=1))
    positive = scale > 0.0
    return _mean_over_pairs(change[positive] / scale[positive], drawn)


def covariance_distortion(original_cov: npt.ArrayLike, released_cov: npt.ArrayLike) -> Measure:
    """‖C_y − C_x‖_F / ‖C_x‖_F for two covariance matrices of the same columns.

    Takes the matrices, so that an estimate recovered from a release (R3) can be judged by
    the same number as the release's own covariance.

    >>> float(covariance_distortion([[3.0, 0.0], [0.0, 4.0]], [[3.0, 0.0], [0.0, 5.0]]))
    0.2
    """
    before = as_table(original_cov, "original_cov")
    after = as_table(released_cov, "released_cov")
    for name, matrix in (("original_cov", before), ("released_cov", after)):
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"{name}: has shape {matrix.shape}; pass a square covariance matrix")
        if count := int(np.isnan(matrix).sum()):
            raise InputError(f"{name}: holds {count} missing value(s); pass a complete covariance matrix")
    if before.shape != after.shape:
        raise InputError(
            f"released_cov: has shape {after.shape} where original_cov has {before.shape}; use equal columns"
        )
    scale = float(np.linalg.norm(before))
    if scale == 0.0:
        raise InputError("original_cov: is zero, so nothing is relative to it; leave out constant columns")
    return Measure(float(np.linalg.norm(after - before)) / scale, higher_is="distorted")


def complete_records(original: npt.ArrayLike, released: npt.ArrayLike) -> tuple[Array, Array, Mask]:
    """Both tables without the records that miss a value in either, and the mask of those that stay."""
    x, y = as_table(original, "original"), as_table(released, "released")
    if len(x) != len(y):
        raise InputError(f"released: has {len(y)} records where original has {len(x)}; pass the same records in order")
    complete: Mask = np.asarray(~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)))
    if (count := int(complete.sum())) < 2:
        raise InputError(f"original: has {count} record(s) complete in both tables; pass at least two")
    return (x, y, complete) if complete.all() else (x[complete], y[complete], complete)


def _pairs(n: int, n_pairs: int, random_state: int) -> tuple[Indices, Indices, bool]:
    """All pairs i < j, or ``n_pairs`` random pairs of different records and True."""
    n_pairs = whole(n_pairs, "n_pairs", least=1)
    rng = np.random.default_rng(whole(random_state, "random_state"))
    if n * (n - 1) // 2 <= n_pairs:
        left, right = np.triu_indices(n, k=1)
        return left.astype(np.int64), right.astype(np.int64), False
    first = rng.integers(n, size=n_pairs)
    second = (first + rng.integers(1, n, size=n_pairs)) % n
    return first, second, True


def _mean_over_pairs(values: Array, drawn: bool) -> Measure:
    value, low, high = ratio_interval(values, np.ones_like(values))
    if not drawn:
        low = high = value
    return Measure(value, low=low, high=high, higher_is="distorted")


def distribution_distance(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    *,
    form: str = "wasserstein",
    weights: npt.ArrayLike | None = None,
) -> Measure:
    """How far the columns' distributions are from the original's, on average over columns.

    ``"wasserstein"``: mean distance of quantiles in units of the original's standard deviation; ``"kolmogorov"``:
    largest difference of the distribution functions, in [0, 1]. Values of a column are compared as a whole, whatever
    record they belong to; missing ones are left out. The interval is over columns (the narrowest and widest).

    With ``weights``, how many people of a population each record stands for, the distributions are those of the
    population; both tables then have the same records in the same order.

    >>> float(distribution_distance([[0.0], [1.0], [2.0]], [[2.0], [0.0], [1.0]]))
    0.0
    """
    choice(form, "form", ("wasserstein", "kolmogorov"))
    x, y = as_table(original, "original"), as_table(released, "released")
    if x.shape[1] != y.shape[1]:
        raise InputError(
            f"released: has {y.shape[1]} columns where original has {x.shape[1]}; compare the same columns"
        )
    own = None if weights is None else _checked_weights(weights, (len(x), len(y)))
    pairs = zip(x.T, y.T, strict=True)
    distances = [_distance_of(_weighed(a, own), _weighed(b, own), form) for a, b in pairs]
    return Measure(float(np.mean(distances)), low=min(distances), high=max(distances), higher_is="private")


def _checked_weights(weights: npt.ArrayLike, n_records: tuple[int, int]) -> Array:
    own = np.asarray(weights, dtype=np.float64)
    if own.shape != (n_records[0],) or n_records[0] != n_records[1]:
        raise InputError("weights: must be one number per record of two tables with the same records")
    if not (np.isfinite(own).all() and (own >= 0.0).all() and own.sum() > 0.0):
        raise InputError("weights: must be finite numbers of at least 0, not all of them 0")
    return own


def _weighed(column: Array, weights: Array | None) -> tuple[Array, Array]:
    """The values that are there in order, and the share of the records, or of the people, up to each."""
    order = np.argsort(column, kind="stable")[: int((~np.isnan(column)).sum())]
    if weights is None:
        return column[order], np.arange(1, len(order) + 1) / max(len(order), 1)
    sums = np.cumsum(weights[order])
    return column[order], sums / sums[-1] if len(sums) and sums[-1] > 0.0 else sums


def _distance_of(first: tuple[Array, Array], second: tuple[Array, Array], form: str) -> float:
    (x, up_to_x), (y, up_to_y) = first, second
    if not len(x) or not len(y) or not up_to_x[-1] > 0.0 or not up_to_y[-1] > 0.0:
        return float("nan")
    if form == "kolmogorov":
        at = np.concatenate([x, y])
        below = [np.append(0.0, up_to)[np.searchsorted(part, at, side="right")] for part, up_to in (first, second)]
        return float(np.abs(below[0] - below[1]).max())
    # Quantile functions are steps; between all their jumps both are constant.
    jumps = np.unique(np.concatenate([up_to_x, up_to_y]))
    width = np.diff(jumps, prepend=0.0)
    middle = jumps - width / 2
    quantiles = [part[np.minimum(np.searchsorted(up_to, middle), len(part) - 1)] for part, up_to in (first, second)]
    gap = np.abs(quantiles[0] - quantiles[1])
    share = np.diff(up_to_x, prepend=0.0)
    spread = float(np.sqrt(share @ (x - float(share @ x)) ** 2))
    return float(gap @ width) / (spread if spread > 0 else 1.0)
