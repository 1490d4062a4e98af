"""What an inspection concludes from one pass over a table: sentences about records, correlation and rotation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.data.blocks import Matrix
from veil.data.distinct import DistinctSample
from veil.errors import listed
from veil.measures import correlation_risk, effective_dimension, range_length, sample_risk, security_range
from veil.numerics.grids import COARSE, Grid
from veil.numerics.moments import Moments
from veil.numerics.rounding import two_digits
from veil.report.inspection import ROTATION_THRESHOLD, ColumnFacts, NoiseRisk, RotationRange

NOISE_LEVELS = (0.25, 0.5, 1.0, 2.0)
SAMPLE_SHARE = 0.02
SMALL_CELL = 5
CONFIDENT = 1.96
NONE_SAMPLED = 3.0
"""Of k values, each sampled with probability p, none is in the sample with 5 % probability when k = 3/p."""


def role_advice(facts: Sequence[ColumnFacts]) -> list[str]:
    """How many columns the owner must decide on."""
    open_columns = [f.name for f in facts if f.role is None]
    if not open_columns:
        return []
    return [
        f"{len(open_columns)} column(s) need a role: identifier, sensitive, quasi, key, public, group, weight or drop, "
        f"for example roles={{{open_columns[0]!r}: 'drop'}}"
    ]


def cell_advice(names: Sequence[str], cells: DistinctSample, n_rows: int) -> str:
    """How many records are alone with their values on the key and quasi columns (M17), exact or estimated."""
    alone, few = (_records(cells, size, n_rows) for size in (2, SMALL_CELL))
    return (
        f"On what outsiders may know ({', '.join(names)}) {alone} of {n_rows:,} records are unique, "
        f"and {few} are in groups of fewer than {SMALL_CELL} that are alike."
    )


def _records(cells: DistinctSample, size: int, n_rows: int) -> str:
    """The records in cells of fewer than ``size``: a number, or an estimate with its 95 % interval."""
    value, error = cells.records_in_cells_below(size)
    if error is None:
        return f"{value:,}"
    if not value:
        return f"fewer than {about(min(NONE_SAMPLED * (size - 1) * 2**cells.level, n_rows))}"
    return f"about {about(min(value, n_rows))} (± {about(CONFIDENT * error)})"


def about(value: float) -> str:
    """An estimate at two digits.

    >>> about(1_234_567)
    '1,200,000'
    """
    return f"{two_digits(value):,.0f}"


def correlation_advice(covariance: Matrix) -> str:
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


def rotation_advice(moments: Moments) -> list[str]:
    """What a 2 % sample would tell about a rotation of the columns, each in its own deviation (M14)."""
    keep = np.diag(moments.covariance) > 0
    n = round(SAMPLE_SHARE * moments.n_complete)
    if keep.sum() < 2 or n < 2:
        return []
    unit = np.sqrt(np.diag(moments.covariance)[keep])
    spread = moments.covariance[np.ix_(keep, keep)] / np.outer(unit, unit)
    return [sample_risk(moments.complete_mean[keep] / unit, spread, n).statement]


def grid_advice(names: Sequence[str], grids: Sequence[Grid], moments: Moments) -> list[str]:
    """Which columns are on a grid, and what that means for methods that multiply records by a secret matrix (A26)."""
    ends = zip(names, grids, moments.minimum.tolist(), moments.maximum.tolist(), moments.std.tolist(), strict=True)
    varying = [(name, grid.steps(moments.n_rows, low, high), std) for name, grid, low, high, std in ends if std > 0]
    gridded = [(name, steps.grain, std) for name, steps, std in varying if steps is not None]
    if len(gridded) < 2:
        return []
    some = ", ".join(name for name, _, _ in gridded[:5]) + (f" and {len(gridded) - 5} more" if len(gridded) > 5 else "")
    which = "All" if len(gridded) == len(varying) else f"{len(gridded)} of"
    advice = [
        f"{which} {len(varying)} numeric columns that vary hold whole or decimal numbers ({some}): with dither=False a "
        "rotation of such columns alone is undone from the release alone, and a projection or linear map with few "
        "known records (A26)."
    ]
    coarse = [name for name, grain, std in gridded if grain > COARSE * std]
    if coarse:
        advice.append(
            f"The grain of {listed(coarse)} is more than a third of the spread, so that dither before a rotation "
            "changes much and hides little: use RandomizedResponse for categories, or AdditiveNoise for counts."
        )
    return advice


def rotation_ranges(names: Sequence[str], covariance: Matrix) -> tuple[RotationRange, ...]:
    """The security range of each pair of neighbouring columns that vary."""
    varying = [j for j in range(len(names)) if covariance[j, j] > 0]
    ranges = []
    for i, j in zip(varying[::2], varying[1::2], strict=False):
        r = float(covariance[i, j] / np.sqrt(covariance[i, i] * covariance[j, j]))
        secure = security_range(1.0, 1.0, min(max(r, -1.0), 1.0), ROTATION_THRESHOLD, ROTATION_THRESHOLD)
        ranges.append(RotationRange(names[i], names[j], tuple(secure), range_length(secure) / (2 * np.pi)))
    return tuple(ranges)


def noise_risks(names: Sequence[str], covariance: Matrix) -> tuple[NoiseRisk, ...]:
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
