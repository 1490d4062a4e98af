"""The columns of a release beside those of the private table, as numbers and codes that can be compared.

Columns are paired by their names. Private columns whose name the release lacks are paired with released columns that
have no private name, by their values: as many values in common as possible, then quantiles as near as possible. A pair
that is wrong makes no copy; what a pair shows is held against strangers (:mod:`veil.auditing.elsewhere.copies`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.optimize import linear_sum_assignment

from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import Kind, kind_of

MOST_LOOKED_AT = 2_000
"""Values of a column that are looked at to recognise it."""
FAR = 3.0
"""Mean difference of quantiles, in standard deviations, beyond which two columns are as different as any."""
OTHER_UNITS = 0.2
"""The same, beyond which a released column is in other units than the private one, or perturbed."""
KNOTS = 15
"""Quantiles by which a column in other units is brought to the private ones."""


@dataclass(frozen=True)
class Pairs:
    """Private columns and the released columns that they are paired with, side by side.

    Attributes
    ----------
    names, released
        Names in the private table and in the release.
    private, values
        N × d private and m × d released values: numbers, or codes of categories; NaN is missing.
    categorical
        Which columns are codes.
    """

    names: tuple[str, ...]
    released: tuple[str, ...]
    private: Matrix
    values: Matrix
    categorical: npt.NDArray[np.bool_]


def paired(private: pa.Table, released: pa.Table, names: Sequence[str], *, by_values: bool = False) -> Pairs:
    """The named private columns beside the release's; ``by_values`` leaves names out of account altogether."""
    pairs = {} if by_values else {name: name for name in names if name in released.column_names}
    others = [name for name in released.column_names if by_values or name not in private.column_names]
    pairs |= _recognised(private, released, [name for name in names if name not in pairs], others)
    order = [name for name in names if name in pairs]
    columns = [beside(private.column(name), released.column(pairs[name])) for name in order]
    return Pairs(
        tuple(order),
        tuple(pairs[name] for name in order),
        np.column_stack([x for x, _, _ in columns]) if columns else np.empty((private.num_rows, 0)),
        np.column_stack([y for _, y, _ in columns]) if columns else np.empty((released.num_rows, 0)),
        np.array([codes for _, _, codes in columns], dtype=np.bool_),
    )


def in_private_units(pairs: Pairs) -> Pairs | None:
    """The same with released columns of other units in those of the private ones; None where there are none.

    Some quantiles of a column go to those of the private one, and what lies between them along lines. That undoes other
    units, minimum to maximum and z-scores exactly where all records are there, and nearly any other rising map
    (logarithms). A map by all ranks would put every private value into the release, whoever is in it.
    """
    other = [
        j
        for j, codes in enumerate(pairs.categorical)
        if not codes and _quantiles_apart(pairs.private[:, j], pairs.values[:, j]) > OTHER_UNITS
    ]
    if not other or len(pairs.names) < 2:
        return None
    values = pairs.values.copy()
    for j in other:
        values[:, j] = _along_quantiles(pairs.private[:, j], pairs.values[:, j])
    return replace(pairs, values=values)


def _along_quantiles(x: Vector, y: Vector) -> Vector:
    """The second column on the scale of the first; the ends go on as the last lines do."""
    ours, theirs = _between(x), _between(y)
    theirs, first = np.unique(theirs, return_index=True)
    if len(theirs) < 2:
        return y
    ours = ours[first]
    slope = np.diff(ours) / np.diff(theirs)
    mapped = np.interp(y, theirs, ours)
    mapped = np.where(y < theirs[0], ours[0] + slope[0] * (y - theirs[0]), mapped)
    return np.asarray(np.where(y > theirs[-1], ours[-1] + slope[-1] * (y - theirs[-1]), mapped))


def _between(values: Vector) -> Vector:
    """Quantiles half-way between neighbouring values, so that no value is mapped on another by construction."""
    rising = np.sort(values[np.isfinite(values)])
    at = np.clip((np.arange(1, KNOTS + 1) * len(rising)) // (KNOTS + 1), 1, max(len(rising) - 1, 1))
    return np.asarray((rising[at - 1] + rising[np.minimum(at, len(rising) - 1)]) / 2.0)


def _quantiles_apart(x: Vector, y: Vector) -> float:
    """The mean difference of quantiles, in standard deviations of the first column."""
    x, y = x[np.isfinite(x)], y[np.isfinite(y)]
    if not len(x) or not len(y):
        return 0.0
    at = np.linspace(0.01, 0.99, 50)
    return float(np.abs(np.quantile(x, at) - np.quantile(y, at)).mean()) / (float(x.std()) or 1.0)


def beside(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> tuple[Vector, Vector, bool]:
    """Two columns as numbers, or as codes that are equal where the values are, and whether they are codes."""
    if kind_of(ours.type).is_number and kind_of(ours.type) is kind_of(theirs.type):
        return _numbers(ours), _numbers(theirs), False
    x, y = as_texts(ours), as_texts(theirs)
    known = pc.unique(pa.chunked_array([x, y])).drop_null()
    codes = [pc.index_in(values, value_set=known, skip_nulls=True).to_numpy(zero_copy_only=False) for values in (x, y)]
    return codes[0].astype(np.float64), codes[1].astype(np.float64), True


def _numbers(column: pa.ChunkedArray) -> Vector:
    return np.asarray(to_float(column.combine_chunks(), ""), dtype=np.float64)


def as_texts(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column as texts; those that cannot be written are missing."""
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(array), pa.string())


def _recognised(private: pa.Table, released: pa.Table, names: list[str], others: list[str]) -> Mapping[str, str]:
    """Private columns and the released ones that they are told by, numbers, dates and texts among their like."""
    chosen: dict[str, str] = {}
    for kind in (Kind.NUMERIC, Kind.DATE, Kind.TIME, None):
        ours, theirs = (
            [n for n in of if _kind_of_number(table.schema.field(n).type) is kind]
            for of, table in ((names, private), (others, released))
        )
        if not ours or not theirs:
            continue
        apart = np.array([[_apart(private.column(a), released.column(b)) for b in theirs] for a in ours])
        for i, k in zip(*linear_sum_assignment(apart), strict=True):
            chosen[ours[i]] = theirs[k]
    return chosen


def _kind_of_number(dtype: pa.DataType) -> Kind | None:
    kind = kind_of(dtype)
    return kind if kind.is_number else None


def _apart(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> float:
    """How different two columns are: 0 for equal values, 1 for others with the same quantiles, 2 at most."""
    x, y, codes = beside(_some(ours), _some(theirs))
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    if not len(x) or not len(y):
        return 2.0
    common = float(np.isin(y, x).mean())
    if codes:
        return 2.0 * (1.0 - common)
    return 1.0 - common + min(_quantiles_apart(x, y) / FAR, 1.0)


def _some(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values from all over a column."""
    step = -(-len(column) // MOST_LOOKED_AT)
    return column if step <= 1 else column.take(pa.array(np.arange(0, len(column), step)))
