"""From sums to measures: the last step of each definition, once all blocks are added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from veil.auditing.comparison.cells import ColumnCells
from veil.auditing.comparison.comparing import First
from veil.auditing.comparison.result import ColumnMeasures, TableMeasures
from veil.auditing.comparison.scoring import Hits
from veil.data.blocks import Matrix, Vector
from veil.measures.breach import column_shares, counted_exposure
from veil.measures.intervals import repetition_interval, summed_interval
from veil.measures.measure import Direction, Measure
from veil.measures.units import NORMAL_IQR, standard_unit
from veil.measures.utility import covariance_distortion, distance_distortion, inner_product_distortion

GROUPS = 16
"""Parts of the sample whose differences say how far the sample's distances may be off."""
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


def private_spread(first: First) -> Vector:
    """Standard deviations of the private columns; 0 for a constant one and for one without values."""
    moments, d = first.moments, len(first.moments.mean) // 2
    varies = moments.minimum[:d] < moments.maximum[:d]
    return np.where(varies, np.nan_to_num(moments.std[:d]), 0.0)


def counted_unit(cells: ColumnCells, deviation: float) -> tuple[float, float]:
    """The unit of :func:`veil.measures.standard_unit` from counted quartiles, and the most that it can be off."""
    if deviation == 0.0:
        return 0.0, 0.0
    (q1, low1, high1), (q3, low3, high3) = cells.quantile(0.25), cells.quantile(0.75)
    unit = standard_unit(deviation, q3 - q1)
    least, most = max(low3 - high1, 0.0) / NORMAL_IQR, (high3 - low1) / NORMAL_IQR
    possible = [deviation] if least == 0.0 or 2.0 * most >= deviation else []
    if most > 0.0 and 2.0 * least < deviation:
        possible += [least, min(most, deviation / 2.0)]
    return unit, max(abs(unit - p) for p in possible)


