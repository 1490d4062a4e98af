"""What :func:`veil.auditing.comparison.measure` finds: numbers per column and for the whole table."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from veil.auditing.comparison.links import LinkMeasures
from veil.measures import Measure
from veil.report.json_text import written_json
from veil.report.measured import measures_pieces
from veil.report.notebook import fragment_of
from veil.report.pieces import plain_pieces
from veil.storage.json_values import json_value


@dataclass(frozen=True)
class ColumnMeasures:
    """One column of numbers in both tables; NaN is what cannot be told.

    Attributes
    ----------
    n_private, n_other, n_both
        Values present in the private table, in the other, and in both of the same record.
    mean_difference
        The other mean less the private one, in private standard deviations (in the column's own unit where constant).
    std_ratio, correlation
        The other standard deviation over the private one, and the correlation of the two columns.
    unit, unit_error
        The standard unit of a breach, and the most that it can be off because quartiles were counted between edges.
    nrmse, relative_error, frobenius_error
        Errors, as the functions of that name have them per column.
    breach, paper_breach, baseline
        Shares of private values that are given away, by the standard and by the paper's rule, and the standard share
        that the best single guess for everybody would have.
    wasserstein, kolmogorov
        Distances of the two distributions; each lies between the measure's ends.
    """

    name: str
    n_private: int
    n_other: int
    n_both: int
    mean_difference: float
    std_ratio: float
    correlation: float
    unit: float
    unit_error: float
    nrmse: float
    relative_error: float
    frobenius_error: float
    breach: float
    paper_breach: float
    baseline: float
    wasserstein: Measure
    kolmogorov: Measure


@dataclass(frozen=True)
class TextMeasures:
    """One column of texts, categories, truth values or times: the share of equal values among those in both tables."""

    name: str
    n_both: int
    equal: float


@dataclass(frozen=True)
class TableMeasures:
    """The numeric columns together.

    Attributes
    ----------
    means
        Mean over columns of the absolute difference of means, in standard deviations; from the least to the greatest.
    covariance
        Relative Frobenius difference of the covariance matrices, private columns in standard deviations.
    nrmse, relative_error, frobenius_error, value_breach, record_breach, paper_value_breach, paper_record_breach
        As the functions of that name have them.
    baseline
        The standard value breach of the best single guess per column.
    distances, inner_products
        Distortion of distances and inner products of the sampled rows, in private standard deviations.
    wasserstein, kolmogorov
        Mean over columns of the distances of distributions; from the least to the greatest.
    """

    means: Measure
    covariance: Measure
    nrmse: Measure
    relative_error: Measure
    frobenius_error: Measure
    value_breach: Measure
    record_breach: Measure
    paper_value_breach: Measure
    paper_record_breach: Measure
    baseline: float
    distances: Measure
    inner_products: Measure
    wasserstein: Measure
    kolmogorov: Measure


@dataclass(frozen=True, repr=False)
class FileMeasures:
    """How near one table is to another, record by record; it prints as ``veil measure`` does.

    Attributes
    ----------
    n_rows, n_complete, n_sampled
        Records, those without a missing number in both tables, and those that distances were taken of.
    tolerance
        How near counts as a breach, in standard units.
    columns, texts
        Column by column.
    table
        The numeric columns together; None when there are none.
    left_out, absent
        Columns of both tables that are of different kinds, and private columns that the other table does not have.
    links
        How many people were found, where the other table holds links of people to rows; nothing else is measured then.
    """

    n_rows: int
    n_complete: int
    n_sampled: int
    tolerance: float
    columns: tuple[ColumnMeasures, ...]
    texts: tuple[TextMeasures, ...]
    table: TableMeasures | None
    left_out: tuple[str, ...]
    absent: tuple[str, ...]
    links: LinkMeasures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON; what cannot be told, or is without bound, is None."""
        values: dict[str, Any] = _json(self)
        return values

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write everything as JSON into a file of mode 0600, or return it as text when no path is given."""
        return written_json(self.to_dict(), path, private=True)

    def __repr__(self) -> str:
        return plain_pieces(measures_pieces(self))

    def _repr_html_(self) -> str:
        return fragment_of("Measures", measures_pieces(self))


def _json(value: Any) -> Any:
    if isinstance(value, Measure):
        ends = {"value": float(value), "low": value.low, "high": value.high}
        return {**json_value(ends), "higher_is": value.higher_is}
    if is_dataclass(value):
        return {f.name: _json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return json_value(value)
