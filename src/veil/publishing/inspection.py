"""What a table is before anything is released: columns, kinds, roles, and what must be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, Matrix
from veil.data.passes import Engine, summed
from veil.data.schema import Kind, Role, kind_of, parse_roles
from veil.data.sources import as_table, nearly_numeric_columns, unique_integer_columns
from veil.data.tables import Table
from veil.measures import (
    cell_sizes,
    correlation_risk,
    effective_dimension,
    range_length,
    sample_risk,
    security_range,
)
from veil.numerics.moments import Moments, block_moments
from veil.progress import Progress, silent
from veil.report.inspection import ROTATION_THRESHOLD, ColumnFacts, Inspection, NoiseRisk, RotationRange

NOISE_LEVELS = (0.25, 0.5, 1.0, 2.0)
SAMPLE_SHARE = 0.02
SMALL_CELL = 5
IDENTIFYING = "hardly a repetition: an identifier?"
IDENTIFYING_SHARE = 0.5


@dataclass(frozen=True)
class Counted:
    """Of some rows: missing values of every column, and of the numeric ones infinite values and moments."""

    missing: npt.NDArray[np.int64]
    infinite: npt.NDArray[np.int64]
    moments: Moments

    def __add__(self, other: Counted) -> Counted:
        moments = self.moments + other.moments
        return Counted(self.missing + other.missing, self.infinite + other.infinite, moments)


def count_block(numeric: Sequence[str], block: Block) -> Counted:
    """The counts and moments of a block; what is infinite has no moments."""
    missing = np.array([block.column(name).null_count for name in block.schema.names], dtype=np.int64)
    matrix = block.matrix(numeric)
    infinite = np.isinf(matrix)
    matrix[infinite] = np.nan
    return Counted(missing, infinite.sum(axis=1), block_moments(matrix))


def inspect(
    table: Any,
    *,
    roles: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Columns, inferred roles, missing values and warnings of a table or a file, in one pass.

    Parameters
    ----------
    table
        A frame, an array, or the path of a file or a folder of Parquet files.
    roles
        What the owner has decided already, by column; the rest is inferred, or None where it cannot be.
    engine
        Runs the pass; all cores of this machine by default.

    >>> import pyarrow as pa
    >>> [column.role for column in inspect(pa.table({"age": [31.5, 40.0], "name": ["x", "y"]})).columns]
    ['sensitive', None]
    """
    source = as_table(table)
    given = parse_roles(roles, source.schema.names)
    numeric = source.numeric()
    unique = unique_integer_columns(source, numeric)
    nearly = nearly_numeric_columns(source)
    counts = summed(partial(count_block, numeric), source, engine=engine, progress=progress)
    moments, n_rows = (None, 0) if counts is None else (counts.moments, counts.moments.n_rows)
    infinite = np.zeros(len(numeric), dtype=np.int64) if counts is None else counts.infinite
    missing = dict.fromkeys(source.schema.names, 0)
    if counts is not None:
        missing.update(zip(source.schema.names, counts.missing.tolist(), strict=True))
    facts = []
    for field in source.schema:
        kind, notes = kind_of(field.type), []
        role = given.get(field.name)
        if kind is Kind.NUMERIC and moments is not None:
            j = numeric.index(field.name)
            missing[field.name] = int(moments.missing[j] - infinite[j])
            if infinite[j]:
                notes.append(f"{infinite[j]} infinite values: replace them")
            if moments.count[j] and not moments.std[j] > 0:
                notes.append("constant: nothing to hide by relative noise")
            if field.name in unique:
                notes.append("all different: an identifier?")
            elif role is None:
                role = Role.SENSITIVE
        if kind in (Kind.TEXT, Kind.CATEGORY):
            notes += _listing(source, field.name)
        if field.name in nearly:
            notes.append(f"{nearly[field.name][0]} of {nearly[field.name][1]} values are not numbers")
        facts.append(
            ColumnFacts(
                field.name,
                str(kind),
                str(field.type),
                role and str(role),
                missing[field.name],
                "; ".join(notes),
            )
        )
    covariance = moments.covariance if moments is not None and moments.n_complete > 2 else None
    advice = _advice(facts, covariance)
    if n_rows:
        advice += _cell_advice(source, facts)
    if moments is None or covariance is None:
        return Inspection(n_rows, tuple(facts), tuple(advice))
    advice += _rotation_advice(moments)
    risks, ranges = _noise_risks(numeric, covariance), _rotation_ranges(numeric, covariance)
    levels = NOISE_LEVELS if risks else ()
    return Inspection(n_rows, tuple(facts), tuple(advice), levels, risks, ROTATION_THRESHOLD, ranges)