def column_measures(
    first: First,
    names: Sequence[str],
    cells: Sequence[ColumnCells],
    units: Matrix,
    hits: Hits,
    tolerance: float,
) -> tuple[ColumnMeasures, ...]:
    """The measures of each column; ``units`` has the units and their errors."""
    pairs, errors, deviation = first.pairs, first.errors, private_spread(first)
    constant = deviation == 0.0
    std = pairs.std
    scale = np.where(std[0] > 0.0, std[0], 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(pairs.count > 0, (pairs.mean[1] - pairs.mean[0]) / scale, np.nan)
        correlation = pairs.product / np.sqrt(pairs.squares[0] * pairs.squares[1])
        nrmse = np.sqrt(errors.squares / pairs.count) / deviation
        relative, frobenius = errors.shares / errors.scored, np.sqrt(errors.squares / errors.base)
    correlation = np.where((std > 0.0).all(axis=0), np.clip(correlation, -1.0, 1.0), np.nan)
    breach, paper_breach = (column_shares(counts, hits.scored) for counts in hits.values)
    measures = []
    for j, name in enumerate(names):
        unit = deviation[j] if deviation[j] > 0.0 else 1.0
        least, most = (distance / unit for distance in cells[j].wasserstein())
        attained, bound = cells[j].kolmogorov()
        scored = bool(hits.scored[j])
        measures.append(
            ColumnMeasures(
                name=name,
                n_private=int(first.moments.count[j]),
                n_other=int(first.moments.count[len(names) + j]),
                n_both=int(pairs.count[j]),
                mean_difference=float(shift[j]),
                std_ratio=float(std[1, j] / std[0, j]) if std[0, j] > 0.0 else math.nan,
                correlation=float(correlation[j]),
                unit=float(units[0, j]),
                unit_error=float(units[1, j]),
                nrmse=math.nan if constant[j] else float(nrmse[j]),
                relative_error=float(relative[j]),
                frobenius_error=float(frobenius[j]) if errors.base[j] > 0.0 else math.nan,
                breach=float(breach[j]),
                paper_breach=float(paper_breach[j]),
                baseline=cells[j].fullest(tolerance * units[0, j]) if scored else math.nan,
                wasserstein=Measure(least, low=least, high=most, higher_is="private"),
                kolmogorov=Measure(attained, low=attained, high=bound, higher_is="private"),
            )
        )
    return tuple(measures)


def table_measures(first: First, columns: Sequence[ColumnMeasures], hits: Hits, seed: int) -> TableMeasures:
    """The measures of all numeric columns together."""
    scored = hits.scored.sum()
    distances, inner_products = (
        _over_sample(measure, first, seed) for measure in (distance_distortion, inner_product_distortion)
    )
    known = [(c.baseline, n) for c, n in zip(columns, hits.scored, strict=True) if n]
    (value, paper_value), (record, paper_record) = (
        [counted_exposure(int(count), int(total), hits.n_scored) for count in counts]
        for counts, total in ((hits.values.sum(axis=1), scored), (hits.records, hits.n_scored))
    )
    return TableMeasures(
        means=_over_columns([abs(c.mean_difference) for c in columns], "distorted"),
        covariance=_covariance(first),
        nrmse=_nrmse(first, hits),
        relative_error=_mean_over_records(first),
        frobenius_error=_frobenius(first),
        value_breach=value,
        record_breach=record,
        paper_value_breach=paper_value,
        paper_record_breach=paper_record,
        baseline=float(sum(rate * n for rate, n in known) / scored) if scored else math.nan,
        distances=distances,
        inner_products=inner_products,
        wasserstein=_over_columns([c.wasserstein for c in columns], "private"),
        kolmogorov=_over_columns([c.kolmogorov for c in columns], "private"),
    )


def _over_columns(values: Sequence[float], higher_is: Direction) -> Measure:
    known = [float(v) for v in values if not math.isnan(v)]
    if not known:
        return _untold(higher_is)
    return Measure(float(np.mean(known)), low=min(known), high=max(known), higher_is=higher_is)


def _complete(first: First) -> tuple[Matrix, Matrix, Vector]:
    """Covariances of both tables over the complete records, and the private standard deviations (1 for a constant)."""
    d, moments = len(first.moments.mean) // 2, first.moments
    covariance = moments.covariance
    spread = np.sqrt(np.diag(covariance))
    flat = spread <= _ROUNDING * np.abs(moments.complete_mean)
    covariance = np.where(flat[:, None] | flat, 0.0, covariance)
    return covariance[:d, :d], covariance[d:, d:], np.where(flat, 1.0, spread)[:d]


def _covariance(first: First) -> Measure:
    before, after, scale = _complete(first)
    if not before.any():
        return _untold("distorted")
    unit = np.outer(scale, scale)
    return covariance_distortion(before / unit, after / unit)


def _over_sample(measure: Callable[..., Measure], first: First, seed: int) -> Measure:
    """A measure of pairs of records: of all rows where the sample has them all, else the mean over parts of it.

    The parts share no row, so the interval (Student's, over parts) counts that pairs share rows.
    """
    *_, scale = _complete(first)
    x, y = (part.T / scale for part in first.sample.values.reshape(2, len(scale), -1))
    complete = np.asarray(~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1)))
    whole = len(x) == first.n_rows
    order = np.argsort(first.sample.hashes)
    parts = [np.arange(len(x))] if whole else [np.sort(order[g::GROUPS]) for g in range(GROUPS)]
    values = [measure(x[part], y[part], random_state=seed) for part in parts if complete[part].sum() > 1]
    known = [value for value in values if not math.isnan(value)]
    if whole or len(known) < 2:
        return values[0] if values else _untold("distorted")
    low, high = repetition_interval([float(value) for value in known], upper=math.inf)
    return Measure(float(np.mean(known)), low=low, high=high, higher_is="distorted")


def _frobenius(first: First) -> Measure:
    """√(Σa/Σb) over records, as :func:`veil.measures.frobenius_error` has it."""
    sizes = first.errors.sizes
    n, (above, below) = sizes.n_complete, sizes.complete_mean
    if not n or below == 0.0:
        return _untold("private")
    ratio = above / below
    weights = np.array([1.0, -ratio])
    squares = max(float(weights @ sizes.covariance @ weights) * n, 0.0)
    low, high = summed_interval(ratio, squares, n, n * below)
    return Measure(math.sqrt(ratio), low=math.sqrt(low), high=math.sqrt(high), higher_is="private")


def _mean_over_records(first: First) -> Measure:
    relative = first.errors.relative
    n, mean = int(relative.count[0]), float(relative.mean[0])
    if not n:
        return _untold("private")
    low, high = summed_interval(mean, float(relative.centred_squares[0]), n, float(n))
    return Measure(mean, low=low, high=high, higher_is="private")


def _nrmse(first: First, hits: Hits) -> Measure:
    deviation = private_spread(first)
    varies = deviation > 0.0
    cells = int(first.pairs.count[varies].sum())
    if not cells:
        return _untold("private")
    square = float((first.errors.squares[varies] / deviation[varies] ** 2).sum()) / cells
    n = int(hits.influence.count[0])
    squares = float(hits.influence.centred_squares[0]) if n > 2 else math.inf
    low, high = summed_interval(square, squares, n, 1.0)
    return Measure(math.sqrt(square), low=math.sqrt(low), high=math.sqrt(high), higher_is="private")


def _untold(higher_is: Direction) -> Measure:
    return Measure(math.nan, low=math.nan, high=math.nan, higher_is=higher_is)