def _listing(source: Table, name: str) -> list[str]:
    """How many values a text column has: one with hardly a repetition names people."""
    values = source.read([name]).column(0)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    n, different = len(values) - values.null_count, pc.count_distinct(values).as_py()
    return [IDENTIFYING] if n and different > IDENTIFYING_SHARE * n else [f"{different} different values"]


def _advice(facts: list[ColumnFacts], covariance: Matrix | None) -> list[str]:
    advice = []
    open_columns = [f.name for f in facts if f.role is None]
    if open_columns:
        advice.append(
            f"{len(open_columns)} column(s) need a role: identifier, sensitive, quasi, public or drop, "
            f"for example roles={{{open_columns[0]!r}: 'drop'}}"
        )
    if covariance is not None and len(covariance) > 1:
        advice.append(_correlation_advice(covariance))
    return advice


def _cell_advice(source: Table, facts: list[ColumnFacts]) -> list[str]:
    """How many records are alone with their values on the quasi columns (M17)."""
    names = [f.name for f in facts if f.role == Role.QUASI and f.kind != Kind.OTHER]
    if not names:
        return []
    sizes = cell_sizes([np.asarray(column) for column in source.read(names).columns])
    return [
        f"On the quasi columns ({', '.join(names)}) {int((sizes == 1).sum()):,} of {len(sizes):,} records are unique, "
        f"and {int((sizes < SMALL_CELL).sum()):,} are in groups of fewer than {SMALL_CELL} that are alike."
    ]


def _correlation_advice(covariance: Matrix) -> str:
    """How many dimensions the numeric columns really fill."""
    keep = np.diag(covariance) > 0
    d = int(keep.sum())
    if d < 2:
        return "Fewer than two numeric columns vary: correlation gives an attacker nothing."
    effective = float(effective_dimension(covariance[np.ix_(keep, keep)], kind="covariance"))
    if effective < d / 2:
        return (
            f"The {d} numeric columns behave like {effective:.1f} independent ones: independent noise on them can be "
            "filtered out by correlation."
        )
    return (
        f"The {d} numeric columns behave like {effective:.1f} independent ones: correlation helps an attacker little."
    )


def _rotation_advice(moments: Moments) -> list[str]:
    """What a 2 % sample would tell about a rotation of the columns, each in its own deviation (M14)."""
    keep = np.diag(moments.covariance) > 0
    n = round(SAMPLE_SHARE * moments.n_complete)
    if keep.sum() < 2 or n < 2:
        return []
    unit = np.sqrt(np.diag(moments.covariance)[keep])
    spread = moments.covariance[np.ix_(keep, keep)] / np.outer(unit, unit)
    return [sample_risk(moments.complete_mean[keep] / unit, spread, n).statement]


def _rotation_ranges(names: Sequence[str], covariance: Matrix) -> tuple[RotationRange, ...]:
    """The security range of each pair of neighbouring columns that vary."""
    varying = [j for j in range(len(names)) if covariance[j, j] > 0]
    ranges = []
    for i, j in zip(varying[::2], varying[1::2], strict=False):
        r = float(covariance[i, j] / np.sqrt(covariance[i, i] * covariance[j, j]))
        secure = security_range(1.0, 1.0, min(max(r, -1.0), 1.0), ROTATION_THRESHOLD, ROTATION_THRESHOLD)
        ranges.append(RotationRange(names[i], names[j], tuple(secure), range_length(secure) / (2 * np.pi)))
    return tuple(ranges)


def _noise_risks(names: Sequence[str], covariance: Matrix) -> tuple[NoiseRisk, ...]:
    """What the Bayes estimate would leave of noise, per column and noise level, if noise were added."""
    keep = np.diag(covariance) > 0
    if not keep.any():
        return ()
    risk = correlation_risk(covariance[np.ix_(keep, keep)], NOISE_LEVELS, kind="covariance")
    varying = [name for name, use in zip(names, keep, strict=True) if use]
    return tuple(
        NoiseRisk(name, tuple(round(float(share), 3) for share in np.sqrt(risk.of_variance[:, j])))
        for j, name in enumerate(varying)
    )
